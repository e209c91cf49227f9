"""Phrases: one to five words in a row, each with a hash whose low bits are free for the number of a sample."""

from collections.abc import Iterator

import numpy as np

from rolloupe.features.words import Hashes, Places

MAX_WORDS = 5

SAMPLE_BITS = 12
"""A hash has 52 bits: two of a million phrases are alike in one run of ten thousand."""

SAMPLES = np.uint64((1 << SAMPLE_BITS) - 1)
_HASH = ~SAMPLES

_NEXT, _LAST = np.uint64(0xD6E8FEB86659FD93), np.uint64(0xA0761D6478BD642F)
_SHIFT = np.uint64(29)


def phrases_of(words: Hashes, texts: Places) -> Iterator[tuple[int, Hashes, Places]]:
    """Yield the phrases of each length: the length, the hashes, and the number of the first word of each.

    `texts` has the number of each word's text; no phrase runs from one text into another.
    """
    rolling = words.copy()
    for length in range(1, MAX_WORDS + 1):
        if length > 1:
            rolling = rolling[:-1] * _NEXT + words[length - 1 :] if len(rolling) > 1 else rolling[:0]
        inside = texts[: len(rolling)] == texts[length - 1 :][: len(rolling)]
        places = np.flatnonzero(inside)
        yield length, _mixed(rolling[places], length), places


def phrase_hashes(words: Hashes) -> Hashes:
    """The hash of the whole of up to five words: shape (1,), or (0,) for more or none."""
    if not 0 < len(words) <= MAX_WORDS:
        return words[:0]
    found = list(phrases_of(words, np.zeros(len(words), np.int64)))
    return found[len(words) - 1][1]


def _mixed(rolling: Hashes, length: int) -> Hashes:
    hashes = rolling + np.uint64(length * int(_LAST) % 2**64)
    hashes ^= hashes >> _SHIFT
    hashes *= _LAST
    hashes ^= hashes >> _SHIFT
    hashes &= _HASH
    return hashes
