"""Evaluations: which answers are correct, how often, by step and by prompt."""
