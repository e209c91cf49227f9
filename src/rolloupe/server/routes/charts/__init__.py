"""What charts draw: curves, their files, and distributions."""
