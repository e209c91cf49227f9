"""Habits that a reward may pay for besides good answers. One module for each."""
