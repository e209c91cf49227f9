"""Decides how often a run is polled.

A run that grows, or that somebody asked about, is polled often; an old one seldom: a viewer over many old runs would
otherwise be busy with them alone.
"""

import math

from rolloupe.index.clock import Clock
from rolloupe.index.run_scheduler import RunScheduler
from rolloupe.index.sources import Sources

POLL_S = 0.25
"""A line that a trainer appends must show within a second; polling works on network file systems, inotify does not."""

POLL_SHARE = 4
"""After a poll that takes t, the next waits for at least this many t: huge directories are polled less often."""

MAX_REST_S = 10.0
"""The longest rest between two polls that follows from their duration."""

LOOK_S = 0.5
"""While much is being indexed, the sources are polled again this often, so that new samples come first."""

WATCHED_S = 60.0
"""A question about a run, and its growth, have it polled often for this long."""

OLD_S = 3600.0
OLD_REST_S = 5.0
"""A run that was not written to for an hour, nor since it was opened, is polled this often."""


class PollTimes:
    """When one run was polled, and when it is due again."""

    def __init__(self, sources: Sources, scheduler: RunScheduler, clock: Clock) -> None:
        self._sources, self._scheduler, self._clock = sources, scheduler, clock
        self._started_s = math.inf
        self._asked_s = -math.inf
        self._polled_s = 0.0
        self._took_s = 0.0

    def note_start(self) -> None:
        """Note that the run is watched from now on."""
        self._started_s = self._clock.now_s()

    def note_question(self) -> None:
        """Note that somebody asked about the run."""
        self._asked_s = self._clock.now_s()

    def note_poll(self, began_s: float) -> None:
        """Note the end of a poll."""
        self._polled_s = self._clock.now_s()
        if not (self._sources.looks_at_some and self._sources.looked_at_all):  # which is rare then
            self._took_s = self._polled_s - began_s

    @property
    def is_due(self) -> bool:
        """True once there may be new samples, while much is being indexed."""
        return self._clock.now_s() - self._polled_s > self._rest_after_poll(LOOK_S)

    @property
    def rest_s(self) -> float:
        """The rest between two polls of a run that is up to date."""
        if self._is_old:
            return self._rest_after_poll(max(OLD_REST_S, self._scheduler.old_crowd_s))
        is_asked = self._clock.now_s() - self._asked_s < WATCHED_S
        is_growing = self._sources.has_grown and (self._sources.changed_s() or 0.0) < WATCHED_S
        is_watched = is_asked or is_growing
        return self._rest_after_poll(POLL_S if is_watched else max(POLL_S, self._scheduler.crowd_s))

    @property
    def _is_old(self) -> bool:
        """True for a run that nobody seems to write to."""
        was_watched = self._clock.now_s() - self._started_s > WATCHED_S
        return was_watched and (self._sources.changed_s() or 0.0) > OLD_S

    def _rest_after_poll(self, least_s: float) -> float:
        return max(least_s, min(POLL_SHARE * self._took_s, MAX_REST_S))
