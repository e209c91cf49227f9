"""Samples that trainers leave with an experiment tracker: its tables, traces and texts."""
