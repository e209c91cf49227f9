"""The index of a run at one moment, as queries see it: pieces on disk and in memory, and sums over them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast
from zlib import crc32

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from rolloupe.derive import token_metrics
from rolloupe.index.fingerprint import Fingerprint
from rolloupe.index.segments.derived_values import may_have_tokens
from rolloupe.index.segments.kind import NO_TOKENS, DerivedMeta, SegmentMeta, TokenMark
from rolloupe.index.segments.samples import MAX_METRICS, MAX_TAGS
from rolloupe.index.segments.step_stats import STAMPS, StepStats, by_name
from rolloupe.model import ANNOTATED, Problem

StepKey = tuple[str, int]
"""Split and step."""

PartKey = tuple[str, int]
"""Source name and part number."""


class Pack(Struct, eq=False):
    """A file with the rows of several segments. Snapshots share it, so all of them see when it is damaged."""

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
    """The statistics of `meta`, with the sums of derived metrics; empty without derived metrics."""

    @property
    def key(self) -> PartKey:
        """The part that it covers."""
        return self.meta.source, self.meta.part


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
    """The steps with superseded rows."""
    tokens: TokenMark | None = None
    """The mark of the pass over tokens; None if it has not reached the rows."""
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
    """The annotations of the run itself."""
    scores: tuple[Piece, ...]
    """A person's own scores, which name samples by their places."""
    steps: Mapping[StepKey, StepStats]
    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    duplicates: bool = False
    """True if two samples of one piece share a key."""
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0

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

    def annotated(self) -> frozenset[str]:
        """The names that annotations may give values for: fixed columns, sample metrics and tags."""
        metrics, tags = self.annotated_names()
        return frozenset([*(ANNOTATED if self.annotations else ()), *metrics, *tags])

    @property
    def annotates_discarded(self) -> bool:
        """True if annotations tell whether samples were trained on, which step statistics do not know."""
        return any(piece.annotates_discarded for piece in self.annotations)

    @property
    def has_discarded(self) -> bool:
        """True if some sample may not have been trained on."""
        return self.annotates_discarded or any(stats.discarded for stats in self.steps.values())

    def with_scores(self, scores: Piece, stamp: str) -> "Snapshot":
        """Return the snapshot with further scores; `stamp` tells them from others."""
        tags = union((self.tags, scores.tags))
        return self._replace(version=f"{self.version}+{stamp}", scores=(*self.scores, scores), tags=tags)

    def annotated_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The sample metrics and tags of annotations that queries join; only the sample itself shows the others."""
        pieces = (*self.annotations, *self.scores)
        metrics, tags = union(piece.metrics for piece in pieces), union(piece.tags for piece in pieces)
        return metrics[:MAX_METRICS], tags[:MAX_TAGS]


def union(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All names, each once, in the order of their first appearance."""
    return tuple(dict.fromkeys(name for names in lists for name in names))


Owner: TypeAlias = PartKey | int
"""A part with its segment, or the number of a tail."""


class Assembly:
    """Makes the snapshots of one catalog. It keeps pieces and sums: few of 20,000 segments change at once."""

    def __init__(self) -> None:
        self._parts: dict[Owner, Segment | Piece] = {}
        self._pieces: dict[Owner, Piece] = {}
        self._stats: dict[StepKey, dict[Owner, list[StepStats]]] = defaultdict(dict)
        """The statistics of each step, by the parts that have some."""
        self._of_steps: dict[StepKey, tuple[Piece, ...]] = {}
        self._sums: dict[StepKey, StepStats] = {}
        self._has_launches = False
        """True once several launches recorded a step: which rows of a piece count then depends on all others."""

    def snapshot(self, version: str, segments: Mapping[PartKey, Segment], tails: Sequence[Piece]) -> Snapshot:
        """Make a snapshot of segments and tails, without problems."""
        self._update({**cast("Mapping[Owner, Segment | Piece]", segments), **dict(enumerate(tails))})
        pieces = self._pieces.values()
        annotations = [piece for piece in pieces if piece.annotates]
        stamp = sum(crc32(piece.fingerprint.contents) if piece.fingerprint else piece.stop for piece in annotations)
        steps = self._sums.copy()
        if stamp:  # the steps of annotations are unknown
            steps = {key: replace(stats, stamp=(stats.stamp + stamp) % STAMPS) for key, stats in steps.items()}
        return Snapshot(
            version=version,
            segments=tuple(segments.values()),
            pieces=self._of_steps.copy(),
            annotations=tuple(piece for piece in annotations if not piece.scores),
            scores=tuple(piece for piece in annotations if piece.scores),
            steps=steps,
            metrics=union(dict.fromkeys(tuple(piece.metrics) for piece in pieces)),
            tags=union(dict.fromkeys(tuple(piece.tags) for piece in pieces)),
        )

    def _update(self, parts: dict[Owner, Segment | Piece]) -> None:
        """Take over the parts as they are now."""
        changed = {owner: part for owner, part in parts.items() if self._parts.get(owner) is not part}
        pieces = dict(zip(changed, map(_piece_of, changed.values()), strict=True))
        self._has_launches |= any(stats.launch > 1 for piece in pieces.values() for stats in piece.step_stats)
        if self._has_launches:
            pieces = dict(zip(parts, _with_superseded([*map(_piece_of, parts.values())]), strict=True))
        steps = set[StepKey]()
        for owner in {**dict.fromkeys(self._parts.keys() - parts.keys()), **pieces}:
            before, piece = self._pieces.get(owner), pieces.get(owner)
            for stats in before.step_stats if before else ():
                self._stats[stats.split, stats.step].pop(owner, None)
                steps.add((stats.split, stats.step))
            for stats in piece.step_stats if piece else ():
                self._stats[stats.split, stats.step].setdefault(owner, []).append(stats)
                steps.add((stats.split, stats.step))
        self._parts, self._pieces = parts, {owner: pieces.get(owner) or self._pieces[owner] for owner in parts}
        places = {owner: place for place, owner in enumerate(parts)} if steps else {}
        for key in steps:
            of_step = self._stats[key]
            owners = sorted(of_step, key=places.__getitem__)
            if owners:
                self._of_steps[key] = tuple(self._pieces[owner] for owner in owners)
                self._sums[key] = reduce(_added, (stats for owner in owners for stats in of_step[owner]))
            else:
                del self._stats[key], self._of_steps[key], self._sums[key]


def _piece_of(part: Segment | Piece) -> Piece:
    if isinstance(part, Piece):
        return part
    meta, path, pack, first, derived, step_stats = part
    names, mark = (derived.names, derived.tokens) if derived else ((), None)
    if mark is None and not may_have_tokens(meta):  # nothing remains to be done
        names, mark = ((*names, *token_metrics()) if names else ()), NO_TOKENS
    return Piece(
        meta.source, path, None, step_stats or meta.step_stats, meta.metrics, meta.tags, meta.annotates, meta.stop,
        pack, first, meta.start, meta.fingerprint, meta.annotates_discarded, names, tokens=mark, scores=meta.scores,
    )  # fmt: skip


def _with_superseded(pieces: list[Piece]) -> list[Piece]:
    """The pieces, with the steps whose rows a later launch superseded."""
    newest: dict[StepKey, int] = {}
    for stats in (stats for piece in pieces for stats in piece.step_stats if stats.launch):
        key = (stats.split, stats.step)
        newest[key] = max(newest.get(key, 0), stats.launch)
    if all(launch < 2 for launch in newest.values()):
        return pieces
    marked = []
    for piece in pieces:
        launches = ((stats, newest.get((stats.split, stats.step), 0)) for stats in piece.step_stats)
        superseded = tuple(
            Superseded(stats.split, stats.step, launch)
            for stats, launch in launches
            if launch and (stats.superseded or stats.launch < launch)
        )
        marked.append(piece._replace(superseded=superseded))
    return marked


def _added(a: StepStats, b: StepStats) -> StepStats:
    """The sum of both, or the newer if their launches differ. `groups` becomes -1: distinct counts do not add."""
    if a.launch and b.launch and a.launch != b.launch:
        older, newer = sorted((a, b), key=lambda stats: stats.launch)
        superseded = older.rows + older.superseded + newer.superseded
        return replace(newer, superseded=superseded, stamp=(older.stamp + newer.stamp) % STAMPS)
    pairs = (a.columns, b.columns), (a.metrics, b.metrics), (a.series, b.series), (a.derived, b.derived)
    columns, metrics, series, derived = (
        by_name({**own, **other, **{name: own[name].merge(other[name]) for name in own if name in other}})
        for own, other in pairs
    )
    stamp, launch = (a.stamp + b.stamp) % STAMPS, max(a.launch, b.launch)
    discarded = dict(Counter(a.discarded) + Counter(b.discarded))
    superseded = a.superseded + b.superseded
    return StepStats(
        a.split, a.step, a.rows + b.rows, -1, columns, metrics, stamp, series, launch, discarded, superseded, derived
    )
