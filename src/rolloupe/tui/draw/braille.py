"""Small charts of braille dots, two by four a cell, and strips of blocks: no library is needed for either."""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from math import isfinite
from operator import or_
from typing import NamedTuple, TypeAlias

BLOCKS = "▁▂▃▄▅▆▇█"
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def thinned(values: Sequence[float | None], width: int) -> list[float | None]:
    """Return means of as many neighbours as it takes to have at most so many values."""
    if len(values) <= width:
        return list(values)
    edges = [round(n * len(values) / width) for n in range(width + 1)]
    return [_mean(values[start:stop]) for start, stop in pairwise(edges)]


def _mean(values: Sequence[float | None]) -> float | None:
    finite = [value for value in values if value is not None and isfinite(value)]
    return sum(finite) / len(finite) if finite else None


def bounds(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the lowest and the highest finite value, apart from each other."""
    finite = [value for value in values if value is not None and isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return a row of blocks, at most `width`; a blank where no value is known."""
    shown = thinned(values, width)
    low, high = bounds(shown)
    return "".join(_block(value, low, high) for value in shown)


def _block(value: float | None, low: float, high: float) -> str:
    if value is None or not isfinite(value):
        return " "
    return BLOCKS[min(7, int((value - low) / (high - low) * 8))]


Points: TypeAlias = Sequence[tuple[int, float | None]]
"""Values by step, in order."""


class Cell(NamedTuple):
    """A cell of a chart: its dots, and the number of the curve that has some in it; of several curves the first."""

    dots: str
    curve: int = 0


def chart(curves: Sequence[Points], width: int, height: int) -> list[list[Cell]]:
    """Return lines through the points of curves, on the same axes, as rows of braille, the highest first."""
    low, high = bounds([value for points in curves for _, value in points])
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
    return [round((value - low) / (high - low) * (4 * height - 1)) for value in values]


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


def place_of(nth: int, total: int, width: int) -> int:
    """Return the cell of value number `nth` of `total` in a row of cells."""
    shown = min(width, total)
    return min(shown - 1, nth * shown // total) if total else 0


def nth_at(place: int, total: int, width: int) -> int:
    """Return the number of the value in a cell."""
    shown = min(width, total)
    return min(total - 1, -(-place * total // shown)) if shown else 0
