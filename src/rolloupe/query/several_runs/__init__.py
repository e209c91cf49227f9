"""Questions asked of several runs at once; some stop after a time, and say how many runs they did not reach."""
