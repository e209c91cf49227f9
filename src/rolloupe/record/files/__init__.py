"""The files of a recorded run."""
