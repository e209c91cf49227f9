"""Polls of a run: at which files each looks, and what the times of writes tell."""
