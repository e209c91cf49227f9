"""The part of a curve that a chart shows: of some steps, of a range of x, in fewer points.

A whole curve is cut after its outliers are left out, its values are shifted, and its average is computed: zooming in
changes none of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.query.curves.across import is_known
from rolloupe.query.curves.decimation import places, places_across
from rolloupe.query.curves.records import Curve, CurveOptions, Floats, Ints

Places = NDArray[np.intp]


class Range(NamedTuple):
    """What a chart shows: the steps from `step_min` to `step_max`, in at most `most` points."""

    most: int | None = None
    step_min: int | None = None
    step_max: int | None = None


def cut(whole: Curve, shown: Range) -> tuple[Curve, Places]:
    """Return a part of a curve, and the places of its points. The x of the whole may be NaN."""
    first, stop = _between(whole.steps, shown)
    inside = np.arange(first, stop)
    if whole.x is not None:
        inside = inside[is_known(whole.x[first:stop])]
    x = whole.steps.astype(np.float64) if whole.x is None else whole.x
    within = inside[_within(x[inside], whole.query.options)]
    chosen = _fewer(_at(whole, within), shown.most)
    part = _at(whole, within[chosen])
    reach = whole.reach if shown.step_min is shown.step_max is None else None
    counted = part._replace(points=len(within), without_x=stop - first - len(inside), reach=reach)
    return counted, within[chosen]


def _at(curve: Curve, chosen: Places) -> Curve:
    def at(array: Floats | None) -> Floats | None:
        return None if array is None else array[chosen]

    return curve._replace(
        steps=curve.steps[chosen],
        values=curve.values[chosen],
        spread=at(curve.spread),
        low=at(curve.low),
        high=at(curve.high),
        smooth=at(curve.smooth),
        x=at(curve.x),
        with_value=None if curve.with_value is None else curve.with_value[chosen],
        samples=None if curve.samples is None else curve.samples[chosen],
    )


def _between(steps: Ints, shown: Range) -> tuple[int, int]:
    first = 0 if shown.step_min is None else int(np.searchsorted(steps, shown.step_min, "left"))
    stop = len(steps) if shown.step_max is None else int(np.searchsorted(steps, shown.step_max, "right"))
    return first, max(first, stop)


def _within(x: Floats, options: CurveOptions) -> Places:
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
    """The lower and the upper ends of what is drawn around a curve."""
    if curve.low is not None and curve.high is not None:
        return curve.low, curve.high
    if curve.spread is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return curve.values - curve.spread, curve.values + curve.spread
