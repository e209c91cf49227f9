"""Tests of questions asked of several runs at once."""
