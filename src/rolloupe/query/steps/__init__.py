"""Questions about steps: sums, curves, and what was discarded."""
