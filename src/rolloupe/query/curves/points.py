"""The points of each kind of curve."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query.curves.by_step import (
    GROUP_SHARES,
    QUANTILES,
    correlations,
    group_counts,
    outcomes,
    quantiles,
    sample_counts,
    share_counts,
    share_wholes,
)
from rolloupe.query.curves.records import BANDS, STATS, CurveQuery, Floats, Ints
from rolloupe.query.engine.names import unknown
from rolloupe.query.evals.grader import evaluations
from rolloupe.query.evals.scores import eval_summary
from rolloupe.query.records import SeriesPoint
from rolloupe.query.run.trainer_metrics import metric_table
from rolloupe.query.run_tokens.statistics import masked_by_rule
from rolloupe.query.steps.moments import matching_points, sample_number, sample_points
from rolloupe.query.steps.summaries import first_split
from rolloupe.query.steps.token_points import token_points

WHOLE = {
    "trainer": "the trainer logs its metrics for whole steps",
    "token": "statistics of tokens are of whole steps",
    "mask": "masks of tokens are known of whole steps",
    "elapsed": "times are of whole steps",
}
"""The kinds of curves that no filter narrows, and why."""


class Points(NamedTuple):
    """The points of a curve, ascending by step. A step without a value has no point."""

    steps: Ints
    values: Floats
    spread: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    with_value: Ints | None = None
    """The number of samples that each point rests on, of so many `samples`; None where every sample has a value."""
    samples: Ints | None = None


class _Asked(NamedTuple):
    """A query with its defaults."""

    run: OpenRun
    query: CurveQuery
    name: str
    source: str
    stat: str
    where: str


def points_of(run: OpenRun, query: CurveQuery) -> Points:
    """Return all points of a curve. Raises `BadQuery` for unknown names, `NotFound` for an unknown evaluation."""
    kind, where = query.kind, query.options.where.strip()
    if where and kind in WHOLE:
        raise BadQuery(f"{WHOLE[kind]}: no filter of samples applies to them")
    asked = _Asked(run, query, query.name, query.source or first_split(run), query.stat or STATS[kind][0], where)
    if kind in _NUMBERS:
        return Points(*_columns(sorted(_NUMBERS[kind](asked).items())))
    return _POINTS[kind](asked)


def _of_samples(asked: _Asked) -> Points:
    run, query, name, source, _, where = asked
    band = BANDS.get(query.options.band)
    by_step = quantiles(run, name, source, where) if band or query.stat in QUANTILES else {}
    stats = matching_points(run, name, source, where)
    if query.stat in QUANTILES:
        points = Points(*_columns((step, values[query.stat]) for step, values in by_step.items()))
    else:
        points = _of_stats(asked, stats)
    points = _counted(points, stats)
    if band is None:
        return points
    low, high = (
        _floats(by_step[step][end] if step in by_step else None for step in points.steps.tolist()) for end in band
    )
    return points._replace(low=low, high=high)


def _of_tokens(asked: _Asked) -> Points:
    """The number of samples with a series is known only for a sample metric of its name, the mean of each sample."""
    run, _, name, source, *_ = asked
    points = _of_stats(asked, token_points(run, name, source))
    is_metric = sample_number(run.snapshot(), name) is not None
    return _counted(points, sample_points(run, name, source)) if is_metric else points


def _counted(points: Points, series: Sequence[SeriesPoint]) -> Points:
    """Add the number of samples that each point rests on, unless every sample of each step has a value."""
    stats_by_step = {point.step: point.stats for point in series}
    stats = [stats_by_step[step] for step in points.steps.tolist() if step in stats_by_step]
    if len(stats) < len(points.steps) or not any(stat.excluded for stat in stats):
        return points
    counts = np.array([(stat.count, stat.count + stat.excluded) for stat in stats], dtype=np.int64)
    return points._replace(with_value=counts[:, 0], samples=counts[:, 1])


def _of_stats(asked: _Asked, series: Sequence[SeriesPoint]) -> Points:
    points = [point for point in series if point.stats.count]
    steps, values = _columns((point.step, getattr(point.stats, asked.stat)) for point in points)
    has_spread = asked.query.options.spread and asked.stat == "mean"
    return Points(steps, values, _floats(point.stats.std for point in points) if has_spread else None)


def _of_trainer(asked: _Asked) -> Points:
    columns = metric_table(asked.run).columns
    if asked.name not in columns:
        raise unknown("trainer metric", asked.name, sorted(columns))
    return Points(*columns[asked.name])


def _of_elapsed(asked: _Asked) -> Points:
    table = metric_table(asked.run)
    if table.start_s is None:
        raise BadQuery("the trainer logged no times")
    steps, times = table.times
    return Points(steps, times - table.start_s)


def _of_cumulative(asked: _Asked) -> Points:
    points = matching_points(asked.run, asked.name, asked.source, asked.where)
    stats = [(point.step, point.stats) for point in points]
    steps, sums = _columns((step, stat.mean * stat.count) for step, stat in stats if stat.mean is not None)
    with np.errstate(over="ignore"):
        return Points(steps, np.cumsum(sums))


def _eval_scores(asked: _Asked) -> Mapping[int, float | None]:
    names, options = evaluations(asked.run), asked.query.options
    split = asked.query.source or (names[0] if names else "")
    if split not in names:
        raise NotFound(f"no evaluation {split!r}; there are: {', '.join(names[:40]) or 'none'}")
    summary = eval_summary(asked.run, split, asked.name, options.threshold, (options.k,), asked.where)
    values = ((step.step, getattr(step, asked.stat)) for step in summary.steps)
    return {step: value[0] if isinstance(value, list) else value for step, value in values}


def _group_shares(asked: _Asked) -> Mapping[int, float]:
    if asked.name not in GROUP_SHARES:
        raise unknown("share of groups", asked.name, GROUP_SHARES)
    counts = group_counts(asked.run, asked.source, asked.where)
    chosen = {step: getattr(count, asked.name) for step, count in counts.items()}
    return _shares(asked, chosen, {step: count.groups for step, count in counts.items()})


def _sample_shares(asked: _Asked) -> Mapping[int, float]:
    run, query, name, source, _, where = asked
    chosen = share_counts(run, name, source, query.options.reason, where)
    return _shares(asked, chosen, share_wholes(run, name, source, where))


def _shares(asked: _Asked, chosen: Mapping[int, int], wholes: Mapping[int, int]) -> Mapping[int, float]:
    is_share = asked.stat == "share"
    return {step: chosen.get(step, 0) / (whole if is_share else 1) for step, whole in wholes.items() if whole}


def _masks(asked: _Asked) -> Mapping[int, float | None]:
    by_step = masked_by_rule(asked.run, asked.source).get(asked.name, {})
    return {step: getattr(shares, asked.stat) for step, shares in by_step.items()}


def _columns(points: Iterable[tuple[int, float | None]]) -> tuple[Ints, Floats]:
    pairs = [(step, value) for step, value in points if value is not None]
    return np.array([step for step, _ in pairs], dtype=np.int64), _floats(value for _, value in pairs)


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


_POINTS: dict[str, Callable[[_Asked], Points]] = {
    "sample": _of_samples,
    "token": _of_tokens,
    "trainer": _of_trainer,
    "elapsed": _of_elapsed,
    "cumulative": _of_cumulative,
}
_NUMBERS: dict[str, Callable[[_Asked], Mapping[int, float | None]]] = {
    "eval": _eval_scores,
    "share": _sample_shares,
    "group": _group_shares,
    "mask": _masks,
    "outcome": lambda asked: outcomes(asked.run, asked.source, asked.name, asked.where),
    "correlation": lambda asked: correlations(asked.run, asked.name, asked.source, asked.where),
    "samples": lambda asked: sample_counts(asked.run, asked.source, asked.where),
}
"""The kinds of curves that have one number at each step, and these numbers."""
