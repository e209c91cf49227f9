"""Formats of evaluations that no trainer writes: logs of Inspect, trajectories of Harbor."""
