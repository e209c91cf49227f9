"""Questions asked of several runs at once. Each is bounded in time, and says how many runs it did not reach."""
