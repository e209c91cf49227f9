"""Routes for tokens: those of one sample, and those of a run."""
