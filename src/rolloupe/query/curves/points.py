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
from rolloupe.query.evals.scores import EvalStep, eval_summary
from rolloupe.query.records import SeriesPoint
from rolloupe.query.run.trainer_metrics import metric_table
from rolloupe.query.run_tokens.statistics import masked_by_rule
from rolloupe.query.steps.summaries import first_split
from rolloupe.query.steps.token_points import token_points
from rolloupe.query.steps.trained import matching_points, sample_number, sample_points


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


def points_of(run: OpenRun, query: CurveQuery) -> Points:
    """Return all points of a curve. Raises `BadQuery` for unknown names, `NotFound` for an unknown evaluation."""
    if _where(query) and query.kind in WHOLE:
        raise BadQuery(f"{WHOLE[query.kind]}: no filter of samples applies to them")
    return _KINDS[query.kind](run, query)


WHOLE = {
    "trainer": "the trainer logs its metrics for whole steps",
    "token": "statistics of tokens are of whole steps",
    "mask": "masks of tokens are known of whole steps",
    "elapsed": "times are of whole steps",
}
"""The kinds of curves that no filter narrows, and why."""


def _where(query: CurveQuery) -> str:
    return query.options.where.strip()


def _source(run: OpenRun, query: CurveQuery) -> str:
    return query.source or first_split(run)


def _stat(query: CurveQuery) -> str:
    return query.stat or STATS[query.kind][0]


def _of_samples(run: OpenRun, query: CurveQuery) -> Points:
    source, where, band = _source(run, query), _where(query), BANDS.get(query.options.band)
    by_step = quantiles(run, query.name, source, where) if band or query.stat in QUANTILES else {}
    stats = matching_points(run, query.name, source, where)
    if query.stat in QUANTILES:
        points = Points(*_columns((step, found[query.stat]) for step, found in by_step.items()))
    else:
        points = _of_stats(query, stats)
    points = _counted(points, stats)
    if band is None:
        return points
    low, high = (
        _floats(by_step[step][end] if step in by_step else None for step in points.steps.tolist()) for end in band
    )
    return points._replace(low=low, high=high)


def _of_tokens(run: OpenRun, query: CurveQuery) -> Points:
    """Of the samples with a series nothing is known but by the sample metric of its name, the mean of each sample."""
    source = _source(run, query)
    points = _of_stats(query, token_points(run, query.name, source))
    is_metric = sample_number(run.snapshot(), query.name) is not None
    return _counted(points, sample_points(run, query.name, source)) if is_metric else points


def _counted(points: Points, series: Sequence[SeriesPoint]) -> Points:
    """Say how many samples each point rests on, where any sample of a step has no value."""
    stats = {point.step: point.stats for point in series}
    found = [stats[step] for step in points.steps.tolist() if step in stats]
    if len(found) < len(points.steps) or not any(one.excluded for one in found):
        return points
    counts = np.array([(one.count, one.count + one.excluded) for one in found], dtype=np.int64)
    return points._replace(with_value=counts[:, 0], samples=counts[:, 1])


def _of_stats(query: CurveQuery, series: Sequence[SeriesPoint]) -> Points:
    points = [point for point in series if point.stats.count]
    stat = _stat(query)
    steps, values = _columns((point.step, getattr(point.stats, stat)) for point in points)
    has_spread = query.options.spread and stat == "mean"
    return Points(steps, values, _floats(point.stats.std for point in points) if has_spread else None)


def _of_trainer(run: OpenRun, query: CurveQuery) -> Points:
    columns = metric_table(run).columns
    if query.name not in columns:
        raise unknown("trainer metric", query.name, sorted(columns))
    return Points(*columns[query.name])


def _of_eval(run: OpenRun, query: CurveQuery) -> Points:
    names = evaluations(run)
    split = query.source or (names[0] if names else "")
    if split not in names:
        raise NotFound(f"no evaluation {split!r}; there are: {', '.join(names[:40]) or 'none'}")
    summary = eval_summary(run, split, query.name, query.options.threshold, (query.options.k,), _where(query))
    return Points(*_columns((step.step, _score(step, _stat(query))) for step in summary.steps))


def _score(step: EvalStep, stat: str) -> float | None:
    value = getattr(step, stat)
    score: float | None = value[0] if isinstance(value, list) else value
    return score


def _of_groups(run: OpenRun, query: CurveQuery) -> Points:
    if query.name not in GROUP_SHARES:
        raise unknown("share of groups", query.name, GROUP_SHARES)
    found = group_counts(run, _source(run, query), _where(query))
    chosen = {step: getattr(one, query.name) for step, one in found.items()}
    return _shares(query, chosen, {step: one.groups for step, one in found.items()})


def _of_share(run: OpenRun, query: CurveQuery) -> Points:
    source = _source(run, query)
    chosen = share_counts(run, query.name, source, query.options.reason, _where(query))
    return _shares(query, chosen, share_wholes(run, query.name, source, _where(query)))


def _of_masks(run: OpenRun, query: CurveQuery) -> Points:
    by_step = masked_by_rule(run, _source(run, query)).get(query.name, {})
    return Points(*_columns(sorted((step, getattr(one, _stat(query))) for step, one in by_step.items())))


def _of_counts(run: OpenRun, query: CurveQuery) -> Points:
    return Points(*_columns(sorted(sample_counts(run, _source(run, query), _where(query)).items())))


def _shares(query: CurveQuery, chosen: Mapping[int, int], of: Mapping[int, int]) -> Points:
    is_share = _stat(query) == "share"
    values = ((step, chosen.get(step, 0) / (of[step] if is_share else 1)) for step in sorted(of) if of[step])
    return Points(*_columns(values))


def _columns(points: Iterable[tuple[int, float | None]]) -> tuple[Ints, Floats]:
    pairs = [(step, value) for step, value in points if value is not None]
    return np.array([step for step, _ in pairs], dtype=np.int64), _floats(value for _, value in pairs)


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _of_outcome(run: OpenRun, query: CurveQuery) -> Points:
    found = outcomes(run, _source(run, query), query.name, _where(query))
    return Points(*_columns((step, found[step]) for step in sorted(found)))


def _of_correlation(run: OpenRun, query: CurveQuery) -> Points:
    found = correlations(run, query.name, _source(run, query), _where(query))
    return Points(*_columns(sorted(found.items())))


def _of_elapsed(run: OpenRun, _: CurveQuery) -> Points:
    table = metric_table(run)
    if table.start_s is None:
        raise BadQuery("the trainer logged no times")
    steps, times = table.times
    return Points(steps, times - table.start_s)


def _of_cumulative(run: OpenRun, query: CurveQuery) -> Points:
    found = matching_points(run, query.name, _source(run, query), _where(query))
    stats = [(one.step, one.stats) for one in found]
    steps, sums = _columns((step, one.mean * one.count) for step, one in stats if one.mean is not None)
    with np.errstate(over="ignore"):
        return Points(steps, np.cumsum(sums))


_KINDS: dict[str, Callable[[OpenRun, CurveQuery], Points]] = {
    "sample": _of_samples,
    "token": _of_tokens,
    "trainer": _of_trainer,
    "eval": _of_eval,
    "share": _of_share,
    "group": _of_groups,
    "mask": _of_masks,
    "outcome": _of_outcome,
    "correlation": _of_correlation,
    "samples": _of_counts,
    "elapsed": _of_elapsed,
    "cumulative": _of_cumulative,
}
