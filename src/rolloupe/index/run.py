"""An open run: brings its index up to date in the background and, on request, keeps it so.

Each run has its turns on a few threads: it polls the sources, scans new records (the newest first) and follows growth.
No two turns of a run overlap, and nothing else changes its catalog.
"""

import contextlib
import math
import os
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from rolloupe.errors import words_of
from rolloupe.formats import by_name
from rolloupe.formats.base import Format
from rolloupe.garbage import uncollected
from rolloupe.index import fingerprint
from rolloupe.index.backfill import Backfill
from rolloupe.index.catalog import Catalog, PartKey
from rolloupe.index.compaction import Packs
from rolloupe.index.execution import SMALL_RUNS, Executor, InlineExecutor, JobReply, OwnWork, ScanJob, most_submitted
from rolloupe.index.schedule import Schedule
from rolloupe.index.segments.derived_values import derived_of
from rolloupe.index.segments.files import discard, is_readable
from rolloupe.index.segments.kind import EndedEarly, Stage
from rolloupe.index.segments.launches import LaunchPlaces, StepBlock, launches_of, older_steps, places_of
from rolloupe.index.segments.segment import has_columns, scan
from rolloupe.index.segments.text_budget import Budget
from rolloupe.index.shards import OwnParts, RunShard
from rolloupe.index.snapshot import Snapshot
from rolloupe.index.sources import Sources, SourceState
from rolloupe.index.turns import Ticket, Turns
from rolloupe.model import Problem, RunFile, RunInfo, Source
from rolloupe.storage import trouble_at

if TYPE_CHECKING:
    from rolloupe.index.store.mirror import Mirror

POLL_S = 0.25
"""A line that a trainer appends must show within a second; polling works on network file systems, inotify does not."""

POLL_SHARE = 4
"""After a poll that takes t, the next waits for at least this many t: huge directories are polled less often."""

RETRY_S = 30.0
"""The time until a part that could not be indexed, as on a full disk, is tried again."""

MAX_REST_S = 10.0
"""The longest rest between two polls."""

OLD_S = 3600.0
WATCHED_S = 60.0
OLD_REST_S = 5.0
"""A run that was not written to for an hour, nor for a minute since it was opened, is polled this often: a viewer over
many old runs would otherwise be busy with them alone."""

ENDING_S = 2.0
"""The interval at which a run's own marker of its end is read."""

TIMES_S = 60.0
"""The shortest interval at which a run's own times of its steps are read."""

TURN_S = 1.0
"""After this time, a run that is being indexed gives way to others, if they wait for a thread."""

LOOK_S = 0.5
"""While much is being indexed, the sources are polled again this often, so that new samples come first."""


def no_scores(_run: "OpenRun") -> Sequence[Source]:
    """Nobody scored the run."""
    return ()


class IndexProgress(NamedTuple):
    """How many bytes of the sources are indexed, how many there are in total, and the current phase."""

    done_bytes: int
    total_bytes: int
    phase: str


class OpenRun:
    """One run of a library."""

    def __init__(
        self,
        run_id: str,
        info: RunInfo,
        folder: Path,
        executor: Executor,
        budget: Budget,
        on_change: Callable[["OpenRun"], None],
        turns: Turns,
        own_work: OwnWork = SMALL_RUNS,
        scores: Callable[["OpenRun"], Sequence[Source]] = no_scores,
        shard: RunShard | None = None,
        mirror: "Mirror | None" = None,
    ) -> None:
        self.id = run_id
        self.info = info
        self.format: Format = by_name(info.format)
        self.catalog = Catalog(folder)
        self._on_change = on_change
        self._sources = Sources(info, self.format, lambda: scores(self))
        self._schedule = Schedule(self.catalog, self._sources, splittable=self.format.splittable)
        self._failures: dict[PartKey, Problem] = {}
        self._progress = IndexProgress(0, 0, "scalars")
        self._ready = threading.Event()
        self._settled = threading.Event()
        self._stop = threading.Event()
        self._turns = turns
        self._ticket: Ticket | None = None
        self._turn_began_s = 0.0
        self._cut = threading.Event()
        """Set if this turn ends before all is done, because other runs wait."""
        self._started_s = math.inf
        self._asked_s = -math.inf
        self._executor = InlineExecutor(own_work.scanned_bytes, executor, self._stop)
        self._budget = budget
        self._backfills = tuple(
            Backfill(self.catalog, info, InlineExecutor(own_work.backfilled_bytes, executor, self._stop), budget, stage)
            for stage in get_args(Stage)
        )
        self._packs = Packs(self.catalog, InlineExecutor(own_work.packed_segments, executor, self._stop), budget)
        self._own = OwnParts(shard, info, self._sources, splittable=self.format.splittable)
        self._mirror = mirror
        self._flying: dict[futures.Future[JobReply], tuple[SourceState, PartKey]] = {}
        self._idle = True
        self._rests_at = ""
        """The version at which the last turn left nothing to do; empty if it did not."""
        self._launches: dict[str, LaunchPlaces] = {}
        """Where launches seem to begin, by source; empty if none does."""
        self._last_steps: dict[tuple[str, str], int] = {}
        """The last step of each source in each split."""
        self._goes_back: set[str] = set()
        """The sources of which new rows go back to earlier steps."""
        self._news = 0
        """Counts what looks have found to do: one in the middle of a turn may be too late for that turn."""
        self._follows = False
        self._rebuild = threading.Event()
        self._damaged: list[Path] = []
        self._lacking: list[Path] = []
        self._mending = threading.Lock()
        self._starting = threading.Lock()
        self._updated_s = 0.0
        self._looked_s = 0.0
        self._look_took_s = 0.0
        self._failed_s = 0.0
        self._had_lost = False
        self._seen_trouble = ""
        """What an object store does not do at this moment."""
        self.step_states: dict[tuple[str, int], str] = {}
        """The states of unfinished steps by split and step, as the files gave them at the last poll."""
        self.ending = ""
        """The text of the run's own marker of its end: see `Format.ending`."""
        self._ending_s = -ENDING_S
        self._times_s = -TIMES_S

    # For readers

    @property
    def version(self) -> str:
        """A string that changes whenever the answer to some query may change."""
        return self.catalog.version

    def snapshot(self) -> Snapshot:
        """The current index."""
        return self.catalog.snapshot()

    def progress(self) -> IndexProgress:
        """The progress of the index; its phase is `scalars`, `text` or `ready`."""
        return self._progress

    def problems(self) -> list[Problem]:
        """The records that could not be read, and the parts that could not be scanned."""
        return [*self.failures(texts=True), *self._trouble(), *self.snapshot().problems]

    def problem_count(self) -> int:
        """The number of problems, including those that segments count but do not list."""
        return len(self.failures(texts=True)) + len(self._trouble()) + self.snapshot().problem_count

    def failures(self, *, texts: bool = False) -> list[Problem]:
        """The parts of files that could not be indexed: answers lack their samples.

        `texts` adds the parts whose texts or derived metrics could not be written: searches are slower without texts.
        """
        return [*self._failures.values(), *(self._backfill_failures() if texts else ())]

    def _trouble(self) -> list[Problem]:
        reasons = self._seen_trouble, self._mirror.trouble if self._mirror else ""
        return [Problem(source=self.info.name, reason=reason, transient=True) for reason in reasons if reason]

    @property
    def unsent(self) -> str:
        """Why the store that the index is shared in lacks what was indexed here; empty if all is there."""
        return self._mirror.unsent if self._mirror else ""

    def _backfill_failures(self) -> list[Problem]:
        return [failure for one in self._backfills for failure in one.failures()]

    def source(self, name: str) -> Source | None:
        """The source with this name."""
        return self._sources.get(name)

    def sample_files(self) -> list[RunFile]:
        """The files that hold samples, in their current state."""
        return self._sources.files()

    def launch_doubts(self) -> list[str]:
        """What looks as if the run was resumed over its own files, but only a person can tell: a sentence each."""
        launches, doubts = {**self._launches}, []
        known = places_of(launches, {**self._last_steps})
        for name, found in sorted(launches.items()):
            places = {**found.doubtful, **found.certain}
            left = sorted(places.keys() - {*known.get(name, ())})
            if left:
                split, step = places[left[0]]
                more = f", and so at {len(left) - 1:,} places behind" if len(left) > 1 else ""
                doubts.append(
                    f"{name} goes back to step {step} of {split} at {left[0]} and writes steps again{more}: if a "
                    "launch began there, all that its predecessor wrote counts, too. Next: move that out of the run"
                )
        times: dict[str, dict[int, float]] = {}
        for source, state in self._sources.all().values():
            if source.step is not None and not (source.annotates or source.stream):
                steps = times.setdefault(source.split or os.path.dirname(source.name), {})
                steps[source.step] = max(steps.get(source.step, 0.0), state.mtime_ns / 1e9)
        for of, steps in sorted(times.items()):
            if left := older_steps(steps):
                doubts.append(
                    f"the files of {of or 'the run'} from step {left[0]} to {left[-1]} are older than those before "
                    "that step: if the run was resumed, an earlier launch left them. Next: move them out of the run"
                )
        return doubts

    def changed_s(self) -> float | None:
        """Seconds since a source last changed."""
        return self._sources.changed_s()

    def quiet_s(self) -> float:
        """After this many quiet seconds the run counts as ended, judging by its rhythm so far."""
        return self._sources.rhythm.quiet_s

    @property
    def is_shard(self) -> bool:
        """True while only a shard of the run is indexed: of other shards this process knows nothing."""
        return self._own.is_shard

    @property
    def has_grown(self) -> bool:
        """True once a source has changed since the run was opened."""
        return self._sources.has_grown

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the scalars of all records present at the start are indexed."""
        return self._ready.wait(timeout_s)

    def wait_all(self, timeout_s: float | None = None) -> bool:
        """Wait until the texts are indexed as well."""
        return self._settled.wait(timeout_s)

    # The work

    def start(self, *, follow: bool) -> None:
        """Begin to index, unless it has begun; with `follow`, keep following the run."""
        with self._starting:
            if self._ticket is None and not self._stop.is_set():
                self._follows = follow
                self._started_s = time.monotonic()
                self._ticket = self._turns.add(self._turn)

    def stop(self) -> None:
        """Ask the work to end soon."""
        self._stop.set()
        if self._ticket is not None:
            self._ticket.end()

    def close(self) -> None:
        """Stop the work, and wait for its end; written files stay."""
        self.stop()
        if self._ticket is not None:
            self._ticket.over.wait(10)
        self._ready.set()
        self._settled.set()

    def asked(self) -> None:
        """Note that somebody waits for this run: for a while, it is polled as often as if it were the only one.

        Before its first turn, it gets that before the others; one that was not started yet is followed from now on.
        """
        if self._ticket is None:
            self.start(follow=True)
        self._asked_s = time.monotonic()
        if self._turns.crowd_s > POLL_S or not self._ready.is_set():
            self._call()

    def _call(self) -> None:
        if self._ticket is not None:
            self._ticket.call()

    def rebuild(self) -> None:
        """Drop the index of this run and build it again."""
        self._rebuild.set()
        self._call()

    def heal(self, paths: Iterable[Path]) -> bool:
        """Check segments that a query could not read, and rebuild those that are missing or damaged.

        Returns whether there were any.
        """
        paths = list(paths)
        damaged = [path for path in paths if not (is_readable(path) and has_columns(path))]
        for path in damaged:
            discard(path)
        underived = self.catalog.underive([path for path in paths if not is_readable(derived_of(path))])
        self._lacking += underived
        self._damaged += damaged
        self._call()
        if damaged and self._ticket is not None and self._ticket.over.is_set() and not self._stop.is_set():
            with self._mending:  # no thread follows the run, so this one repairs it
                self._guarded(self._look)
                self._guarded(self._index_new)
        return bool(damaged or underived)

    def lacks_texts(self, path: Path) -> None:
        """Note a segment whose texts cannot be read: if it had some, they are written again."""
        self._lacking.append(path)
        self._call()

    def _turn(self) -> float | None:
        """Bring the index up to date, or a part of the way while other runs wait; returns the rest until the next."""
        if not self._sources.has_looked:
            self._guarded(self._read)
        self._cut.clear()
        self._guarded(self._look)
        if self._is_at_rest():
            return self._rest_s(self._poll_s())
        version, news, was_quiet = self.version, self._news, self._sources.are_quiet
        self._turn_began_s = time.monotonic()
        self._guarded(self._index_new)
        self._guarded(self._find_launches)
        if self._cut.is_set():
            return 0.0
        if not self._own.is_shard:
            self._guarded(lambda: self._packs.take_up(self._sources.changed_at))
        self._ready.set()
        for work in (self._fetch_rest, self._write_packs, self._index_behind, self._write_derived_packs):
            if not (self._stop.is_set() or self._cut.is_set()):
                self._guarded(work)
        if self._cut.is_set():
            return 0.0
        self._guarded(self._tidy)
        if self._follows:  # whoever looks at the run need not wait until others have it
            self._settled.set()
        self._guarded(self._send)
        if self._joins_others():
            return 0.0
        self._settled.set()
        is_done = was_quiet and news == self._news and self._mirror is None and not self._own.is_shard
        self._rests_at = version if is_done else ""
        return self._rest_s(self._poll_s()) if self._follows else None

    def _is_at_rest(self) -> bool:
        """True if the last whole turn left nothing to do, and nothing has changed since.

        With every look at all files there is a whole turn: what changes with time alone, as packs, is due then.
        """
        return self._idle and not self._sources.looked_at_all and self._rests_at == self.version

    def _poll_s(self) -> float:
        """The least time between two polls: longer for a run that is one of many, if nobody waits for its samples."""
        if self._is_old():
            return max(OLD_REST_S, self._turns.old_crowd_s)
        is_asked = time.monotonic() - self._asked_s < WATCHED_S
        is_growing = self._sources.has_grown and (self._sources.changed_s() or 0.0) < WATCHED_S
        return POLL_S if is_asked or is_growing else max(POLL_S, self._turns.crowd_s)

    def _gives_way(self) -> bool:
        """True once this turn has lasted, and another run waits for a thread; this one then has a further turn."""
        if time.monotonic() - self._turn_began_s > TURN_S and self._turns.others_wait:
            self._cut.set()
        return self._cut.is_set()

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do some work and report a defect in it: the thread must outlive it, or whoever waits would wait for ever."""
        try:
            work()
        except EndedEarly:
            pass
        except (Exception, SystemExit) as error:
            self._fail(("", 0), f"indexing stopped short: {words_of(error)}")

    def _rest_s(self, least_s: float) -> float:
        """The time between two polls."""
        return max(least_s, min(POLL_SHARE * self._look_took_s, MAX_REST_S))

    def _is_old(self) -> bool:
        """True for a run that nobody seems to write to."""
        is_watched = time.monotonic() - self._started_s > WATCHED_S
        return is_watched and (self._sources.changed_s() or 0.0) > OLD_S

    def _is_due(self) -> bool:
        """True once there may be new samples to look for, while much is being indexed."""
        return time.monotonic() - self._looked_s > self._rest_s(LOOK_S)

    def _look(self) -> None:
        """Poll the sources, and drop segments and tails that no longer match them."""
        began = time.monotonic()
        try:
            with uncollected():
                self._take_changes()
        finally:
            self._looked_s = time.monotonic()
            if not (self._sources.looks_at_some and self._sources.looked_at_all):  # which is rare then
                self._look_took_s = self._looked_s - began

    def _take_changes(self) -> None:
        if self._rebuild.is_set():
            self._rebuild.clear()
            self.catalog.drop(self.catalog.parts(), remove=True)
            for backfill in self._backfills:
                backfill.forget_all()
            self._packs.forget()
            self._failures.clear()
        self._drop_damaged()
        is_first = not self._sources.has_looked
        changed, lost = self._sources.look()
        if changed or lost:
            self._own.update()
        retried = self._take_back_failures(changed)
        self._idle = not (changed or lost or retried)
        self._news += not self._idle
        if changed and not self.format.has_samples:  # no segment will tell
            self.catalog.touch()
        is_read_again = bool(changed) and self._had_lost
        if is_read_again:  # sources that were gone for a moment, as on a network folder, are still indexed
            self.catalog.read(self.info.format)
        self._had_lost = bool(lost) or (self._had_lost and not changed)
        self._look_at_trouble()
        self._look_at_states()
        self._look_at_ending()
        self._look_at_times()
        if self._idle and not is_first:
            return
        self._drop_stale(None if is_first or is_read_again else changed | lost)
        for key in self.catalog.drop_tails(self._sources.all()):
            self._schedule.scanned(key, 0)
        self._update("scalars")
        self._on_change(self)

    def _drop_stale(self, names: set[str] | None = None) -> None:
        """Drop the segments whose source is gone, or no longer has the scanned bytes; of these sources, or of all."""
        orphans, stale = self.catalog.stale(self._sources.all(), names)
        self._forget_launches({name for name, _ in (*orphans, *stale)})
        if orphans:
            self.catalog.drop(orphans)
        while stale:  # an older one may be of the source as it is now
            self.catalog.set_aside(stale)
            _, stale = self.catalog.stale(self._sources.all(), names)

    def _take_back_failures(self, changed: Collection[str]) -> bool:
        """Forget the failures of parts to try again: their source changed, or enough time has passed."""
        again = time.monotonic() - self._failed_s > RETRY_S
        due = [key for key in self._failures if key[0] in changed or not key[0] or again]
        for key in due:
            del self._failures[key]
        if again and sum(backfill.retry() for backfill in self._backfills):
            self._failed_s = time.monotonic()
            return True
        return bool(due)

    def _look_at_states(self) -> None:
        states = self.format.step_states(self.info)
        if states != self.step_states:
            self.step_states = states
            self.catalog.touch()
            self._on_change(self)

    def _look_at_trouble(self) -> None:
        trouble = trouble_at(self.info.root)
        if trouble != self._seen_trouble:
            self._seen_trouble = trouble
            self.catalog.touch()
            self._on_change(self)

    def _look_at_ending(self) -> None:
        if time.monotonic() - self._ending_s < ENDING_S:
            return
        self._ending_s = time.monotonic()
        ending = self.format.ending(self.info)
        if ending != self.ending:
            self.ending = ending
            self._on_change(self)

    def _look_at_times(self) -> None:
        """Learn the run's rhythm from the times of its steps, if the run records them."""
        if time.monotonic() - self._times_s < TIMES_S:
            return
        if not self._idle or self._times_s < 0:
            self._times_s = time.monotonic()
            self._sources.rhythm.saw_writes(self.format.times_s(self.info))

    def _drop_damaged(self) -> None:
        lacking = {self._lacking.pop() for _ in range(len(self._lacking))}
        if lacking:
            self._news += 1
            self._rests_at = ""
        for backfill in self._backfills:
            backfill.lost(lacking)
        damaged = {self._damaged.pop() for _ in range(len(self._damaged))}
        if damaged:
            keys = [(s.meta.source, s.meta.part) for s in self.snapshot().segments if s.path in damaged]
            self.catalog.drop(keys, remove=True)
            for backfill in self._backfills:
                backfill.forget(damaged)

    def _index_new(self) -> None:
        """Scan records that no segment or tail covers yet, the newest first: a little here, the rest in the workers.

        Numbers come before texts from other files.
        """
        phases, worked, most = self._phases(), False, most_submitted(self._executor, self.info.root)
        pending = next(phases)
        while not self._stop.is_set():
            due = next(pending, None) if len(self._flying) < most else None
            if due is not None:
                self._begin(*due)
            elif self._flying:
                if any(self._schedule.goes_further(*part) for part in self._land(LOOK_S)):
                    phases = self._phases()
                    pending = next(phases)
            elif (following := next(phases, None)) is not None:
                pending = following
                continue
            else:
                break
            worked = True
            if self._is_due():
                self._look()
                if not self._idle:
                    phases = self._phases()
                    pending = next(phases)
            if self._gives_way():
                break
        if worked:
            self._update("scalars")

    def _find_launches(self) -> None:
        """Number the launches of sources that were written on from an earlier step: they are scanned again, once."""
        names, self._goes_back = self._goes_back, set()
        if not names or self._cut.is_set():
            self._goes_back |= names
            return
        for name in names:
            blocks = self.catalog.blocks(name)
            if blocks is not None:
                self._launches[name] = launches_of(blocks)
        marked = self._sources.mark(places_of(self._launches, self._last_steps))
        if marked:
            self._schedule.again(marked)
            self._index_new()

    def _forget_launches(self, names: Collection[str]) -> None:
        """Forget what is known of sources that are gone, or no longer what they were."""
        if names:
            self._last_steps = {key: last for key, last in self._last_steps.items() if key[0] not in names}
            self._launches = {name: found for name, found in self._launches.items() if name not in names}
            self._goes_back |= {*names}

    def _note_blocks(self, name: str, blocks: Sequence[StepBlock]) -> None:
        """Note whether a source goes back to earlier steps."""
        for block in blocks:
            key = name, block.split
            last = self._last_steps.get(key, block.step)
            if block.step < last:
                self._goes_back.add(name)
            self._last_steps[key] = max(last, block.step)

    def _begin(self, place: SourceState, part: int) -> None:
        key = (place.source.name, part)
        segment = self.catalog.segment(key)
        if segment is not None and not self._schedule.settles(place, part, segment, self.catalog.tail(key)):
            self._grow(place, part)
            self._tell()
            return
        place = self._schedule.as_due(place, part)
        cost = self._schedule.cost(place, part)
        job = ScanJob(folder=str(self.catalog.folder), run=self.info, source=place.source, part=part, cost=cost)
        future = self._executor.submit(job)
        if future.done():
            self._built(place, key, future.result())
        else:
            self._flying[future] = place, key

    def _land(self, timeout_s: float) -> list[tuple[SourceState, int]]:
        """Wait for a reply from a worker, and take all that have arrived. Returns their parts."""
        landed = futures.wait(self._flying, timeout_s, futures.FIRST_COMPLETED).done
        parts = []
        for future in landed:
            place, key = self._flying.pop(future)
            self._built(place, key, future.result())
            parts.append((place, key[1]))
        return parts

    def _built(self, place: SourceState, key: PartKey, reply: JobReply) -> None:
        if reply.error:
            self._fail(key, reply.error)
        elif reply.meta is not None:
            for path in self.catalog.add(reply.meta):
                self._budget.wrote(path)
            self._note_blocks(reply.meta.source, reply.meta.blocks)
            self._schedule.scanned(key, max(place.state.size, reply.meta.fingerprint.state.size))
        self._tell()

    def _tell(self) -> None:
        if time.monotonic() - self._updated_s > POLL_S or not self._progress.done_bytes:
            self._update("scalars")
        self._on_change(self)

    def _phases(self) -> Iterator[Iterator[tuple[SourceState, int]]]:
        """The parts to scan, phase by phase; each phase lists its parts as they are taken."""
        for phase in (self._schedule.pending, self._schedule.lacking_texts):
            yield phase(lambda key: key in self._failures or self._is_flying(key) or not self._own.has(*key))

    def _is_flying(self, key: PartKey) -> bool:
        return any(key == flying for _, flying in self._flying.values())

    def _grow(self, place: SourceState, part: int) -> None:
        key = (place.source.name, part)
        segment, tail = self.catalog.segment(key), self.catalog.tail(key)
        assert segment is not None
        start = tail.stop if tail else segment.meta.stop
        stop = self._schedule.span(place, part)[1]
        # before the scan, so that the fingerprint does not match a file that is rewritten meanwhile
        print_ = fingerprint.take_of(place.source.location, place.state)
        addition = scan(self.info, place.source, start, stop, self._stop)
        self._schedule.scanned(key, place.state.size)
        if addition.named or addition.problems or any(p.transient for p in (tail or segment.meta).problems):
            self.catalog.grow(key, addition, print_)
            self._note_blocks(key[0], addition.blocks)

    def _fail(self, key: PartKey, reason: str) -> None:
        name, part = key
        self._failed_s = time.monotonic()
        self._failures[key] = Problem(source=name or self.info.name, reason=f"part {part}: {reason}")
        self.catalog.touch()

    def _write_derived_packs(self) -> None:
        self._packs.write_derived(self._goes_on)

    def _write_packs(self) -> None:
        """Write missing packs, until new records wait."""
        if self._packs.pending():
            self._update("text")
            self._on_change(self)
        self._packs.write(self._goes_on)

    def _index_behind(self) -> None:
        """Write what is missing behind the numbers, pass after pass, until new records wait."""
        if all(self._write_missing(backfill) for backfill in self._backfills) and self._progress.phase != "ready":
            self._update("ready")
            self._on_change(self)

    def _write_missing(self, backfill: Backfill) -> bool:
        if not self._knows_enough(backfill.stage):
            return True
        segments = self.snapshot().segments
        due = [one for one in backfill.pending(segments) if self._own.has(one.meta.source, one.meta.part)]
        if self._own.has_joined:
            random.shuffle(due)  # others write them as well: seldom the same one at the same time
        if due:
            self._update("text")
            self._on_change(self)
        sources = {name: place.source for name, place in self._sources.all().items()}
        before = backfill.failures()
        whole = backfill.write(due, segments, sources, self._goes_on)
        if backfill.failures() != before:
            self._failed_s = time.monotonic()
            self.catalog.touch()
        return whole

    def _tidy(self) -> None:
        """Leave the index in order for those who open it next."""
        with contextlib.suppress(OSError):  # whoever may write does
            self.catalog.publish()
            self.catalog.tidy()

    def _send(self) -> None:
        """Send what is new to the store that the index is shared in."""
        if self._mirror is not None:
            self._mirror.send(self.catalog.discarded, self._goes_on, now=not self._follows)

    def _read(self) -> None:
        """Take over the segments that are there, and in the store that the index is shared in."""
        if self._mirror is not None:
            self._mirror.fetch_numbers(self.catalog.discarded)
        with uncollected():
            self.catalog.read(self.info.format)
        for segment in self.catalog.segments():
            self._note_blocks(segment.meta.source, segment.meta.blocks)
        self._sources.mark(self.catalog.launches())

    def _fetch_rest(self) -> None:
        """Fetch what others have written behind the numbers; if new records wait, they come first."""
        if self._mirror is not None and not self._mirror.fetch_rest(self.catalog.segments(), self._goes_on):
            self._cut.set()

    # Shards

    def _knows_enough(self, stage: Stage) -> bool:
        """Tell whether a shard may write a kind of this pass.

        Tokens depend on all annotations of the run, and features on the size of the whole run.
        """
        if not self._own.is_shard or stage == "texts":
            return True
        if stage == "features":
            return False
        if not any(place.source.annotates for place in self._sources.all().values()):
            return True
        self._read_others()
        return not any(place.source.annotates for place, _ in self._schedule.pending(self._failures.__contains__))

    def _read_others(self) -> None:
        """Take over what other shards have written since."""
        self._read()
        self._drop_stale()

    def _joins_others(self) -> bool:
        """Index the whole run once every part of it has its numbers: a shard that is done helps with the rest."""
        if not self._own.is_shard or self._stop.is_set():
            return False
        self._guarded(self._read_others)
        if next(self._schedule.pending(lambda _: False), None) is not None:
            return False
        self._own.join_others()
        return True

    def _goes_on(self) -> bool:
        """True while no new records wait: when following a run, new samples come before old texts."""
        if self._follows and self._is_due():
            self._look()
            if not self._idle:
                return False
        return not (self._stop.is_set() or self._gives_way())

    def _update(self, phase: str) -> None:
        self._updated_s = time.monotonic()
        total = self._own.size_bytes()
        done = min(total, self.catalog.indexed_bytes(self._own.has)) if phase == "scalars" else total
        self._progress = IndexProgress(done, total, phase)
