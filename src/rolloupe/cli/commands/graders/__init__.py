"""The commands that run a person's own grader."""
