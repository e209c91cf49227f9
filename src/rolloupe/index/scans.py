"""Scans the new records of a run, the newest first: a little in this process, the rest in others."""

import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import NamedTuple

from rolloupe.formats import by_name
from rolloupe.index import fingerprint
from rolloupe.index.catalog import Catalog, PartKey
from rolloupe.index.clock import CLOCK, Clock
from rolloupe.index.execution import (
    SMALL_RUNS,
    Executor,
    InlineExecutor,
    JobReply,
    OwnWork,
    ScanJob,
    most_submitted,
)
from rolloupe.index.run_scheduler import RunScheduler
from rolloupe.index.schedule import OwnParts, RunShard, Schedule
from rolloupe.index.segments.launches import RunLaunches
from rolloupe.index.segments.parts import scan
from rolloupe.index.segments.text_budget import Budget
from rolloupe.index.sources import Sources, SourceState
from rolloupe.model import Problem, RunInfo

WAIT_S = 0.5
"""The longest wait for a scan, before the sources may be polled again."""


class IndexServices(NamedTuple):
    """What the runs of a library share to be indexed."""

    executor: Executor
    budget: Budget
    scheduler: RunScheduler
    own_work: OwnWork = SMALL_RUNS
    shard: RunShard | None = None
    clock: Clock = CLOCK


class Scans:
    """The scans of one run, those that are due and those under way. Used by the thread that changes the catalog."""

    def __init__(
        self,
        info: RunInfo,
        catalog: Catalog,
        sources: Sources,
        services: IndexServices,
        ended: threading.Event,
        on_change: Callable[[], None],
    ) -> None:
        self.info = info
        splittable = by_name(info.format).splittable
        self.schedule = Schedule(catalog, sources, splittable=splittable)
        self.own = OwnParts(services.shard, info, sources, splittable=splittable)
        self.launches = RunLaunches()
        self.failures: dict[PartKey, Problem] = {}
        """Why parts could not be scanned."""
        self.failed_s = 0.0
        """When something last failed, by the clock."""
        self._clock = services.clock
        self._catalog, self._budget, self._ended, self._on_change = catalog, services.budget, ended, on_change
        self._executor = InlineExecutor(services.own_work.scanned_bytes, services.executor, ended)
        self._running: dict[futures.Future[JobReply], tuple[SourceState, int]] = {}
        self._phases: Iterator[Iterator[tuple[SourceState, int]]] = iter(())
        self._due: Iterator[tuple[SourceState, int]] = iter(())

    def restart(self) -> None:
        """Look again which parts are due, as sources have changed. Numbers come before texts from other files."""
        phases = (self.schedule.pending, self.schedule.lacking_texts)
        self._phases = (phase(self._is_left_out) for phase in phases)
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

    def _is_left_out(self, key: PartKey) -> bool:
        is_running = any(key == (place.source.name, part) for place, part in self._running.values())
        return is_running or key in self.failures or not self.own.has(*key)

    def _begin(self, place: SourceState, part: int) -> None:
        key = (place.source.name, part)
        segment = self._catalog.segment(key)
        if segment is not None and not self.schedule.settles(place, part, segment, self._catalog.tail(key)):
            self._grow(place, part)
            self._on_change()
            return
        place = self.schedule.as_due(place, part)
        cost = self.schedule.cost(place, part)
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
        if any(self.schedule.goes_further(place, part) for place, part in parts):
            self.restart()

    def _take(self, place: SourceState, part: int, reply: JobReply) -> None:
        key = (place.source.name, part)
        if reply.error:
            self.fail(key, reply.error)
        elif reply.meta is not None:
            for path in self._catalog.add(reply.meta):
                self._budget.wrote(path)
            self.launches.saw(reply.meta.source, reply.meta.blocks)
            self.schedule.scanned(key, max(place.state.size, reply.meta.fingerprint.state.size))
        self._on_change()

    def _grow(self, place: SourceState, part: int) -> None:
        """Scan what was appended to a file, into memory."""
        key = (place.source.name, part)
        segment, tail = self._catalog.segment(key), self._catalog.tail(key)
        assert segment is not None
        start = tail.stop if tail else segment.meta.stop
        stop = self.schedule.span(place, part)[1]
        # before the scan, so that the fingerprint does not match a file that is rewritten meanwhile
        print_ = fingerprint.take_of(place.source.location, place.state)
        addition = scan(self.info, place.source, start, stop, self._ended)
        self.schedule.scanned(key, place.state.size)
        if addition.named or addition.problems or any(p.transient for p in (tail or segment.meta).problems):
            self._catalog.grow(key, addition, print_)
            self.launches.saw(key[0], addition.blocks)

    def fail(self, key: PartKey, reason: str) -> None:
        """Note why a part could not be scanned; with an empty name, why work on the run stopped."""
        name, part = key
        self.failed_s = self._clock.now_s()
        self.failures[key] = Problem(source=name or self.info.name, reason=f"part {part}: {reason}")
        self._catalog.touch()
