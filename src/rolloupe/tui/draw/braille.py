"""Small charts of braille dots, two by four a cell, and strips of blocks: no library is needed for either."""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

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


def chart(values: Sequence[float | None], width: int, height: int) -> list[str]:
    """Return a line through the values as rows of braille, the highest first."""
    columns = _stretched(values, 2 * width)
    low, high = bounds(values)
    rows = [[0] * width for _ in range(height)]
    before: int | None = None
    for x, value in enumerate(columns):
        y = None if value is None or not isfinite(value) else round((value - low) / (high - low) * (4 * height - 1))
        if y is not None:
            _draw(rows, x, min(y, y if before is None else before), max(y, y if before is None else before))
        before = y
    return ["".join(chr(0x2800 + dots) for dots in row) for row in rows]


def _draw(rows: list[list[int]], x: int, low: int, high: int) -> None:
    """Set the dots of a column between two heights."""
    for y in range(low, high + 1):
        from_top = 4 * len(rows) - 1 - y
        rows[from_top // 4][x // 2] |= _DOTS[x % 2][from_top % 4]


def _stretched(values: Sequence[float | None], width: int) -> list[float | None]:
    """Return exactly so many values: means of neighbours, or each as often as it takes."""
    if len(values) >= width:
        return thinned(values, width)
    return [values[x * len(values) // width] for x in range(width)] if values else []


def place_of(nth: int, total: int, width: int) -> int:
    """Return the cell of value number `nth` of `total` in a row of cells."""
    shown = min(width, total)
    return min(shown - 1, nth * shown // total) if total else 0


def nth_at(place: int, total: int, width: int) -> int:
    """Return the number of the value in a cell."""
    shown = min(width, total)
    return min(total - 1, -(-place * total // shown)) if shown else 0
