"""Queries on a run as a whole: its columns, its configuration, its problems, its trainer files."""
