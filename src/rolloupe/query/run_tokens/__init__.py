"""Queries on the tokens of many steps, from what the index holds of them."""
