"""Filters: parsed from text to a tree, translated to SQL, and completed while a person types."""
