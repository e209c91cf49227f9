"""The most extreme tokens of a series, of which a few are kept: of all tokens, and at most one of each sample.

Of tokens with one value, those of earlier samples count, and of one sample the earlier ones, whatever order they come
in: so all viewers of a run keep the same tokens.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from rolloupe.tokens import Floats, Reduced, TokenBatch

MAX_KEPT = 64
"""As many as a table shows; few enough to keep for every series, step and piece of the index."""

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
        self._highest, self._one_a_sample = highest, one_a_sample
        self.tokens: list[KeptToken] = []
        """The most extreme one first."""

    def add(self, batch: TokenBatch, values: Floats, reduced: Reduced) -> None:
        """See the tokens of a batch."""
        extremes = reduced.maxima if self._highest else reduced.minima
        if self._one_a_sample:
            at = _first_of(batch, values, self._samples(extremes), extremes)
        else:
            at = self._tokens(values, extremes)
        if not len(at):
            return
        fresh = [
            KeptToken(value, row, token, place)
            for value, row, token, place in zip(
                values[at].tolist(), batch.rows[batch.samples[at]].tolist(), batch.places[at].tolist(), at.tolist(),
                strict=True,
            )
        ]  # fmt: skip
        word_of = _words(batch)
        known = {id(one) for one in self.tokens}
        best = most_extreme([*self.tokens, *fresh], highest=self._highest)
        self.tokens = [one if id(one) in known else one._replace(word=word_of(one.word)) for one in best]

    def _limit(self) -> float:
        """A value beyond which, or at which, a token may be among the most extreme ones."""
        return self._sign * self.tokens[-1].value if len(self.tokens) == MAX_KEPT else -np.inf

    def _samples(self, extremes: Floats) -> Places:
        signed = self._sign * extremes
        candidates = np.flatnonzero((signed >= self._limit()) & np.isfinite(signed))
        return candidates[_largest(signed[candidates])]

    def _tokens(self, values: Floats, extremes: Floats) -> Places:
        signed = self._sign * extremes
        signed = signed[np.isfinite(signed)]
        limit = self._limit()
        if len(signed) > MAX_KEPT:  # as many tokens have at least this value
            limit = max(limit, float(np.partition(signed, -MAX_KEPT)[-MAX_KEPT]))
        elif not len(signed) or float(signed.max()) < limit:
            return np.zeros(0, np.intp)
        candidates = np.flatnonzero(values >= limit if self._highest else values <= -limit)
        candidates = candidates[np.isfinite(values[candidates])]
        return candidates[_largest(self._sign * values[candidates])]


def _largest(values: Floats) -> Places:
    """The places of the largest values; of equal ones the first."""
    if len(values) <= MAX_KEPT:
        return np.arange(len(values))
    least = np.partition(values, -MAX_KEPT)[-MAX_KEPT]
    beyond = np.flatnonzero(values > least)
    return np.concatenate([beyond, np.flatnonzero(values == least)[: MAX_KEPT - len(beyond)]])


def _first_of(batch: TokenBatch, values: Floats, samples: Places, extremes: Floats) -> Places:
    """The first token of each of some samples that has the sample's extreme value."""
    ends = np.append(batch.starts[1:], len(values))
    found = [
        first + int(np.argmax(values[first:end] == extremes[sample]))
        for sample, first, end in zip(samples, batch.starts[samples].tolist(), ends[samples].tolist(), strict=True)
    ]
    return np.array(found, np.intp)


def _words(batch: TokenBatch) -> Callable[[Word], Word]:
    ids = batch.ids

    def word(place: Word) -> Word:
        assert isinstance(place, int)
        string = batch.string(place)
        if string is not None or ids is None:
            return string
        known = int(ids[place])
        return known if known >= 0 else None

    return word


def most_extreme(tokens: Iterable[KeptToken], *, highest: bool) -> list[KeptToken]:
    """The most extreme of some tokens."""
    sign = -1.0 if highest else 1.0
    return sorted(tokens, key=lambda one: (sign * one.value, one.row, one.token))[:MAX_KEPT]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[float, int, int, int | str | None]]).decode


def packed(tokens: list[KeptToken]) -> bytes:
    """Tokens as bytes. Half of a surrogate pair becomes a question mark."""
    try:
        return _encode(tokens)
    except UnicodeEncodeError:
        return _encode([one._replace(word=_encodable(one.word)) for one in tokens])


def _encodable(word: Word) -> Word:
    return word.encode("utf-8", "replace").decode() if isinstance(word, str) else word


def unpacked(data: bytes) -> list[KeptToken]:
    """The tokens that `packed` gave as bytes."""
    return [KeptToken(*one) for one in _decode(data)]
