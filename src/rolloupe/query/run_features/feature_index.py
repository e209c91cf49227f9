"""The sums of phrases and behaviours over any window of steps: they add up over files."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.features import WithinSums
from rolloupe.index import OpenRun, Piece, Snapshot
from rolloupe.index.features.files import BLOCK, FeatureFacts, feature_facts, features_of
from rolloupe.index.fingerprint import state_of
from rolloupe.lru import Lru
from rolloupe.query.engine import database
from rolloupe.query.engine.relation import where_current
from rolloupe.query.records import SampleQuery
from rolloupe.query.samples.pages import in_known_splits

Hashes = NDArray[np.uint64]

LEAST_GROUPS, LEAST_SAMPLES = 20, 20
"""A phrase in fewer groups where it varies, or in fewer samples, shows nothing."""

_known: Lru[tuple[Path, object], FeatureFacts] = Lru(100_000)
"""The facts of files, by path and state: to read one takes longer than to look at its state."""


class FeatureWindow(Struct, frozen=True):
    """The samples that a question about features is over: one split, some steps, one environment or all."""

    split: str = "train"
    step_min: int | None = None
    step_max: int | None = None
    env: str | None = None


class FeaturePieces(NamedTuple):
    """The pieces of a window whose features are indexed."""

    pieces: Sequence[Piece]
    facts: Sequence[FeatureFacts]
    samples: int
    """How many samples there are in the steps of the window, with features or without, in all environments."""
    pending: int
    """How many of them the index has not reached."""

    @property
    def is_whole(self) -> bool:
        """True if the words of all samples are kept."""
        return not any(one.share.kept for one in self.facts)


class FeatureSums(NamedTuple):
    """The sums of features over a window, each of shape (C,)."""

    hashes: Hashes
    samples: NDArray[np.int64]
    """The number of samples that have the feature."""
    sums: WithinSums

    def at(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> "FeatureSums":
        """Some of the features."""
        return FeatureSums(self.hashes[places], self.samples[places], WithinSums(*(one[places] for one in self.sums)))


class WindowFacts(NamedTuple):
    """What was scanned of a window."""

    samples: int = 0
    groups: int = 0
    """The number of groups whose advantages vary."""
    freedom: float = 0.0
    """The number of samples in these groups, less one a group."""
    advantage_squares: float = 0.0
    """The sum of squares of advantages, less the mean of their group."""
    reward_squares: float = 0.0


def feature_pieces(snapshot: Snapshot, window: FeatureWindow) -> FeaturePieces:
    """The pieces of a window, in the order of the files, however the index came about: ties go to the first.

    Raises `NotFound` for a split that the run lacks.
    """
    in_known_splits(snapshot, SampleQuery(splits=(window.split,)))
    in_window = snapshot.holding((window.split,), window.step_min, window.step_max)
    pieces = sorted(in_window, key=lambda piece: (piece.source, piece.start))
    found = [(piece, facts) for piece in pieces if (facts := _facts_of(piece)) is not None]
    reached = {id(piece) for piece, _ in found}
    pending = sum(_rows_in(piece, window, snapshot) for piece in pieces if id(piece) not in reached)
    total = sum(stats.rows for (split, step), stats in snapshot.steps.items() if _is_in(window, split, step))
    return FeaturePieces([piece for piece, _ in found], [facts for _, facts in found], total, pending)


def _facts_of(piece: Piece) -> FeatureFacts | None:
    if piece.path is None or piece.fingerprint is None or piece.annotates:
        return None
    path = features_of(piece.path)
    state = state_of(path)
    if state is None:
        return None
    facts = _known.get((path, state))
    if facts is None and (facts := feature_facts(piece.path, piece.fingerprint.contents)) is not None:
        _known.put((path, state), facts)
    return facts


def _is_in(window: FeatureWindow, split: str, step: int) -> bool:
    low, high = window.step_min, window.step_max
    return split == window.split and (low is None or step >= low) and (high is None or step <= high)


def _rows_in(piece: Piece, window: FeatureWindow, snapshot: Snapshot) -> int:
    found = (stats for stats in piece.step_stats if _is_in(window, stats.split, stats.step))
    return sum(one.rows for one in found if one.launch in (0, snapshot.steps[one.split, one.step].launch))


def condition(window: FeatureWindow, pieces: Sequence[Piece]) -> tuple[str, list[object]]:
    """The rows of some pieces that are in a window, in SQL, and the values in it: no part that all rows meet anyway."""
    steps = {(stats.split, stats.step) for piece in pieces for stats in piece.step_stats}
    bounds: list[tuple[str, object]] = []
    if any(split != window.split for split, _ in steps):
        bounds.append(("split = ?", window.split))
    if any(not _is_in(window, window.split, step) for _, step in steps):
        limits = (("step >= ?", window.step_min), ("step <= ?", window.step_max))
        bounds += [(sql, value) for sql, value in limits if value is not None]
    if window.env is not None:
        bounds.append(("env = ?", window.env.encode("utf-8", "replace").decode()))
    return " AND ".join(sql for sql, _ in bounds) or "true", [value for _, value in bounds]


def feature_sums(run: OpenRun, window: FeatureWindow, of: FeaturePieces) -> tuple[FeatureSums, WindowFacts]:
    """The sums of the features of a window: of all behaviours, and of phrases in enough samples and groups.

    `fsum` adds S as Kahan does: its terms cancel, so that the order in which threads add would change digits of z that
    are shown. Raises as `database.ask`.
    """
    none = np.zeros(0)
    if not of.pieces:
        return FeatureSums(none.astype(np.uint64), none.astype(np.int64), WithinSums(*[none] * 5)), WindowFacts()
    where, values = condition(window, of.pieces)
    sql = f"""
        SELECT feature, sum(samples)::BIGINT, sum(groups)::DOUBLE, fsum(s), sum(r), sum(v), sum(d)
        FROM (SELECT * FROM files{where_current(of.pieces)}) WHERE {where} GROUP BY feature
        HAVING feature % 2 = 1 OR feature = {BLOCK}
            OR (sum(groups) >= {LEAST_GROUPS} AND sum(samples) >= {LEAST_SAMPLES})
        ORDER BY feature"""
    paths = [features_of(piece.path) for piece in of.pieces if piece.path is not None]
    table, _ = database.of_files(run, paths, sql, values)
    hashes, samples, groups, s, r, v, d = (column.to_numpy() for column in table.columns)
    sums = WithinSums(groups, s, r, v, d)
    first = int(len(hashes) > 0 and hashes[0] == BLOCK)
    facts = WindowFacts(int(samples[0]), int(groups[0]), float(d[0]), float(s[0]), float(r[0])) if first else None
    return FeatureSums(hashes, samples, sums).at(np.arange(first, len(hashes))), facts or WindowFacts()
