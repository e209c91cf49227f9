"""Decides how long a run may be quiet before it counts as ended: its steps may take minutes or hours."""

import math
from collections.abc import Iterable
from itertools import pairwise

TIMES = 3
"""A run counts as ended after this many times its longest gap between writes."""

LEAST_S = 600.0
"""The least time, until gaps are known: steps of large models take minutes."""

MOST_S = 6 * 3600.0
"""The most time, however long a run once paused: one that resumed after a weekend has no steps of that length."""


class Rhythm:
    """The longest known gap between two writes of a run. One thread learns; any thread may read."""

    def __init__(self) -> None:
        self._gap_s = 0.0

    def saw_gap(self, seconds: float) -> None:
        """Learn a gap between two writes."""
        if seconds > self._gap_s:  # false for NaN
            self._gap_s = seconds

    def saw_writes(self, times_s: Iterable[float]) -> None:
        """Learn the times of writes, in seconds by one clock, in any order."""
        for before, after in pairwise(sorted(filter(math.isfinite, times_s))):
            self.saw_gap(after - before)

    @property
    def quiet_s(self) -> float:
        """After this many quiet seconds the run counts as ended."""
        return min(MOST_S, max(LEAST_S, TIMES * self._gap_s))
