"""Sums of each series by the position of a token in its response."""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rolloupe.tokens import Floats, TokenBatch

EXACT = 64
"""Positions below have a bucket each; beyond, buckets are an eighth of a power of two wide, and wider."""

_BEYOND = [round(EXACT * 2 ** (number / 8)) for number in range(8 * 24 + 1)]
EDGES: NDArray[np.int64] = np.array([*range(EXACT), *_BEYOND], np.int64)
"""The first position of each bucket."""

Column = TypeVar("Column", Floats, NDArray[np.int64])


class PositionSums(NamedTuple):
    """A series by bucket: `tokens` values with the sum `total` in each of the first buckets."""

    tokens: NDArray[np.int64]
    total: Floats


class PositionRuns:
    """The trained tokens of a batch in runs: neighbours of one sample in one bucket.

    The position of a token is how many trained tokens of its sample precede it.
    """

    def __init__(self, batch: TokenBatch) -> None:
        self._trained = None if batch.trained.all() else np.flatnonzero(batch.trained)
        buckets = np.searchsorted(EDGES, self._of_trained(batch.positions), side="right") - 1
        samples = self._of_trained(batch.samples)
        self._starts = np.flatnonzero(np.diff(samples * len(EDGES) + buckets, prepend=-1))
        self._buckets = buckets[self._starts]
        self._lengths = np.diff(self._starts, append=len(buckets))

    def sums(self, values: Floats) -> PositionSums:
        """The sums over the finite values of a series, for all buckets."""
        values = self._of_trained(values)
        if not len(values):
            return PositionSums(np.zeros(len(EDGES), np.int64), np.zeros(len(EDGES)))
        with np.errstate(all="ignore"):
            totals, counts = np.add.reduceat(values, self._starts), self._lengths
        if not np.isfinite(totals).all():
            finite = np.isfinite(values)
            counts = np.add.reduceat(finite, self._starts, dtype=np.int64)
            totals = np.add.reduceat(np.where(finite, values, 0.0), self._starts)
        return PositionSums(
            np.bincount(self._buckets, counts, len(EDGES)).astype(np.int64),
            np.bincount(self._buckets, totals, len(EDGES)).astype(np.float64),
        )

    def _of_trained(self, values: Column) -> Column:
        return values if self._trained is None else values.take(self._trained)


class PositionTotals:
    """Sums of a series over the batches seen so far."""

    def __init__(self) -> None:
        self._tokens, self._total = np.zeros(len(EDGES), np.int64), np.zeros(len(EDGES))

    def add(self, sums: PositionSums) -> None:
        """Add the sums of a batch."""
        self._tokens += sums.tokens
        with np.errstate(over="ignore"):
            self._total += sums.total

    def packed(self) -> tuple[bytes, bytes]:
        """The sums as bytes, up to the last bucket with a value."""
        count = int(np.flatnonzero(self._tokens)[-1]) + 1 if self._tokens.any() else 0
        return self._tokens[:count].astype("<i8").tobytes(), self._total[:count].astype("<f8").tobytes()


def unpacked(counts: bytes, totals: bytes) -> PositionSums:
    """The sums that `PositionTotals.packed` gave as bytes."""
    return PositionSums(np.frombuffer(counts, "<i8").astype(np.int64), np.frombuffer(totals, "<f8"))


def merged(some: list[PositionSums]) -> PositionSums:
    """The sums over all of some."""
    longest = max((len(one.tokens) for one in some), default=0)
    found = PositionSums(np.zeros(longest, np.int64), np.zeros(longest))
    for one in some:
        found.tokens[: len(one.tokens)] += one.tokens
        found.total[: len(one.total)] += one.total
    return found
