"""A server for agents that speak the Model Context Protocol: read-only, over standard input and output."""
