"""Curves of a run: all points of each, or a number worth drawing."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rolloupe.errors import BadQuery
from rolloupe.formats.reading.files import listing_once
from rolloupe.index import OpenRun
from rolloupe.query.curves.across import Across, across
from rolloupe.query.curves.decimation import LEAST_POINTS, places, places_across
from rolloupe.query.curves.moving_average import smoothed
from rolloupe.query.curves.outliers import inlier_bounds
from rolloupe.query.curves.points import Points, points_of
from rolloupe.query.curves.records import BANDS, STATS, Curve, CurveOptions, CurveQuery, Floats
from rolloupe.query.near_names import unknown

MAX_SPAN_STEPS = 1_000_000
MAX_K = 10_000
MAX_OUTLIERS = 1000


def curve(
    run: OpenRun,
    query: CurveQuery,
    *,
    most: int | None = None,
    step_min: int | None = None,
    step_max: int | None = None,
) -> Curve:
    """Return one curve, of the steps from `step_min` to `step_max`, in at most `most` points.

    The extremes of a longer curve survive: see `decimation`. A moving average covers all points, including those before
    `step_min`, so that zooming in does not change it. The quartiles for outliers are those of the range.

    Raises `BadQuery` for unknown names and for invalid options, `NotFound` for an unknown evaluation.
    """
    check_curve(query)
    if most is not None and most < LEAST_POINTS:
        raise BadQuery(f"a curve has at least {LEAST_POINTS} points; {most} were requested")
    options = query.options
    if options.last_step is not None:
        step_max = options.last_step if step_max is None else min(step_max, options.last_step)
    points, left_out = _without_outliers(points_of(run, query), options, step_min, step_max)
    first, stop = _between(points, step_min, step_max)
    smooth = smoothed(points.steps, points.values, options.smooth) if options.smooth else None
    axis = across(run, query.x, points.steps)
    inside = first + np.flatnonzero(axis.is_known[first:stop])
    shown = inside[_within(axis.x[inside], options)]
    chosen = _fewer(axis, points.values, shown, most)
    start = _start(points.values[first:stop]) if options.from_zero else 0.0
    return Curve(
        query=query,
        steps=points.steps[chosen],
        values=_from(start, points.values[chosen]),
        spread=None if points.spread is None else points.spread[chosen],
        low=None if points.low is None else _from(start, points.low[chosen]),
        high=None if points.high is None else _from(start, points.high[chosen]),
        smooth=None if smooth is None else _from(start, smooth[chosen]),
        points=len(shown),
        left_out=left_out,
        x=None if query.x is None else axis.x[chosen],
        without_x=stop - first - len(inside),
        x_start_s=axis.start_s,
    )


def _within(x: Floats, options: CurveOptions) -> NDArray[np.intp]:
    """Return the ascending places of the points in the range of x, and of its neighbours on both sides."""
    if options.x_min is None and options.x_max is None:
        return np.arange(len(x))
    order = np.argsort(x, kind="stable")
    first = 0 if options.x_min is None else max(0, int(np.searchsorted(x[order], options.x_min, "left")) - 1)
    stop = len(x) if options.x_max is None else int(np.searchsorted(x[order], options.x_max, "right")) + 1
    return np.sort(order[first:stop])


def _fewer(axis: Across, values: Floats, shown: NDArray[np.intp], most: int | None) -> NDArray[np.intp]:
    if most is None:
        return shown
    return shown[places(values[shown], most) if axis.is_step else places_across(axis.x[shown], values[shown], most)]


def _without_outliers(
    points: Points, options: CurveOptions, step_min: int | None, step_max: int | None
) -> tuple[Points, int]:
    """Return the points that a curve keeps, and how many outliers of the range it leaves out."""
    if options.skip_first and len(points.steps):
        points = _at(points, points.steps > points.steps[0])
    if not options.outliers:
        return points, 0
    first, stop = _between(points, step_min, step_max)
    low, high = inlier_bounds(points.values[first:stop], options.outliers)
    is_out = (points.values < low) | (points.values > high)
    return _at(points, ~is_out), int(np.count_nonzero(is_out[first:stop]))


def check_curve(query: CurveQuery) -> None:
    """Raise `BadQuery` for a query that no run can answer: an unknown kind or statistic, options out of bounds."""
    kind, options = query.kind, query.options
    if kind not in STATS:
        raise unknown("kind of curve", kind, STATS)
    if query.stat and query.stat not in STATS[kind]:
        raise unknown("statistic", query.stat, STATS[kind], f" of a curve of the kind {kind!r}")
    if options.band and options.band not in BANDS:
        raise unknown("band", options.band, BANDS)
    if not 0 <= options.smooth <= MAX_SPAN_STEPS:
        raise BadQuery(f"smooth is {options.smooth}; a span has 1 to {MAX_SPAN_STEPS:,} steps; 0 turns smoothing off")
    if not 1 <= options.k <= MAX_K:
        raise BadQuery(f"k is {options.k}; the k of pass@k is a whole number from 1 to {MAX_K:,}")
    if options.threshold is not None and not math.isfinite(options.threshold):
        raise BadQuery(f"threshold is {options.threshold}; it must be a finite number")
    if not 0 <= options.outliers <= MAX_OUTLIERS:
        raise BadQuery(
            f"outliers is {options.outliers}; a factor is a number up to {MAX_OUTLIERS:,}, 0 keeps all values"
        )
    for name, end in (("x_min", options.x_min), ("x_max", options.x_max)):
        if end is not None and not math.isfinite(end):
            raise BadQuery(f"{name} is {end}; it must be a finite number")
    if query.x is not None:
        if query.x.x is not None:
            raise BadQuery("the x of a curve has no x of its own")
        check_curve(query.x)


def curves(run: OpenRun, queries: Sequence[CurveQuery], *, most: int | None = None) -> list[Curve]:
    """Return several curves. Raises as `curve` does."""
    with listing_once():  # each asks which files hold the trainer's metrics
        return [curve(run, query, most=most) for query in queries]


def _at(points: Points, chosen: NDArray[np.bool_]) -> Points:
    more = (None if array is None else array[chosen] for array in (points.spread, points.low, points.high))
    return Points(points.steps[chosen], points.values[chosen], *more)


def _start(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite[0]) if len(finite) else 0.0


def _from(start: float, values: Floats) -> Floats:
    """Subtract a start; what a float cannot hold becomes the largest that it can, and an infinity stays one."""
    with np.errstate(over="ignore"):
        moved = values - start
    return np.where(np.isfinite(values) & np.isinf(moved), np.copysign(np.finfo(np.float64).max, moved), moved)


def _between(points: Points, step_min: int | None, step_max: int | None) -> tuple[int, int]:
    first = 0 if step_min is None else int(np.searchsorted(points.steps, step_min, "left"))
    stop = len(points.steps) if step_max is None else int(np.searchsorted(points.steps, step_max, "right"))
    return first, max(first, stop)
