"""The sources of a run in their current state, and the times at which changes of each were seen."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from rolloupe.formats import known_length
from rolloupe.formats.base import Format
from rolloupe.index.fingerprint import FileState, size_of, state_of_source
from rolloupe.index.poll.looks import Looks
from rolloupe.index.poll.rhythm import Rhythm
from rolloupe.model import RunFile, RunInfo, Source

QUIET_S = 3.0
"""A file that has not grown for this long counts as quiet."""


class SourceState(NamedTuple):
    """A source and the current state of its file."""

    source: Source
    state: FileState

    @property
    def age(self) -> tuple[bool, int, int, str]:
        """Sorts from old to new: by the step in the name if there is one, else by time. Annotations follow samples."""
        step = self.source.step
        return (not self.source.annotates, -1 if step is None else step, self.state.mtime_ns, self.source.name)


class Seen(NamedTuple):
    """The result of a poll: the names of new or changed sources, and of missing ones."""

    changed: set[str]
    lost: set[str]


class Sources:
    """The sources of a run, by name. One thread polls; any thread may read."""

    def __init__(self, run: RunInfo, form: Format, scores: Callable[[], Sequence[Source]] = tuple) -> None:
        self._run = run
        self._format = form
        self._scores = scores
        self._places: Mapping[str, SourceState] = {}
        self._looks = Looks(by_name=form.sources_by_name)
        self.looked_at_all = True
        """False if the last poll looked at the files that change, and at some others."""
        self._newest_ns: int | None = None
        self._scored: set[str] = set()
        self._first_look_s: float | None = None
        self._lengths: dict[str, tuple[FileState, int | None]] = {}
        """The stream lengths of compressed sources, if known in advance."""
        self.changed_at: dict[str, float] = {}
        """The time at which each last changed, by the clock of this process; 0 at the first poll."""
        self.rhythm = Rhythm()
        self._launches: dict[str, tuple[int, ...]] = {}

    def mark(self, launches: Mapping[str, tuple[int, ...]]) -> set[str]:
        """Take over where launches begin, by source. Returns the names of the sources for which that is new."""
        names = {name for name in {**self._launches, **launches} if self._launches.get(name) != launches.get(name)}
        self._launches = {**launches}
        if names:
            places = self._places.items()
            self._places = {name: place._replace(source=self._marked(place.source)) for name, place in places}
        return names

    def _marked(self, source: Source) -> Source:
        known = self._launches.get(source.name, ())
        return source if source.launches == known else replace(source, launches=known)

    def look(self) -> Seen:
        """Poll the sources: all of them, or of a large run those that may have changed, and some others in turn."""
        now = time.monotonic()
        found = None if self._looks.is_whole_due(now) else self._look_at_some(now)
        self.looked_at_all = found is None
        if found is None:
            with self._looks.whole(now):
                found = _states(map(self._marked, self._format.sources(self._run)))
            self._looks.saw_all({n: p.source for n, p in found.items()}, ((p.age, n) for n, p in found.items()))
        if self._first_look_s is None:
            self._places = found  # whoever keeps the scores finds the run by its places
        found |= _states(self._scores())
        before = {} if self._first_look_s is None else self._places
        asked = before if self.looked_at_all else self._scored & before.keys()
        seen = Seen({n for n, p in found.items() if before.get(n) != p}, set(asked) - set(found))
        if seen.changed or seen.lost or self._first_look_s is None:
            self._take(seen, found if self.looked_at_all else {**before, **found})
        return seen

    def _look_at_some(self, now_s: float) -> dict[str, SourceState] | None:
        """The states of some sources, and of those that are new; None if a look at all must tell."""
        names = [name for name in self._looks.some(now_s) if name in self._places]
        found = _states(self._places[name].source for name in names)
        new = self._looks.new(now_s, lambda: self._format.sources(self._run))
        return None if new is None or len(found) < len(names) else found | _states(new.values())

    def _take(self, seen: Seen, places: Mapping[str, SourceState]) -> None:
        now = time.monotonic()
        places = {name: place for name, place in places.items() if name not in seen.lost}
        written = {name for name in seen.changed if not places[name].source.scores}
        if written:
            self.rhythm.saw_gap(self.changed_s() or 0.0)
            before = [] if self._newest_ns is None else [self._newest_ns]
            times = [ns for name in written if (ns := places[name].state.mtime_ns) >= min(before, default=ns)]
            self.rhythm.saw_writes(ns / 1e9 for ns in (*before, *times))
        if self.has_looked:
            self._looks.saw_changes(written)
        self.changed_at |= dict.fromkeys(written, now if self.has_looked else 0.0)
        self._places = places
        self._scored = {name for name, place in places.items() if place.source.scores}
        self._newest_ns = max((place.state.mtime_ns for place in _of_run(places)), default=None)
        if self._first_look_s is None:
            self._first_look_s = now

    @property
    def looks_at_some(self) -> bool:
        """True if most polls look at some files alone."""
        return self._looks.may_skip

    @property
    def has_looked(self) -> bool:
        """True after the first poll."""
        return self._first_look_s is not None

    def all(self) -> Mapping[str, SourceState]:
        """All sources, as of the last poll."""
        return self._places

    def get(self, name: str) -> Source | None:
        """The source with this name."""
        place = self._places.get(name)
        return place.source if place else None

    def files(self) -> list[RunFile]:
        """The files that hold samples, in their current state."""
        return [
            RunFile(
                name=name,
                size_bytes=size_of(place.source.path) if place.source.stream else place.state.size,
                changed_s=place.state.mtime_ns / 1e9,
                what="annotations" if place.source.annotates else "samples",
            )
            for name, place in sorted(self._places.items())
            if not place.source.scores
        ]

    def size_bytes(self) -> int:
        """The total size of all files."""
        return sum(place.state.size for place in self._places.values())

    def changed_s(self) -> float | None:
        """Seconds since a source last changed: since a poll saw a change, else by the time of the newest file.

        If another machine's clock is ahead, that time may be later than the first poll, which saw no change: the time
        of the first poll then counts.
        """
        newest = self._newest_ns
        if newest is None or self._first_look_s is None:
            return None
        if seen := max(list(self.changed_at.values()), default=0.0):
            return time.monotonic() - seen
        return max(time.time() - newest / 1e9, time.monotonic() - self._first_look_s)

    @property
    def has_grown(self) -> bool:
        """True once a poll saw a source change or appear: the time of a file may be that of a copy."""
        return any(list(self.changed_at.values()))

    def is_quiet(self, place: SourceState) -> bool:
        """True if a source has not grown for a while, by the clock of this process: that of the files may differ."""
        return time.monotonic() - self.changed_at.get(place.source.name, 0.0) > QUIET_S

    @property
    def are_quiet(self) -> bool:
        """True if no source has grown for a while."""
        return time.monotonic() - max(list(self.changed_at.values()), default=0.0) > QUIET_S

    def length(self, place: SourceState) -> int | None:
        """The length of a compressed source's stream; None if only reading it would show the length."""
        cached = self._lengths.get(place.source.name)
        if cached is None or cached[0] != place.state:
            try:
                length = known_length(place.source.location)
            except OSError:
                length = None
            cached = self._lengths[place.source.name] = (place.state, length)
        return cached[1]


def newest_first(places: Iterable[SourceState]) -> list[SourceState]:
    """Sources in the order of indexing."""
    return sorted(places, key=lambda place: place.age, reverse=True)


def _states(sources: Iterable[Source]) -> dict[str, SourceState]:
    """The sources whose files are there, by name, with their states."""
    states = ((source, state_of_source(source)) for source in sources)
    return {source.name: SourceState(source, state) for source, state in states if state is not None}


def _of_run(places: Mapping[str, SourceState]) -> list[SourceState]:
    """The sources that the trainer writes."""
    return [place for place in places.values() if not place.source.scores]
