"""The share of the letters of the response that belong to words of four capitals or more; constants do not count."""

import numpy as np

from rolloupe.derive.base import DerivedMetric, Matcher, SampleBatch
from rolloupe.derive.text_array import TextArray
from rolloupe.tokens import Floats

_LEAST = 4
_ASCII = r"(?-i:\b[A-Z]{4,}\b)"
_OTHERS = Matcher(r"(?-i:[^\P{Lu}A-Z\x{10000}-\x{10FFFF}]{4,})")  # of other alphabets, where \b says nothing
_OF_WORDS = np.array([chr(code).isalnum() or code == ord("_") for code in range(128)] + [False] * 128)
"""Whether each byte belongs to a word, as \b has it."""


def _of_batch(batch: SampleBatch) -> Floats:
    others = _OTHERS.of_batch(batch, lambda matches: sum(len(match.decode()) for match in matches))
    capitals = _ascii_capitals(batch.joined) + others
    return capitals / np.maximum(batch.letters.total, 1) if capitals.any() else capitals


def _ascii_capitals(texts: TextArray) -> Floats:
    """How many letters the matches of `_ASCII` have in each text."""
    data = texts.data
    is_capital = data - ord("A") < 26
    edges = np.flatnonzero(is_capital[1:] != is_capital[:-1]) + 1
    starts, stops = edges[::2], edges[1::2]
    is_word = (stops - starts >= _LEAST) & ~_OF_WORDS[data[starts - 1]] & ~_OF_WORDS[data[stops]]
    starts, stops = starts[is_word], stops[is_word]
    return np.bincount(texts.texts_at(starts), stops - starts, len(texts)).astype(np.float64)


METRIC = DerivedMetric(
    "capitals", 3, "Capitals", of_batch=_of_batch,
    behaviour="shouting in capitals", pattern=f"{_ASCII}|{_OTHERS.expression}",
)  # fmt: skip
