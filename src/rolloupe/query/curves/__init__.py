"""Curves: one number by step, from samples, trainer metrics, evaluations, shares or token series."""
