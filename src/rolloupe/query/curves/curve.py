"""Curves of a run: all points of each, or as many as a chart shows; moving averages, and the bounds of outliers.

A whole curve is cut after its outliers are left out, its values are shifted, and its average is computed: zooming in
changes none of them.

For fewer points, a curve is cut into buckets: of equal size by step, of equal width by a different x. Each bucket keeps
its smallest and its largest value, its first NaN, and the lowest and the highest end of its band. Spikes and gaps thus
remain visible, however few points are drawn. Infinities count as extremes.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.errors import BadQuery
from rolloupe.formats.reading.files import listing_once
from rolloupe.index import OpenRun
from rolloupe.model import LARGEST
from rolloupe.query.curves.points import BANDS, STATS, Curve, CurveQuery, Floats, Ints, points_of
from rolloupe.query.engine.names import unknown
from rolloupe.query.evals.scores import MAX_K
from rolloupe.query.run.trainer_files import metric_table

GREATEST = 1e100  # beyond it, the distance of two numbers may overflow: such an x counts as none
MAX_SPAN_STEPS = 1_000_000
MAX_OUTLIERS = 1000

LAST_STEP = 2**63 - 1
MOST_E = 200.0  # weights within a block differ by less than e to this power, so that sums of them overflow nowhere
SCALED = 2.0**-300  # sums of larger numbers than 1e150, times the weights of a block, would overflow without it

USUAL, LEAST_SPAN, MOST_SPAN, LEAST_SMOOTHED = -1, 5, 50, 30
"""The value that means the usual span: a tenth of the points, within limits; none for fewer than 30 points."""

LEAST_POINTS = 5  # room for the first point, the last, and the extremes of one bucket
LEAST_OF_BAND = LEAST_POINTS + 2  # room for the extremes of a band, too
Places = NDArray[np.intp]
Band = tuple[Floats, Floats]  # the lower and the upper ends around each value


class Range(NamedTuple):
    """The part of a chart in sight: the steps from `step_min` to `step_max`, in at most `most` points."""

    most: int | None = None
    step_min: int | None = None
    step_max: int | None = None


ALL_STEPS = Range()


def curves(run: OpenRun, queries: Sequence[CurveQuery], *, most: int | None = None) -> list[Curve]:
    """Return several curves. Raises as `curve` does."""
    with listing_once():  # each asks which files hold the trainer's metrics
        return [curve(run, query, Range(most)) for query in queries]


def curve(run: OpenRun, query: CurveQuery, shown: Range = ALL_STEPS) -> Curve:
    """Return one curve, or the part of it that is shown.

    The extremes of a longer curve and of its band survive. The moving average, the bounds of outliers and the start of
    a curve from zero are those of the whole curve.

    Raises `BadQuery` for unknown names and for invalid options, `NotFound` for an unknown evaluation.
    """
    check_range(shown)
    return cut(whole_curve(run, query), shown)[0]


def check_range(shown: Range) -> None:
    """Raise `BadQuery` for fewer points than a curve has."""
    if shown.most is not None and shown.most < LEAST_POINTS:
        raise BadQuery(f"a curve has at least {LEAST_POINTS} points; {shown.most} were requested")


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
        span = f"a span has 1 to {MAX_SPAN_STEPS:,} steps; 0 turns smoothing off, -1 is usual"
        raise BadQuery(f"smooth is {options.smooth}; {span}")
    if not 1 <= options.k <= MAX_K:
        raise BadQuery(f"k is {options.k}; the k of pass@k is a whole number from 1 to {MAX_K:,}")
    if not 0 <= options.outliers <= MAX_OUTLIERS:
        raise BadQuery(
            f"outliers is {options.outliers}; a factor is a number up to {MAX_OUTLIERS:,}, 0 keeps all values"
        )
    numbers = {"threshold": options.threshold, "x_min": options.x_min, "x_max": options.x_max}
    for name, number in numbers.items():
        if number is not None and not math.isfinite(number):
            raise BadQuery(f"{name} is {number}; it must be a finite number")
    if query.x is not None:
        if query.x.x is not None:
            raise BadQuery("the x of a curve has no x of its own")
        check_curve(query.x)


def whole_curve(run: OpenRun, query: CurveQuery) -> Curve:
    """Return a curve with all its points; the x of some may be NaN. Raises as `curve` does."""
    check_curve(query)
    options, points = query.options, points_of(run, query)
    if options.skip_first and len(points.steps):
        points = _at(points, points.steps > points.steps[0])
    if options.last_step is not None:
        points = _at(points, points.steps <= options.last_step)
    outliers = points.steps[:0]
    if options.outliers:
        least, most = inlier_bounds(points.values, options.outliers)
        is_out = (points.values < least) | (points.values > most)
        is_out &= np.logical_or.accumulate(np.isfinite(points.values) & ~is_out)  # not the first: there a run learns
        points, outliers = _at(points, ~is_out), points.steps[is_out]
    reach = None
    if len(outliers):
        every = np.union1d(points.steps, outliers)
        x = every.astype(np.float64) if query.x is None else _x_of(run, query.x, every)
        x = x[np.abs(x) <= GREATEST]
        reach = (float(x.min()), float(x.max())) if len(x) else None
    finite = points.values[np.isfinite(points.values)]
    start = float(finite[0]) if options.from_zero and len(finite) else 0.0
    low, high, smooth = (
        None if values is None else _shifted(values, start)
        for values in (points.low, points.high, average(points.steps, points.values, options.smooth))
    )
    is_elapsed = query.x is not None and query.x.kind == "elapsed"
    return points._replace(
        query=query,
        values=_shifted(points.values, start),
        low=low,
        high=high,
        smooth=smooth,
        points=len(points.steps),
        left_out=len(outliers),
        reach=reach,
        x=None if query.x is None else _x_of(run, query.x, points.steps),
        x_start_s=metric_table(run).start_s if is_elapsed else None,
    )


def _shifted(values: Floats, start: float) -> Floats:
    """Subtract a start. A number too large for a float becomes the largest float, and infinities stay."""
    with np.errstate(over="ignore"):
        moved = values - start
    return np.where(np.isfinite(values) & np.isinf(moved), np.copysign(LARGEST, moved), moved)


def _x_of(run: OpenRun, query: CurveQuery, steps: Ints) -> Floats:
    """Return the value of another curve at each step; NaN for a step without one. Raises as `points_of` does."""
    other = points_of(run, query)
    if not len(other.steps):
        return np.full(len(steps), np.nan)
    at = np.minimum(np.searchsorted(other.steps, steps), len(other.steps) - 1)
    return np.where(other.steps[at] == steps, other.values[at], np.nan)


def cut(whole: Curve, shown: Range) -> tuple[Curve, Places]:
    """Return a part of a curve, and the places of its points. The `x` of the whole may be NaN."""
    first = 0 if shown.step_min is None else int(np.searchsorted(whole.steps, shown.step_min, "left"))
    stop = len(whole.steps) if shown.step_max is None else int(np.searchsorted(whole.steps, shown.step_max, "right"))
    inside = np.arange(first, max(first, stop))
    without_x = 0
    x = whole.steps.astype(np.float64) if whole.x is None else whole.x
    if whole.x is not None:
        is_known = np.abs(x[inside]) <= GREATEST
        inside, without_x = inside[is_known], int(np.count_nonzero(~is_known))
    low, high = whole.query.options.x_min, whole.query.options.x_max
    if low is not None or high is not None:  # a neighbour on both sides belongs to the range
        order = np.argsort(x[inside], kind="stable")
        ordered = x[inside][order]
        first = 0 if low is None else max(0, int(np.searchsorted(ordered, low, "left")) - 1)
        stop = len(order) if high is None else int(np.searchsorted(ordered, high, "right")) + 1
        inside = inside[np.sort(order[first:stop])]
    chosen = inside
    if shown.most is not None:
        points = _at(whole, inside)
        chosen = inside[places(points.values, shown.most, _band(points), points.x)]
    reach = whole.reach if shown.step_min is shown.step_max is None else None
    part = _at(whole, chosen)._replace(points=len(inside), without_x=without_x, reach=reach)
    return part, chosen


def _at(curve: Curve, places: Places | NDArray[np.bool_]) -> Curve:
    fields = curve._asdict().items()
    arrays: dict[str, Any] = {name: array[places] for name, array in fields if isinstance(array, np.ndarray)}
    return curve._replace(**arrays)


def _band(curve: Curve) -> Band | None:
    if curve.low is not None and curve.high is not None:
        return curve.low, curve.high
    if curve.spread is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return curve.values - curve.spread, curve.values + curve.spread


def average(steps: Ints, values: Floats, span_steps: int) -> Floats | None:
    """Return the average of a whole curve over a span, which may be `USUAL`; None if nothing is averaged."""
    if span_steps == USUAL:
        span_steps = min(MOST_SPAN, max(LEAST_SPAN, len(values) // 10)) if len(values) >= LEAST_SMOOTHED else 0
    return smoothed(steps, values, span_steps) if span_steps else None


def smoothed(steps: Ints, values: Floats, span_steps: int) -> Floats:
    """Return the average at each point: NaN at a value that is not finite, and such values do not count.

    The weight of a value falls with its distance in steps: by w = 1 - 2 / (span + 1) for each step. Dividing by the sum
    of the weights corrects the bias of the start (Kingma and Ba 2015, section 3), so that a constant curve stays
    constant.

    Within a block of points, weights are relative to the first point and grow by 1 / w each step. The weighted sum up
    to a point, divided by the sum of the weights, is the average there.
    """
    keep = 1 - 2 / (span_steps + 1)
    result = np.full(len(values), np.nan)
    finite = np.isfinite(values)
    at, all_values = steps[finite], values[finite]
    if keep <= 0 or not len(at):
        result[finite] = all_values
        return result
    scale = SCALED if np.abs(all_values).max() > 1e150 else 1.0
    fall = -math.log(keep)
    means = np.empty(len(at))
    first, mean, weight, last = 0, 0.0, 0.0, int(at[0])
    while first < len(at):
        end = min(int(at[first]) + int(MOST_E / fall), LAST_STEP)
        stop = max(first + 1, int(np.searchsorted(at, end, "right")))
        growth = np.exp((at[first:stop] - at[first]) * fall)
        before = weight * math.exp(-fall * (int(at[first]) - last))
        weights = before + np.cumsum(growth)
        block = (before * mean + np.cumsum(growth * (all_values[first:stop] * scale))) / weights
        means[first:stop] = block
        mean, weight, last = float(block[-1]), float(weights[-1] / growth[-1]), int(at[stop - 1])
        first = stop
    result[finite] = np.clip(means, -LARGEST * scale, LARGEST * scale) / scale
    return result


def inlier_bounds(values: Floats, factor: float) -> tuple[float, float]:
    """Return the bounds beyond which values are outliers. They lie outside the quartiles by `factor` times the distance
    between these (Tukey 1977). The quartiles are of the finite values, interpolated linearly. If they are equal, there
    are no bounds: a share that is mostly zero would lose all other values.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -np.inf, np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.quantile(finite, (0.25, 0.75))
        if low == high:
            return -np.inf, np.inf
        return low - factor * (high - low), high + factor * (high - low)


def places(values: Floats, most: int, band: Band | None = None, x: Floats | None = None) -> Places:
    """Return ascending places: at most `most` (at least `LEAST_POINTS`), those of the least and greatest x included.

    Without `x`, values lie evenly. Each `x` is finite; it may fall, repeat, and lie unevenly.
    """
    if len(values) <= most:
        return np.arange(len(values))
    lows, highs = [values], [values]
    if band is not None and most >= LEAST_OF_BAND:
        lows, highs = [values, band[0]], [values, band[1]]
    is_nan = np.isnan(values)
    buckets = max(1, (max(most, LEAST_POINTS) - 2) // (len(lows) + len(highs) + bool(is_nan.any())))
    if x is None:
        return _places_by_size(lows, highs, is_nan, buckets)
    return _places_by_width(x, [*lows, *(-array for array in highs)], is_nan, buckets)


def _places_by_size(lows: list[Floats], highs: list[Floats], is_nan: NDArray[np.bool_], buckets: int) -> Places:
    count = len(is_nan)
    size = -(-count // buckets)
    starts = np.arange(0, count, size)

    def rows(array: Floats, fill: float) -> Floats:
        padded = np.concatenate([np.where(np.isnan(array), fill, array), np.full(-count % size, fill)])
        return padded.reshape(-1, size)

    gaps = rows(is_nan.astype(np.float64), 0.0)
    picks = [
        *(starts + rows(array, np.inf).argmin(axis=1) for array in lows),
        *(starts + rows(array, -np.inf).argmax(axis=1) for array in highs),
        (starts + gaps.argmax(axis=1))[gaps.any(axis=1)],
        np.array([0, count - 1]),
    ]
    is_chosen = np.zeros(count, dtype=bool)  # many times as fast as a sorted set of them
    is_chosen[np.minimum(np.concatenate(picks), count - 1)] = True
    return np.flatnonzero(is_chosen)


def _places_by_width(x: Floats, lows: list[Floats], is_nan: NDArray[np.bool_], buckets: int) -> Places:
    """Buckets of equal width are columns of a picture: a crowd of points takes none from a sparse stretch."""
    low, high = x.min(), x.max()
    width = (high - low) / buckets or 1.0
    column = np.minimum(((x - low) / width).astype(np.int64), buckets - 1)
    picks = [np.array([x.argmin(), x.argmax()])]
    for key, among in [*((array, ~np.isnan(array)) for array in lows), (x, is_nan)]:
        at = np.flatnonzero(among)
        order = at[np.lexsort((key[at], column[at]))]
        picks.append(order[np.diff(column[order], prepend=-1) > 0])
    return np.unique(np.concatenate(picks))
