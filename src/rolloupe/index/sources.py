"""The sources of a run as they are now, and when each was last seen to change."""

import time
from collections.abc import Mapping
from typing import NamedTuple

from rolloupe.formats import known_length
from rolloupe.formats.base import Format
from rolloupe.index.fingerprint import FileState, state_of
from rolloupe.index.rhythm import Rhythm
from rolloupe.model import RunFile, RunInfo, Source

QUIET_S = 3.0
"""A file to which nothing was added for so long is quiet."""


class SourceState(NamedTuple):
    """A source as it is now."""

    source: Source
    state: FileState

    @property
    def age(self) -> tuple[bool, int, int, str]:
        """Sorts from old to new: by step where the name tells it, else by time. Annotations wait for samples."""
        step = self.source.step
        return (not self.source.annotates, -1 if step is None else step, self.state.mtime_ns, self.source.name)


class Seen(NamedTuple):
    """What a look has found: the names of sources that are new or changed, and of those that are no longer there."""

    changed: set[str]
    lost: set[str]


class Sources:
    """The sources of a run, by name. One thread looks; any thread may ask."""

    def __init__(self, run: RunInfo, form: Format) -> None:
        self._run = run
        self._format = form
        self._places: Mapping[str, SourceState] = {}
        self._first_look_s: float | None = None
        self._lengths: dict[str, tuple[FileState, int | None]] = {}
        """Of compressed sources: the length of the stream, where it is known beforehand."""
        self.changed_at: dict[str, float] = {}
        """When each was last seen to change, by the clock of this process; 0 at the first look."""
        self.rhythm = Rhythm()

    def look(self) -> Seen:
        """See what they are now."""
        places = {}
        for source in self._format.sources(self._run):
            state = state_of(source.path)
            if state is not None:
                places[source.name] = SourceState(source, state)
        seen = Seen({n for n, p in places.items() if self._places.get(n) != p}, set(self._places) - set(places))
        now = time.monotonic()
        if seen.changed:
            self.rhythm.saw_gap(self.changed_s() or 0.0)
            self.rhythm.saw_writes(place.state.mtime_ns / 1e9 for place in places.values())
        self.changed_at |= dict.fromkeys(seen.changed, now if self.has_looked else 0.0)
        self._places = places
        if self._first_look_s is None:
            self._first_look_s = now
        return seen

    @property
    def has_looked(self) -> bool:
        """True once there was a look."""
        return self._first_look_s is not None

    def all(self) -> Mapping[str, SourceState]:
        """All of them, as of the last look."""
        return self._places

    def newest_first(self) -> list[SourceState]:
        """All of them in the order in which they are indexed."""
        return sorted(self._places.values(), key=lambda place: place.age, reverse=True)

    def get(self, name: str) -> Source | None:
        """The source of that name."""
        place = self._places.get(name)
        return place.source if place else None

    def files(self) -> list[RunFile]:
        """The files that hold samples, as they are now."""
        return [
            RunFile(
                name=name,
                size_bytes=place.state.size,
                changed_s=place.state.mtime_ns / 1e9,
                what="annotations" if place.source.annotates else "samples",
            )
            for name, place in sorted(self._places.items())
        ]

    def size_bytes(self) -> int:
        """The bytes of all files."""
        return sum(place.state.size for place in self._places.values())

    def changed_s(self) -> float | None:
        """Seconds since one last changed: since it was seen to, else by the time of the newest file.

        By the clock of another machine that may lie behind the first look, which would have been seen: it then changed
        when it was first looked at.
        """
        newest = max((place.state.mtime_ns for place in self._places.values()), default=None)
        if newest is None or self._first_look_s is None:
            return None
        if seen := max(list(self.changed_at.values()), default=0.0):
            return time.monotonic() - seen
        return max(time.time() - newest / 1e9, time.monotonic() - self._first_look_s)

    @property
    def has_grown(self) -> bool:
        """True once one was seen to change or begin after the first look: the time of a file may be that of a copy."""
        return any(list(self.changed_at.values()))

    def is_quiet(self, place: SourceState) -> bool:
        """True where nothing was added for a while, by the clock of this process: that of the files may be another."""
        return time.monotonic() - self.changed_at.get(place.source.name, 0.0) > QUIET_S

    def length(self, place: SourceState) -> int | None:
        """The length of a compressed source's stream; None where nobody knows it before it is read."""
        held = self._lengths.get(place.source.name)
        if held is None or held[0] != place.state:
            try:
                length = known_length(place.source.location)
            except OSError:
                length = None
            held = self._lengths[place.source.name] = (place.state, length)
        return held[1]
