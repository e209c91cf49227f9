"""Counts of an expression in many texts at once, with RE2: time grows with the length of the texts alone."""

from collections.abc import Sequence

import numpy as np
import re2
from numpy.typing import NDArray

from rolloupe.derive.batch import SampleBatch

SEPARATOR = "\0"
"""Between two texts; no expression matches it."""


class Matcher:
    """An expression that is counted regardless of case. It must not match the empty text, nor a NUL.

    `first_chars` is how much of the beginning of each response `of_batch` looks at; None for all.
    """

    def __init__(self, *alternatives: str, first_chars: int | None = None) -> None:
        self._first_chars = first_chars
        self.expression = "|".join(alternatives)
        self._pattern = re2.compile(f"(?i)(?:{self.expression})".encode())

    def counts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """How many matches each text has."""
        numbers, _ = self._matches(texts)
        return np.bincount(numbers, minlength=len(texts)).astype(np.float64)

    def of_batch(self, batch: SampleBatch) -> NDArray[np.float64]:
        """How many matches the response of each sample has."""
        return self.counts([row.response[: self._first_chars] for row in batch.rows])

    def lengths(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """How many characters the matches of each text have together."""
        numbers, matches = self._matches(texts)
        lengths = [len(match.decode("utf-8", "replace")) for match in matches]
        return np.bincount(numbers, lengths, len(texts)).astype(np.float64)

    def _matches(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], Sequence[bytes]]:
        """The matches, and the number of the text of each."""
        encoded = [text.replace(SEPARATOR, " ").encode("utf-8", "replace") for text in texts]
        ends = np.cumsum([len(text) + 1 for text in encoded])
        matches = [(match.start(), match[0]) for match in self._pattern.finditer(SEPARATOR.encode().join(encoded))]
        numbers = np.searchsorted(ends, np.array([at for at, _ in matches], np.int64), "right")
        return numbers, [match for _, match in matches]
