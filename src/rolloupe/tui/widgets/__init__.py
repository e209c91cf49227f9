"""Widgets that draw lines. They know palettes and scrolling, and nothing of runs."""
