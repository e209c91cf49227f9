"""The jobs on segments, as records that can travel to another process or machine, and the code that performs them."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from rolloupe.derive import PREFIX
from rolloupe.errors import SourceChanged, words_of
from rolloupe.formats.registry import by_name
from rolloupe.garbage import uncollected
from rolloupe.index.features.shares import ScanShare
from rolloupe.index.segments import pack, segment
from rolloupe.index.segments.derived_values import DerivedMeta
from rolloupe.index.segments.grid import grid_span
from rolloupe.index.segments.kind import NEVER, EndedEarly, Noted
from rolloupe.index.segments.kinds import KINDS
from rolloupe.index.segments.pack import PackMember
from rolloupe.index.segments.segment import SegmentMeta
from rolloupe.model import RunInfo, RunLoss, Source
from rolloupe.storage import fetch_soon


class ScanJob(Struct, kw_only=True, tag=True):
    """Scan a part of a source, and write its numbers. `cost` is the approximate number of bytes to read."""

    folder: str
    run: RunInfo
    source: Source
    part: int
    cost: int = 0


class BackfillJob(Struct, kw_only=True, tag=True):
    """Write further kinds of a segment whose numbers exist."""

    folder: str
    run: RunInfo
    source: Source
    meta: SegmentMeta
    kinds: Sequence[str]
    noted: Noted = Noted()
    loss: RunLoss | None = None
    share: ScanShare = ScanShare()
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
    with uncollected():
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
    records = segment.records_of(job.run, job.source, job.meta, job.noted, job.loss, job.share, ended)
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
