"""Decimation: fewer points of a long curve, without losing spikes and gaps.

The points are cut into buckets: of equal size by step, of equal width across any other x. Of each bucket the smallest
and the largest value survive, its first NaN, and of a band its lowest and its highest end, so that a spike and a gap
remain visible however few points are drawn. Infinities count as extremes.
"""

import numpy as np
from numpy.typing import NDArray

from rolloupe.query.curves.records import Floats

LEAST_POINTS = 5
"""Fewer points leave no room for the first, the last, and the extremes of one bucket."""

LEAST_OF_BAND = LEAST_POINTS + 2
"""Fewer points leave no room for the extremes of a band."""

Band = tuple[Floats, Floats]
"""The lower and the upper ends around each value."""


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
    keys = [*((array, ~np.isnan(array)) for array in (*lows, *(-one for one in highs))), (x, is_nan)]
    for key, among in keys:
        at = np.flatnonzero(among)
        order = at[np.lexsort((key[at], column[at]))]
        picks.append(order[np.diff(column[order], prepend=-1) > 0])
    return np.unique(np.concatenate(picks))


def _ends(values: Floats, band: Band | None, most: int) -> tuple[list[Floats], list[Floats]]:
    """What is kept where it is least, and what where it is greatest."""
    if band is None or most < LEAST_OF_BAND:
        return [values], [values]
    return [values, band[0]], [values, band[1]]


def _buckets(most: int, each: int) -> int:
    return max(1, (max(most, LEAST_POINTS) - 2) // each)
