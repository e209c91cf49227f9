"""The share of 4-grams at the end of the response that repeat earlier ones: the sign of a loop.

A 4-gram is four words in a row. White space separates words, and each character from U+3000 on begins a word, so
Chinese and Japanese text has words, too. Words are compared by their first eight bytes.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from rolloupe.derive.base import DerivedMetric, SampleBatch
from rolloupe.derive.text_array import PAD, word_starts, words_at

TAIL_BYTES = 2048
"""The searched end of a response: a loop shows in it, and a longer one would slow the index down."""

AT_ONCE_BYTES = 2**16
"""How much is searched together: malloc takes arrays of this size from its heap, without new pages."""

N = 4
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def _of_batch(batch: SampleBatch) -> NDArray[np.float64]:
    shares = np.full(len(batch), np.nan)
    tails = [text[-TAIL_BYTES:] for text in batch.joined.encoded]
    sizes = np.cumsum([len(tail) + 1 for tail in tails])
    first = 0
    while first < len(tails):
        stop = max(first + 1, int(np.searchsorted(sizes, AT_ONCE_BYTES + (sizes[first - 1] if first else 0), "right")))
        shares[first:stop] = _shares(tails[first:stop])
        first = stop
    return shares


def _shares(tails: Sequence[bytes]) -> NDArray[np.float64]:
    data = b" ".join(tails) + PAD
    starts = word_starts(data)
    bounds = np.searchsorted(starts, list(accumulate((len(tail) + 1 for tail in tails), initial=0)))
    firsts, counts = bounds[:-1], np.maximum(np.diff(bounds) - (N - 1), 0)
    hashes = _hashes(words_at(data, starts))
    for first, end in zip(firsts.tolist(), (firsts + counts).tolist(), strict=True):
        hashes[first:end].sort()
    repeats = np.flatnonzero(hashes[1:] == hashes[:-1])
    found = np.searchsorted(repeats, firsts + np.maximum(counts - 1, 0)) - np.searchsorted(repeats, firsts)
    with np.errstate(invalid="ignore"):
        shares: NDArray[np.float64] = found / counts
    return shares


def _hashes(words: NDArray[np.uint64]) -> NDArray[np.uint32]:
    words *= _MIX
    words ^= words >> _HALF
    total = words[: 1 - N] * np.uint64(3)
    for shift in range(1, N):
        total += words[shift : len(words) - N + 1 + shift]
        total *= _MIX
    return (total >> _HALF).astype(np.uint32)


METRIC = DerivedMetric("repeated_4grams", 2, "Repeated 4-grams", of_batch=_of_batch)
