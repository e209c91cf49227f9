"""Kinds of segments: sets of files, one set for each part of a source."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from rolloupe.index.features.shares import ScanShare

if TYPE_CHECKING:
    from rolloupe.index.segments.derived_values import DerivedMeta
    from rolloupe.index.segments.segment import SegmentMeta
    from rolloupe.model import RunInfo, RunLoss, SampleRow, Source

Stage: TypeAlias = Literal["texts", "tokens", "features"]
"""The pass that writes a kind, in this order."""


T = TypeVar("T")

NEVER = threading.Event()
"""For work that nobody ends early."""


class EndedEarly(Exception):
    """Raised within work on a segment of which nobody wants the result any more."""


def until(ended: threading.Event, items: Iterable[T]) -> Iterator[T]:
    """Yield the items until an event is set. Raises `EndedEarly` then."""
    for item in items:
        if ended.is_set():
            raise EndedEarly
        yield item


class NotedRow(Struct, frozen=True, array_like=True):
    """A row of a segment, and the place of an annotation of its sample."""

    row: int
    source: str
    start: int
    length: int


class Noted(Struct, frozen=True):
    """What annotations say about the tokens of a segment: series, and whether its samples were trained on."""

    stamp: int = 0
    """A number that every viewer gives to these annotations, and to no others; 0 without any."""
    rows: Sequence[NotedRow] = ()
    """Those that may hold token series, those of a sample oldest first."""
    discarded: Mapping[int, bool] = {}
    """Whether a row was discarded, by its number, where annotations tell."""


class Beside(NamedTuple):
    """What a kind depends on beside the records of a segment."""

    annotations: int = 0
    """The stamp of its annotations, as in `Noted`."""
    loss: "RunLoss | None" = None
    """The loss of the run."""
    share: ScanShare = ScanShare()
    """The share of the run that is looked at for findings."""


class PartRecords:
    """The records of a segment, of which a kind reads what it needs from their source."""

    def __init__(
        self,
        run: "RunInfo",
        source: "Source",
        meta: "SegmentMeta",
        rows: "Callable[[], list[SampleRow]]",
        noted: "Noted",
        loss: "RunLoss | None",
        share: ScanShare,
        ended: threading.Event = NEVER,
    ) -> None:
        self.run, self.source, self.meta = run, source, meta
        self.noted, self.loss, self.share = noted, loss, share
        self.ended = ended
        self._read_rows = rows

    @cached_property
    def rows(self) -> "Sequence[SampleRow]":
        """The rows with their texts. Raises `SourceChanged` if the source no longer has them."""
        return self._read_rows()


class Backfilled(NamedTuple):
    """Writes a kind after the numbers, from the records of a part."""

    is_written: "Callable[[Path, SegmentMeta, Beside], bool]"
    """Tells whether the files exist with the content that this version would write."""
    write: "Callable[[Path, PartRecords], DerivedMeta | None]"
    """Writes the files beside the segment at the path, and returns the facts about derived metrics, if it knows them.

    Raises `OSError`, and `SourceChanged`.
    """
    stage: "Stage" = "texts"


class SegmentKind(NamedTuple):
    """A kind of segments."""

    name: str
    version: int
    """Raise it when the shape changes, or the way formats read a line: segments of this kind are then rebuilt."""
    ending: str
    """The ending of its file names."""
    is_budgeted: bool = False
    """True if the files may be deleted, the oldest first, when room is short."""
    backfilled: Backfilled | None = None
    """None for what is written as soon as a part is read; other kinds follow later, newest step first."""
