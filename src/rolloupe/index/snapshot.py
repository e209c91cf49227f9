"""The index of a run at one moment, as queries see it: pieces on disk and in memory, and sums over them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from msgspec import Struct

from rolloupe.columns import ANNOTATED
from rolloupe.index.fingerprint import Fingerprint
from rolloupe.index.segments.columns import MAX_METRICS, MAX_TAGS
from rolloupe.index.segments.derived_values import DerivedMeta, TokenMark
from rolloupe.index.segments.extreme_tokens import Extreme, most_extreme
from rolloupe.index.segments.segment import SegmentMeta
from rolloupe.index.segments.step_stats import StepStats
from rolloupe.model import Problem

StepKey = tuple[str, int]
"""Split and step."""


class Pack(Struct, eq=False):
    """A file with the rows of several segments. Snapshots share it, so all of them see when it is no longer good."""

    path: Path
    members: int
    is_good: bool = True
    derived: Path | None = None
    """The file with the derived metrics of the same rows, if every segment has some."""


class Segment(NamedTuple):
    """A segment on disk, and the pack that also holds its rows."""

    meta: SegmentMeta
    path: Path
    pack: Pack | None = None
    first: int = 0
    """The number of its first row within the pack."""
    derived: DerivedMeta | None = None
    """Its derived metrics, if some are written."""
    step_stats: Sequence[StepStats] = ()
    """Those of `meta`, with the sums of derived metrics; empty without derived metrics."""


def age_of(segment: Segment) -> int:
    """Orders segments from old to new: their last step."""
    return max((stats.step for stats in segment.meta.step_stats), default=0)


class Superseded(NamedTuple):
    """A step that a later launch recorded again: rows of launches before `launch` do not count."""

    split: str
    step: int
    launch: int


class Piece(NamedTuple):
    """Rows for queries: those of a segment (`path`), or of a growing file's tail (`table`)."""

    source: str
    path: Path | None
    table: pa.Table | None
    step_stats: Sequence[StepStats]
    metrics: Sequence[str]
    tags: Sequence[str]
    annotates: bool
    """True if the rows are annotations of rows in other pieces."""
    stop: int
    """The end of the rows within their source."""
    pack: Pack | None = None
    first: int = 0
    start: int = 0
    """The start within the source: of the part, or of the tail."""
    fingerprint: Fingerprint | None = None
    """The source at the scan of the segment; None for a tail."""
    annotates_discarded: bool = False
    """True if the annotations tell whether samples were trained on."""
    derived: Sequence[str] = ()
    """The derived metrics whose values are written."""
    superseded: Sequence[Superseded] = ()
    """The steps of which some rows are superseded."""
    tokens: TokenMark | None = None
    """What the pass over tokens left; None if it has not reached the rows."""
    scores: bool = False
    """As in `Source`."""

    @property
    def rows(self) -> int:
        """The number of samples, including those of older launches."""
        return sum(stats.rows + stats.superseded for stats in self.step_stats)


class Snapshot(NamedTuple):
    """The catalog at one moment; it never changes. `steps` sums the statistics of all pieces by split and step.

    The sums cover the samples as they were written: without annotations, and without samples of a step that a later
    launch recorded again.
    """

    version: str
    segments: tuple[Segment, ...]
    pieces: Mapping[StepKey, tuple[Piece, ...]]
    annotations: tuple[Piece, ...]
    """Those of the run."""
    scores: tuple[Piece, ...]
    """A person's own, which name samples by their places."""
    steps: Mapping[StepKey, StepStats]
    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    duplicates: bool
    """True if two samples of one piece share a key."""
    tails: int
    """The number of pieces in memory."""
    problems: tuple[Problem, ...]
    problem_count: int

    def holding(self, splits: Iterable[str] = (), low: int | None = None, high: int | None = None) -> list[Piece]:
        """The pieces with rows of these splits (all splits if empty) and steps (inclusive)."""
        wanted = frozenset(splits)
        if low is not None and low == high and wanted:
            keys = [(split, low) for split in wanted if (split, low) in self.pieces]
        else:
            keys = [
                (split, step)
                for split, step in self.pieces
                if (not wanted or split in wanted) and (low is None or step >= low) and (high is None or step <= high)
            ]
        return self.of(keys)

    def of(self, keys: Iterable[StepKey]) -> list[Piece]:
        """The pieces with rows of these steps, each once."""
        return list({id(piece): piece for key in keys for piece in self.pieces[key]}.values())

    def lacking(self, name: str, keys: Iterable[StepKey] | None = None) -> int:
        """How many samples, of some steps or all, still lack a derived metric: their texts come later."""
        pieces = self.of(self.pieces if keys is None else keys)
        return sum(piece.rows for piece in pieces if name not in piece.derived)

    def annotated(self) -> frozenset[str]:
        """The names that annotations may give values for: fixed columns, sample metrics and tags."""
        metrics, tags = self.annotated_names()
        return frozenset([*(ANNOTATED if self.annotations else ()), *metrics, *tags])

    @property
    def annotates_discarded(self) -> bool:
        """True if annotations tell whether samples were trained on: step statistics then do not know."""
        return any(piece.annotates_discarded for piece in self.annotations)

    @property
    def has_discarded(self) -> bool:
        """True if some sample may not have been trained on."""
        return self.annotates_discarded or any(stats.discarded for stats in self.steps.values())

    def annotated_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The sample metrics and tags of annotations that queries join; further names show in the sample alone."""
        pieces = (*self.annotations, *self.scores)
        metrics, tags = union(piece.metrics for piece in pieces), union(piece.tags for piece in pieces)
        return metrics[:MAX_METRICS], tags[:MAX_TAGS]


def extreme_tokens(snapshot: Snapshot, key: StepKey, name: str) -> tuple[list[Extreme], list[Extreme]]:
    """The lowest and the highest tokens of a series at a step, over all pieces of it; the most extreme first."""
    low: list[Extreme] = []
    high: list[Extreme] = []
    for piece in {id(piece): piece for piece in snapshot.pieces.get(key, ())}.values():
        for stats in piece.step_stats:
            is_current = stats.launch in (0, snapshot.steps[key].launch)
            if (stats.split, stats.step) == key and is_current and (series := stats.series.get(name)) is not None:
                low += series.lowest.unpacked(piece.source)
                high += series.highest.unpacked(piece.source)
    return most_extreme(low, highest=False), most_extreme(high, highest=True)


def union(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All names, each once, in the order of their first appearance."""
    return tuple(dict.fromkeys(name for names in lists for name in names))
