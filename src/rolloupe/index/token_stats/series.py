"""Statistics of a token series over one step: sums, a histogram, sums by position, and the most extreme tokens."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from rolloupe.index.segments.step_stats import UNIT, Moments, moments_of
from rolloupe.tokens import Floats, Origin, Reduced, TokenBatch

SHIFT = 16
"""The number of low bits of a 32-bit float that a bucket leaves out."""

NEGATIVE = 0x8000
LARGEST = float(np.finfo(np.float32).max)
"""Larger values count as this value; the extremes of a series are kept beside its histogram."""

Buckets = NDArray[np.uint32]


class Histogram(NamedTuple):
    """The number of values in each bucket that has some. Both arrays have the shape (B,)."""

    buckets: Buckets
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """The number of values."""
        return int(self.counts.sum())

    def packed(self) -> tuple[bytes, bytes]:
        """The arrays as bytes."""
        is_small = not len(self.counts) or int(self.counts.max()) < 2**32
        return self.buckets.astype("<u2").tobytes(), self.counts.astype("<u4" if is_small else "<u8").tobytes()

    def percentile(self, share: float) -> float:
        """The value at the nearest rank, interpolated within its bucket; NaN without a value."""
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


EMPTY_HISTOGRAM = Histogram(np.zeros(0, np.uint32), np.zeros(0, np.int64))


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


def merged_histograms(some: Iterable[Histogram]) -> Histogram:
    """The histogram of the values of all histograms."""
    parts = list(some)
    if len(parts) < 2:
        return parts[0] if parts else EMPTY_HISTOGRAM
    buckets, places = np.unique(np.concatenate([histogram.buckets for histogram in parts]), return_inverse=True)
    counts = np.zeros(len(buckets), np.int64)
    np.add.at(counts, places, np.concatenate([histogram.counts for histogram in parts]))
    return Histogram(buckets, counts)


def unpacked_histogram(buckets: bytes, counts: bytes) -> Histogram:
    """The histogram that `Histogram.packed` gave as bytes."""
    words = np.frombuffer(buckets, "<u2").astype(np.uint32)
    size = "<u8" if len(counts) == 8 * len(words) else "<u4"
    return Histogram(words, np.frombuffer(counts, size).astype(np.int64))


def _edge(bucket: int) -> float:
    """The smallest magnitude of a bucket."""
    edge = float(np.array([bucket << SHIFT], np.uint32).view(np.float32)[0])
    return min(edge, LARGEST)


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

    def add(self, other: "PositionSums") -> None:
        """Add the sums over other tokens, in no more buckets."""
        count = len(other.tokens)
        self.tokens[:count] += other.tokens
        with np.errstate(over="ignore"):
            self.total[:count] += other.total

    def packed(self) -> tuple[bytes, bytes]:
        """The sums as bytes, up to the last bucket with a value."""
        count = int(np.flatnonzero(self.tokens)[-1]) + 1 if self.tokens.any() else 0
        return self.tokens[:count].astype("<i8").tobytes(), self.total[:count].astype("<f8").tobytes()


def no_positions(count: int = len(EDGES)) -> PositionSums:
    """The sums over no tokens."""
    return PositionSums(np.zeros(count, np.int64), np.zeros(count))


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
            return no_positions()
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


def unpacked_positions(counts: bytes, totals: bytes) -> PositionSums:
    """The sums that `PositionSums.packed` gave as bytes."""
    return PositionSums(np.frombuffer(counts, "<i8").astype(np.int64), np.frombuffer(totals, "<f8"))


def merged_positions(some: list[PositionSums]) -> PositionSums:
    """The sums over all tokens."""
    merged = no_positions(max((len(sums.tokens) for sums in some), default=0))
    for sums in some:
        merged.add(sums)
    return merged


MAX_KEPT = 64
"""How many extreme tokens to keep: as many as a table shows, few enough for every series, step and piece of the index.
"""

COMPARED_TOGETHER = 256
"""The number of neighbouring tokens that are first compared by their most extreme value."""

BEGINNING = 4096
"""The number of values to search first for a value that may be frequent."""

LONG_SAMPLE = 256
"""Samples with more tokens are looked at one by one."""

Places = NDArray[np.intp]
W = TypeVar("W", bound=int | str | None)
Word: TypeAlias = int | str | None
"""The string of a token, else its id, if the record holds either."""


class KeptToken(NamedTuple):
    """A token: its value, the row of its sample in the segment, its place among the sample's tokens, and its word."""

    value: float
    row: int
    token: int
    word: Word


class KeptTokens:
    """The lowest or the highest tokens seen so far."""

    def __init__(self, *, highest: bool, one_a_sample: bool) -> None:
        self._sign = 1.0 if highest else -1.0
        self._one_a_sample = one_a_sample
        self._last_row = -1
        self._values: Floats = np.zeros(0)
        """The most extreme one first; the words are ids, -1 for none, or strings and ids as objects."""
        self._rows, self._places, self._words = (np.zeros(0, np.int64) for _ in range(3))

    def tokens(self) -> list[KeptToken]:
        """The tokens, the most extreme one first."""
        return [KeptToken(*token) for token in self._tuples()]

    def packed(self) -> bytes:
        """The tokens as bytes. Half of a surrogate pair becomes a question mark."""
        try:
            return _encode(self._tuples())
        except UnicodeEncodeError:
            return _encode([(value, row, place, encodable(word)) for value, row, place, word in self._tuples()])

    def _tuples(self) -> list[tuple[float, int, int, Word]]:
        words: list[Word] = [None if word == -1 else word for word in self._words.tolist()]
        return list(zip(self._values.tolist(), self._rows.tolist(), self._places.tolist(), words, strict=True))

    def add(self, batch: TokenBatch, values: Floats, reduced: Reduced) -> None:
        """Compare the tokens of a batch."""
        extremes = self._sign * (reduced.maxima if self._sign > 0 else reduced.minima)
        limit, is_later = -np.inf, int(batch.rows[0]) > self._last_row
        self._last_row = max(self._last_row, int(batch.rows[-1]))
        if len(self._values) == MAX_KEPT:
            limit = self._sign * float(self._values[-1])
        samples = np.flatnonzero((extremes > limit if is_later else extremes >= limit) & (extremes > -np.inf))
        if not len(samples):
            return
        if self._one_a_sample:
            samples = np.sort(samples[largest(extremes[samples], MAX_KEPT)])
            at = _first_of(batch, values, self._sign * extremes, samples, self._sign)
        elif reduced.is_constant:
            at = np.arange(min(MAX_KEPT, len(values)))
        else:
            at = self._tokens(values, limit)
        candidates = np.concatenate([self._values, values[at]])
        rows = np.concatenate([self._rows, batch.rows[batch.samples[at]]])
        places = np.concatenate([self._places, batch.places[at]])
        best = np.lexsort((places, rows, -self._sign * candidates))[:MAX_KEPT]
        self._values, self._rows, self._places = candidates[best], rows[best], places[best]
        self._words = np.concatenate([self._words, _words_at(batch, at)])[best]

    def _tokens(self, values: Floats, limit: float) -> Places:
        """The places of the tokens of a batch that may be among the most extreme ones."""
        limit = limit if limit > -np.inf else _bound(values, self._sign)
        beyond = np.flatnonzero(values > limit if self._sign > 0 else values < -limit)
        if len(beyond) >= MAX_KEPT:
            return beyond[largest(self._sign * values[beyond], MAX_KEPT)]
        if limit == -np.inf:
            return beyond
        equal, most = np.flatnonzero(values[:BEGINNING] == self._sign * limit), MAX_KEPT - len(beyond)
        if len(equal) < most:
            equal = np.flatnonzero(values == self._sign * limit)
        return np.concatenate([beyond, equal[:most]])


def _bound(values: Floats, sign: float) -> float:
    """A value that at least `MAX_KEPT` of the values reach, with this sign; else minus infinity."""
    pieces = np.arange(0, len(values), COMPARED_TOGETHER)
    with np.errstate(invalid="ignore"):
        ends = np.maximum.reduceat(values, pieces) if sign > 0 else -np.minimum.reduceat(values, pieces)
    ends = ends[~np.isnan(ends)]
    return float(np.partition(ends, -MAX_KEPT)[-MAX_KEPT]) if len(ends) >= MAX_KEPT else -np.inf


def largest(values: Floats, most: int) -> Places:
    """The places of the `most` largest values, in no order; of equal values the first."""
    if len(values) <= most:
        return np.arange(len(values))
    equal = np.flatnonzero(values == values.max())
    if len(equal) >= most:  # a partition of many equal values takes long
        return equal[:most]
    least = np.partition(values, -most)[-most]
    beyond = np.flatnonzero(values > least)
    return np.concatenate([beyond, np.flatnonzero(values == least)[: most - len(beyond)]])


def _first_of(batch: TokenBatch, values: Floats, extremes: Floats, samples: Places, sign: float) -> Places:
    """The first token of each sample that has the sample's extreme value, as in `_place_of`."""
    if len(batch.starts) * LONG_SAMPLE < len(values):
        ends = np.append(batch.starts, len(values))[samples + 1]
        places = zip(batch.starts[samples].tolist(), ends.tolist(), extremes[samples].tolist(), strict=True)
        return np.array([start + _place_of(values[start:end], value, sign) for start, end, value in places], np.intp)
    lengths = np.diff(batch.starts, append=len(values))
    hits = np.flatnonzero(values == np.repeat(extremes, lengths))
    return hits[np.searchsorted(hits, batch.starts[samples])]


def _place_of(values: Floats, extreme: float, sign: float) -> int:
    """The place of the first greatest value or, with the sign -1, of the first least value."""
    at = int(values.argmax() if sign > 0 else values.argmin())  # quicker than a comparison; NaN comes first
    return at if values[at] == extreme else int((values == extreme).argmax())


def _words_at(batch: TokenBatch, at: Places) -> NDArray[Any]:
    """The ids of some tokens of a batch, or their strings."""
    ids: NDArray[Any] = np.full(len(at), -1) if batch.ids is None else batch.ids[at]
    if not batch.has_strings:
        return ids
    strings = [batch.string(token) for token in at.tolist()]
    both = [own if string is None else string for own, string in zip(ids.tolist(), strings, strict=True)]
    return np.array(both, dtype=object)


def most_extreme(tokens: Iterable[KeptToken], *, highest: bool) -> list[KeptToken]:
    """The most extreme tokens, in order."""
    sign = -1.0 if highest else 1.0
    return sorted(tokens, key=lambda token: (sign * token.value, token.row, token.token))[:MAX_KEPT]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[float, int, int, int | str | None]]).decode


def encodable(word: W) -> W | str:
    """Return a word that UTF-8 can hold. Half of a surrogate pair becomes a question mark."""
    return word.encode("utf-8", "replace").decode() if isinstance(word, str) else word


def unpacked_tokens(data: bytes) -> list[KeptToken]:
    """The tokens that `KeptTokens.packed` gave as bytes."""
    return [KeptToken(*token) for token in _decode(data)]


MANY_HISTOGRAMS = 16
"""The number of histograms to hold before they are merged."""


class SeriesTotals:
    """Sums over the finite values of a series."""

    def __init__(self, origin: Origin, *, has_moments: bool = False) -> None:
        self.origin = origin
        self.moments = Moments() if has_moments else None
        """These replace the moments of the scan, which knew no annotations; None if the scan counted the same samples.
        """
        self.tokens = self.infinite = self.samples = 0
        self.total = 0.0
        """The sum of the values, in units of `UNIT`."""
        self.mean_total = 0.0
        """The sum of the means of the samples, in units of `UNIT`."""
        self.low, self.high = math.inf, -math.inf
        self.kept = [
            KeptTokens(highest=highest, one_a_sample=one_a_sample)
            for one_a_sample in (False, True)
            for highest in (False, True)
        ]
        """The lowest and the highest of all tokens, and of one token of each sample."""
        self._histograms: list[Histogram] = []

    def add(self, batch: TokenBatch, name: str) -> None:
        """Add the tokens of a batch."""
        values, reduced = batch.series[name].values, batch.reduced(name)
        count = int(reduced.counts.sum())
        finite = values
        if count < len(values):
            finite = values[np.isfinite(values)]
            self.infinite += int(np.isinf(values).sum())
        for kept in self.kept if len(batch) else ():
            kept.add(batch, values, reduced)
        if not count:
            return
        has_value = reduced.counts > 0
        self.tokens += count
        self.samples += int(np.count_nonzero(has_value))
        with np.errstate(all="ignore"):
            if math.isfinite(total := float(reduced.sums.sum())):
                self.total += total / UNIT
                self.mean_total += float(reduced.means[has_value].sum()) / UNIT
            else:  # the sum of numbers near the largest
                scaled = np.add.reduceat(np.where(np.isfinite(values), values, 0.0) / UNIT, batch.starts)
                self.total += float(scaled.sum())
                self.mean_total += float((scaled / reduced.counts)[has_value].sum())
        ends = (reduced.minima, reduced.maxima) if count == len(values) else (finite, finite)
        low, high = float(ends[0].min()), float(ends[1].max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.moments is not None:
            self.moments = self.moments.merge(moments_of(finite))
        histogram = histogram_of(finite if low < high else finite[:1])
        self._histograms.append(histogram if low < high else histogram._replace(counts=np.array([count], np.int64)))
        if len(self._histograms) >= MANY_HISTOGRAMS:
            self._histograms = [merged_histograms(self._histograms)]

    @property
    def spread(self) -> float | None:
        """As in `Moments`; None without these."""
        return None if self.moments is None else self.moments.spread

    def histogram(self) -> Histogram:
        """The histogram of the values."""
        return merged_histograms(self._histograms)
