"""Cuts texts into words, and words into phrases of one to five, each with a hash, for many texts at once.

A word is a run of letters in lower case, a number (all numbers are alike), a tag such as `</think>`, a backslash with
the letters behind it, a run of one punctuation mark (as long as one), or a single character of a script without blanks
between words: Chinese, Japanese, Korean, emoji. The low bits of a phrase's hash are free for the number of a sample.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Hashes = NDArray[np.uint64]

SPACE, LETTER, DIGIT, MARK, SINGLE, INNER = range(6)
"""Classes of bytes; `INNER` bytes continue a character of UTF-8."""

MAX_TAG = 40
"""A longer tag is no tag, but text between angle brackets."""

PAD = 16
"""Zeros behind the texts, so that eight bytes can be read from anywhere."""

_FIRST, _LAST, _LENGTH = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_HALF = np.uint64(32)
_NUMBER = np.uint64(0x2545F4914F6CDD1D)
"""The hash of every number."""

_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)
"""By a count of bytes, the bits of a little-endian number that hold them."""

_IN_TAG = np.isin(np.arange(256), list(b"abcdefghijklmnopqrstuvwxyz0123456789_|/-"))

MAX_WORDS = 5

SAMPLE_BITS = 12
"""A hash has 52 bits: two of a million phrases are alike in one run of ten thousand."""

SAMPLES = np.uint64((1 << SAMPLE_BITS) - 1)

_HASH = ~SAMPLES

_NEXT, _FINAL = np.uint64(0xD6E8FEB86659FD93), np.uint64(0xA0761D6478BD642F)

_SHIFT = np.uint64(29)


def _classes() -> Bytes:
    table = np.full(256, MARK, np.uint8)
    table[:33] = table[127] = SPACE
    table[ord("0") : ord("9") + 1] = DIGIT
    for first, last in ("az", "AZ", "__"):
        table[ord(first) : ord(last) + 1] = LETTER
    table[0x80:0xC0] = INNER
    table[0xC0:] = SINGLE
    table[0xC3:0xE2] = LETTER  # alphabets; U+0080 to U+00BF, from 0xC2 on, are signs
    return table


def _lower() -> Bytes:
    table = np.arange(256, dtype=np.uint8)
    table[ord("A") : ord("Z") + 1] += 32
    return table


_CLASS, _LOWER = _classes(), _lower()


class Words(NamedTuple):
    """The words of some texts, in order."""

    starts: Places
    """Where each begins, in bytes."""
    stops: Places
    hashes: Hashes
    texts: Places
    """The number of the text of each."""


def words_of(data: Bytes, offsets: Places) -> Words:
    """Cut texts into words: text i is `data[offsets[i]:offsets[i + 1]]`, in UTF-8."""
    padded = np.zeros(len(data) + PAD, np.uint8)
    np.take(_LOWER, data, out=padded[: len(data)])
    classes = _classes_of(padded)
    bounds = _bounds(padded, classes)
    bounds[offsets] = True
    _join_commands(padded, classes, bounds)
    at = np.flatnonzero(bounds)
    at = _without_tag_insides(padded, at)
    begins = classes[at] != SPACE
    begins[-1:] = False  # the end of the data
    starts, stops = at[begins], at[1:][begins[:-1]]
    texts = np.searchsorted(offsets, starts, "right") - 1
    return Words(starts, stops, _hashes(padded, classes, starts, stops), texts)


def _classes_of(data: Bytes) -> Bytes:
    """The class of each byte; of those that continue a character, that of its first byte."""
    classes = _CLASS.take(data)
    for _ in range(3):
        inner = np.flatnonzero(classes == INNER)
        if not len(inner):
            break
        classes[inner] = classes[inner - 1]  # of the texts' own first byte, the padding's
    return classes


def _bounds(data: Bytes, classes: Bytes) -> NDArray[np.bool_]:
    """True where a word or white space begins."""
    bounds = np.ones(len(data), np.bool_)
    np.not_equal(classes[1:], classes[:-1], out=bounds[1:])
    marks = np.flatnonzero(classes == MARK)
    marks = marks[marks > 0]
    bounds[marks] |= data[marks] != data[marks - 1]
    singles = np.flatnonzero(classes == SINGLE)
    bounds[singles] |= data[singles] >= 0xC0  # the first byte of a character
    bounds[len(data) - PAD + 1 :] = False
    return bounds


def _join_commands(data: Bytes, classes: Bytes, bounds: NDArray[np.bool_]) -> None:
    """Have a backslash and the letters behind it be one word."""
    slashes = np.flatnonzero(data == ord("\\"))
    bounds[slashes[classes[slashes + 1] == LETTER] + 1] = False


def _without_tag_insides(data: Bytes, at: Places) -> Places:
    """Leave out the bounds within tags, so that each is one word."""
    angles = at[data[at] == ord("<")]
    if not len(angles):
        return at
    outside = np.flatnonzero(~_IN_TAG[data])
    ends = outside[np.searchsorted(outside, angles + 1)]
    is_tag = (data[ends] == ord(">")) & (ends - angles > 1) & (ends - angles <= MAX_TAG)
    first, last = np.searchsorted(at, angles[is_tag], "right"), np.searchsorted(at, ends[is_tag], "right")
    inside = np.zeros(len(at) + 1, np.int32)
    np.add.at(inside, first, 1)
    np.add.at(inside, last, -1)
    kept: Places = at[np.cumsum(inside[:-1]) == 0]
    return kept


def _hashes(data: Bytes, classes: Bytes, starts: Places, stops: Places) -> Hashes:
    """A hash of the first eight bytes, the last eight, and the length: two long words rarely agree in all three."""
    own = classes[starts]
    is_mark = (own == MARK) & (classes[stops - 1] == MARK) & (data[starts] == data[stops - 1])
    lengths = np.where(is_mark, 1, stops - starts)
    numbers = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    masks = _MASKS.take(np.minimum(lengths, 8))
    first = numbers.take(starts) & masks
    last = numbers.take(starts + np.maximum(lengths - 8, 0)) & masks
    hashes = first * _FIRST
    hashes ^= hashes >> _HALF
    hashes += last * _LAST
    hashes ^= hashes >> _HALF
    hashes += lengths.astype(np.uint64) * _LENGTH
    hashes *= _FIRST
    hashes ^= hashes >> _HALF
    hashes[own == DIGIT] = _NUMBER
    return hashes


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
    hashes = rolling + np.uint64(length * int(_FINAL) % 2**64)
    hashes ^= hashes >> _SHIFT
    hashes *= _FINAL
    hashes ^= hashes >> _SHIFT
    hashes &= _HASH
    return hashes
