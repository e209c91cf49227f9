"""Counts of an expression in many texts at once, with RE2, in time that grows with their length alone; sentences."""

from collections.abc import Sequence

import numpy as np
import re2
from numpy.typing import NDArray

from rolloupe.derive.base import DerivedMetric, SampleBatch

SEPARATOR = "\0"  # between two texts; no expression matches it
MARKS = (". ", "! ", "? ", "。", "！", "？")

AROUND = " \t\r.!?"
SHORT = 8  # a sentence of fewer characters may well come twice


class Matcher:
    """An expression that is counted regardless of case. It must not match the empty text, nor a NUL.

    `first_chars` is how much of the beginning of each response `of_batch` looks at; None for all.
    """

    def __init__(self, *alternatives: str, first_chars: int | None = None) -> None:
        self._first_chars = first_chars
        self.expression = "|".join(alternatives)
        self._pattern = re2.compile(f"(?i)(?:{self.expression})".encode())

    def counts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return how many matches each text has."""
        numbers, _ = self._matches(texts)
        return np.bincount(numbers, minlength=len(texts)).astype(np.float64)

    def of_batch(self, batch: SampleBatch) -> NDArray[np.float64]:
        """Return how many matches the response of each sample has."""
        return self.counts([row.response[: self._first_chars] for row in batch.rows])

    def lengths(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return how many characters the matches of each text have together."""
        numbers, matches = self._matches(texts)
        lengths = [len(match.decode("utf-8", "replace")) for match in matches]
        return np.bincount(numbers, lengths, len(texts)).astype(np.float64)

    def _matches(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], Sequence[bytes]]:
        encoded = [text.replace(SEPARATOR, " ").encode("utf-8", "replace") for text in texts]
        ends = np.cumsum([len(text) + 1 for text in encoded])
        matches = [(match.start(), match[0]) for match in self._pattern.finditer(SEPARATOR.encode().join(encoded))]
        numbers = np.searchsorted(ends, np.array([at for at, _ in matches], np.int64), "right")
        return numbers, [match for _, match in matches]


def phrase_metric(
    name: str, version: int, label: str, *phrases: str, unit: str, behaviour: str, first_chars: int | None = None
) -> DerivedMetric:
    """Return a metric that counts phrases, expressions of RE2, in the first characters of a response, or in all."""
    matcher = Matcher(*phrases, first_chars=first_chars)
    pattern, of_batch = matcher.expression, matcher.of_batch
    return DerivedMetric(name, version, label, unit=unit, of_batch=of_batch, behaviour=behaviour, pattern=pattern)


def sentences_of(text: str) -> list[str]:
    """Return the long sentences of a text: its lines, cut at full stops, without the blanks and stops around them."""
    for mark in MARKS:
        if mark in text:
            text = text.replace(mark, "\n")
    return [sentence for line in text.split("\n") if len(sentence := line.strip(AROUND)) >= SHORT]
