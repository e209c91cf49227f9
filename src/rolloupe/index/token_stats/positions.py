"""Sums of a few series by the position of a token in its response."""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rolloupe.index.token_stats.words import KLS
from rolloupe.tokens import TokenBatch

EXACT = 64
"""Positions below have a bucket each; beyond, buckets are an eighth of a power of two wide, and wider."""

_BEYOND = [round(EXACT * 2 ** (number / 8)) for number in range(8 * 24 + 1)]
EDGES: NDArray[np.int64] = np.array([*range(EXACT), *_BEYOND], np.int64)
"""The first position of each bucket."""


class PositionSums(NamedTuple):
    """A series by bucket: `tokens` values with the sum `total` in each of the first buckets."""

    tokens: list[int]
    total: list[float]


class PositionTotals:
    """Sums over the trained tokens: a token's position is how many trained tokens of its sample precede it."""

    def __init__(self) -> None:
        self._sums: dict[str, NDArray[np.float64]] = {}

    def add(self, batch: TokenBatch) -> None:
        """Add the tokens of a batch."""
        names = [name for name in ("entropy", next((one for one in KLS if one in batch.series), "")) if name]
        names = [name for name in names if name in batch.series]
        if not names:
            return
        buckets = np.searchsorted(EDGES, batch.positions, side="right") - 1
        for name in names:
            values = batch.series[name].values
            kept = np.flatnonzero(batch.trained & np.isfinite(values))
            places, sums = buckets[kept], self._sums.setdefault(name, np.zeros((2, len(EDGES))))
            sums[0] += np.bincount(places, minlength=len(EDGES))
            sums[1] += np.bincount(places, values[kept], len(EDGES))

    def sums(self) -> dict[str, PositionSums]:
        """The sums by series."""
        found = {}
        for name, (counts, totals) in self._sums.items():
            last = int(np.flatnonzero(counts)[-1]) + 1 if counts.any() else 0
            found[name] = PositionSums(counts[:last].astype(np.int64).tolist(), totals[:last].tolist())
        return found


def packed(sums: dict[str, PositionSums]) -> bytes:
    """Sums as bytes."""
    return msgspec.msgpack.encode(sums)


_decode = msgspec.msgpack.Decoder(dict[str, PositionSums]).decode


def unpacked(data: bytes) -> dict[str, PositionSums]:
    """The sums that `packed` gave as bytes."""
    return _decode(data)
