"""How often each problem was answered right at each step: one statement over a split, whose answer is kept.

A problem is a prompt; groups have other names at other steps, prompts have not. Whether an answer is right is told by
a number of the sample, the reward unless asked otherwise: at or beyond the best value there can be, else 1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun, Snapshot, column_of
from rolloupe.index.columns import NUMERIC, kind_of
from rolloupe.query import engine
from rolloupe.query.engine import Question
from rolloupe.query.kept import Kept
from rolloupe.query.rows import Column, Said, literal, quote
from rolloupe.query.terms import current

KEPT_BYTES = 128 * 2**20
TOLERANCE = 1e-9
"""Sums of rewards miss the best one by what floating point loses."""

REFERENCE = "ref_reward"
"""The sample metric that holds the reward of the reference model's answer to the same prompt."""


class Bar(NamedTuple):
    """What an answer must reach: `by_env` where environments declare other ranges. `falls` where less is better."""

    value: float
    by_env: tuple[tuple[str, float], ...] = ()
    falls: bool = False
    reason: str = ""

    def sql(self, value: str) -> str:
        """A condition on a column."""
        cases = "".join(f" WHEN {literal(env)} THEN {float(own)!r}" for env, own in self.by_env)
        bar = f"CASE env{cases} ELSE {self.value!r} END" if cases else repr(self.value)
        slack = f"{TOLERANCE!r} * greatest(1.0, abs({bar}))"
        return f"({value} <= ({bar}) + {slack})" if self.falls else f"({value} >= ({bar}) - {slack})"


class Cells(NamedTuple):
    """The cells of a split, by problem and step: `problem` and `step` are places in `names` and `steps`.

    Problems stand in the order in which they first appear. Of an answer without a finite value it is not told whether
    it is right: such are counted in `without`, and not in `n`.
    """

    names: NDArray[np.int64]
    steps: NDArray[np.int64]
    problem: NDArray[np.int32]
    step: NDArray[np.int32]
    n: NDArray[np.int64]
    c: NDArray[np.int64]
    total: NDArray[np.float64]
    """The sum of the values."""
    best: NDArray[np.float64]
    reference: NDArray[np.float64]
    """The reference's best reward, NaN where none is told."""
    without: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """What it takes to keep it."""
        return sum(column.nbytes for column in self)


_kept: Kept[Cells] = Kept(KEPT_BYTES, lambda one: one.nbytes)


def bar_of(run: OpenRun, metric: str, threshold: float | None) -> Bar:
    """What an answer must reach to be right: the given threshold, else the best value that the run declares, else 1."""
    worst, best = next(((low, high) for name, low, high in run.info.metric_ranges if name == metric), (0.0, 1.0))
    falls = worst > best
    if threshold is not None:
        return Bar(threshold, falls=falls, reason="as asked for")
    if metric != "reward":
        declared = any(name == metric for name, _, _ in run.info.metric_ranges)
        return Bar(
            best, falls=falls, reason="the best value that the run declares" if declared else "no range is declared"
        )
    if run.info.reading.reward_range:
        return Bar(run.info.reading.reward_range[1], reason="the highest reward, as named when the run was opened")
    by_env = tuple((env, high) for env, _, high in run.info.env_reward_ranges)
    if by_env:
        highest = run.info.reward_range[1] if run.info.reward_range else 1.0
        return Bar(highest, by_env, reason="the highest reward that the run declares for each environment")
    if run.info.reward_range:
        return Bar(run.info.reward_range[1], reason="the highest reward that the run declares")
    return Bar(1.0, reason="no range of rewards is declared")


def metrics_of(run: OpenRun, split: str) -> list[str]:
    """The numbers of a split that may tell a right answer, the likeliest first."""
    sketches = [sketch for (own, _), sketch in run.snapshot().steps.items() if own == split]
    has_reward = any("reward" in sketch.columns for sketch in sketches)
    names = list(dict.fromkeys(name for sketch in sketches for name in sketch.metrics))
    declared = [name for name, _, _ in run.info.metric_ranges if name in names]
    likely = sorted(declared or names, key=lambda name: (_likelihood(name), names.index(name)))
    return [*(["reward"] if has_reward or not names else []), *likely, *(name for name in names if name not in likely)]


def _likelihood(name: str) -> int:
    return next((place for place, word in enumerate(LIKELY) if word in name.lower()), len(LIKELY))


LIKELY = ("equation", "correct", "solved", "success", "acc", "score", "reward", "pass")


def value_of(snapshot: Snapshot, metric: str) -> tuple[str, list[Column]]:
    """The column of a metric in SQL, and as a column that pieces may lack. Raises `BadQuery`."""
    column = metric if metric in NUMERIC else column_of(metric, snapshot.metrics, ())
    if column is None or (metric not in NUMERIC and metric not in snapshot.metrics):
        raise BadQuery(f"no sample metric {metric!r}; there are: {', '.join([*NUMERIC, *snapshot.metrics][:40])}")
    kind = kind_of(column)
    return quote(column), [Column(column, kind)] if kind else []


def cells_of(run: OpenRun, split: str, metric: str, threshold: float | None = None) -> Cells:
    """The cells of a split. Raises `NotFound` for a split, `BadQuery` for a metric that there is not."""
    snapshot = run.snapshot()
    if not any(own == split for own, _ in snapshot.steps):
        known = ", ".join(sorted({own for own, _ in snapshot.steps})) or "none yet"
        raise NotFound(f"no split {split!r} in run {run.id!r}; its splits: {known}")
    bar = bar_of(run, metric, threshold)
    asked = (split, metric, bar)
    return _kept.get(run, snapshot, asked, lambda: _asked(run, snapshot, split, metric, bar))


def _asked(run: OpenRun, snapshot: Snapshot, split: str, metric: str, bar: Bar) -> Cells:
    value, named = value_of(snapshot, metric)
    reference = "NULL::DOUBLE"
    if metric == "reward" and REFERENCE in snapshot.metrics:
        own, column = value_of(snapshot, REFERENCE)
        reference, named = f"max({own}) FILTER (isfinite({own}))", [*named, *column]
    sql = f"""{current(snapshot, "split = ?")}
    SELECT problem, step, count({value}) FILTER (isfinite({value}::DOUBLE)),
           count(*) FILTER (isfinite({value}::DOUBLE) AND {bar.sql(value)}),
           coalesce(sum({value}::DOUBLE) FILTER (isfinite({value}::DOUBLE)), 0),
           max({value}::DOUBLE) FILTER (isfinite({value}::DOUBLE)), {reference},
           count(*) FILTER ({value} IS NULL OR NOT isfinite({value}::DOUBLE)), min(ordinal)
    FROM own GROUP BY problem, step"""
    said = Said(snapshot.annotations, [metric]) if metric in snapshot.annotated() else Said()
    table = engine.table(run, Question(snapshot.holding([split]), sql, [split], named, said=said))
    problems, steps, n, c, total, best, ref, without, ordinal = (
        column.combine_chunks().fill_null(fill).to_numpy(zero_copy_only=False)
        for column, fill in zip(table.columns, (0, 0, 0, 0, 0.0, np.nan, np.nan, 0, 0), strict=True)
    )
    order = np.lexsort((problems, ordinal, steps))
    names, first = np.unique(problems[order], return_index=True)
    rank = np.empty(len(names), np.int32)
    by_first = np.argsort(first, kind="stable")
    rank[by_first] = np.arange(len(names), dtype=np.int32)
    known, step = np.unique(steps, return_inverse=True)
    problem = rank[np.searchsorted(names, problems)]
    place = np.lexsort((step, problem))
    return Cells(
        names[by_first], known, problem[place], step.astype(np.int32)[place], n.astype(np.int64)[place],
        c.astype(np.int64)[place], total[place], best[place], ref[place], without.astype(np.int64)[place],
    )  # fmt: skip
