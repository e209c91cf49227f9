"""Rules about curves, by subject."""
