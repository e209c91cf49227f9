"""Tests of what the index keeps of tokens."""
