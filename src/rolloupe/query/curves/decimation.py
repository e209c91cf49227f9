"""Decimation: fewer points of a long curve, without losing spikes and gaps.

The points are cut into buckets: of equal size by step, of equal width across any other x. Of each bucket the smallest
and the largest value survive, and its first NaN, so that a spike and a gap remain visible however few points are drawn.
Infinities count as extremes.
"""

import numpy as np
from numpy.typing import NDArray

from rolloupe.query.curves.records import Floats

LEAST_POINTS = 5
"""Fewer points leave no room for the first, the last, and the extremes of one bucket."""


def places(values: Floats, most: int) -> NDArray[np.intp]:
    """Return ascending places: at most `most` (at least `LEAST_POINTS`), the first and the last included."""
    count = len(values)
    if count <= most:
        return np.arange(count)
    per_bucket = 3 if np.isnan(values).any() else 2
    buckets = max(1, (max(most, LEAST_POINTS) - 2) // per_bucket)
    size = -(-count // buckets)
    rows = np.concatenate([values, np.full(-count % size, np.nan)]).reshape(-1, size)
    starts = np.arange(0, count, size)
    is_nan = np.isnan(rows)
    picks = [
        starts + np.where(is_nan, np.inf, rows).argmin(axis=1),
        starts + np.where(is_nan, -np.inf, rows).argmax(axis=1),
        (starts + is_nan.argmax(axis=1))[is_nan.any(axis=1)],
        np.array([0, count - 1]),
    ]
    chosen = np.unique(np.concatenate(picks))
    return chosen[chosen < count]


def places_across(x: Floats, values: Floats, most: int) -> NDArray[np.intp]:
    """Return ascending places: at most `most`, those of the least and of the greatest x included.

    Each x is finite; it may fall, repeat, and lie unevenly. Buckets of equal width are columns of a picture: a crowd of
    points takes none from a sparse stretch.
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    is_nan = np.isnan(values)
    buckets = max(1, (max(most, LEAST_POINTS) - 2) // (3 if is_nan.any() else 2))
    low, high = x.min(), x.max()
    width = (high - low) / buckets or 1.0
    column = np.minimum(((x - low) / width).astype(np.int64), buckets - 1)
    picks = [np.array([x.argmin(), x.argmax()])]
    for key, among in ((values, ~is_nan), (-values, ~is_nan), (x, is_nan)):
        at = np.flatnonzero(among)
        order = at[np.lexsort((key[at], column[at]))]
        picks.append(order[np.diff(column[order], prepend=-1) > 0])
    return np.unique(np.concatenate(picks))
