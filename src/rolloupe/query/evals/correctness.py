"""How often each problem was answered right at each step: one statement over a split, whose answer is kept.

A problem is a prompt; groups have other names at other steps, prompts have not. Whether an answer is right is told by
a number of the sample: see `judge`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun, Snapshot, metric_column
from rolloupe.index.segments.columns import NUMERIC, kind_of
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.compile import said_of
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import free
from rolloupe.query.engine.relation import Column, quote
from rolloupe.query.evals.grader import Bar, Judge

KEPT_BYTES = 128 * 2**20

REFERENCE = "ref_reward"
"""The sample metric that holds the reward of the reference model's answer to the same prompt."""


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
    """The best reward, whatever the value is."""
    reference: NDArray[np.float64]
    """The reference's best reward, NaN where none is told."""
    without: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """What it takes to keep it."""
        return sum(column.nbytes for column in self)


_kept: AnswerCache[Cells] = AnswerCache(KEPT_BYTES, lambda one: one.nbytes)


def value_of(snapshot: Snapshot, metric: str) -> tuple[str, list[Column]]:
    """The column of a metric in SQL, and as a column that pieces may lack. Raises `BadQuery`."""
    if metric not in NUMERIC and metric not in snapshot.metrics:
        raise BadQuery(f"no sample metric {metric!r}; there are: {', '.join([*NUMERIC, *snapshot.metrics][:40])}")
    column = metric if metric in NUMERIC else metric_column(metric)
    kind = kind_of(column)
    return quote(column), [Column(column, kind)] if kind else []


def cells_of(run: OpenRun, judge: Judge) -> Cells:
    """The cells of a split. Raises `NotFound` for a split, `BadQuery` for a metric that there is not."""
    split, metric, bar = judge.split, judge.metric, judge.bar._replace(reason="")
    snapshot = run.snapshot()
    if not any(own == split for own, _ in snapshot.steps):
        known = ", ".join(sorted({own for own, _ in snapshot.steps})) or "none yet"
        raise NotFound(f"no split {split!r} in run {run.id!r}; its splits: {known}")
    asked = (split, metric, bar)
    return _kept.get(run, snapshot, asked, lambda: _asked(run, snapshot, split, metric, bar))


def _asked(run: OpenRun, snapshot: Snapshot, split: str, metric: str, bar: Bar) -> Cells:
    value, named = value_of(snapshot, metric)
    reference = "NULL::DOUBLE"
    if REFERENCE in snapshot.metrics:
        own, column = value_of(snapshot, REFERENCE)
        reference, named = f"max({own}) FILTER (isfinite({own}))", list(dict.fromkeys([*named, *column]))
    sql = f"""
    SELECT problem, step, count({value}) FILTER (isfinite({value}::DOUBLE)),
           count(*) FILTER (isfinite({value}::DOUBLE) AND {bar.sql(value)}),
           coalesce(sum({value}::DOUBLE) FILTER (isfinite({value}::DOUBLE)), 0),
           max(reward) FILTER (isfinite(reward)), {reference},
           count(*) FILTER ({value} IS NULL OR NOT isfinite({value}::DOUBLE)), min(ordinal)
    FROM rows WHERE split = ? GROUP BY problem, step"""
    said = said_of(snapshot, [metric if metric in NUMERIC else free(metric, "metric"), REFERENCE])
    table = database.table(run, Question(snapshot.holding([split]), sql, [split], named, said=said))
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
