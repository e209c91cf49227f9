"""Arithmetic on the points of a curve: its moving average, the bounds of its outliers, and fewer points of it.

For fewer points, a curve is cut into buckets: of equal size by step, of equal width across any other x. Of each bucket
the smallest and the largest value survive, its first NaN, and of a band its lowest and its highest end, so that a spike
and a gap remain visible however few points are drawn. Infinities count as extremes.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rolloupe.query.curves.records import Floats, Ints

LARGEST = float(np.finfo(np.float64).max)
LAST_STEP = 2**63 - 1

MOST_E = 200.0
"""Weights within a block differ by less than e to this power, so that sums of them overflow nowhere."""

SCALED = 2.0**-300
"""Sums of larger numbers than 1e150, times the weights of a block, would overflow without it."""

USUAL, USUAL_SPAN, LEAST_SMOOTHED = -1, 10, 30
"""The span that stands for the usual one: of ten steps, but none for a curve of fewer than 30 points."""

LEAST_POINTS = 5
"""Fewer points leave no room for the first, the last, and the extremes of one bucket."""

LEAST_OF_BAND = LEAST_POINTS + 2
"""Fewer points leave no room for the extremes of a band."""

Band = tuple[Floats, Floats]
"""The lower and the upper ends around each value."""


def average(steps: Ints, values: Floats, span_steps: int) -> Floats | None:
    """Return the average of a whole curve over a span, which may be `USUAL`; None if nothing is averaged."""
    if span_steps == USUAL:
        span_steps = 0 if len(values) < LEAST_SMOOTHED else USUAL_SPAN
    return smoothed(steps, values, span_steps) if span_steps else None


def smoothed(steps: Ints, values: Floats, span_steps: int) -> Floats:
    """Return the average at each point: NaN at a value that is not finite, and such values do not count.

    The weight of a value falls with its distance in steps: by w = 1 - 2 / (span + 1) for each step. Dividing by the sum
    of the weights corrects the bias of the start (Kingma and Ba 2015, section 3), so that a constant curve stays
    constant.

    In a block of points, the weights relative to its first point grow, by 1 / w a step; the sums up to each point, over
    the sums of the weights, are the averages.
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
    """Return the least and the greatest value that is no outlier.

    They are `factor` times the distance of the quartiles beyond these (Tukey 1977). Quartiles are those of the finite
    values, interpolated linearly. There are no bounds without any, nor where the quartiles are equal: a share that is
    mostly zero would lose all that it shows.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -np.inf, np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.quantile(finite, (0.25, 0.75))
        if low == high:
            return -np.inf, np.inf
        return low - factor * (high - low), high + factor * (high - low)


def places(values: Floats, most: int, band: Band | None = None) -> NDArray[np.intp]:
    """Return ascending places: at most `most` (at least `LEAST_POINTS`), the first and the last included."""
    count = len(values)
    if count <= most:
        return np.arange(count)
    is_nan = np.isnan(values)
    low, high = _ends(values, band, most)
    size = -(-count // _buckets(most, len(low) + len(high) + bool(is_nan.any())))
    starts = np.arange(0, count, size)

    def rows(array: Floats, fill: float) -> Floats:
        padded = np.concatenate([np.where(np.isnan(array), fill, array), np.full(-count % size, fill)])
        return padded.reshape(-1, size)

    gaps = rows(is_nan.astype(np.float64), 0.0)
    picks = [
        *(starts + rows(array, np.inf).argmin(axis=1) for array in low),
        *(starts + rows(array, -np.inf).argmax(axis=1) for array in high),
        (starts + gaps.argmax(axis=1))[gaps.any(axis=1)],
        np.array([0, count - 1]),
    ]
    is_chosen = np.zeros(count, dtype=bool)  # many times as fast as a sorted set of them
    is_chosen[np.minimum(np.concatenate(picks), count - 1)] = True
    return np.flatnonzero(is_chosen)


def places_across(x: Floats, values: Floats, most: int, band: Band | None = None) -> NDArray[np.intp]:
    """Return ascending places: at most `most`, those of the least and of the greatest x included.

    Each x is finite; it may fall, repeat, and lie unevenly. Buckets of equal width are columns of a picture: a crowd of
    points takes none from a sparse stretch.
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    is_nan = np.isnan(values)
    lows, highs = _ends(values, band, most)
    buckets = _buckets(most, len(lows) + len(highs) + bool(is_nan.any()))
    low, high = x.min(), x.max()
    width = (high - low) / buckets or 1.0
    column = np.minimum(((x - low) / width).astype(np.int64), buckets - 1)
    picks = [np.array([x.argmin(), x.argmax()])]
    arrays = [*lows, *(-array for array in highs)]
    keys = [*((array, ~np.isnan(array)) for array in arrays), (x, is_nan)]
    for key, among in keys:
        at = np.flatnonzero(among)
        order = at[np.lexsort((key[at], column[at]))]
        picks.append(order[np.diff(column[order], prepend=-1) > 0])
    return np.unique(np.concatenate(picks))


def _ends(values: Floats, band: Band | None, most: int) -> tuple[list[Floats], list[Floats]]:
    """The arrays whose minima of each bucket are kept, and those whose maxima are."""
    if band is None or most < LEAST_OF_BAND:
        return [values], [values]
    return [values, band[0]], [values, band[1]]


def _buckets(most: int, each: int) -> int:
    return max(1, (max(most, LEAST_POINTS) - 2) // each)
