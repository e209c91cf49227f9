"""Queries on token series: statistics of a step, and its most extreme tokens."""
