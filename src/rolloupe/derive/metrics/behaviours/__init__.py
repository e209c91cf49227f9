"""Habits that a reward may pay for beside good answers. One module for each."""
