"""Which parts of a run's sources are to be scanned, the newest first, and when what was added goes to disk."""

from collections.abc import Callable, Iterator
from itertools import count

from msgspec.structs import replace

from rolloupe.index.catalog import Catalog, PartKey, Tail
from rolloupe.index.segments.segment import (
    GRID_BYTES,
    grid_span,
    has_open_grid,
    has_other_texts,
    parts_of,
    reaches,
    span_of,
)
from rolloupe.index.snapshot import Segment
from rolloupe.index.sources import Sources, SourceState

TAIL_BYTES = 2 * 2**20
"""A tail moves to disk, too, once it is so long."""

EXPANSION = 8
"""So many times as much as it is long is a small compressed file taken to hold."""


class Schedule:
    """What no segment or tail of a catalog holds yet. Asked by the thread that changes the catalog."""

    def __init__(self, catalog: Catalog, sources: Sources, *, splittable: bool) -> None:
        self._catalog = catalog
        self._sources = sources
        self._splittable = splittable
        self._seen: dict[PartKey, int] = {}

    def pending(self, leave_out: Callable[[PartKey], bool]) -> Iterator[tuple[SourceState, int]]:
        """Yield the parts to scan, newest step first."""
        for place in self._sources.newest_first():
            for part in self._parts(place):
                if not leave_out((place.source.name, part)) and self._is_due(place, part):
                    yield place, part

    def lacking_texts(self, leave_out: Callable[[PartKey], bool]) -> Iterator[tuple[SourceState, int]]:
        """Yield the parts whose numbers are known and whose texts may stand in another file, newest step first.

        While the source or that file is being written, its parts wait: each look would have them scanned anew.
        """
        for place in self._sources.newest_first():
            if not self._sources.is_quiet(place):
                continue
            first = self._catalog.segment((place.source.name, 0))
            if not (place.source.texts_from or (first is not None and first.meta.texts_from)):
                continue
            for part in self._parts(place):
                key = (place.source.name, part)
                held = self._catalog.segment(key)
                if held is not None and has_other_texts(place.source, held.meta) and not leave_out(key):
                    yield place, part

    def as_due(self, place: SourceState, part: int) -> SourceState:
        """A place as a part of it is scanned next: for its numbers alone, as long as those are not known."""
        if self._catalog.segment((place.source.name, part)) is not None:
            return place
        return place._replace(source=replace(place.source, texts_from="", texts_bytes=0))

    def scanned(self, key: PartKey, size_bytes: int) -> None:
        """Note the size that a file had when a part of it was scanned."""
        self._seen[key] = size_bytes

    def settles(self, place: SourceState, part: int, held: Segment, tail: Tail | None) -> bool:
        """Tell whether a part is scanned whole: its file is quiet, its tail is long, or it is whole."""
        is_large = tail is not None and tail.stop - held.meta.stop > TAIL_BYTES
        return is_large or self._sources.is_quiet(place) or self._is_whole(place, part)

    def goes_further(self, place: SourceState, part: int) -> bool:
        """Tell of a compressed source whether its stream is known to reach to the end of a part, or beyond."""
        held = self._catalog.segment((place.source.name, part))
        return self._is_open(place) and held is not None and held.meta.stop >= grid_span(part)[1]

    def cost(self, place: SourceState, part: int) -> int:
        """About how many bytes are read for a part."""
        if self._is_open(place):
            return min(GRID_BYTES, EXPANSION * place.state.size) + place.source.texts_bytes
        start, stop = self.span(place, part)
        return stop - start + place.source.texts_bytes

    def span(self, place: SourceState, part: int) -> tuple[int, int]:
        """The bytes from which the records of a part begin."""
        return span_of(self._splittable, place.source.path, part, place.state.size)

    def _parts(self, place: SourceState) -> Iterator[int]:
        """The parts of a source from its end to its start; from the start on where nobody knows its end."""
        length = self._sources.length(place) if self._is_open(place) else place.state.size
        if length is not None:
            yield from reversed(range(parts_of(self._splittable, length)))
            return
        for part in count():
            yield part
            if not self.goes_further(place, part):
                return

    def _is_due(self, place: SourceState, part: int) -> bool:
        key = (place.source.name, part)
        held = self._catalog.segment(key)
        if held is None:
            return True
        if held.meta.complete:
            return False
        tail = self._catalog.tail(key)
        if tail is not None and self.settles(place, part, held, tail):
            return True
        return place.state.size != self._seen.get(key, held.meta.fingerprint.state.size)

    def _is_whole(self, place: SourceState, part: int) -> bool:
        if self._is_open(place):
            return reaches(place.source.location, part)
        return self._splittable and place.state.size >= grid_span(part)[1]

    def _is_open(self, place: SourceState) -> bool:
        return has_open_grid(self._splittable, place.source.path)
