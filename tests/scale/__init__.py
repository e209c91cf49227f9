"""Tests with a real cluster and real servers: `make test-scale`."""
