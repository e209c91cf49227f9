"""The index of a run at one moment, as queries see it: pieces on disk and in memory, and the sums over them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from rolloupe.columns import ANNOTATED
from rolloupe.index.fingerprint import Fingerprint
from rolloupe.index.segments.columns import MAX_METRICS, MAX_TAGS
from rolloupe.index.segments.derived_values import DerivedMeta
from rolloupe.index.segments.extreme_tokens import Extreme, most_extreme
from rolloupe.index.segments.segment import SegmentMeta
from rolloupe.index.segments.step_stats import STAMPS, Moments, SeriesSketch, Sketch
from rolloupe.model import Problem

Summed = TypeVar("Summed", Moments, SeriesSketch)

StepKey = tuple[str, int]
"""Split and step."""


class Pack(Struct, eq=False):
    """A file with the rows of several segments; every snapshot that knows it is told where it is no longer good."""

    path: Path
    members: int
    is_good: bool = True
    derived: Path | None = None
    """The file with the derived metrics of the same rows, where every segment has some."""


class Segment(NamedTuple):
    """A segment on disk, and the pack that holds its rows, too."""

    meta: SegmentMeta
    path: Path
    pack: Pack | None = None
    first: int = 0
    """Where in the pack its rows begin."""
    derived: DerivedMeta | None = None
    """What is there of its derived metrics."""
    sketches: Sequence[Sketch] = ()
    """Those of `meta`, with the sums of derived metrics; empty where there are none."""


def age_of(segment: Segment) -> int:
    """Orders segments from old to new: their last step."""
    return max((sketch.step for sketch in segment.meta.sketches), default=0)


class Aside(NamedTuple):
    """A step that was recorded again: what launches before this one recorded of it is left aside."""

    split: str
    step: int
    launch: int


class Piece(NamedTuple):
    """Rows that can be asked: those of a segment (`path`), or of a growing file's tail (`table`)."""

    source: str
    path: Path | None
    table: pa.Table | None
    sketches: Sequence[Sketch]
    metrics: Sequence[str]
    tags: Sequence[str]
    annotates: bool
    """True where the rows are annotations of those of other pieces."""
    stop: int
    """How far into its source the rows reach."""
    pack: Pack | None = None
    first: int = 0
    start: int = 0
    """Where in its source the part, or what a tail has beyond its segment, begins."""
    fingerprint: Fingerprint | None = None
    """What the source was when the segment was made; None for a tail."""
    annotates_discarded: bool = False
    """True where they say of samples whether they were trained on."""
    derived: Sequence[str] = ()
    """The derived metrics that are there."""
    aside: Sequence[Aside] = ()
    """Of which steps rows are left aside."""

    @property
    def rows(self) -> int:
        """How many samples there are, those of older launches included."""
        return sum(sketch.rows + sketch.superseded for sketch in self.sketches)


class Snapshot(NamedTuple):
    """The catalog at one moment; it never changes. `steps` sums the sketches of all pieces by split and step.

    Sketches know the samples as they were written: what annotations say of them is not in the sums. Neither are samples
    of a step that a later launch recorded again.
    """

    version: str
    segments: tuple[Segment, ...]
    pieces: Mapping[StepKey, tuple[Piece, ...]]
    annotations: tuple[Piece, ...]
    steps: Mapping[StepKey, Sketch]
    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    duplicates: bool
    """True where two samples of one piece share a key."""
    tails: int
    """How many pieces are in memory."""
    problems: tuple[Problem, ...]
    problem_count: int

    def holding(self, splits: Iterable[str] = (), low: int | None = None, high: int | None = None) -> list[Piece]:
        """The pieces with rows of these splits (all, where empty) and steps (inclusive)."""
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
        """How many samples, of some steps or all, have no value of a derived metric yet: their texts come later."""
        pieces = self.of(self.pieces if keys is None else keys)
        return sum(piece.rows for piece in pieces if name not in piece.derived)

    def annotated(self) -> frozenset[str]:
        """The names of what annotations may say: fixed columns, sample metrics and tags."""
        metrics, tags = self.annotated_names()
        return frozenset([*ANNOTATED, *metrics, *tags] if self.annotations else [])

    @property
    def annotates_discarded(self) -> bool:
        """True where annotations say of samples whether they were trained on: the sketches then do not know."""
        return any(piece.annotates_discarded for piece in self.annotations)

    @property
    def has_discarded(self) -> bool:
        """True where some sample may not have been trained on."""
        return self.annotates_discarded or any(sketch.discarded for sketch in self.steps.values())

    def annotated_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The sample metrics and the tags of annotations that are joined: those beyond show in the sample alone."""
        metrics, tags = _union(p.metrics for p in self.annotations), _union(p.tags for p in self.annotations)
        return metrics[:MAX_METRICS], tags[:MAX_TAGS]


def extreme_tokens(snapshot: Snapshot, key: StepKey, name: str) -> tuple[list[Extreme], list[Extreme]]:
    """The lowest and the highest tokens of a series at a step, over all pieces of it; the most extreme first."""
    low: list[Extreme] = []
    high: list[Extreme] = []
    for piece in {id(piece): piece for piece in snapshot.pieces.get(key, ())}.values():
        for sketch in piece.sketches:
            is_current = sketch.launch in (0, snapshot.steps[key].launch)
            if (sketch.split, sketch.step) == key and is_current and (held := sketch.series.get(name)) is not None:
                low += held.lowest.unpacked(piece.source)
                high += held.highest.unpacked(piece.source)
    return most_extreme(low, highest=False), most_extreme(high, highest=True)


def snapshot_of(
    version: str,
    segments: tuple[Segment, ...],
    tails: Sequence[Piece],
    problems: tuple[Problem, ...],
    problem_count: int,
    *,
    duplicates: bool,
) -> Snapshot:
    """Put a snapshot together."""
    pieces = _with_asides([*map(_on_disk, segments), *tails])
    by_step: dict[StepKey, list[Piece]] = defaultdict(list)
    for piece in pieces:
        for sketch in piece.sketches:
            by_step[sketch.split, sketch.step].append(piece)
    annotations = tuple(piece for piece in pieces if piece.annotates)
    return Snapshot(
        version=version,
        segments=segments,
        pieces={key: tuple(members) for key, members in by_step.items()},
        annotations=annotations,
        steps=_summed(pieces, sum(piece.stop for piece in annotations)),
        metrics=_union(piece.metrics for piece in pieces),
        tags=_union(piece.tags for piece in pieces),
        duplicates=duplicates,
        tails=len(tails),
        problems=problems,
        problem_count=problem_count,
    )


def _on_disk(segment: Segment) -> Piece:
    meta, path, pack, first, derived, sketches = segment
    return Piece(
        meta.source, path, None, sketches or meta.sketches, meta.metrics, meta.tags, meta.annotates, meta.stop, pack,
        first, meta.start, meta.fingerprint, meta.annotates_discarded, derived.names if derived else (),
    )  # fmt: skip


def _with_asides(pieces: list[Piece]) -> list[Piece]:
    """The pieces, those with rows of older launches told so."""
    newest: dict[StepKey, int] = {}
    for sketch in (sketch for piece in pieces for sketch in piece.sketches if sketch.launch):
        key = (sketch.split, sketch.step)
        newest[key] = max(newest.get(key, 0), sketch.launch)
    if all(launch < 2 for launch in newest.values()):
        return pieces
    return [piece._replace(aside=_asides(piece, newest)) for piece in pieces]


def _asides(piece: Piece, newest: Mapping[StepKey, int]) -> tuple[Aside, ...]:
    return tuple(
        Aside(sketch.split, sketch.step, launch)
        for sketch in piece.sketches
        if (launch := newest.get((sketch.split, sketch.step), 0)) and (sketch.superseded or sketch.launch < launch)
    )


def _union(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in lists for name in names))


def _summed(pieces: Iterable[Piece], stamp: int) -> dict[StepKey, Sketch]:
    """Sum sketches by (split, step). `groups` becomes -1 where a step lies in several: distinct counts do not add.

    `stamp` is added to all: nobody knows which steps an annotation is of.
    """
    total: dict[StepKey, Sketch] = {}
    for one in (sketch for piece in pieces for sketch in piece.sketches):
        held = total.get((one.split, one.step))
        total[one.split, one.step] = one if held is None else _added(held, one)
    if stamp:
        total = {key: replace(sketch, stamp=(sketch.stamp + stamp) % STAMPS) for key, sketch in total.items()}
    return total


def _added(a: Sketch, b: Sketch) -> Sketch:
    """Both together; of two launches the newer one alone."""
    if a.launch and b.launch and a.launch != b.launch:
        older, newer = sorted((a, b), key=lambda one: one.launch)
        left = older.rows + older.superseded + newer.superseded
        return replace(newer, superseded=left, stamp=(older.stamp + newer.stamp) % STAMPS)
    columns, metrics = _merged(a.columns, b.columns), _merged(a.metrics, b.metrics)
    series, derived = _merged(a.series, b.series), _merged(a.derived, b.derived)
    stamp, launch = (a.stamp + b.stamp) % STAMPS, max(a.launch, b.launch)
    discarded = dict(Counter(a.discarded) + Counter(b.discarded))
    left = a.superseded + b.superseded
    return Sketch(
        a.split, a.step, a.rows + b.rows, -1, columns, metrics, stamp, series, launch, discarded, left, derived
    )


def _merged(a: dict[str, Summed], b: dict[str, Summed]) -> dict[str, Summed]:
    return {**a, **b, **{name: a[name].merge(b[name]) for name in a if name in b}}
