"""A token series by the position of the token in its response."""

from collections import defaultdict
from typing import NamedTuple

from rolloupe.index import OpenRun, StepKey
from rolloupe.index.token_stats.positions import EDGES, PositionSums, merged, unpacked
from rolloupe.query.records import SampleQuery
from rolloupe.query.run_tokens.token_index import TokenCoverage, indexed, of_index, series_meant


class PositionCurve(NamedTuple):
    """The mean of a series by position at a step, over the trained tokens."""

    split: str
    step: int
    first: list[int]
    """The first position of each bucket: how many trained tokens of the sample precede it."""
    tokens: list[int]
    means: list[float | None]
    """None for a bucket without tokens."""


class CurvesByPosition(NamedTuple):
    """A series at every step that has values."""

    series: str
    curves: list[PositionCurve]
    coverage: TokenCoverage


def position_curves(run: OpenRun, query: SampleQuery, series: str) -> CurvesByPosition:
    """The mean of a series by position in the response, by step.

    Up to the 64th trained token each position counts alone; beyond, buckets grow with the position. Raises `BadQuery`
    for a query with a group or a filter.
    """
    of_index(query)
    series = series_meant(run, series)
    rows, coverage = indexed(run, run.snapshot(), query, ("position_counts", "position_totals"), series)
    by_step: dict[StepKey, list[PositionSums]] = defaultdict(list)
    for row in rows:
        by_step[row.split, row.step].append(unpacked(*row.values))
    curves = [
        _curve(*key, merged(some))
        for key, some in sorted(by_step.items(), key=lambda one: (one[0][0] != "train", one[0]))
    ]
    return CurvesByPosition(series, [curve for curve in curves if curve.tokens], coverage)


def _curve(split: str, step: int, sums: PositionSums) -> PositionCurve:
    counts, totals = sums.tokens.tolist(), sums.total.tolist()
    means = [total / count if count else None for count, total in zip(counts, totals, strict=True)]
    return PositionCurve(split, step, EDGES[: len(counts)].tolist(), counts, means)
