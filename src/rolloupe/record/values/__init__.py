"""Converts a trainer's values to values that can be written."""
