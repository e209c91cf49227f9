"""The most extreme tokens of a series, of which a few are kept: of all tokens, and at most one of each sample.

Of tokens with one value, those of earlier samples count, and of one sample the earlier ones, whatever order they come
in: so all viewers of a run keep the same tokens.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from rolloupe.tokens import Floats, Reduced, TokenBatch

MAX_KEPT = 64
"""As many as a table shows; few enough to keep for every series, step and piece of the index."""

PIECE = 256
"""How many tokens to compare at first by their most extreme one."""

BEGINNING = 4096
"""How many values to look at first for one that may be frequent."""

LONG = 256
"""Samples with more tokens are looked at one by one."""

Places = NDArray[np.intp]
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
        return [KeptToken(*one) for one in self._tuples()]

    def packed(self) -> bytes:
        """The same as bytes. Half of a surrogate pair becomes a question mark."""
        try:
            return _encode(self._tuples())
        except UnicodeEncodeError:
            return _encode([(*one[:3], _encodable(one[3])) for one in self._tuples()])

    def _tuples(self) -> list[tuple[float, int, int, Word]]:
        words: list[Word] = [None if one == -1 else one for one in self._words.tolist()]
        return list(zip(self._values.tolist(), self._rows.tolist(), self._places.tolist(), words, strict=True))

    def add(self, batch: TokenBatch, values: Floats, reduced: Reduced) -> None:
        """See the tokens of a batch."""
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
        found = np.concatenate([self._values, values[at]])
        rows = np.concatenate([self._rows, batch.rows[batch.samples[at]]])
        places = np.concatenate([self._places, batch.places[at]])
        best = np.lexsort((places, rows, -self._sign * found))[:MAX_KEPT]
        self._values, self._rows, self._places = found[best], rows[best], places[best]
        self._words = np.concatenate([self._words, _words(batch, at)])[best]

    def _tokens(self, values: Floats, limit: float) -> Places:
        """The places of the tokens of a batch that may be among the most extreme ones."""
        limit = limit if limit > -np.inf else _bound(values, self._sign)
        beyond = np.flatnonzero(values > limit if self._sign > 0 else values < -limit)
        if len(beyond) >= MAX_KEPT:
            return beyond[largest(self._sign * values[beyond], MAX_KEPT)]
        if limit == -np.inf:
            return beyond
        return np.concatenate([beyond, _first_equal(values, self._sign * limit, MAX_KEPT - len(beyond))])


def _first_equal(values: Floats, value: float, most: int) -> Places:
    """The places of at most so many of the first values that are equal to one; of few values there are many."""
    same = np.flatnonzero(values[:BEGINNING] == value)
    return (same if len(same) >= most else np.flatnonzero(values == value))[:most]


def _bound(values: Floats, sign: float) -> float:
    """A value that at least `MAX_KEPT` of the values reach, with this sign; minus infinity if none is found."""
    pieces = np.arange(0, len(values), PIECE)
    with np.errstate(invalid="ignore"):
        ends = np.maximum.reduceat(values, pieces) if sign > 0 else -np.minimum.reduceat(values, pieces)
    ends = ends[~np.isnan(ends)]
    return float(np.partition(ends, -MAX_KEPT)[-MAX_KEPT]) if len(ends) >= MAX_KEPT else -np.inf


def largest(values: Floats, most: int) -> Places:
    """The places of so many of the largest values, in no order; of equal ones the first."""
    if len(values) <= most:
        return np.arange(len(values))
    equal = np.flatnonzero(values == values.max())
    if len(equal) >= most:  # a partition of many equal values takes long
        return equal[:most]
    least = np.partition(values, -most)[-most]
    beyond = np.flatnonzero(values > least)
    return np.concatenate([beyond, np.flatnonzero(values == least)[: most - len(beyond)]])


def _first_of(batch: TokenBatch, values: Floats, extremes: Floats, samples: Places, sign: float) -> Places:
    """The first token of each of some samples that has the sample's extreme value, as in `_place_of`."""
    if len(batch.starts) * LONG < len(values):
        ends = np.append(batch.starts, len(values))[samples + 1]
        places = zip(batch.starts[samples].tolist(), ends.tolist(), extremes[samples].tolist(), strict=True)
        return np.array([start + _place_of(values[start:end], value, sign) for start, end, value in places], np.intp)
    lengths = np.diff(batch.starts, append=len(values))
    hits = np.flatnonzero(values == np.repeat(extremes, lengths))
    return hits[np.searchsorted(hits, batch.starts[samples])]


def _place_of(values: Floats, extreme: float, sign: float) -> int:
    """The place of the first value that is the greatest or, with the sign -1, the least one."""
    at = int(values.argmax() if sign > 0 else values.argmin())  # quicker than a comparison; NaN comes first
    return at if values[at] == extreme else int((values == extreme).argmax())


def _words(batch: TokenBatch, at: Places) -> NDArray[Any]:
    """The ids of some tokens of a batch, or their strings."""
    ids: NDArray[Any] = np.full(len(at), -1) if batch.ids is None else batch.ids[at]
    if not batch.has_strings:
        return ids
    strings = [batch.string(token) for token in at.tolist()]
    both = [own if string is None else string for own, string in zip(ids.tolist(), strings, strict=True)]
    return np.array(both, dtype=object)


def most_extreme(tokens: Iterable[KeptToken], *, highest: bool) -> list[KeptToken]:
    """The most extreme of some tokens."""
    sign = -1.0 if highest else 1.0
    return sorted(tokens, key=lambda one: (sign * one.value, one.row, one.token))[:MAX_KEPT]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[float, int, int, int | str | None]]).decode


def _encodable(word: Word) -> Word:
    return word.encode("utf-8", "replace").decode() if isinstance(word, str) else word


def unpacked(data: bytes) -> list[KeptToken]:
    """The tokens that `KeptTokens.packed` gave as bytes."""
    return [KeptToken(*one) for one in _decode(data)]
