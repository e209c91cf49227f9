"""Outliers of a curve, by the distance from its quartiles."""

import numpy as np

from rolloupe.query.curves.records import Floats

QUARTILES = (0.25, 0.75)


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
        low, high = np.quantile(finite, QUARTILES)
        if low == high:
            return -np.inf, np.inf
        return low - factor * (high - low), high + factor * (high - low)
