"""Long series become short: means over at most 40 ranges."""

import math
from collections.abc import Iterable

BINS = 40


def bounds_of(count: int) -> list[tuple[int, int]]:
    """Cut so many values into at most 40 ranges that differ in length by one at most."""
    bins = min(count, BINS)
    return [(count * place // bins, count * (place + 1) // bins) for place in range(bins)]


def mean_of(values: Iterable[float]) -> float | None:
    """The mean of the finite values; None without any."""
    finite = [one for one in values if math.isfinite(one)]
    return math.fsum(finite) / len(finite) if finite else None
