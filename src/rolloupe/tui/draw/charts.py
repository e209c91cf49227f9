"""Small charts of braille dots, two by four a cell, strips of blocks, and the axis of values.

As on the page, a few far points do not press the rest of a curve flat: they are counted beside the chart.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise, takewhile
from math import isfinite
from operator import or_
from typing import NamedTuple, TypeAlias

from rolloupe.tui.draw.numbers import score

PAIR = 2
"""Cells for each stretch of a row of blocks: one for its lowest value and one for its highest."""

BLOCKS, MISSING = "▁▂▃▄▅▆▇█", "·"
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def thinned(values: Sequence[float | None], width: int) -> list[int]:
    """Return the ascending numbers of at most so many values: of neighbours the lowest and the highest one."""
    if len(values) <= width or width < PAIR:
        return list(range(len(values)))[:width]
    edges = [round(n * len(values) / (width // PAIR)) for n in range(width // PAIR + 1)]
    return [number for start, stop in pairwise(edges) for number in _extremes(values, range(start, stop))]


def _extremes(values: Sequence[float | None], numbers: range) -> list[int]:
    known = [n for n in numbers if (value := values[n]) is not None and isfinite(value)] or [numbers.start]
    return sorted((min(known, key=lambda n: values[n] or 0.0), max(reversed(known), key=lambda n: values[n] or 0.0)))


def bounds(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the lowest and the highest finite value, apart from each other."""
    finite = [value for value in values if value is not None and isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return a row of blocks, at most `width`; a dot where no value is known."""
    shown = [values[n] for n in thinned(values, width)]
    low, high = bounds(shown)
    return "".join(_block(value, low, high) for value in shown)


def block_of(share: float) -> int:
    """Return the number of the block of a share of a whole: the lowest is nothing, and the highest all of it."""
    return round(7 * share) if share in (0, 1) else max(1, min(6, round(7 * share)))


def _block(value: float | None, low: float, high: float) -> str:
    if value is None or not isfinite(value):
        return MISSING
    return BLOCKS[min(7, int(_share(value, low, high) * 8))]


def _share(value: float, low: float, high: float) -> float:
    """Return where a value lies between two others, from 0 to 1; half-way where they are too large to differ."""
    span = high / 2 - low / 2  # of halves: the whole may be infinite
    return (value / 2 - low / 2) / span if span else 0.5


Points: TypeAlias = Sequence[tuple[int, float | None]]
"""Values by step, in order."""


class Cell(NamedTuple):
    """A cell of a chart: its dots, and the number of the curve that has some in it; of several curves the first."""

    dots: str
    curve: int = 0


def chart(
    curves: Sequence[Points], width: int, height: int, axis: tuple[float, float] | None = None
) -> list[list[Cell]]:
    """Return lines through the points of curves, on the same axes, as rows of braille, the highest first.

    What is beyond the ends of `axis`, of values, is drawn at its ends; without one, it is from the least value to the
    greatest.
    """
    low, high = axis or bounds([value for points in curves for _, value in points])
    start, stop = span_of(curves)
    layers = [
        _line([_heights(ends, low, high, height) for ends in _columns(points, start, stop, 2 * width)], height)
        for points in curves
    ]
    return [[_cell(dots) for dots in zip(*rows, strict=True)] for rows in zip(*layers, strict=True)]


def span_of(curves: Sequence[Points]) -> tuple[int, int]:
    """Return the first step of some curves, and the last."""
    return min(points[0][0] for points in curves if points), max(points[-1][0] for points in curves if points)


def column_of(step: int, span: tuple[int, int], width: int) -> int:
    """Return the column of a step among so many, between the first step and the last."""
    start, stop = span
    return (step - start) * (width - 1) // max(1, stop - start)


def _columns(points: Points, start: int, stop: int, width: int) -> list[list[float]]:
    """Return the lowest and the highest value of each column, or the last one before; nothing where none is known."""
    found: dict[int, list[float]] = {}
    for step, value in points:
        values = found.setdefault(column_of(step, (start, stop), width), [])
        if value is not None and isfinite(value):
            values.append(value)
    columns: list[list[float]] = [[] for _ in range(width)]
    last: list[float] = []
    for column in range(min(found, default=0), max(found, default=-1) + 1):
        values = found.get(column, last)
        columns[column], last = ([min(values), max(values)] if values else []), values[-1:]
    return columns


def _heights(values: Sequence[float], low: float, high: float, height: int) -> list[int]:
    return [round(min(1.0, max(0.0, _share(value, low, high))) * (4 * height - 1)) for value in values]


def _line(heights: Sequence[Sequence[int]], height: int) -> list[list[int]]:
    """Return the dots of a line through the heights of columns."""
    rows = [[0] * (len(heights) // 2) for _ in range(height)]
    before: Sequence[int] = ()
    for x, ends in enumerate(heights):
        if ends:
            low, high = before or ends
            _draw(rows, x, min(ends[0], high), max(ends[1], low))
        before = ends
    return rows


def _cell(dots: Sequence[int]) -> Cell:
    every = reduce(or_, dots)
    return Cell(chr(0x2800 + every), next((nth for nth, one in enumerate(dots) if one), 0))


def _draw(rows: list[list[int]], x: int, low: int, high: int) -> None:
    """Set the dots of a column between two heights."""
    for y in range(low, high + 1):
        from_top = 4 * len(rows) - 1 - y
        rows[from_top // 4][x // 2] |= _DOTS[x % 2][from_top % 4]


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
