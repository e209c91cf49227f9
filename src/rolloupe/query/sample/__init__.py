"""Queries on one sample: itself, its annotations, its siblings, its prompt at other steps."""
