"""The Tinker cookbook: the `log_path` of a run."""
