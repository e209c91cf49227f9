"""The medians of groups."""

import numpy as np

from rolloupe.features import Floats, Grouping
from rolloupe.insight.lint.data import Mask


def group_medians(grouping: Grouping, values: Floats, wanted: Mask) -> Floats:
    """The median of the finite values of the groups with a wanted sample, for each of their samples; else NaN."""
    medians = np.full(len(values), np.nan)
    has = np.flatnonzero(grouping.sums(wanted.astype(np.float64)) > 0) if len(grouping) else ()
    for group in has:
        own = slice(grouping.starts[group], grouping.starts[group] + grouping.sizes[group])
        medians[own] = np.median(values[own][np.isfinite(values[own])])
    return medians
