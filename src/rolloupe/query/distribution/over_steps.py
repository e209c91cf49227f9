"""The distribution of a sample metric over the steps: counts of samples by step and bin."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.columns import KNOWN
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, Piece
from rolloupe.query.distribution.bins import Bins, bins_of
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.steps.summaries import sample_points, splits, trained_column

KEPT_STEPS = 200_000

_counts: StepAnswers[Mapping[int, int]] = StepAnswers(KEPT_STEPS)


class Distribution(NamedTuple):
    """Counts of the trained samples with a finite value, by bin and column; a column covers adjacent steps."""

    name: str
    split: str
    edges: list[float]
    """Bin `i` holds the values from `edges[i]` up to, not including, `edges[i + 1]`."""
    first_steps: NDArray[np.int64]
    last_steps: NDArray[np.int64]
    counts: NDArray[np.int64]
    """By column and bin."""


def distribution(
    run: OpenRun,
    name: str,
    split: str = "",
    *,
    where: str = "",
    most: int | None = None,
    step_min: int | None = None,
    step_max: int | None = None,
) -> Distribution:
    """Return the distribution of a sample metric at each step of a range, in at most `most` columns.

    Only samples that match `where` count. The bins are those of the whole split, so that zooming in and filtering
    leave them as they are. With more steps than
    columns, neighbours share one. Raises `BadQuery` for an unknown name, with the nearest names.
    """
    if most is not None and most < 1:
        raise BadQuery(f"a distribution has at least 1 column; {most} were requested")
    split = split or next((one.name for one in splits(run, quick=True)), "train")
    stats = [point.stats for point in sample_points(run, name, split) if point.stats.count]
    low = min((one.min for one in stats if one.min is not None), default=None)
    high = max((one.max for one in stats if one.max is not None), default=None)
    if low is None or high is None:
        empty = np.zeros(0, np.int64)
        return Distribution(name, split, [], empty, empty, np.zeros((0, 0), np.int64))
    column = KNOWN.get(name)
    bins = bins_of(low, high, whole=column is not None and column.type in ("integer", "short"))
    by_step = {
        step: counts
        for step, counts in _by_step(run, name, split, bins, where).items()
        if (step_min is None or step >= step_min) and (step_max is None or step <= step_max)
    }
    return _in_columns(name, split, bins, by_step, most)


def _by_step(run: OpenRun, name: str, split: str, bins: Bins, where: str) -> Mapping[int, Mapping[int, int]]:
    """Count the samples of each step by the number of their bin."""
    snapshot = run.snapshot()
    column = trained_column(run, snapshot, name, where)
    sql = f"""
    {column.own}, near AS (
        SELECT step, {column.value} AS value, {bins.near(column.value)} AS near FROM {column.table}
        WHERE split IN (SELECT unnest(?)) AND isfinite({column.value}) AND discarded = ''
    ), counted AS (SELECT step, {bins.exact("value", "near")} AS bin, count(*) AS samples FROM near GROUP BY step, bin)
    SELECT step, map_from_entries(list((bin, samples))) FROM counted GROUP BY step"""

    def count(pieces: Sequence[Piece], names: Sequence[str]) -> Iterator[tuple[int, Mapping[int, int]]]:
        question = Question(pieces, sql, [*column.values, list(names)], column.named, overlay=column.overlay)
        return ((step, found) for step, found in database.ask(run, question))

    is_overlaid = bool(column.overlay.pieces)
    return _counts.get(run, snapshot, split, (name, bins, where), count, overlaid=is_overlaid, later=column.later)


def _in_columns(
    name: str, split: str, bins: Bins, by_step: Mapping[int, Mapping[int, int]], most: int | None
) -> Distribution:
    steps = np.array(sorted(by_step), dtype=np.int64)
    counts = np.zeros((len(steps), bins.size), np.int64)
    for place, step in enumerate(steps.tolist()):
        counts[place, list(by_step[step])] = list(by_step[step].values())
    width = 1 if most is None else max(1, -(-len(steps) // most))
    starts = np.arange(0, len(steps), width)
    lasts = np.minimum(starts + width, len(steps)) - 1
    columns = np.add.reduceat(counts, starts, axis=0) if len(steps) else counts
    return Distribution(name, split, bins.edges, steps[starts], steps[lasts], columns)
