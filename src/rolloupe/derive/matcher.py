"""Counts of an expression in many texts at once, with RE2: time grows with the length of the texts alone."""

from collections.abc import Sequence

import numpy as np
import re2
from numpy.typing import NDArray

from rolloupe.derive.batch import SampleBatch

SEPARATOR = "\0"
"""Between two texts; no expression matches it."""


class Matcher:
    """An expression that is counted regardless of case. It must not match the empty text, nor a NUL."""

    def __init__(self, *alternatives: str) -> None:
        self.expression = "|".join(alternatives)
        self._pattern = re2.compile(f"(?i)(?:{self.expression})".encode())

    def counts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """How many matches each text has."""
        numbers, _ = self._found(texts)
        return np.bincount(numbers, minlength=len(texts)).astype(np.float64)

    def of_batch(self, batch: SampleBatch) -> NDArray[np.float64]:
        """How many matches the response of each sample has."""
        return self.counts([row.response for row in batch.rows])

    def lengths(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """How many characters the matches of each text have together."""
        numbers, found = self._found(texts)
        lengths = [len(one.decode("utf-8", "replace")) for one in found]
        return np.bincount(numbers, lengths, len(texts)).astype(np.float64)

    def _found(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], Sequence[bytes]]:
        """The matches, and the number of the text of each."""
        encoded = [text.replace(SEPARATOR, " ").encode("utf-8", "replace") for text in texts]
        ends = np.cumsum([len(one) + 1 for one in encoded])
        found = [(match.start(), match[0]) for match in self._pattern.finditer(SEPARATOR.encode().join(encoded))]
        numbers = np.searchsorted(ends, np.array([at for at, _ in found], np.int64), "right")
        return numbers, [one for _, one in found]
