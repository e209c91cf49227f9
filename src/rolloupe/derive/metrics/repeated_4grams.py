"""Which share of the 4-grams at the end of the response stood there before: the sign of a loop.

A 4-gram is four words in a row. Words are parted by white space, and a character from U+3000 on begins a word, so that
Chinese and Japanese text has some. Words are
compared by their first eight bytes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch

Places = NDArray[np.int64]

TAIL_BYTES = 2048
"""So much of the end of a response is looked at, in which a loop shows; more would slow the index down."""

AT_ONCE_BYTES = 2**17
LONG_GRAMS = 200
"""Texts with more 4-grams than so many, on average, are sorted one by one."""

N = 4
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_PAD = b" " * 8
WIDE = 0xE3
"""The first byte of characters from U+3000 on, or less."""
_BLANKS, _HIGH = np.uint64(0x2121212121212121), np.uint64(0x8080808080808080)
_THREE_BYTES, _FOUR_BYTES = np.uint64(2**24 - 1), np.uint64(2**32 - 1)


def _of_batch(batch: SampleBatch) -> BatchValues:
    shares = np.full(len(batch), np.nan)
    texts = [(row.response if len(row.response) <= TAIL_BYTES else row.response[-TAIL_BYTES:]) for row in batch.rows]
    tails = [text.encode("utf-8", "replace")[-TAIL_BYTES:] for text in texts]
    sizes = np.cumsum([len(tail) + 1 for tail in tails])
    first = 0
    while first < len(tails):  # as much at a time as the caches of a processor hold
        stop = max(first + 1, int(np.searchsorted(sizes, AT_ONCE_BYTES + (sizes[first - 1] if first else 0), "right")))
        shares[first:stop] = _shares(tails[first:stop])
        first = stop
    return shares


def _shares(tails: Sequence[bytes]) -> NDArray[np.float64]:
    data = _PAD.join(tails) + _PAD
    offsets = np.concatenate([[0], np.cumsum([len(tail) + len(_PAD) for tail in tails])])
    starts = _word_starts(data)
    words = _words(data, starts) * _MIX
    words ^= words >> _HALF
    hashes = _hashes(words)
    bounds = np.searchsorted(starts, offsets)
    counts = np.maximum(np.diff(bounds) - (N - 1), 0)
    repeats = _repeats_apart if len(hashes) > LONG_GRAMS * len(tails) else _repeats_together
    with np.errstate(invalid="ignore"):
        shares: NDArray[np.float64] = repeats(hashes, bounds[:-1], counts) / counts
    return shares


def _repeats_apart(hashes: NDArray[np.uint64], firsts: Places, counts: Places) -> Places:
    """How many 4-grams of each text stood there before: for long texts, one after another."""
    small = (hashes >> _HALF).astype(np.uint32)
    repeats = np.zeros(len(counts), np.int64)
    for number, (first, count) in enumerate(zip(firsts.tolist(), counts.tolist(), strict=True)):
        if count > 1:
            grams = small[first : first + count]
            grams.sort()
            repeats[number] = np.count_nonzero(grams[1:] == grams[:-1])
    return repeats


def _repeats_together(hashes: NDArray[np.uint64], firsts: Places, counts: Places) -> Places:
    """The same for many short texts: all are sorted at once, by text and hash."""
    owners = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
    ends = np.cumsum(counts)
    places = np.arange(len(owners)) + np.repeat(firsts - (ends - counts), counts)
    keys = (owners << _HALF) | (hashes[places] >> _HALF)
    keys.sort()
    before = np.concatenate([[0], np.cumsum(keys[1:] == keys[:-1])]) if len(keys) else np.zeros(1, np.int64)
    at = np.concatenate([[0], np.maximum(ends - 1, 0)])
    repeats: Places = np.diff(before[np.minimum(at, len(before) - 1)])
    return repeats


def _word_starts(data: bytes) -> NDArray[np.int64]:
    array = np.frombuffer(data, np.uint8)[:-7]
    is_space = array <= 32
    begins = ~is_space
    begins[1:] &= is_space[:-1]
    if not data.isascii():
        begins |= (array >= WIDE) & (array != 0xFF)
    return np.flatnonzero(begins)


def _words(data: bytes, starts: Places) -> NDArray[np.uint64]:
    """The first eight bytes of each word as a number, those from white space on as zeros."""
    words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,)).take(starts)
    wide = (words & np.uint64(0xFF)) >= np.uint64(WIDE)
    spaces = (words - _BLANKS) & ~words & _HIGH  # the high bit of the first byte below 0x21; Mycroft's trick
    first = spaces & (~spaces + np.uint64(1))
    words &= (first >> np.uint64(7)) - np.uint64(1)
    if wide.any():
        words[wide] &= np.where((words[wide] & np.uint64(0xF0)) == np.uint64(0xF0), _FOUR_BYTES, _THREE_BYTES)
    return words


def _hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes of each word with the three behind it; the upper half is well mixed."""
    if len(words) < N:
        return np.empty(0, np.uint64)
    total = words[: 1 - N] * np.uint64(3)
    for shift in range(1, N):
        total += words[shift : len(words) - N + 1 + shift]
        total *= _MIX
    return total


METRIC = DerivedMetric("repeated_4grams", 1, "Repeated 4-grams", of_batch=_of_batch)
