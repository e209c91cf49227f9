"""Questions about a run as a whole: its columns, its configuration, its problems, what lies beside its samples."""
