"""Queries on steps: summaries, curves, and discarded samples."""
