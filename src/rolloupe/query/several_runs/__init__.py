"""Questions asked of several runs at once.

Those that list configurations, metrics and values stop after some time, and say how many runs they did not reach.
"""
