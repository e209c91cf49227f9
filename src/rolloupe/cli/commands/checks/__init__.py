"""Commands that look for what is wrong."""
