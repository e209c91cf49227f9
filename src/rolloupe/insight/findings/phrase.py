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

MAX_GAP = 3
"""So many words between two parts of a wording may vary, such as a name."""

VARIES = "…"
"""Stands for words that vary."""

MAX_MARKS = 5

NUMBER = "#"
"""Stands for any number."""


class Wording(NamedTuple):
    """How a text words some phrases."""

    phrase: str = ""
    """The longest passage that they cover but for a few words here and there, in lower case; empty if the text has
    none of them."""
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
    """The passage with most covered words: runs of at least two words join where only a few words lie between them."""
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], covered, [False]]).astype(np.int8)))
    passages: list[list[tuple[int, int]]] = []
    for run in list(pairwise(bounds.tolist()))[::2]:
        before = passages[-1][-1] if passages else (0, -MAX_RUN)
        if run[0] - before[1] <= MAX_GAP and min(run[1] - run[0], before[1] - before[0]) > 1:
            passages[-1].append(run)
        else:
            passages.append([run])
    longest = max(passages, key=_covered, default=[])
    words = [word for run in longest for word in (VARIES, *shown[slice(*run)])]
    return words[1 : MAX_RUN + 1]


def _covered(passage: Sequence[tuple[int, int]]) -> int:
    return min(MAX_RUN, sum(stop - first for first, stop in passage))


def pattern_of(marks: Sequence[str]) -> str:
    """A regular expression, for RE2 and JavaScript, that finds these phrases if case does not count.

    It matches whole words of ASCII, as `words_of` cuts them; neither engine has both look-behind and other alphabets.
    """
    return "|".join(map(_pattern_of_phrase, sorted(marks, key=len, reverse=True)))


EDGE = r"(?:\b|[0-9])"
"""Where a run of letters ends: digits are a word of their own."""


def _pattern_of_phrase(phrase: str) -> str:
    words = phrase.split()
    between = [r"\s+" if _are_letters(a[-1], b[0]) or a == b == NUMBER else r"\s*" for a, b in pairwise(words)]
    inner = "".join(word + gap for word, gap in zip(map(_pattern_of_word, words), [*between, ""], strict=True))
    first, last = phrase[:1], phrase[-1:]
    return f"{EDGE if _are_letters(first) else ''}{inner}{EDGE if _are_letters(last) else ''}"


def _are_letters(*characters: str) -> bool:
    return all(one.isascii() and (one.isalpha() or one == "_") for one in characters)


def _pattern_of_word(word: str) -> str:
    if word == NUMBER:
        return "[0-9]+"
    is_mark = word.isascii() and len({*word}) == 1 and not (word[0].isalnum() or word[0] == "_")
    escaped = "".join(f"\\{one}" if one in r"\^$.|?*+()[]{}/" else one for one in (word[0] if is_mark else word))
    return f"{escaped}+" if is_mark else escaped
