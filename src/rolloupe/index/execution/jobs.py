"""The jobs on segments, as records that can travel to another process or machine, and the executors that run them."""

import os
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from rolloupe.derive import PREFIX
from rolloupe.errors import SourceChanged, words_of
from rolloupe.formats.registry import by_name
from rolloupe.garbage import gc_paused
from rolloupe.index.segments import pack, segment
from rolloupe.index.segments.kind import (
    NEVER,
    BackfillJob,
    DerivedMeta,
    EndedEarly,
    SegmentMeta,
)
from rolloupe.index.segments.kinds import KINDS
from rolloupe.index.segments.pack import PackMember
from rolloupe.index.segments.parts import grid_span
from rolloupe.model import RunInfo, Source
from rolloupe.storage import fetch_soon, is_remote


class ScanJob(Struct, kw_only=True, tag=True):
    """Scan a part of a source, and write its numbers. `cost` is the approximate number of bytes to read."""

    folder: str
    run: RunInfo
    source: Source
    part: int
    cost: int = 0


class PackJob(Struct, kw_only=True, tag=True):
    """Write a pack."""

    path: str
    members: list[PackMember]
    is_derived: bool = False
    """True for the pack of its members' derived metrics."""

    @property
    def cost(self) -> int:
        """A millisecond for each member."""
        return len(self.members)


Job: TypeAlias = ScanJob | BackfillJob | PackJob


class JobReply(Struct, kw_only=True):
    """The result of a job: the segment, or nothing if its file is gone; `error` if the job itself failed."""

    meta: SegmentMeta | None = None
    derived: DerivedMeta | None = None
    error: str = ""


def perform(job: Job, ended: threading.Event = NEVER) -> JobReply:
    """Perform a job in this process. Once the event is set, it ends soon, with an empty reply."""
    with gc_paused():
        return _performed(job, ended)


def announce(job: Job) -> None:
    """Begin to fetch what a job will read from a store: it is the next one of this process."""
    if isinstance(job, PackJob) or not by_name(job.run.format).splittable:
        return
    start, stop = grid_span(job.part) if isinstance(job, ScanJob) else (job.meta.start, job.meta.stop)
    fetch_soon(job.source.location, start - 1, stop)


def _performed(job: Job, ended: threading.Event) -> JobReply:
    try:
        if isinstance(job, PackJob):
            pack.write(Path(job.path), job.members, is_derived=job.is_derived)
            return JobReply()
        if isinstance(job, BackfillJob):
            return _backfilled(job, ended)
        return JobReply(meta=segment.build(Path(job.folder), job.run, job.source, job.part, ended))
    except EndedEarly:
        return JobReply()
    except OSError as error:
        return JobReply(error=_failure(job, error))
    except (Exception, SystemExit) as error:  # a defect in a format must cost one part, not the index
        return JobReply(error=words_of(error))


def _backfilled(job: BackfillJob, ended: threading.Event) -> JobReply:
    records = segment.source_of(job, ended)
    if records is None:
        return JobReply()
    path = segment.numbers_of(Path(job.folder), job.meta)
    try:
        written = [
            kind.backfilled.write(path, records)
            for kind in KINDS
            if kind.name in job.kinds and kind.backfilled is not None
        ]
    except SourceChanged:
        return JobReply()
    derived = next(filter(None, reversed(written)), None)
    failures = derived.failures if derived is not None else {}
    error = "; ".join(f"{PREFIX}{name}: {reason}" for name, reason in failures.items())
    return JobReply(meta=job.meta, derived=derived, error=error)


def _failure(job: Job, error: OSError) -> str:
    reason = os.strerror(error.errno) if error.errno else str(error)
    if not isinstance(job, PackJob) and error.filename == job.source.path:
        reason = error.strerror or reason
        step = "" if "Next:" in reason else ". Next: fix that"
        return f"the file could not be read: {reason}{step}"
    return f"the index could not be written: {reason}. Next: fix that, or name another --index-dir"


class Executor(Protocol):
    """Runs jobs in the order of their submission. A lost job runs again: jobs write the same files each time."""

    @property
    def count(self) -> int:
        """The number of jobs that run at the same time."""

    def submit(self, job: Job) -> "Future[JobReply]":
        """Submit a job. The reply never raises; it is empty if the executor is closed."""

    def close(self) -> None:
        """Give up running and waiting jobs."""


TAKEN_EARLY = 3
TAKEN_EARLY_BYTES = 24 * 2**20
"""How many jobs a process takes early that read from a store: their bytes are fetched while it performs another."""


def most_submitted(executor: Executor, root: str) -> int:
    """The number of jobs on the run at `root` to submit before one of them is done: no process has to wait for one."""
    return executor.count * (1 + TAKEN_EARLY) if is_remote(root) else 2 * executor.count


class OwnWork(NamedTuple):
    """How much of the work on a run this process does itself, so that small runs start no other."""

    scanned_bytes: int = 24 * 2**20
    """The first bytes are scanned here, as that shows the first sample soonest."""
    backfilled_bytes: int = 8 * 2**20
    packed_segments: int = 64
    """At a millisecond each."""


SMALL_RUNS = OwnWork()
LITTLE_WORK = OwnWork(2 * 2**20, 0, 0)
"""For a process that draws as well: work in it would delay each key and take memory."""
NO_WORK = OwnWork(0, 0, 0)
"""For a server of many runs and people: a little of each run is much, and everybody would wait for it."""


class InlineExecutor:
    """Runs jobs at once, up to a total cost of `allowance`, and hands the others to `beyond`.

    So small runs start no process, and the first sample appears before a process would have started. `ended` ends them.
    """

    def __init__(self, allowance: int, beyond: Executor, ended: threading.Event = NEVER) -> None:
        self._left = allowance
        self._beyond = beyond
        self._ended = ended

    @property
    def count(self) -> int:
        """The number of jobs that run at the same time."""
        return self._beyond.count

    def submit(self, job: Job) -> "Future[JobReply]":
        """Submit a job: see `Executor`."""
        if job.cost > self._left:
            return self._beyond.submit(job)
        self._left -= job.cost
        done = Future[JobReply]()
        done.set_result(perform(job, self._ended))
        return done

    def close(self) -> None:
        """Do nothing: every job is finished."""
