"""Small charts of braille dots (two by four in each cell), strips of blocks, and the axis of values. As on the page, a
few far points do not flatten the rest of a curve: the chart counts them at its side.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise, takewhile
from math import isfinite
from operator import or_
from typing import NamedTuple, TypeAlias

from rolloupe.tui.draw.numbers import score

Values = Sequence[float | None]
Ends = tuple[float, float]

PAIR = 2
"""Cells for each stretch of a row of blocks: one for its lowest value and one for its highest."""

BLOCKS, MISSING = "▁▂▃▄▅▆▇█", "·"
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def thinned(values: Values, width: int) -> list[int]:
    """Return the ascending places of at most `width` values: the lowest and the highest of each stretch."""
    if len(values) <= width or width < PAIR:
        return list(range(len(values)))[:width]
    edges = [round(n * len(values) / (width // PAIR)) for n in range(width // PAIR + 1)]
    kept: list[int] = []
    for start, stop in pairwise(edges):
        known = [n for n in range(start, stop) if (value := values[n]) is not None and isfinite(value)] or [start]
        low, high = min(known, key=lambda n: values[n] or 0.0), max(reversed(known), key=lambda n: values[n] or 0.0)
        kept += sorted((low, high))
    return kept


def bounds(values: Values) -> tuple[float, float]:
    """Return the lowest and the highest finite value, apart from each other."""
    finite = _finite(values) or [0.0]
    low, high = min(finite), max(finite)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def sparkline(values: Values, width: int) -> str:
    """Return a row of blocks, at most `width`; a dot where no value is known."""
    shown = [values[n] for n in thinned(values, width)]
    low, high = bounds(shown)
    return "".join(
        MISSING if value is None or not isfinite(value) else BLOCKS[min(7, int(_share(value, low, high) * 8))]
        for value in shown
    )


def block_of(share: float) -> int:
    """Return the number of the block for a share: the lowest block is 0, the highest is the whole."""
    return round(7 * share) if share in (0, 1) else max(1, min(6, round(7 * share)))


def _share(value: float, low: float, high: float) -> float:
    """Return where a value lies between two others, from 0 to 1; half-way where they are too large to differ."""
    span = high / 2 - low / 2  # of halves: the whole may be infinite
    return (value / 2 - low / 2) / span if span else 0.5


Points: TypeAlias = Sequence[tuple[int, float | None]]
"""Values by step, in order."""


class Cell(NamedTuple):
    """A cell of a chart: its dots, and the number of the first curve with dots in it."""

    dots: str
    curve: int = 0


def chart(curves: Sequence[Points], width: int, height: int, axis: Ends | None = None) -> list[list[Cell]]:
    """Return lines through the points of curves, on the same axes, as rows of braille, the highest first.

    `axis` is the range of values, by default from the lowest to the highest; points beyond it are drawn at its ends.
    """
    axis = axis or bounds([value for points in curves for _, value in points])
    layers = [_line(_columns(points, span_of(curves), 2 * width), axis, height) for points in curves]
    cells = [zip(*rows, strict=True) for rows in zip(*layers, strict=True)]
    return [
        [Cell(chr(0x2800 + reduce(or_, dots)), next((nth for nth, some in enumerate(dots) if some), 0)) for dots in row]
        for row in cells
    ]


def span_of(curves: Sequence[Points]) -> tuple[int, int]:
    """Return the first step of some curves, and the last."""
    return min(points[0][0] for points in curves if points), max(points[-1][0] for points in curves if points)


def column_of(step: int, span: tuple[int, int], width: int) -> int:
    """Return the column of a step among `width` columns from the first step to the last."""
    start, stop = span
    return (step - start) * (width - 1) // max(1, stop - start)


def _columns(points: Points, span: tuple[int, int], width: int) -> list[list[float]]:
    """Return the lowest and the highest value of each column, else the last earlier value, else nothing."""
    by_column: dict[int, list[float]] = {}
    for step, value in points:
        values = by_column.setdefault(column_of(step, span, width), [])
        if value is not None and isfinite(value):
            values.append(value)
    columns: list[list[float]] = [[] for _ in range(width)]
    last: list[float] = []
    for column in range(min(by_column, default=0), max(by_column, default=-1) + 1):
        values = by_column.get(column, last)
        columns[column], last = ([min(values), max(values)] if values else []), values[-1:]
    return columns


def _line(columns: Sequence[Sequence[float]], axis: Ends, height: int) -> list[list[int]]:
    """Return the dots of a line through the lowest and the highest value of each column."""
    rows = [[0] * (len(columns) // 2) for _ in range(height)]
    before: Sequence[int] = ()
    for x, values in enumerate(columns):
        heights = [round(min(1.0, max(0.0, _share(value, *axis))) * (4 * height - 1)) for value in values]
        if heights:
            low, high = before or heights
            for y in range(min(heights[0], high), max(heights[1], low) + 1):
                from_top = 4 * height - 1 - y
                rows[from_top // 4][x // 2] |= _DOTS[x % 2][from_top % 4]
        before = heights
    return rows


FLAT = 1 / 3
"""Points that fill a smaller share of the height look flat."""
MOST_LEFT_OUT = 20
"""At most one point in this many is left out."""
LEAST_POINTS = 8
"""No point of a shorter curve is left out."""
NEAR = 1.5
"""The axis may be at most this many times as high as the points that it must hold."""


def axis_of(curves: Sequence[Values]) -> Ends:
    """Return the ends of the axis: of all points, or without far points if the others fill at most a third of its
    height. Each curve may lose the points farthest from its median: at most one in twenty, and neither the last point
    nor the first points, where a run learns.
    """
    whole = bounds([value for values in curves for value in values])
    rest = [value for values in curves for value in _near(_finite(values))]
    return bounds(rest) if rest and 0 < _height(rest) <= FLAT * _height(whole) else whole


def beyond(curves: Sequence[Values], axis: Ends) -> str:
    """Return how many points are beyond the ends of the axis, and the farthest values; empty for none."""
    points = [value for values in curves for value in _finite(values)]
    above, below = [value for value in points if value > axis[1]], [value for value in points if value < axis[0]]
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
        return values  # if the quartiles are equal, the few other values are all that the curve shows
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
