"""Turns records of `model` and `query` into records and bytes of `wire`."""
