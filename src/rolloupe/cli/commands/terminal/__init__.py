"""The commands that show runs in the terminal as they grow."""
