"""Bins of equal width with round edges, which stay as they are while a run grows within its range."""

import math
import sys
from typing import NamedTuple

MOST_BINS = 48
"""More rows of a heat map than this are hard to tell apart."""

NARROWEST = 1e-12
"""The narrowest bins, as a share of the largest value: the digits of narrower ones are lost."""


LARGEST = sys.float_info.max


class Bins(NamedTuple):
    """Bins from `first * width` on: bin `i` holds the values from edge `i` up to, not including, edge `i + 1`."""

    width: float
    first: int
    size: int

    @property
    def edges(self) -> list[float]:
        """The `size + 1` edges, as short decimal numbers."""
        edges = (float(f"{(self.first + i) * self.width:.12g}") for i in range(self.size + 1))
        return [max(-LARGEST, min(LARGEST, edge)) for edge in edges]

    def near(self, value: str) -> str:
        """In SQL, the number of the bin of a finite value, or of a neighbour: quotients are rounded."""
        return f"least(greatest(floor({value} / {self.width!r}) - {self.first}, 0), {self.size - 1})::INTEGER"

    def exact(self, value: str, near: str) -> str:
        """In SQL, the number of the bin, by its edges. The outermost bins hold what lies beyond them."""
        edges = self.edges
        low, high = ([*map(repr, side)] for side in (edges[:-1], edges[1:]))
        below = f"({value} < [{', '.join(low)}][{near} + 1])::INTEGER"
        above = f"({value} >= [{', '.join(high)}][{near} + 1])::INTEGER"
        return f"least(greatest({near} - {below} + {above}, 0), {self.size - 1})"


def bins_of(low: float, high: float, *, whole: bool = False) -> Bins:
    """Return at most `MOST_BINS` bins for values from `low` to `high`; `whole` for bins that begin at whole numbers."""
    largest = max(abs(low), abs(high))
    width = _round_up(max(high / (MOST_BINS - 2) - low / (MOST_BINS - 2), largest * NARROWEST, 1e-300))
    if low == high:
        width = _round_up(largest / 10) if largest else 1.0
    if whole:
        width = max(1.0, width)
    first = math.floor(low / width)
    return Bins(width, first, min(MOST_BINS, math.floor(high / width) - first + 1))


def _round_up(width: float) -> float:
    """The next larger number whose only digit is 1, 2 or 5."""
    power = math.floor(math.log10(width))
    return next(
        found for digit in ("1", "2", "5", "10", "20") if (found := float(f"{digit}e{power}")) >= width * (1 - 1e-12)
    )
