"""Decides which parts of a run's sources this process scans, in which order, and when additions go to disk."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from rolloupe import text
from rolloupe.index.catalog import Catalog, PartKey, Tail
from rolloupe.index.fingerprint import FileState
from rolloupe.index.segments.parts import (
    GRID_BYTES,
    grid_span,
    has_open_grid,
    parts_of,
    parts_with_data,
    reaches,
    span_of,
)
from rolloupe.index.segments.segment import has_other_texts
from rolloupe.index.snapshot import Segment
from rolloupe.index.sources import Sources, SourceState, newest_first
from rolloupe.model import RunInfo

BLOCK_PARTS = 16
"""Neighbouring parts of a file belong to one shard: storage reads long ranges more quickly."""


class RunShard(NamedTuple):
    """One of the shards of a run; the first has the number 1."""

    number: int
    total: int


class OwnParts:
    """The parts of the sources of a run that this process indexes: those of its shard, or all."""

    def __init__(self, shard: RunShard | None, run: RunInfo, sources: Sources, *, splittable: bool) -> None:
        self._shard = shard
        self._sources, self._splittable = sources, splittable
        place = f"{run.root}\n{run.within}".encode("utf-8", "surrogateescape")
        self._first = int.from_bytes(hashlib.blake2b(place, digest_size=4).digest())
        """The shard of the first source: runs of one file each go to different shards."""
        self._ranks: dict[str, int] = {}
        self.has_joined = False
        """True once it indexes the parts of other shards, too."""

    @property
    def is_shard(self) -> bool:
        """True for the parts of a shard, False for all."""
        return self._shard is not None

    def update(self) -> None:
        """Split again after the sources changed."""
        if self._shard is not None:
            names = sorted(self._sources.all(), key=lambda name: (text.natural(name), name))
            self._ranks = {name: rank for rank, name in enumerate(names)}

    def join_others(self) -> None:
        """Own the parts of all shards from now on."""
        self.has_joined, self._shard = True, None

    def has(self, source: str, part: int) -> bool:
        """Tell whether this process indexes a part."""
        if self._shard is None:
            return True
        place = self._sources.all().get(source)
        block = 0 if place is None or self._is_open(place.source.path) else part // BLOCK_PARTS
        return (self._first + self._ranks.get(source, 0) + block) % self._shard.total == self._shard.number - 1

    def size_bytes(self) -> int:
        """The size of the parts."""
        if self._shard is None:
            return self._sources.size_bytes()
        return sum(stop - start for name in self._ranks for start, stop in self._spans(name))

    def _spans(self, name: str) -> Iterator[tuple[int, int]]:
        """The ranges of a source that belong to the shard."""
        place = self._sources.all()[name]
        size = place.state.size
        if not self._splittable or self._is_open(place.source.path):
            if self.has(name, 0):
                yield 0, size
            return
        for part in range(0, parts_of(self._splittable, size), BLOCK_PARTS):
            if self.has(name, part):
                yield grid_span(part)[0], min(size, grid_span(part + BLOCK_PARTS - 1)[1])

    def _is_open(self, path: str) -> bool:
        return has_open_grid(self._splittable, path)


TAIL_BYTES = 2 * 2**20
"""A longer tail moves to disk, too."""

MANY_PARTS = 16
"""Of files with fewer parts, holes are not looked for: reading them takes no time."""

EXPANSION = 8
"""The assumed ratio of decompressed to compressed size, for small files."""


class Schedule:
    """The parts that no segment or tail of a catalog covers yet. Used by the thread that changes the catalog."""

    def __init__(self, catalog: Catalog, sources: Sources, *, splittable: bool) -> None:
        self._catalog = catalog
        self._sources = sources
        self._splittable = splittable
        self._seen: dict[PartKey, int] = {}
        self._done: dict[str, FileState] = {}
        """The sources of which nothing is due while they are in this state."""
        self._done_for = -1
        self._written: dict[str, tuple[FileState, list[int]]] = {}
        """The parts of large files that hold more than holes."""

    def pending(self, leave_out: Callable[[PartKey], bool]) -> Iterator[tuple[SourceState, int]]:
        """Yield the parts to scan, newest step first."""
        if self._done_for != self._catalog.losses:
            self._done, self._done_for = {}, self._catalog.losses
        places = self._sources.all().items()
        for place in newest_first(place for name, place in places if self._done.get(name) != place.state):
            is_done = True
            for part in self._parts(place):
                key = place.source.name, part
                is_due = self._is_due(place, part)
                is_done &= not is_due and self._catalog.tail(key) is None
                if is_due and not leave_out(key):
                    yield place, part
            if is_done:
                self._done[place.source.name] = place.state

    def lacking_texts(self, leave_out: Callable[[PartKey], bool]) -> Iterator[tuple[SourceState, int]]:
        """Yield the parts with known numbers whose texts may be in another file now, newest step first.

        While the source or that file grows, its parts wait: otherwise every poll would scan them again.
        """
        for place in newest_first(place for place in self._sources.all().values() if self._has_other_texts(place)):
            if not self._sources.is_quiet(place):
                continue
            for part in self._parts(place):
                key = (place.source.name, part)
                segment = self._catalog.segment(key)
                if segment is not None and has_other_texts(place.source, segment.meta) and not leave_out(key):
                    yield place, part

    def _has_other_texts(self, place: SourceState) -> bool:
        first = self._catalog.segment((place.source.name, 0))
        return bool(place.source.texts_from or (first is not None and first.meta.texts_from))

    def as_due(self, place: SourceState, part: int) -> SourceState:
        """The place to scan a part from next: without other files' texts, as long as its numbers are unknown."""
        if self._catalog.segment((place.source.name, part)) is not None:
            return place
        return place._replace(source=replace(place.source, texts_from="", texts_bytes=0))

    def scanned(self, key: PartKey, size_bytes: int) -> None:
        """Note the size of a file at the scan of a part."""
        self._seen[key] = size_bytes
        self._done.pop(key[0], None)

    def again(self, names: Collection[str]) -> None:
        """Look at sources again: other launches of theirs are known."""
        for name in names:
            self._done.pop(name, None)

    def settles(self, place: SourceState, part: int, segment: Segment, tail: Tail | None) -> bool:
        """Tell whether to scan a part as a whole: its file is quiet, its tail is long, or it is complete."""
        is_large = tail is not None and tail.stop - segment.meta.stop > TAIL_BYTES
        is_other = segment.meta.launches != place.source.launches
        return is_large or is_other or self._sources.is_quiet(place) or self._is_whole(place, part)

    def goes_further(self, place: SourceState, part: int) -> bool:
        """Tell whether a compressed source's stream is known to reach the end of a part, or beyond."""
        segment = self._catalog.segment((place.source.name, part))
        return self._is_open(place) and segment is not None and segment.meta.stop >= grid_span(part)[1]

    def cost(self, place: SourceState, part: int) -> int:
        """The approximate number of bytes to read for a part."""
        if self._is_open(place):
            return min(GRID_BYTES, EXPANSION * place.state.size) + place.source.texts_bytes
        start, stop = self.span(place, part)
        return stop - start + place.source.texts_bytes

    def span(self, place: SourceState, part: int) -> tuple[int, int]:
        """The range of bytes in which the records of a part begin."""
        return span_of(self._splittable, place.source.path, part, place.state.size)

    def _parts(self, place: SourceState) -> Iterator[int]:
        """The parts of a source from its end to its start; from the start on if its end is unknown."""
        length = self._sources.length(place) if self._is_open(place) else place.state.size
        if length is not None:
            yield from reversed(self._parts_with_data(place, parts_of(self._splittable, length)))
            return
        for part in count():
            yield part
            if not self.goes_further(place, part):
                return

    def _parts_with_data(self, place: SourceState, count: int) -> Sequence[int]:
        """The parts of a source but those within a hole: the part in which a hole begins tells of it."""
        if count < MANY_PARTS or self._is_open(place):
            return range(count)
        known = self._written.get(place.source.name)
        if known is None or known[0] != place.state:
            known = self._written[place.source.name] = (place.state, parts_with_data(place.source.location, count))
        return known[1]

    def _is_due(self, place: SourceState, part: int) -> bool:
        key = (place.source.name, part)
        segment = self._catalog.segment(key)
        if segment is None or segment.meta.launches != place.source.launches:
            return True
        if segment.meta.complete:
            return False
        tail = self._catalog.tail(key)
        if tail is not None and self.settles(place, part, segment, tail):
            return True
        return place.state.size != self._seen.get(key, segment.meta.fingerprint.state.size)

    def _is_whole(self, place: SourceState, part: int) -> bool:
        if self._is_open(place):
            return reaches(place.source.location, part)
        return self._splittable and place.state.size >= grid_span(part)[1]

    def _is_open(self, place: SourceState) -> bool:
        return has_open_grid(self._splittable, place.source.path)
