"""Scans the new records of a run, the newest first: a little in this process, the rest in others.

It decides which parts of the sources are due, in which order, and when additions go to disk.
"""

import hashlib
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent import futures
from typing import NamedTuple

from msgspec.structs import replace

from rolloupe import text
from rolloupe.formats import by_name
from rolloupe.index import fingerprint, run_scheduler
from rolloupe.index.catalog import Catalog, Tail
from rolloupe.index.execution import SMALL_RUNS, Executor, InlineExecutor, JobReply, OwnWork, ScanJob, most_submitted
from rolloupe.index.segments.kind import has_other_texts
from rolloupe.index.segments.kinds import Budget
from rolloupe.index.segments.launches import RunLaunches
from rolloupe.index.segments.parts import (
    GRID_BYTES,
    grid_span,
    has_open_grid,
    parts_of,
    parts_with_data,
    reaches,
    scan,
    span_of,
)
from rolloupe.index.snapshot import PartKey, Segment
from rolloupe.index.sources import Sources, SourceState, newest_first
from rolloupe.model import Problem, RunInfo

BLOCK_PARTS = 16
"""The number of neighbouring parts that belong to one shard: storage reads long ranges more quickly."""


class RunShard(NamedTuple):
    """One of the shards of a run; the first has the number 1."""

    number: int
    total: int


class OwnParts:
    """The parts that this process indexes: those of its shard of a run, or all."""

    def __init__(self, shard: RunShard | None, run: RunInfo, sources: Sources, *, splittable: bool) -> None:
        self._shard = shard
        self._sources, self._splittable = sources, splittable
        place = f"{run.root}\n{run.within}".encode("utf-8", "surrogateescape")
        self._first = int.from_bytes(hashlib.blake2b(place, digest_size=4).digest())
        """The shard of the first source: runs of a single file go to different shards."""
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
        block = 0 if place is None or has_open_grid(self._splittable, place.source.path) else part // BLOCK_PARTS
        return (self._first + self._ranks.get(source, 0) + block) % self._shard.total == self._shard.number - 1

    def size_bytes(self) -> int:
        """The size of the parts."""
        if self._shard is None:
            return self._sources.size_bytes()
        total = 0
        for name in self._ranks:
            place = self._sources.all()[name]
            size, is_cut = place.state.size, self._splittable and not has_open_grid(self._splittable, place.source.path)
            for part in range(0, parts_of(is_cut, size), BLOCK_PARTS):
                if self.has(name, part):
                    stop = grid_span(part + BLOCK_PARTS - 1)[1] if is_cut else size
                    total += min(size, stop) - grid_span(part)[0]
        return total


TAIL_BYTES = 2 * 2**20
"""A longer tail moves to disk, too."""

MANY_PARTS = 16
"""In files with fewer parts, holes are read: that takes no time."""

EXPANSION = 8
"""The assumed ratio of decompressed to compressed size, for small files."""


WAIT_S = 0.5
"""The longest wait for a scan between two polls of the sources."""


NOT_AWAITED = threading.Event()
"""Set already: the index waits for nobody."""
NOT_AWAITED.set()


class IndexServices(NamedTuple):
    """The services that the runs of a library share."""

    executor: Executor
    budget: Budget
    scheduler: run_scheduler.RunScheduler
    own_work: OwnWork = SMALL_RUNS
    shard: RunShard | None = None
    clock: run_scheduler.Clock = run_scheduler.CLOCK
    looked_at: threading.Event = NOT_AWAITED


class Scans:
    """The scans of one run that are due or under way. Used by the thread that changes the catalog.

    A part is due if no segment or tail of the catalog covers it yet.
    """

    def __init__(
        self,
        info: RunInfo,
        catalog: Catalog,
        sources: Sources,
        services: IndexServices,
        ended: threading.Event,
        on_change: Callable[[], None],
    ) -> None:
        self.info, self._catalog, self._sources, self._budget = info, catalog, sources, services.budget
        self._clock, self._ended, self._on_change = services.clock, ended, on_change
        self._splittable = by_name(info.format).splittable
        self.own = OwnParts(services.shard, info, sources, splittable=self._splittable)
        self.launches = RunLaunches()
        self.failures: dict[PartKey, Problem] = {}
        """Why parts could not be scanned."""
        self.failed_s = 0.0
        """When something last failed, by the clock."""
        self._seen: dict[PartKey, int] = {}
        self._done: dict[str, fingerprint.FileState] = {}
        """The states of sources without parts that are due."""
        self._done_for = -1
        self._written: dict[str, tuple[fingerprint.FileState, Sequence[int]]] = {}
        """The parts of large files outside of holes."""
        self._executor = InlineExecutor(services.own_work.scanned_bytes, services.executor, ended)
        self._running: dict[futures.Future[JobReply], tuple[SourceState, int]] = {}
        self._phases: Iterator[Iterator[tuple[SourceState, int]]] = iter(())
        self._due: Iterator[tuple[SourceState, int]] = iter(())

    def restart(self) -> None:
        """Find the parts that are due again after sources changed. Numbers come before texts from other files."""

        def is_left_out(key: PartKey) -> bool:
            is_running = any(key == (place.source.name, part) for place, part in self._running.values())
            return is_running or key in self.failures or not self.own.has(*key)

        self._phases = (phase(is_left_out) for phase in (self.pending, self._lacking_texts))
        self._due = next(self._phases)

    def advance(self) -> bool:
        """Begin the next scan, or wait a moment for one that is under way; False if there is nothing to do."""
        while True:
            is_free = len(self._running) < most_submitted(self._executor, self.info.root)
            due = next(self._due, None) if is_free else None
            if due is not None:
                self._begin(*due)
                return True
            if self._running:
                self._land()
                return True
            phase = next(self._phases, None)
            if phase is None:
                return False
            self._due = phase

    def _begin(self, place: SourceState, part: int) -> None:
        key = (place.source.name, part)
        segment = self._catalog.segment(key)
        if segment is not None and not self._settles(place, part, segment, self._catalog.tail(key)):
            self._grow(place, part)
            self._on_change()
            return
        if segment is None:  # the numbers come before texts from other files
            place = place._replace(source=replace(place.source, texts_from="", texts_bytes=0))
        start, stop = span_of(self._splittable, place.source.path, part, place.state.size)
        size = min(GRID_BYTES, EXPANSION * place.state.size) if self._is_open(place) else stop - start
        cost = size + place.source.texts_bytes
        job = ScanJob(folder=str(self._catalog.folder), run=self.info, source=place.source, part=part, cost=cost)
        future = self._executor.submit(job)
        if future.done():
            self._take(place, part, future.result())
        else:
            self._running[future] = place, part

    def _land(self) -> None:
        """Wait for a scan in another process, and take all that are done."""
        parts = []
        for future in futures.wait(self._running, WAIT_S, futures.FIRST_COMPLETED).done:
            place, part = self._running.pop(future)
            self._take(place, part, future.result())
            parts.append((place, part))
        if any(self._goes_further(place, part) for place, part in parts):
            self.restart()

    def _take(self, place: SourceState, part: int, reply: JobReply) -> None:
        key = (place.source.name, part)
        if reply.error:
            self.fail(key, reply.error)
        elif reply.meta is not None:
            for path in self._catalog.add(reply.meta):
                self._budget.count(fingerprint.size_of(path))
            self.launches.learn(reply.meta.source, reply.meta.blocks)
            self.note_scan(key, max(place.state.size, reply.meta.fingerprint.state.size))
        self._on_change()

    def _grow(self, place: SourceState, part: int) -> None:
        """Scan the records that were appended to a file, into memory."""
        key = (place.source.name, part)
        segment, tail = self._catalog.segment(key), self._catalog.tail(key)
        assert segment is not None
        start = tail.piece.stop if tail else segment.meta.stop
        _, stop = span_of(self._splittable, place.source.path, part, place.state.size)
        # before the scan, so that the fingerprint does not match a file that is rewritten meanwhile
        print_ = fingerprint.take_of(place.source.location, place.state)
        addition = scan(self.info, place.source, start, stop, self._ended)
        self.note_scan(key, place.state.size)
        if addition.records or addition.problems or any(p.transient for p in (tail or segment.meta).problems):
            self._catalog.grow(key, addition, print_)
            self.launches.learn(key[0], addition.blocks)

    def fail(self, key: PartKey, reason: str) -> None:
        """Note why a part could not be scanned or, with an empty name, why the work on the run stopped."""
        name, part = key
        self.failed_s = self._clock.now_s()
        self.failures[key] = Problem(source=name or self.info.name, reason=f"part {part}: {reason}")
        self._catalog.touch()

    # What is due

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

    def _lacking_texts(self, leave_out: Callable[[PartKey], bool]) -> Iterator[tuple[SourceState, int]]:
        """Yield the parts with known numbers whose texts may now be in a different file, newest step first.

        While the source or that file grows, its parts wait: otherwise every poll would scan them again.
        """
        places = []
        for place in self._sources.all().values():
            first = self._catalog.segment((place.source.name, 0))
            if place.source.texts_from or (first is not None and first.meta.texts_from):
                places.append(place)
        for place in newest_first(places):
            for part in self._parts(place) if self._sources.is_quiet(place) else ():
                key = (place.source.name, part)
                segment = self._catalog.segment(key)
                if segment is not None and has_other_texts(place.source, segment.meta) and not leave_out(key):
                    yield place, part

    def note_scan(self, key: PartKey, size_bytes: int) -> None:
        """Note the size of a file at the scan of a part."""
        self._seen[key] = size_bytes
        self._done.pop(key[0], None)

    def look_again(self, names: Collection[str]) -> None:
        """Look at sources again whose launches are known now."""
        for name in names:
            self._done.pop(name, None)

    def _settles(self, place: SourceState, part: int, segment: Segment, tail: Tail | None) -> bool:
        """Tell whether to scan a part as a whole: its file is quiet, its tail is long, or it is complete."""
        is_large = tail is not None and tail.piece.stop - segment.meta.stop > TAIL_BYTES
        if is_large or segment.meta.launches != place.source.launches or self._sources.is_quiet(place):
            return True
        if self._is_open(place):
            return reaches(place.source.location, part)
        return self._splittable and place.state.size >= grid_span(part)[1]

    def _goes_further(self, place: SourceState, part: int) -> bool:
        """Tell whether a compressed source's stream is known to reach the end of a part, or beyond."""
        segment = self._catalog.segment((place.source.name, part))
        return self._is_open(place) and segment is not None and segment.meta.stop >= grid_span(part)[1]

    def _parts(self, place: SourceState) -> Iterator[int]:
        """The parts of a source that hold data, the last first; the first first if its end is unknown."""
        is_open = self._is_open(place)
        length = self._sources.length(place) if is_open else place.state.size
        part = 0
        while length is None:
            yield part
            if not self._goes_further(place, part):
                return
            part += 1
        parts: Sequence[int] = range(parts_of(self._splittable, length))
        if len(parts) >= MANY_PARTS and not is_open:
            state, known = self._written.get(place.source.name, (None, parts))
            if state != place.state:
                known = parts_with_data(place.source.location, len(parts))
                self._written[place.source.name] = place.state, known
            parts = known
        yield from reversed(parts)

    def _is_due(self, place: SourceState, part: int) -> bool:
        key = (place.source.name, part)
        segment = self._catalog.segment(key)
        if segment is None or segment.meta.launches != place.source.launches:
            return True
        if segment.meta.complete:
            return False
        tail = self._catalog.tail(key)
        if tail is not None and self._settles(place, part, segment, tail):
            return True
        return place.state.size != self._seen.get(key, segment.meta.fingerprint.state.size)

    def _is_open(self, place: SourceState) -> bool:
        return has_open_grid(self._splittable, place.source.path)
