"""The axis of values of a chart, as on the page: a few far points do not press the rest flat; they are counted."""

from collections.abc import Sequence
from itertools import takewhile
from math import isfinite

from rolloupe.tui.draw.braille import bounds
from rolloupe.tui.draw.figures import score

Values = Sequence[float | None]
Ends = tuple[float, float]

FLAT = 1 / 3
"""In a smaller part of the height, the rest is flat."""
MOST_LEFT_OUT = 20
"""At most one point of so many is left out."""
LEAST_POINTS = 8
"""Of fewer points none is left out."""
NEAR = 1.5
"""A range near to the least one is at most so many times as wide."""


def axis_of(curves: Sequence[Values]) -> Ends:
    """Return the ends of the axis: of all points, or without far ones if the others have a third of its height or less.

    Of each curve the points farthest from its median may be left out: at most one in twenty, never the last one or
    those that it begins with, where a run learns.
    """
    whole = bounds([value for values in curves for value in values])
    rest = [value for values in curves for value in _near(_finite(values))]
    return bounds(rest) if rest and 0 < _height(rest) <= FLAT * _height(whole) else whole


def beyond(curves: Sequence[Values], axis: Ends) -> str:
    """Return how many points are beyond the ends of the axis, and the farthest values; empty for none."""
    points = [value for values in curves for value in _finite(values)]
    above, below = [one for one in points if one > axis[1]], [one for one in points if one < axis[0]]
    sides = (("▲", above, "above", max), ("▼", below, "below", min))
    return "  ".join(
        f"{arrow} {len(some):,} {'point' if len(some) == 1 else 'points'} {side}: {score(farthest(some))}"
        for arrow, some, side, farthest in sides
        if some
    )


def _finite(values: Values) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]


def _near(values: list[float]) -> list[float]:
    """Return the values of a curve that its axis must hold."""
    count, ordered = len(values), sorted(values)
    if count < LEAST_POINTS or ordered[count // 4] == ordered[count * 3 // 4]:
        return values  # of a curve with equal quartiles the few other values are all that it shows
    median, most = ordered[count // 2], max(1, count // MOST_LEFT_OUT)
    far = sorted(values, key=lambda value: -abs(value / 2 - median / 2))
    out = set(far[:most])
    kept = [*far[most:], values[-1], *takewhile(out.__contains__, values)]
    near = min(NEAR * _height(kept), FLAT * _height(values))
    for value in reversed(far[1:most]):
        if _height([*kept, value]) > near:
            break
        kept.append(value)
    return kept


def _height(values: Sequence[float]) -> float:
    """Return half the distance of the least and the greatest value: the whole may be infinite."""
    return max(values) / 2 - min(values) / 2
