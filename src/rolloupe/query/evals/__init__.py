"""Evaluations: which answers are correct, and how often, by step and by prompt."""
