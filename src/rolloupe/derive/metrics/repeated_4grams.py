"""The share of 4-grams at the end of the response that repeat earlier ones: the sign of a loop.

A 4-gram is four words in a row. White space separates words, and each character from U+3000 on begins a word, so
Chinese and Japanese text has words, too. Words are compared by their first eight bytes.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from rolloupe.derive.base import DerivedMetric, SampleBatch

Places = NDArray[np.int64]

TAIL_BYTES = 2048
"""The searched end of a response: a loop shows in it, and a longer one would slow the index down."""

AT_ONCE_BYTES = 2**16
"""How much is searched together: malloc takes arrays of this size from its heap, without new pages."""

N = 4
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_PAD = b" " * 8
WIDE, WIDEST = 0xE3, 0xF0  # the first bytes of characters from U+3000 on, or less, and from U+10000 on
_BLANKS, _HIGH = np.uint64(0x2121212121212121), np.uint64(0x8080808080808080)
_ONE, _SEVEN = np.uint64(1), np.uint64(7)
_WORD_BYTES = np.repeat(np.array([2**64 - 1, 2**24 - 1, 2**32 - 1], np.uint64), [WIDE, WIDEST - WIDE, 256 - WIDEST])
"""For each first byte, a mask of the word's bits: a wide character is a word of three or four bytes."""


def _of_batch(batch: SampleBatch) -> NDArray[np.float64]:
    shares = np.full(len(batch), np.nan)
    tails = [*map(_tail, batch.written)]
    sizes = np.cumsum([len(tail) + 1 for tail in tails])
    first = 0
    while first < len(tails):
        stop = max(first + 1, int(np.searchsorted(sizes, AT_ONCE_BYTES + (sizes[first - 1] if first else 0), "right")))
        shares[first:stop] = _shares(tails[first:stop])
        first = stop
    return shares


def _tail(text: str) -> bytes:
    if not text.isascii():  # three eighths of the characters often make enough bytes
        tail = text[-TAIL_BYTES * 3 // 8 :].encode("utf-8", "replace")
        if len(tail) >= TAIL_BYTES:
            return tail[-TAIL_BYTES:]
    return text[-TAIL_BYTES:].encode("utf-8", "replace")[-TAIL_BYTES:]


def _shares(tails: Sequence[bytes]) -> NDArray[np.float64]:
    data = b" ".join(tails) + _PAD
    starts = _word_starts(data)
    bounds = np.searchsorted(starts, list(accumulate((len(tail) + 1 for tail in tails), initial=0)))
    firsts, counts = bounds[:-1], np.maximum(np.diff(bounds) - (N - 1), 0)
    hashes = _hashes(_words(data, starts))
    for first, end in zip(firsts.tolist(), (firsts + counts).tolist(), strict=True):
        hashes[first:end].sort()
    repeats = np.flatnonzero(hashes[1:] == hashes[:-1])
    found = np.searchsorted(repeats, firsts + np.maximum(counts - 1, 0)) - np.searchsorted(repeats, firsts)
    with np.errstate(invalid="ignore"):
        shares: NDArray[np.float64] = found / counts
    return shares


def _word_starts(data: bytes) -> Places:
    array = np.frombuffer(data, np.uint8)[:-7]
    is_space = array <= 32
    begins = np.empty_like(is_space)
    begins[0] = not is_space[0]
    np.greater(is_space[:-1], is_space[1:], out=begins[1:])
    if not data.isascii():
        begins |= array >= WIDE
    return np.flatnonzero(begins)


def _words(data: bytes, starts: Places) -> NDArray[np.uint64]:
    """The first eight bytes of each word as a number, those from white space on as zeros."""
    words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,)).take(starts)
    spaces = words - _BLANKS
    spaces &= ~words
    spaces &= _HIGH
    spaces &= np.negative(spaces)  # the high bit of the first byte below 0x21; Mycroft's trick
    spaces >>= _SEVEN
    spaces -= _ONE
    words &= spaces
    if not data.isascii():
        words &= _WORD_BYTES.take(np.frombuffer(data, np.uint8).take(starts))
    return words


def _hashes(words: NDArray[np.uint64]) -> NDArray[np.uint32]:
    words *= _MIX
    words ^= words >> _HALF
    total = words[: 1 - N] * np.uint64(3)
    for shift in range(1, N):
        total += words[shift : len(words) - N + 1 + shift]
        total *= _MIX
    return (total >> _HALF).astype(np.uint32)


METRIC = DerivedMetric("repeated_4grams", 2, "Repeated 4-grams", of_batch=_of_batch)
