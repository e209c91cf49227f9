"""The number of correct answers to each prompt at each step: one statement for each split, with a cached answer.

Groups have different names at different steps, but prompts do not. A number of the sample decides whether its answer is
correct: see `grader`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.columns import CHARTED
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun, Snapshot, metric_column
from rolloupe.index.segments.columns import sql_type
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.compile import overlay_of
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import qualified
from rolloupe.query.engine.relation import Column, quote
from rolloupe.query.engine.row_filter import matching
from rolloupe.query.evals.grader import Bar, Judge

KEPT_BYTES = 128 * 2**20

REFERENCE = "ref_reward"
"""The sample metric that holds the reward of the reference model's answer to the same prompt."""


class Cells(NamedTuple):
    """The cells of a split, by prompt and step: `prompt` and `step` are places in `names` and `steps`.

    Prompts are in the order of their first appearance. An answer without a finite value cannot be graded: `without`
    counts such answers, `n` does not.
    """

    names: NDArray[np.int64]
    steps: NDArray[np.int64]
    prompt: NDArray[np.int32]
    step: NDArray[np.int32]
    n: NDArray[np.int64]
    c: NDArray[np.int64]
    total: NDArray[np.float64]
    """The sum of the values."""
    compared: NDArray[np.int64]
    """Samples with a finite reward and a finite reward of the reference, whatever the value."""
    beat: NDArray[np.int64]
    """How many of these have the higher reward: each is compared with its own reference."""
    without: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return sum(column.nbytes for column in self)


_cache: AnswerCache[Cells] = AnswerCache(KEPT_BYTES, lambda one: one.nbytes)


def value_of(snapshot: Snapshot, metric: str) -> tuple[str, list[Column]]:
    """The column of a metric in SQL, and as a column that pieces may lack. Raises `BadQuery`."""
    if metric not in CHARTED and metric not in snapshot.metrics:
        raise BadQuery(f"no sample metric {metric!r}; there are: {', '.join([*CHARTED, *snapshot.metrics][:40])}")
    column = metric if metric in CHARTED else metric_column(metric)
    kind = sql_type(column)
    return quote(column), [Column(column, kind)] if kind else []


def cells_of(run: OpenRun, judge: Judge, where: str = "") -> Cells:
    """The cells of a split, of the samples that match a filter.

    Raises `NotFound` for an unknown split, `BadQuery` for an unknown metric.
    """
    split, metric, bar = judge.split, judge.metric, judge.bar._replace(reason="")
    snapshot = run.snapshot()
    if not any(name == split for name, _ in snapshot.steps):
        names = ", ".join(sorted({name for name, _ in snapshot.steps})) or "none yet"
        raise NotFound(f"no split {split!r} in run {run.id!r}; its splits: {names}")
    key = (split, metric, bar, where)
    return _cache.get(run, snapshot, key, lambda: _computed(run, snapshot, split, metric, bar, where))


def _computed(run: OpenRun, snapshot: Snapshot, split: str, metric: str, bar: Bar, where: str) -> Cells:
    value, named = value_of(snapshot, metric)
    reference = "NULL::DOUBLE"
    if REFERENCE in snapshot.metrics:
        reference, column = value_of(snapshot, REFERENCE)
        named = list(dict.fromkeys([*named, *column]))
    used = [metric if metric in CHARTED else qualified(metric, "metric"), "reward", REFERENCE]
    is_compared = f"isfinite(reward) AND isfinite({reference})"
    matches = matching(snapshot, where, used)
    sql = f"""
    {matches.own} SELECT prompt_hash, step, count({value}) FILTER (isfinite({value}::DOUBLE)),
           count(*) FILTER (isfinite({value}::DOUBLE) AND {bar.sql(value)}),
           coalesce(sum({value}::DOUBLE) FILTER (isfinite({value}::DOUBLE)), 0),
           count(*) FILTER ({is_compared}), count(*) FILTER ({is_compared} AND reward > {reference}),
           count(*) FILTER ({value} IS NULL OR NOT isfinite({value}::DOUBLE)), min(ordinal)
    FROM {matches.table} WHERE split = ? GROUP BY prompt_hash, step"""
    overlay = matches.overlay if matches.own else overlay_of(snapshot, used)
    named = list(dict.fromkeys([*named, *matches.named]))
    question = Question(snapshot.holding([split]), sql, [*matches.values, split], named, overlay=overlay)
    table = database.table(run, question)
    hashes, steps, n, c, total, compared, beat, without, ordinal = (
        column.combine_chunks().fill_null(fill).to_numpy(zero_copy_only=False)
        for column, fill in zip(table.columns, (0, 0, 0, 0, 0.0, 0, 0, 0, 0), strict=True)
    )
    order = np.lexsort((hashes, ordinal, steps))
    names, first = np.unique(hashes[order], return_index=True)
    rank = np.empty(len(names), np.int32)
    by_first = np.argsort(first, kind="stable")
    rank[by_first] = np.arange(len(names), dtype=np.int32)
    step_numbers, step = np.unique(steps, return_inverse=True)
    prompt = rank[np.searchsorted(names, hashes)]
    place = np.lexsort((step, prompt))
    return Cells(
        names[by_first], step_numbers, prompt[place], step.astype(np.int32)[place], n.astype(np.int64)[place],
        c.astype(np.int64)[place], total[place], compared.astype(np.int64)[place], beat.astype(np.int64)[place],
        without.astype(np.int64)[place],
    )  # fmt: skip
