"""Curves of many runs: the last, greatest, least and smoothed values of a metric; all their metrics; means over runs.

A run is queried again only when it has changed. `metric_values` and `runs_catalogue` stop after some time, and return
how many runs are left; the next call continues there.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rolloupe.errors import BadQuery, NotFound
from rolloupe.formats.reading.files import listing_once
from rolloupe.index import OpenRun
from rolloupe.lru import Lru
from rolloupe.model import Real
from rolloupe.query.curves.catalogue import CurveEntry, curve_catalogue
from rolloupe.query.curves.curve import ALL_STEPS, Range, average, check_curve, check_range, curve, cut, whole_curve
from rolloupe.query.curves.points import Curve, CurveQuery, Floats, Ints
from rolloupe.query.run.trainer_files import trainer_version

T = TypeVar("T")

MAX_S = 3.0
KEPT = 20_000  # answers about a metric of a run to cache
KEPT_ENTRIES = 200_000  # entries of catalogues to cache


class MetricValues(Struct, frozen=True, kw_only=True):
    """The finite values of a metric in a run; null for a run without any."""

    last: Real | None = None
    last_step: int | None = None
    highest: Real | None = None
    lowest: Real | None = None
    smooth: Real | None = None
    """The moving average at the last value: the value itself if the query smooths nothing."""


_values: Lru[tuple[str, ...], MetricValues] = Lru(KEPT)
_catalogues: Lru[tuple[str, ...], list[CurveEntry]] = Lru(total=KEPT_ENTRIES, least=1)


def metric_values(
    runs: Sequence[OpenRun], query: CurveQuery, *, max_s: float = MAX_S
) -> tuple[dict[str, MetricValues], int]:
    """Return the values of a metric in each run, by id, and the number of runs left. Raises `BadQuery` as `curve`."""
    check_curve(query)

    def of_run(run: OpenRun) -> MetricValues:
        return _values.get_or_make((*_state_of(run), repr(query)), lambda: _computed(run, query), lambda _: 0)

    return _in_time(runs, of_run, max_s)


def _computed(run: OpenRun, query: CurveQuery) -> MetricValues:
    try:
        whole = curve(run, query)
    except (BadQuery, NotFound):
        return MetricValues()  # the run lacks the metric
    places = np.flatnonzero(np.isfinite(whole.values))
    if not len(places):
        return MetricValues()
    values, last = whole.values[places], int(places[-1])
    smooth = whole.values[last] if whole.smooth is None else whole.smooth[last]
    return MetricValues(
        last=float(values[-1]),
        last_step=int(whole.steps[last]),
        highest=float(values.max()),
        lowest=float(values.min()),
        smooth=float(smooth),
    )


def runs_catalogue(runs: Sequence[OpenRun], *, max_s: float = MAX_S) -> tuple[dict[CurveEntry, int], int]:
    """Return the curves that any run has, with the number of runs that have each, and the number of runs left."""

    def without_split(entry: CurveEntry) -> CurveEntry:
        query = entry.query  # an evaluation is a split itself, other curves are those of the first split
        return entry._replace(query=replace(query, source=query.source if query.kind == "eval" else ""))

    def of_run(run: OpenRun) -> list[CurveEntry]:
        return _catalogues.get_or_make(_state_of(run), lambda: list(map(without_split, curve_catalogue(run))), len)

    by_run, left = _in_time(runs, of_run, max_s)
    entries: dict[CurveQuery, CurveEntry] = {}
    count: Counter[CurveQuery] = Counter()
    for catalogue in by_run.values():
        for entry in catalogue:
            entries.setdefault(entry.query, entry)
            count[entry.query] += 1
    return {entry: count[query] for query, entry in entries.items()}, left


def _state_of(run: OpenRun) -> tuple[str, ...]:
    """The state that an answer about a run depends on: its samples, and the trainer's files."""
    return str(run.catalog.folder), run.version, trainer_version(run)


def _in_time(runs: Sequence[OpenRun], answer: Callable[[OpenRun], T], max_s: float) -> tuple[dict[str, T], int]:
    """At least one answer, and more until `max_s` have passed, by id of the run; and the number of runs left."""
    began, answers = time.monotonic(), dict[str, T]()
    with listing_once():
        for run in runs:
            if answers and time.monotonic() - began > max_s:
                break
            answers[run.id] = answer(run)
    return answers, len(runs) - len(answers)


class GroupCurve(NamedTuple):
    """The mean of a curve over the runs of a group at each step: over those that have a finite value there.

    `spread` of the curve is `std`, the population standard deviation of the runs; `low` and `high` are their extremes.
    """

    curve: Curve
    std: Floats
    low: Floats
    high: Floats
    counts: Ints  # the number of runs with a value at each step


def group_curve(runs: Sequence[OpenRun], query: CurveQuery, shown: Range = ALL_STEPS) -> GroupCurve:
    """Return the mean of a curve over runs. Runs without the curve are left out; if all are, raises as `curve` does."""
    check_range(shown)
    curves = _whole_curves(runs, query)
    steps = np.unique(np.concatenate([whole.steps for whole in curves]))
    values = _by_step(curves, steps, lambda whole: whole.values)
    is_finite = np.isfinite(values)
    counts = is_finite.sum(axis=0)
    mean = _mean(values)
    spread = np.sqrt(_ratio((np.where(is_finite, values - mean, 0.0) ** 2).sum(axis=0), counts))
    low = np.where(counts > 0, np.where(is_finite, values, np.inf).min(axis=0), np.nan)
    high = np.where(counts > 0, np.where(is_finite, values, -np.inf).max(axis=0), np.nan)
    ends = [whole.reach for whole in curves if whole.reach is not None]
    whole = Curve(
        query=query,
        steps=steps,
        values=mean,
        spread=spread,
        low=low,
        high=high,
        smooth=average(steps, mean, query.options.smooth),
        points=len(steps),
        left_out=sum(whole.left_out for whole in curves),
        reach=(min(low for low, _ in ends), max(high for _, high in ends)) if ends else None,
        x=None if query.x is None else _mean(_by_step(curves, steps, lambda whole: whole.x)),
        x_start_s=next((whole.x_start_s for whole in curves if whole.x_start_s is not None), None),
    )
    drawn, chosen = cut(whole, shown)
    return GroupCurve(drawn, spread[chosen], low[chosen], high[chosen], counts[chosen])


def _whole_curves(runs: Sequence[OpenRun], query: CurveQuery) -> list[Curve]:
    """Return the whole curves of the runs that have it: after a cut, each mean would be over different runs."""
    plain = replace(query, options=replace(query.options, smooth=0, spread=False, band=""))
    curves, error = list[Curve](), BadQuery("a group of runs needs at least one run")
    with listing_once():
        for run in runs:
            try:
                curves.append(whole_curve(run, plain))
            except (BadQuery, NotFound) as reason:
                error = reason if isinstance(reason, BadQuery) else BadQuery(str(reason))
    if not curves:
        raise error
    return curves


def _by_step(curves: Sequence[Curve], steps: Ints, of: Callable[[Curve], Floats | None]) -> Floats:
    table = np.full((len(curves), len(steps)), np.nan)
    for row, whole in zip(table, curves, strict=True):
        row[np.searchsorted(steps, whole.steps)] = of(whole)
    return table


def _mean(values: Floats) -> Floats:
    is_finite = np.isfinite(values)
    return _ratio(np.where(is_finite, values, 0.0).sum(axis=0), is_finite.sum(axis=0))


def _ratio(sums: Floats, counts: Ints) -> Floats:
    """The sums by their counts; NaN for a step without any."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = sums / counts
    return means
