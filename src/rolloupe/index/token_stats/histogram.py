"""A histogram with logarithmic buckets, symmetric around 0, for percentiles of any series.

A bucket is what the first 16 bits of a float32 have in common: sign, exponent, and 7 bits of the mantissa. So a bucket
is at most 2**-7 = 0.8 % wide, relative to its values, and a percentile is at most that far from the true one; between
-1e-38 and 1e-38 it is at most 1e-38 away. Histograms add up: that of a whole is the sum of those of its parts.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.tokens import Floats

SHIFT = 16
"""How many of the 32 bits do not count."""

NEGATIVE = 0x8000
LARGEST = float(np.finfo(np.float32).max)
"""Larger values count as this one; the extremes of a series are kept beside its histogram."""

Words = NDArray[np.uint32]


class Histogram(NamedTuple):
    """How many values each bucket holds; buckets without a value are left out. Both arrays have the shape (B,)."""

    buckets: Words
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """The number of values."""
        return int(self.counts.sum())

    def packed(self) -> tuple[bytes, bytes]:
        """The arrays as bytes."""
        return self.buckets.astype("<u2").tobytes(), self.counts.astype("<u4" if self._is_small else "<u8").tobytes()

    @property
    def _is_small(self) -> bool:
        return not len(self.counts) or int(self.counts.max()) < 2**32

    def percentile(self, share: float) -> float:
        """The value that this share of the values does not exceed: the nearest rank, interpolated within its bucket.

        NaN without a value.
        """
        total = self.total
        if not total:
            return math.nan
        order = np.argsort(np.where(self.buckets < NEGATIVE, self.buckets + NEGATIVE, 2 * NEGATIVE - 1 - self.buckets))
        reached = np.cumsum(self.counts[order])
        rank = min(total, max(1, math.ceil(share * total)))
        at = int(np.searchsorted(reached, rank))
        bucket, count = int(self.buckets[order[at]]), int(self.counts[order[at]])
        part = (rank - (int(reached[at]) - count) - 0.5) / count
        near, far = _edge(bucket & ~NEGATIVE), _edge((bucket & ~NEGATIVE) + 1)
        return near + part * (far - near) if bucket < NEGATIVE else -(far - part * (far - near))


EMPTY = Histogram(np.zeros(0, np.uint32), np.zeros(0, np.int64))


def histogram_of(values: Floats) -> Histogram:
    """The histogram of finite values."""
    with np.errstate(all="ignore"):
        single = values.astype("<f4")
        is_small = bool(np.isfinite(single.sum()))
    if not is_small:
        single = np.clip(values, -LARGEST, LARGEST).astype("<f4")
    counts = np.bincount(single.view("<u2")[1::2])
    buckets = np.flatnonzero(counts)
    return Histogram(buckets.astype(np.uint32), counts[buckets])


def histogram_of_one(value: float, count: int) -> Histogram:
    """The histogram of a finite value that occurs so often."""
    return Histogram(histogram_of(np.array([value])).buckets, np.array([count], np.int64))


def merged(some: Iterable[Histogram]) -> Histogram:
    """The histogram of all their values."""
    parts = list(some)
    if len(parts) < 2:
        return parts[0] if parts else EMPTY
    buckets, places = np.unique(np.concatenate([one.buckets for one in parts]), return_inverse=True)
    counts = np.zeros(len(buckets), np.int64)
    np.add.at(counts, places, np.concatenate([one.counts for one in parts]))
    return Histogram(buckets, counts)


def unpacked(buckets: bytes, counts: bytes) -> Histogram:
    """The histogram that `Histogram.packed` gave as bytes."""
    words = np.frombuffer(buckets, "<u2").astype(np.uint32)
    size = "<u8" if len(counts) == 8 * len(words) else "<u4"
    return Histogram(words, np.frombuffer(counts, size).astype(np.int64))


def _edge(bucket: int) -> float:
    """The smallest magnitude of a bucket."""
    edge = float(np.array([bucket << SHIFT], np.uint32).view(np.float32)[0])
    return min(edge, LARGEST)
