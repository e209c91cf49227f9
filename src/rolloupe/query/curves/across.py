"""What stands across a chart instead of the step: the value of another curve at the step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.index import OpenRun
from rolloupe.query.curves.points import points_of
from rolloupe.query.curves.records import CurveQuery, Floats, Ints
from rolloupe.query.run.trainer_metrics import metric_table

GREATEST = 1e100
"""Beyond it, the distance of two numbers may overflow: such an x counts as none."""


class Across(NamedTuple):
    """The x of each step; NaN for a step without one."""

    x: Floats
    start_s: float | None = None
    """For elapsed time: when it begins, in seconds since 1970."""


def across(run: OpenRun, query: CurveQuery, steps: Ints) -> Across:
    """Join the steps of a curve with another curve. Raises as `points_of` does."""
    others, values, *_ = points_of(run, query)
    x = np.full(len(steps), np.nan)
    if len(others):
        at = np.minimum(np.searchsorted(others, steps), len(others) - 1)
        x = np.where(others[at] == steps, values[at], np.nan)
    return Across(x, metric_table(run).start_s if query.kind == "elapsed" else None)


def is_known(x: Floats) -> NDArray[np.bool_]:
    """Tell which are places on the axis."""
    known: NDArray[np.bool_] = np.abs(x) <= GREATEST
    return known
