"""Makes snapshots. Of 20,000 segments few change at once: the pieces and the sums of the others are kept."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeAlias, TypeVar, cast

from msgspec.structs import replace

from rolloupe.derive import token_metrics
from rolloupe.index.segments.derived_values import NO_TOKENS, may_have_tokens
from rolloupe.index.segments.step_stats import STAMPS, Moments, SeriesStats, StepStats, by_name
from rolloupe.index.snapshot import Piece, Segment, Snapshot, StepKey, Superseded, union
from rolloupe.model import Problem

Summed = TypeVar("Summed", Moments, SeriesStats)

Owner: TypeAlias = tuple[str, int] | int
"""A part with its segment, or the number of a tail."""


class Assembly:
    """Makes the snapshots of one catalog. Used by one thread at a time."""

    def __init__(self) -> None:
        self._parts: dict[Owner, Segment | Piece] = {}
        self._pieces: dict[Owner, Piece] = {}
        self._stats: dict[StepKey, dict[Owner, list[StepStats]]] = defaultdict(dict)
        """The statistics of each step, by the parts that have some."""
        self._of_steps: dict[StepKey, tuple[Piece, ...]] = {}
        self._sums: dict[StepKey, StepStats] = {}
        self._has_launches = False
        """True once several launches recorded a step: which rows of a piece count then depends on all others."""

    def snapshot(
        self,
        version: str,
        segments: Mapping[tuple[str, int], Segment],
        tails: Sequence[Piece],
        problems: tuple[Problem, ...] = (),
        problem_count: int = 0,
        *,
        duplicates: bool = False,
    ) -> Snapshot:
        """Make a snapshot of segments and tails."""
        self._update({**cast("Mapping[Owner, Segment | Piece]", segments), **dict(enumerate(tails))})
        pieces = self._pieces.values()
        annotations = [piece for piece in pieces if piece.annotates]
        stamp = sum(piece.stop for piece in annotations)
        return Snapshot(
            version=version,
            segments=tuple(segments.values()),
            pieces=self._of_steps.copy(),
            annotations=tuple(piece for piece in annotations if not piece.scores),
            scores=tuple(piece for piece in annotations if piece.scores),
            steps={key: _stamped(stats, stamp) for key, stats in self._sums.items()} if stamp else self._sums.copy(),
            metrics=union(dict.fromkeys(tuple(piece.metrics) for piece in pieces)),
            tags=union(dict.fromkeys(tuple(piece.tags) for piece in pieces)),
            duplicates=duplicates,
            tails=len(tails),
            problems=problems,
            problem_count=problem_count,
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
            self._sum(key, places)

    def _sum(self, key: StepKey, places: Mapping[Owner, int]) -> None:
        """Gather the pieces and the statistics of a step, in the order of the parts."""
        of_step = self._stats[key]
        owners = sorted(of_step, key=places.__getitem__)
        if owners:
            self._of_steps[key] = tuple(self._pieces[owner] for owner in owners)
            self._sums[key] = reduce(_added, (stats for owner in owners for stats in of_step[owner]))
        else:
            del self._stats[key], self._of_steps[key], self._sums[key]


def _piece_of(part: Segment | Piece) -> Piece:
    return _on_disk(part) if isinstance(part, Segment) else part


def _stamped(stats: StepStats, stamp: int) -> StepStats:
    """The statistics with the stamp of all annotations: the steps of these are unknown."""
    return replace(stats, stamp=(stats.stamp + stamp) % STAMPS)


def _on_disk(segment: Segment) -> Piece:
    meta, path, pack, first, derived, step_stats = segment
    names = derived.names if derived else ()
    mark = derived.tokens if derived else None
    if mark is None and not may_have_tokens(meta):  # nothing remains to be done
        names, mark = ((*names, *token_metrics()) if names else ()), NO_TOKENS
    return Piece(
        meta.source, path, None, step_stats or meta.step_stats, meta.metrics, meta.tags, meta.annotates, meta.stop,
        pack, first, meta.start, meta.fingerprint, meta.annotates_discarded, names, tokens=mark, scores=meta.scores,
    )  # fmt: skip


def _with_superseded(pieces: list[Piece]) -> list[Piece]:
    """The pieces; those with rows of older launches list the steps."""
    newest: dict[StepKey, int] = {}
    for stats in (stats for piece in pieces for stats in piece.step_stats if stats.launch):
        key = (stats.split, stats.step)
        newest[key] = max(newest.get(key, 0), stats.launch)
    if all(launch < 2 for launch in newest.values()):
        return pieces
    return [piece._replace(superseded=_superseded(piece, newest)) for piece in pieces]


def _superseded(piece: Piece, newest: Mapping[StepKey, int]) -> tuple[Superseded, ...]:
    return tuple(
        Superseded(stats.split, stats.step, launch)
        for stats in piece.step_stats
        if (launch := newest.get((stats.split, stats.step), 0)) and (stats.superseded or stats.launch < launch)
    )


def _added(a: StepStats, b: StepStats) -> StepStats:
    """The sum of both; if their launches differ, the newer one alone.

    `groups` becomes -1: distinct counts do not add.
    """
    if a.launch and b.launch and a.launch != b.launch:
        older, newer = sorted((a, b), key=lambda one: one.launch)
        superseded = older.rows + older.superseded + newer.superseded
        return replace(newer, superseded=superseded, stamp=(older.stamp + newer.stamp) % STAMPS)
    columns, metrics = by_name(_merged(a.columns, b.columns)), by_name(_merged(a.metrics, b.metrics))
    series, derived = _merged(a.series, b.series), by_name(_merged(a.derived, b.derived))
    stamp, launch = (a.stamp + b.stamp) % STAMPS, max(a.launch, b.launch)
    discarded = dict(Counter(a.discarded) + Counter(b.discarded))
    superseded = a.superseded + b.superseded
    return StepStats(
        a.split, a.step, a.rows + b.rows, -1, columns, metrics, stamp, series, launch, discarded, superseded, derived
    )


def _merged(a: Mapping[str, Summed], b: Mapping[str, Summed]) -> dict[str, Summed]:
    return {**a, **b, **{name: a[name].merge(b[name]) for name in a if name in b}}
