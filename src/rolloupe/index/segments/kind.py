"""Kinds of segments, each a set of files for every part of a source, and the facts about segments in the catalog."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from rolloupe.derive import METRICS, DerivedMetric
from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name
from rolloupe.index.fingerprint import Fingerprint, state_of_source, still_holds
from rolloupe.index.segments.launches import StepBlock, number_launches
from rolloupe.index.segments.step_stats import MomentsByName, StepStats
from rolloupe.model import Problem, RunInfo, RunLoss, SampleColumns, SampleRow, Scanned, Source

Stage: TypeAlias = Literal["texts", "tokens", "features"]
"""The pass that writes a kind, in this order."""

T = TypeVar("T")

NEVER = threading.Event()
"""Never set: for work that nobody ends early."""


class EndedEarly(Exception):
    """Raised by work on a segment whose result nobody wants any more."""


def until(ended: threading.Event, items: Iterable[T]) -> Iterator[T]:
    """Yield the items until an event is set. Raises `EndedEarly` then."""
    for item in items:
        if ended.is_set():
            raise EndedEarly
        yield item


def cut_rows(
    rows: Iterable[SampleRow], chars_of: Callable[[SampleRow], int], most_chars: int, most_rows: int = sys.maxsize
) -> Iterator[list[SampleRow]]:
    """Yield the rows in lots, which end with the row that reaches `most_chars` or `most_rows`."""
    lot, chars = list[SampleRow](), 0
    for row in rows:
        lot.append(row)
        chars += chars_of(row)
        if chars >= most_chars or len(lot) >= most_rows:
            yield lot
            lot, chars = [], 0
    if lot:
        yield lot


def text_rows(items: Iterable[Scanned | SampleColumns]) -> Iterator[SampleRow]:
    """Yield the samples of a scan as rows, those that were read many at once without metrics and tags."""
    for item in items:
        if isinstance(item, SampleRow):
            yield item
        elif isinstance(item, SampleColumns):
            yield from item.rows()


class SegmentMeta(Struct, kw_only=True, gc=False):
    """The facts about a segment that the catalog needs."""

    version: int
    format: str
    source: str
    part: int
    start: int
    stop: int
    complete: bool
    """True if the segment covers the whole part: it is not scanned again while the file stays the same."""
    rows: int
    """The number of samples, without annotations."""
    duplicates: bool
    """True if two samples of the segment share a key."""
    fingerprint: Fingerprint
    step_stats: list[StepStats] = msgspec.field(name="sketches")
    """Stored as `sketches`."""
    metrics: list[str]
    tags: list[str]
    problems: list[Problem]
    problem_count: int
    scalar_bytes: int
    annotates: bool = False
    """True if it holds annotations instead of samples."""
    depends: str = ""
    """`Source.depends` at the scan."""
    texts_from: str = ""
    """`Source.texts_from` at the scan."""
    lacks_prompts: bool = False
    """True if some samples have no prompt, which another file may hold later."""
    annotates_discarded: bool = False
    """True if its annotations tell whether samples were trained on."""
    has_series: bool = True
    """False if the scan saw no token series in any sample."""
    annotated_series: Sequence[str] = ()
    """The token series for which its annotations hold values."""
    scores: bool = False
    """As in `Source`."""
    digest: str = ""
    """Names the contents: the numbers, and samples of the source's bytes."""
    blocks: Sequence[StepBlock] = ()
    """The steps in the order of the file; empty if nothing follows from their order."""
    launches: tuple[int, ...] = ()
    """`Source.launches` at the scan."""


class DerivedStats(Struct, array_like=True):
    """Moments by metric over the trained samples of a step, as `StepStats` has them for sample metrics."""

    split: str
    step: int
    moments: MomentsByName


class TokenMark(Struct, frozen=True, kw_only=True):
    """What the pass over tokens wrote for a segment."""

    version: int
    size_bytes: int = 0
    """The size of its file of statistics; 0 if no sample has token series, and there is no file."""
    words_bytes: int = 0
    """The size of its file of words; 0 if no trained token has a string or an id."""
    annotations: int = 0
    """The stamp of the annotations that it read."""
    loss: str = ""
    """The rule of the run with its thresholds, as `loss_stamp` writes them."""
    unread: int = 0
    """The number of samples whose tokens could not be read."""


NO_TOKENS = TokenMark(version=0)
"""The mark of a segment whose samples have no token series that a pass could read."""


class DerivedMeta(Struct, kw_only=True):
    """The facts about the derived metrics of a segment that the catalog needs."""

    version: int
    fingerprint: Fingerprint
    """The fingerprint of the segment: a different file of the same name has other values."""
    rows: int
    size_bytes: int
    versions: dict[str, int]
    """By metric."""
    step_stats: list[DerivedStats] = msgspec.field(name="sketches")
    """Stored as `sketches`."""
    failures: dict[str, str] = {}
    """Why a metric is missing, by metric: it raised."""

    tokens: TokenMark | None = None
    """None if the pass over tokens has not reached the segment."""

    def has_current(self, metrics: Mapping[str, DerivedMetric]) -> bool:
        """True if each of these metrics is present in its current version."""
        return all(self.versions.get(name) == metric.version for name, metric in metrics.items())

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics that are present, and known to this version of Rolloupe."""
        return tuple(name for name in self.versions if name in METRICS)


class AnnotationPlace(Struct, frozen=True, array_like=True):
    """A row of a segment, and the place of an annotation of its sample."""

    row: int
    source: str
    start: int
    length: int


class AnnotationState(Struct, frozen=True):
    """What annotations say about the samples of a segment: token series, and whether they were trained on."""

    stamp: int = 0
    """A number that every viewer gives to these annotations, and to no others; 0 without any."""
    rows: Sequence[AnnotationPlace] = ()
    """The annotations that may hold token series, those of a sample oldest first."""
    discarded: Mapping[int, bool] = {}
    """By the number of a row, whether it was discarded; only rows about which annotations tell."""


class ScanShare(Struct, frozen=True):
    """The shares of the groups of each step that are scanned, and whose words are kept, as powers of a half."""

    scanned: int = 0
    kept: int = 0


class BackfillJob(Struct, kw_only=True, tag=True):
    """Write more kinds of a segment whose numbers exist."""

    folder: str
    run: RunInfo
    source: Source
    meta: SegmentMeta
    kinds: Sequence[str]
    annotations: AnnotationState = AnnotationState()
    loss: RunLoss | None = None
    share: ScanShare = ScanShare()
    cost: int = 0


def has_other_texts(source: Source, meta: SegmentMeta) -> bool:
    """Tell whether a segment that needs texts from another file may now get them from a different one."""
    return source.texts_from != meta.texts_from and bool(meta.texts_from or meta.lacks_prompts)


class SegmentSource:
    """The records of a segment that lacks some kinds. Raises `SourceChanged` if its files changed since the scan."""

    def __init__(self, job: BackfillJob, ended: threading.Event = NEVER) -> None:
        self.job, self.meta, self.ended = job, job.meta, ended
        state = state_of_source(job.source)
        is_same = state is not None and still_holds(job.source.location, job.meta.fingerprint, state)
        if not is_same or has_other_texts(job.source, job.meta):
            raise SourceChanged(f"{job.source.name} changed since the scan")

    @cached_property
    def rows(self) -> Sequence[SampleRow]:
        """The rows with their texts; some lack metrics and tags. Raises `OSError`, `SourceChanged` if some are gone."""
        job, meta = self.job, self.meta
        rows: list[SampleRow] = []
        prompt = ""
        scan = by_name(job.run.format).scan_columns(job.run, job.source, meta.start, meta.stop)
        for row in islice(text_rows(until(self.ended, scan)), meta.rows):
            row.prompt = prompt = prompt if row.prompt == prompt else row.prompt  # one copy for a group
            rows.append(row)
        if len(rows) != meta.rows:
            raise SourceChanged(f"{job.source.name} no longer has the samples of the index")
        number_launches(rows, meta.launches)
        return rows


class SegmentKind(NamedTuple):
    """A kind of segments."""

    name: str
    version: int
    """Raise it when the shape changes, or the way formats read a line: segments of this kind are then rebuilt."""
    ending: str
    """The ending of its file names."""
    stage: Stage | None = None
    """The pass that writes it; None for a kind that the scan of a part writes."""
    is_written: Callable[[Path, SegmentMeta, int, RunLoss | None, ScanShare], bool] = lambda *_: True
    """Tells whether the files exist with the content that this version would write.

    It depends on the stamp of annotations, as in `AnnotationState`, on the loss of the run, and on the scanned share.
    """
    write: Callable[[Path, SegmentSource], DerivedMeta | None] = lambda *_: None
    """Writes the files beside the segment at the path. Returns the facts about derived metrics, if it knows them.

    Raises `OSError`, and `SourceChanged`.
    """
    budgeted: Sequence[Callable[[Path], Path]] = ()
    """The paths of the files of a segment that may be deleted when room is short."""
