"""Makes a readable phrase of the many overlapping n-grams that a wording leaves."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rolloupe.features import phrases_of, words_of
from rolloupe.query import Hashes

ALIKE = 0.6
"""N-grams so correlated among siblings belong to one wording."""

MAX_RUN = 40
"""The most words to show."""


def phrase_in(text: str, hashes: Hashes) -> str:
    """The longest run of words of a text that these phrases cover, in lower case; empty if it has none."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    words = words_of(data, np.array([0, len(data)]))
    covered = _covered(words.hashes, hashes)
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], covered, [False]]).astype(np.int8)))
    runs = list(pairwise(bounds.tolist()))[::2]
    if not runs:
        return ""
    first, stop = max(runs, key=lambda run: (min(MAX_RUN, run[1] - run[0]), -run[0]))
    own = [
        data[a:b].tobytes().decode("utf-8", "replace").lower()
        for a, b in _spans(words.starts, words.stops, first, stop)
    ]
    return " ".join("#" if one[:1].isdigit() else one for one in own)


def _spans(starts: NDArray[np.int64], stops: NDArray[np.int64], first: int, stop: int) -> list[tuple[int, int]]:
    last = min(stop, first + MAX_RUN)
    return list(zip(starts[first:last].tolist(), stops[first:last].tolist(), strict=True))


def _covered(words: Hashes, hashes: Hashes) -> NDArray[np.bool_]:
    """Whether each word is within one of the phrases."""
    covered = np.zeros(len(words), np.bool_)
    for length, found, first in phrases_of(words, np.zeros(len(words), np.int64)):
        for at in first[np.isin(found, hashes)].tolist():
            covered[at : at + length] = True
    return covered
