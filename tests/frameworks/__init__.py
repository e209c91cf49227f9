"""Recording with the real frameworks: `make test-frameworks` installs and runs it; elsewhere it is skipped."""
