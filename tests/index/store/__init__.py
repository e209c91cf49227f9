"""Tests of an index that is shared in an object store."""
