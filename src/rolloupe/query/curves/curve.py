"""Curves of a run: all points of each, or as many as a chart shows.

A whole curve is cut after its outliers are left out, its values are shifted, and its average is computed: zooming in
changes none of them.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rolloupe.errors import BadQuery
from rolloupe.formats.reading.files import listing_once
from rolloupe.index import OpenRun
from rolloupe.query.curves.arithmetic import LEAST_POINTS, USUAL, average, inlier_bounds, places, places_across
from rolloupe.query.curves.points import Points, points_of
from rolloupe.query.curves.records import BANDS, STATS, Curve, CurveOptions, CurveQuery, Floats, Ints
from rolloupe.query.engine.names import unknown
from rolloupe.query.run.trainer_metrics import metric_table

GREATEST = 1e100
"""Beyond it, the distance of two numbers may overflow: such an x counts as none."""

MAX_SPAN_STEPS = 1_000_000
MAX_K = 10_000
MAX_OUTLIERS = 1000

Places = NDArray[np.intp]
WithPoints = TypeVar("WithPoints", Points, Curve)


class Range(NamedTuple):
    """The part of a curve in a chart: the steps from `step_min` to `step_max`, in at most `most` points."""

    most: int | None = None
    step_min: int | None = None
    step_max: int | None = None


def curves(run: OpenRun, queries: Sequence[CurveQuery], *, most: int | None = None) -> list[Curve]:
    """Return several curves. Raises as `curve` does."""
    with listing_once():  # each asks which files hold the trainer's metrics
        return [curve(run, query, most=most) for query in queries]


def curve(
    run: OpenRun,
    query: CurveQuery,
    *,
    most: int | None = None,
    step_min: int | None = None,
    step_max: int | None = None,
) -> Curve:
    """Return one curve, of the steps from `step_min` to `step_max`, in at most `most` points.

    The extremes of a longer curve and of its band survive: see `arithmetic.places`. The moving average, the bounds of
    outliers and the start of a curve from zero are those of the whole curve, so that zooming in changes none of them.

    Raises `BadQuery` for unknown names and for invalid options, `NotFound` for an unknown evaluation.
    """
    check_range(most)
    return cut(whole_curve(run, query), Range(most, step_min, step_max))[0]


def check_range(most: int | None) -> None:
    """Raise `BadQuery` for fewer points than a curve has."""
    if most is not None and most < LEAST_POINTS:
        raise BadQuery(f"a curve has at least {LEAST_POINTS} points; {most} were requested")


def check_curve(query: CurveQuery) -> None:
    """Raise `BadQuery` for a query that no run can answer: an unknown kind or statistic, options out of bounds."""
    kind, options = query.kind, query.options
    if kind not in STATS:
        raise unknown("kind of curve", kind, STATS)
    if query.stat and query.stat not in STATS[kind]:
        raise unknown("statistic", query.stat, STATS[kind], f" of a curve of the kind {kind!r}")
    if options.band and options.band not in BANDS:
        raise unknown("band", options.band, BANDS)
    if not USUAL <= options.smooth <= MAX_SPAN_STEPS:
        raise BadQuery(
            f"smooth is {options.smooth}; a span has 1 to {MAX_SPAN_STEPS:,} steps; 0 turns smoothing off, -1 is usual"
        )
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


def whole_curve(run: OpenRun, query: CurveQuery) -> Curve:
    """Return a curve with all its points; the x of some may be NaN. Raises as `curve` does."""
    check_curve(query)
    options = query.options
    points, outliers = _without_outliers(_in_steps(points_of(run, query), options), options)
    smooth = average(points.steps, points.values, options.smooth)
    finite = points.values[np.isfinite(points.values)]
    start = float(finite[0]) if options.from_zero and len(finite) else 0.0
    is_elapsed = query.x is not None and query.x.kind == "elapsed"
    return Curve(
        query=query,
        steps=points.steps,
        values=_shifted(points.values, start),
        spread=points.spread,
        low=None if points.low is None else _shifted(points.low, start),
        high=None if points.high is None else _shifted(points.high, start),
        smooth=None if smooth is None else _shifted(smooth, start),
        points=len(points.steps),
        left_out=len(outliers),
        reach=_reach(run, query, points.steps, outliers),
        x=None if query.x is None else _x_of(run, query.x, points.steps),
        x_start_s=metric_table(run).start_s if is_elapsed else None,
        with_value=points.with_value,
        samples=points.samples,
    )


def _in_steps(points: Points, options: CurveOptions) -> Points:
    """Leave out the first step, and those after the last one, if the options say so."""
    if options.skip_first and len(points.steps):
        points = _at(points, points.steps > points.steps[0])
    return points if options.last_step is None else _at(points, points.steps <= options.last_step)


def _without_outliers(points: Points, options: CurveOptions) -> tuple[Points, Ints]:
    """Return the points that are no outliers, and the steps of those that are.

    Points far off before the first other point stay: there the run learns.
    """
    if not options.outliers:
        return points, points.steps[:0]
    low, high = inlier_bounds(points.values, options.outliers)
    is_out = (points.values < low) | (points.values > high)
    is_out &= np.logical_or.accumulate(np.isfinite(points.values) & ~is_out)
    return _at(points, ~is_out), points.steps[is_out]


def _shifted(values: Floats, start: float) -> Floats:
    """Subtract a start. A number too large for a float becomes the largest one, and an infinity stays one."""
    with np.errstate(over="ignore"):
        moved = values - start
    return np.where(np.isfinite(values) & np.isinf(moved), np.copysign(np.finfo(np.float64).max, moved), moved)


def _x_of(run: OpenRun, query: CurveQuery, steps: Ints) -> Floats:
    """Return the value of another curve at each step; NaN for a step without one. Raises as `points_of` does."""
    others, values, *_ = points_of(run, query)
    if not len(others):
        return np.full(len(steps), np.nan)
    at = np.minimum(np.searchsorted(others, steps), len(others) - 1)
    return np.where(others[at] == steps, values[at], np.nan)


def _reach(run: OpenRun, query: CurveQuery, steps: Ints, outliers: Ints) -> tuple[float, float] | None:
    """Return the least and the greatest x of a curve with its outliers; None without outliers."""
    if not len(outliers):
        return None
    every = np.union1d(steps, outliers)
    x = every.astype(np.float64) if query.x is None else _x_of(run, query.x, every)
    x = x[np.abs(x) <= GREATEST]
    return (float(x.min()), float(x.max())) if len(x) else None


def cut(whole: Curve, shown: Range) -> tuple[Curve, Places]:
    """Return a part of a curve, and the places of its points. The x of the whole may be NaN."""
    first = 0 if shown.step_min is None else int(np.searchsorted(whole.steps, shown.step_min, "left"))
    stop = len(whole.steps) if shown.step_max is None else int(np.searchsorted(whole.steps, shown.step_max, "right"))
    inside = np.arange(first, max(first, stop))
    without_x = 0
    x = whole.steps.astype(np.float64) if whole.x is None else whole.x
    if whole.x is not None:
        is_known = np.abs(x[inside]) <= GREATEST
        inside, without_x = inside[is_known], int(np.count_nonzero(~is_known))
    within = inside[_in_range(x[inside], whole.query.options)]
    chosen = within[_fewer(_at(whole, within), shown.most)]
    reach = whole.reach if shown.step_min is shown.step_max is None else None
    part = _at(whole, chosen)._replace(points=len(within), without_x=without_x, reach=reach)
    return part, chosen


def _at(curve: WithPoints, places: NDArray[np.intp] | NDArray[np.bool_]) -> WithPoints:
    """Some of the points of a curve."""
    fields = curve._asdict().items()
    arrays: dict[str, Any] = {name: array[places] for name, array in fields if isinstance(array, np.ndarray)}
    return curve._replace(**arrays)


def _in_range(x: Floats, options: CurveOptions) -> Places:
    """Return the ascending places of the points in the range of x, and of its neighbours on both sides."""
    if options.x_min is None and options.x_max is None:
        return np.arange(len(x))
    order = np.argsort(x, kind="stable")
    first = 0 if options.x_min is None else max(0, int(np.searchsorted(x[order], options.x_min, "left")) - 1)
    stop = len(x) if options.x_max is None else int(np.searchsorted(x[order], options.x_max, "right")) + 1
    return np.sort(order[first:stop])


def _fewer(curve: Curve, most: int | None) -> Places:
    if most is None:
        return np.arange(len(curve.steps))
    band = _band(curve)
    return places(curve.values, most, band) if curve.x is None else places_across(curve.x, curve.values, most, band)


def _band(curve: Curve) -> tuple[Floats, Floats] | None:
    """The lower and the upper ends of the band around a curve."""
    if curve.low is not None and curve.high is not None:
        return curve.low, curve.high
    if curve.spread is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return curve.values - curve.spread, curve.values + curve.spread
