"""Commands for agents."""
