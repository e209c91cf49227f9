"""Brings the index of a run up to date, turn by turn, and keeps it so.

A turn polls the sources, scans new records (the newest first), and writes the kinds of segments that follow the
numbers. No two turns of a run overlap, and nothing else changes its catalog.
"""

import random
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from msgspec import Struct

from rolloupe.errors import words_of
from rolloupe.formats import by_name
from rolloupe.garbage import gc_paused
from rolloupe.index.backfill import Backfill
from rolloupe.index.catalog import Catalog
from rolloupe.index.compaction import Packs
from rolloupe.index.execution import InlineExecutor
from rolloupe.index.scans import IndexServices, Scans
from rolloupe.index.segments.kind import EndedEarly, Stage
from rolloupe.index.sources import POLL_S, PollTimes, RunFacts, Sources
from rolloupe.model import Problem, RunInfo, Source

if TYPE_CHECKING:
    from rolloupe.index.shared_index import Mirror

LOOK_S = 0.6
"""After the first part of a run, the next ones leave the interpreter to the first list and the first sample so long."""

RETRY_S = 30.0
"""The time until a part that could not be indexed, as on a full disk, is tried again."""

TURN_S = 1.0
"""After this time, a run that is being indexed gives way to others, if they wait for a thread."""


class IndexProgress(Struct, frozen=True):
    """How many bytes of the sources are indexed, how many there are in total, and the current phase."""

    done_bytes: int
    total_bytes: int
    phase: str


class RunIndexer:
    """The work on the index of one run. One thread at a time has a turn; any thread may ask what is known."""

    def __init__(
        self,
        info: RunInfo,
        folder: Path,
        services: IndexServices,
        scores: Callable[[], Sequence[Source]],
        on_change: Callable[[], None],
        mirror: "Mirror | None",
    ) -> None:
        self.info = info
        self.format = by_name(info.format)
        self._clock = services.clock
        self.catalog = Catalog(folder, self._clock)
        self.sources = Sources(info, self.format, scores, self._clock)
        self.facts = RunFacts(self.format, self.sources.rhythm, self._clock)
        self.times = PollTimes(self.sources, services.scheduler, self._clock)
        self.ready, self.settled, self.stopped = threading.Event(), threading.Event(), threading.Event()
        """Events: the numbers are indexed; everything is indexed; nobody wants the work any more."""
        self.follows = False
        """True if turns continue once everything is indexed."""
        self.progress = IndexProgress(0, 0, "scalars")
        self._scheduler, self.mirror, self._on_change = services.scheduler, mirror, on_change
        self._looked_at = services.looked_at
        self._waits_for_look = False
        self.scans = Scans(info, self.catalog, self.sources, services, self.stopped, self._tell)

        inline = partial(InlineExecutor, beyond=services.executor, ended=self.stopped)
        work, budget = services.own_work, services.budget
        self._backfills = tuple(
            Backfill(self.catalog, info, inline(work.backfilled_bytes), budget, stage, self._clock)
            for stage in get_args(Stage)
        )
        self._packs = Packs(self.catalog, inline(work.packed_segments), budget, self._clock)
        self._updated_s = self._turn_began_s = 0.0
        self._gave_way = threading.Event()
        """Set if this turn ends before everything is done, because new records or other runs wait."""
        self._is_idle = True
        """True if the last poll found nothing to do."""
        self._news = 0
        """Counts the polls that found something to do: a poll in the middle of a turn may leave it to the next turn."""
        self._rests_at = ""
        """The version at which the last turn left nothing to do; empty if it left something."""
        self._had_lost = False
        self.requests: deque[Callable[[], None]] = deque()
        """Work from other threads that the next poll does first."""

    def turn(self) -> float | None:
        """Bring the index up to date while no others wait. Returns the seconds until the next turn; None at the end."""
        self._gave_way.clear()
        self._waits_for_look = False
        if not self.sources.has_looked:
            self._guarded(self._read)
        self._guarded(self.poll)
        if self.is_at_rest():
            return self.times.rest_s
        version, news, was_quiet = self.catalog.version, self._news, self.sources.are_quiet
        self._turn_began_s = self._clock.now_s()
        self._guarded(self.scan_new)
        self._guarded(self._find_launches)
        if self._gave_way.is_set():
            return 0.0
        if not self.scans.own.is_shard:
            self._guarded(lambda: self._packs.take_up(self.sources.changed_at))
        self.ready.set()
        if not (self.follows or self._looked_at.is_set() or self.mirror):
            return inf  # until somebody waits for more
        write_derived = partial(self._packs.write_derived, self._goes_on)
        for work in (self._fetch_rest, self._write_packs, self._write_behind, write_derived):
            if not (self.stopped.is_set() or self._gave_way.is_set()):
                self._guarded(work)
        if self._gave_way.is_set():
            return self.times.rest_s if self._waits_for_look else 0.0
        self._guarded(self.catalog.tidy)
        if self.follows:  # a viewer need not wait until the index is sent to the store
            self.settled.set()
        if (mirror := self.mirror) is not None:
            self._guarded(lambda: mirror.send(self.catalog.discarded, self._goes_on, now=not self.follows))
        if self._joins_others():
            return 0.0
        self.settled.set()
        is_done = was_quiet and news == self._news and self.mirror is None and not self.scans.own.is_shard
        self._rests_at = version if is_done else ""
        return self.times.rest_s if self.follows else None

    def repair(self) -> None:
        """Rebuild damaged segments if no later turn will do so."""
        self._guarded(self.poll)
        self._guarded(self.scan_new)

    # For readers

    def failures(self, *, texts: bool) -> list[Problem]:
        """The parts of files that could not be indexed; with `texts`, also those that lack texts or derived metrics."""
        behind = [failure for backfill in self._backfills for failure in backfill.failures()] if texts else []
        return [*self.scans.failures.values(), *behind]

    def trouble(self) -> list[Problem]:
        """Why object stores cannot be used at this moment; empty if they can."""
        reasons = self.facts.trouble, self.mirror.trouble if self.mirror else ""
        return [Problem(source=self.info.name, reason=reason, transient=True) for reason in reasons if reason]

    # Polls

    def poll(self) -> None:
        """Poll the sources, and drop segments and tails that no longer match them."""
        began_s = self._clock.now_s()
        try:
            with gc_paused():
                self._take_changes()
        finally:
            self.times.note_poll(began_s)

    def _take_changes(self) -> None:
        while self.requests:
            self.requests.popleft()()
        is_first = not self.sources.has_looked
        changed, lost = self.sources.look()
        if changed or lost:
            self.scans.own.update()
        retried = self._retry_failures(changed)
        self._is_idle = not (changed or lost or retried)
        self._news += not self._is_idle
        is_read_again = bool(changed) and self._had_lost
        if is_read_again:  # sources that were gone for a moment, as on a network folder, are still indexed
            self.catalog.read(self.info.format)
        self._had_lost = bool(lost) or (self._had_lost and not changed)
        has_news, has_other_ending = self.facts.look(self.info, is_idle=self._is_idle)
        if has_news or (changed and not self.format.has_samples):  # no segment shows such a change
            self.catalog.touch()
        if has_news or has_other_ending:
            self._on_change()
        if self._is_idle and not is_first:
            return
        self._drop_stale(None if is_first or is_read_again else changed | lost)
        for key in self.catalog.drop_tails(self.sources.all()):
            self.scans.note_scan(key, 0)
        self._update("scalars")
        self._on_change()

    # Requests

    def write_again(self, damaged: Collection[Path], lacking: Collection[Path]) -> None:
        """Scan the parts of damaged segments again, and write the kinds that others lack."""
        if lacking:
            self._news += 1
            self._rests_at = ""
        for backfill in self._backfills:
            backfill.forget(lacking, complete_only=True)
            backfill.forget(damaged)
        if damaged:
            self.catalog.drop([s for s in self.catalog.segments() if s.path in damaged], remove=True)

    def _drop_stale(self, names: set[str] | None = None) -> None:
        """Drop the segments of these sources, or of all, whose source is gone or no longer has the scanned bytes."""
        orphans, stale = self.catalog.find_stale(self.sources.all(), names)
        self.scans.launches.forget({segment.meta.source for segment in (*orphans, *stale)})
        if orphans:
            self.catalog.drop(orphans)
        while stale:  # an older segment may match the source again
            self.catalog.set_aside(stale)
            _, stale = self.catalog.find_stale(self.sources.all(), names)

    def _retry_failures(self, changed: Collection[str]) -> bool:
        """Forget the failures of parts whose source changed, or that are due for another try."""
        failures = self.scans.failures
        again = self._clock.now_s() - self.scans.failed_s > RETRY_S
        due = [key for key in failures if key[0] in changed or not key[0] or again]
        for key in due:
            del failures[key]
        if again and sum(backfill.retry() for backfill in self._backfills):
            self.scans.failed_s = self._clock.now_s()
            return True
        return bool(due)

    # Numbers

    def _read(self) -> None:
        """Take over the segments on disk and in the shared index."""
        if self.mirror is not None:
            self.mirror.fetch_numbers(self.catalog.discarded)
        with gc_paused():
            self.catalog.read(self.info.format)
        for segment in self.catalog.segments():
            self.scans.launches.learn(segment.meta.source, segment.meta.blocks)
        self.sources.mark(self.catalog.launches())

    def scan_new(self) -> None:
        """Scan records that no segment or tail covers yet."""
        worked = False
        self.scans.restart()
        while not self.stopped.is_set() and self.scans.advance():
            if not worked and self.follows:
                self._looked_at.wait(LOOK_S)
            worked = True
            if self.times.is_due:
                self.poll()
                if not self._is_idle:
                    self.scans.restart()
            if self._gives_way():
                break
        if worked:
            self._update("scalars")

    def _find_launches(self) -> None:
        """Find the sources that go back to an earlier step, and scan them once more to number their launches."""
        places = None if self._gave_way.is_set() else self.scans.launches.find(self.catalog.blocks)
        marked = self.sources.mark(places) if places is not None else ()
        if marked:
            self.scans.look_again(marked)
            self.scan_new()

    # The kinds that follow the numbers

    def _fetch_rest(self) -> None:
        """Fetch the later kinds that others have written, until new records wait."""
        if self.mirror is not None:
            self.mirror.fetch_rest(self.catalog.segments(), self._goes_on)

    def _write_packs(self) -> None:
        """Write missing packs, until new records wait."""
        if self._packs.pending():
            self._update("text")
            self._on_change()
        self._packs.write(self._goes_on)

    def _write_behind(self) -> None:
        """Write the missing later kinds, pass after pass, until new records wait."""
        if all(self._write_missing(backfill) for backfill in self._backfills) and self.progress.phase != "ready":
            self._update("ready")
            self._on_change()

    def _write_missing(self, backfill: Backfill) -> bool:
        own = self.scans.own
        if not self._knows_enough(backfill.stage):
            return True
        pending = backfill.pending(self.catalog.snapshot().segments, self.stopped.is_set)
        due = [segment for segment in pending if own.has(segment.meta.source, segment.meta.part)]
        if own.has_joined:
            random.shuffle(due)  # other shards write these, too: a random order rarely begins with the same one
        self._waits_for_look = bool(due) and not self._looked_at.is_set()
        if self._waits_for_look:
            self._gave_way.set()
            return False
        if due:
            self._update("text")
            self._on_change()
        sources = {name: place.source for name, place in self.sources.all().items()}
        before = backfill.failures()
        backfill.write(due, sources, self._goes_on)
        if backfill.failures() != before:
            self.scans.failed_s = self._clock.now_s()
            self.catalog.touch()
        return not (self.stopped.is_set() or self._gave_way.is_set())

    # Shards

    def _knows_enough(self, stage: Stage) -> bool:
        """Tell whether a shard may write this pass: tokens need all annotations of the run, features its whole size."""
        if not self.scans.own.is_shard or stage == "texts":
            return True
        if stage == "features":
            return False
        if not any(place.source.annotates for place in self.sources.all().values()):
            return True
        self._read_others()
        pending = self.scans.pending(self.scans.failures.__contains__)
        return not any(place.source.annotates for place, _ in pending)

    def _read_others(self) -> None:
        """Take over what other shards have written since."""
        self._read()
        self._drop_stale()

    def _joins_others(self) -> bool:
        """Own all parts of the run once each has its numbers: a shard that is done helps with the rest."""
        if not self.scans.own.is_shard or self.stopped.is_set():
            return False
        self._guarded(self._read_others)
        if any(True for _ in self.scans.pending(lambda _: False)):
            return False
        self.scans.own.join_others()
        return True

    # The course of a turn

    def is_at_rest(self) -> bool:
        """True if the last whole turn left nothing to do, and nothing has changed since.

        A look at all files leads to a whole turn: work that becomes due with time, such as packs, is done then.
        """
        return self._is_idle and not self.sources.looked_at_all and self._rests_at == self.catalog.version

    def _gives_way(self) -> bool:
        """True once this turn has lasted, and another run waits for a thread; this run then gets one more turn."""
        if self._clock.now_s() - self._turn_began_s > TURN_S and self._scheduler.others_wait:
            self._gave_way.set()
        return self._gave_way.is_set()

    def _goes_on(self) -> bool:
        """True while no new records wait: when following a run, new samples come before old texts."""
        if self.follows and self.times.is_due:
            self.poll()
            if not self._is_idle:
                self._gave_way.set()
        return not (self.stopped.is_set() or self._gives_way())

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do some work and report its defects: if the thread ended, people would wait for the run for ever."""
        try:
            work()
        except EndedEarly:
            pass
        except (Exception, SystemExit) as error:
            self.scans.fail(("", 0), f"indexing stopped short: {words_of(error)}")

    def _tell(self) -> None:
        """Report that a scan is done."""
        if self._clock.now_s() - self._updated_s > POLL_S or not self.progress.done_bytes:
            self._update("scalars")
        self._on_change()

    def _update(self, phase: str) -> None:
        self._updated_s = self._clock.now_s()
        total = self.scans.own.size_bytes()
        done = min(total, self.catalog.indexed_bytes(self.scans.own.has)) if phase == "scalars" else total
        self.progress = IndexProgress(done, total, phase)
