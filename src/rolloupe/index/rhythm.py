"""How long a run may be quiet before it is taken to have ended: steps take minutes or hours, as its rhythm shows."""

import math
from collections.abc import Iterable
from itertools import pairwise

TIMES = 3
"""A run is quiet for so many of its longest gaps between writes before it is taken to have ended."""

LEAST_S = 600.0
"""Until more is known of a run: steps of large models take minutes."""

MOST_S = 6 * 3600.0
"""However long it once rested: a run that was resumed after a weekend has no steps that take one."""


class Rhythm:
    """The longest gap between two writes of a run that is known so far. One thread learns; any thread may ask."""

    def __init__(self) -> None:
        self._gap_s = 0.0

    def saw_gap(self, seconds: float) -> None:
        """Take up a gap between two writes."""
        if seconds > self._gap_s:  # false for NaN
            self._gap_s = seconds

    def saw_writes(self, times_s: Iterable[float]) -> None:
        """Take up when something was written, in seconds by one clock, in any order."""
        for before, after in pairwise(sorted(filter(math.isfinite, times_s))):
            self.saw_gap(after - before)

    @property
    def quiet_s(self) -> float:
        """So many quiet seconds are an end."""
        return min(MOST_S, max(LEAST_S, TIMES * self._gap_s))
