"""Many texts as one array of bytes, to look at all at once: their letters, words and sentences."""

from collections.abc import Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

BLANK = 32  # bytes up to this one are white space
INNER, FIRST = 0x80, 0xC0
"""From these on, bytes that continue a character of UTF-8, and those that begin one of several bytes."""


def encoded(text: str) -> bytes:
    """Return a text in UTF-8, with a blank for each NUL, which expressions cannot hold."""
    return text.replace("\0", " ").encode("utf-8", "replace")


class TextArray:
    """Texts in UTF-8, with a newline before, between and behind them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.encoded = [*map(encoded, texts)]
        """Each text."""
        self.data: Bytes = np.frombuffer(b"\n".join((b"", *self.encoded, b"")), np.uint8)
        self.starts: Places = np.cumsum([1, *(len(text) + 1 for text in self.encoded)])
        """Where each text begins in `data`; at last, where another one would begin. Shape (N + 1,)."""

    def __len__(self) -> int:
        return len(self.encoded)

    @cached_property
    def is_ascii(self) -> bool:
        """Whether all characters are ASCII."""
        return all(map(bytes.isascii, self.encoded))

    def texts_at(self, places: Places) -> Places:
        """The text of each of some ascending places in `data`, by number; the newline before a text belongs to it."""
        return np.repeat(np.arange(len(self)), np.diff(np.searchsorted(places, self.starts - 1)))

    def counts(self, is_counted: NDArray[np.bool_]) -> Places:
        """How many of the bytes that an array selects each text has."""
        return np.array([np.count_nonzero(is_counted[at:end]) for at, end in pairwise(self.starts.tolist())], np.int64)


# Letters.

LATIN = (
    (0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xBA, 0xBA), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F),
    (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xFB00, 0xFB06), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A),
)  # fmt: skip
"""Ranges of code points: the blocks of Latin letters in Unicode."""

BEYOND = 0x10000  # from here on letters are ideographs and historic scripts, and the rest are signs
IDEOGRAPHS = (0x20000, 0x3FFFF)
NONE, OTHER, IS_LATIN = range(3)


@cache
def _kinds_of_letters() -> Bytes:
    kinds = np.fromiter((chr(point).isalpha() for point in range(BEYOND)), np.uint8, BEYOND)
    for first, last in LATIN:
        kinds[first : last + 1] *= IS_LATIN
    return kinds


class Letters(NamedTuple):
    """How many letters each of some texts has, and how many of them are not Latin, shape (N,)."""

    total: Places
    others: Places


def letters_of(texts: TextArray) -> Letters:
    """Count the letters of texts."""
    data = texts.data
    total = texts.counts((data | 0x20) - ord("a") < 26)
    others = np.zeros_like(total)
    if not texts.is_ascii:
        beyond = data[data >= INNER].tobytes().decode()
        points = np.frombuffer(beyond.encode("utf-32-le"), np.uint32)
        kinds = _kinds_of_letters().take(points, mode="clip")
        high = points >= BEYOND
        kinds[high] = np.where((points[high] >= IDEOGRAPHS[0]) & (points[high] <= IDEOGRAPHS[1]), OTHER, NONE)
        owners = np.repeat(np.arange(len(texts)), texts.counts(data >= FIRST))
        others += np.bincount(owners[kinds == OTHER], minlength=len(texts))
        total += np.bincount(owners[kinds != NONE], minlength=len(texts))
    return Letters(total, others)


# Words.

WIDE, WIDEST = 0xE3, 0xF0  # the first bytes of characters from U+3000 on, or less, and from U+10000 on
PAD = b" " * 8
_BLANKS, _HIGH = np.uint64(0x2121212121212121), np.uint64(0x8080808080808080)
_ONE, _SEVEN = np.uint64(1), np.uint64(7)
_WORD_BYTES = np.repeat(np.array([2**64 - 1, 2**24 - 1, 2**32 - 1], np.uint64), [WIDE, WIDEST - WIDE, 256 - WIDEST])
"""For each first byte, a mask of the word's bits: a wide character is a word of three or four bytes."""


def word_starts(data: bytes) -> Places:
    """Return where words begin in texts that end with `PAD`: after white space, and at each wide character."""
    array = np.frombuffer(data, np.uint8)[:-7]
    is_space = array <= BLANK
    begins = np.empty_like(is_space)
    begins[0] = not is_space[0]
    np.greater(is_space[:-1], is_space[1:], out=begins[1:])
    if not data.isascii():
        begins |= array >= WIDE
    return np.flatnonzero(begins)


def words_at(data: bytes, starts: Places) -> NDArray[np.uint64]:
    """Return the first eight bytes of each word as a number, those from white space on as zeros."""
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


# Sentences.

WIDE_STOPS = ("。", "！", "？")
AROUND = " \t\r\n.!?"
SHORT = 8  # shorter sentences often repeat by chance


class Sentences(NamedTuple):
    """The long sentences of some texts: their lines, cut at full stops, stripped of blanks and stops."""

    texts: Places  # the number of the text of each, ascending
    strings: pa.Array
    chars: Places  # the number of characters of each


def sentences_of(texts: TextArray) -> Sentences:
    """Cut texts into sentences."""
    import pyarrow.compute as pc  # loads slowly

    data, lines = texts.data, texts.data.copy()
    is_stop = (data == ord(".")) | (data == ord("!")) | (data == ord("?"))
    is_stop[:-1] &= data[1:] == ord(" ")
    lines[np.flatnonzero(is_stop)] = ord("\n")
    for stop in () if texts.is_ascii else WIDE_STOPS:
        first, second, third = stop.encode()
        at = np.flatnonzero(data == first)
        at = at[(data[at + 1] == second) & (data[at + 2] == third)]
        lines[at], lines[at + 1], lines[at + 2] = ord("\n"), BLANK, BLANK
    bounds = np.flatnonzero(lines == ord("\n"))
    # Each string begins with the newline before it, which is stripped.
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(lines)]
    strings = pc.utf8_trim(pa.Array.from_buffers(pa.large_string(), len(bounds) - 1, buffers), AROUND)
    chars = pc.utf8_length(strings).to_numpy()
    is_long = np.flatnonzero(chars >= SHORT)
    return Sentences(texts.texts_at(bounds)[is_long], strings.take(pa.array(is_long)), chars[is_long])
