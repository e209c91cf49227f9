"""Filters: parsed from what a person types, as a tree, as SQL, and completed while they are typed."""
