"""Makes a readable phrase of the many overlapping n-grams that a wording leaves, and an expression that finds it."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.features import phrases_of, words_of
from rolloupe.query import Hashes

ALIKE = 0.6
"""N-grams so correlated among siblings belong to one wording."""

MAX_RUN = 40
"""The most words to show."""

MAX_MARKS = 5

NUMBER = "#"
"""Stands for any number."""


class Wording(NamedTuple):
    """How a text words some phrases."""

    phrase: str = ""
    """The longest run of words that they cover, in lower case; empty if the text has none of them."""
    marks: Sequence[str] = ()
    """The first of the phrases that the text has, at most five."""


def wording_of(text: str, hashes: Hashes) -> Wording:
    """The wording of phrases in a text, the surest phrases first."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    words = words_of(data, np.array([0, len(data)]))
    shown = [_shown(data[a:b].tobytes()) for a, b in zip(words.starts.tolist(), words.stops.tolist(), strict=True)]
    covered = np.zeros(len(shown), np.bool_)
    found: dict[int, str] = {}
    for length, own, first in phrases_of(words.hashes, np.zeros(len(shown), np.int64)):
        hits = np.isin(own, hashes)
        for one, at in zip(own[hits].tolist(), first[hits].tolist(), strict=True):
            covered[at : at + length] = True
            found.setdefault(one, " ".join(shown[at : at + length]))
    marks = [found[one] for one in hashes.tolist() if one in found]
    speaking = [one for one in marks if re.search(r"\w", one)]
    return Wording(" ".join(_longest(shown, covered)), (speaking or marks)[:MAX_MARKS])


def _shown(word: bytes) -> str:
    return NUMBER if word[:1].isdigit() else word.decode("utf-8", "replace").lower()


def _longest(shown: Sequence[str], covered: NDArray[np.bool_]) -> Sequence[str]:
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], covered, [False]]).astype(np.int8)))
    runs = list(pairwise(bounds.tolist()))[::2]
    first, stop = max(runs, key=lambda run: (min(MAX_RUN, run[1] - run[0]), -run[0]), default=(0, 0))
    return shown[first : min(stop, first + MAX_RUN)]


def pattern_of(marks: Sequence[str]) -> str:
    """A regular expression, for RE2 and JavaScript, that finds these phrases if case does not count."""
    return "|".join(r"\s*".join(map(_pattern_of_word, one.split())) for one in sorted(marks, key=len, reverse=True))


def _pattern_of_word(word: str) -> str:
    if word == NUMBER:
        return "[0-9]+"
    is_run = len(word) > 1 and len({*word}) == 1 and not word[0].isalnum()
    escaped = "".join(f"\\{one}" if one in r"\^$.|?*+()[]{}/" else one for one in (word[0] if is_run else word))
    return f"{escaped}+" if is_run else escaped
