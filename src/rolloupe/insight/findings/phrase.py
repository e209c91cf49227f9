"""Turns the many overlapping n-grams of a wording into a readable phrase, and an expression that finds it."""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.derive.metrics.other_language import FREQUENT
from rolloupe.features import phrases_of, words_of
from rolloupe.query.run_features import Hashes

ALIKE, RELATED = 0.6, 0.15
"""N-grams with a higher correlation among siblings belong to one wording, or to one of many that have a part alike."""

MAX_RUN = 40
"""How many words of a wording are shown."""

SHOWN_AROUND = 8
"""How many words before and after a counted phrase are shown as they are written."""

MAX_GAP = 3
"""How many words between two parts of a wording may vary, such as a name."""

VARIES = "…"
"""Stands for words that vary, in a phrase."""

NUMBER = "#"


STOPS = frozenset(".,;:!?。，")
"""Marks that a phrase does not begin or end with."""


_Run = tuple[int, int]
"""The first word of a row, and the one behind the last."""


class Wording(NamedTuple):
    """The passage of a text that contains a counted phrase."""

    phrase: str = ""
    """The longest passage with the counted phrase that related phrases cover, except for a few words, in lower case."""
    pattern: str = ""
    """Finds the counted phrase in texts, with the part of the passage around it that they have."""
    written: str = ""
    """The line of the passage with the counted phrase, as the text has it; some words of it, if it is long."""


def phrases_in(text: str, hashes: Hashes) -> dict[int, str]:
    """Return the words of those phrases that a text has, in lower case."""
    shown, own, _ = _cut(text)
    phrases: dict[int, str] = {}
    for length, some, first in phrases_of(own, np.zeros(len(own), np.int64)):
        hits = np.isin(some, hashes)
        for name, at in zip(some[hits].tolist(), first[hits].tolist(), strict=True):
            phrases[name] = " ".join(shown[at : at + length])
    return phrases


def says_something(phrase: str) -> bool:
    """Return whether a phrase is more than a single mark, or words that every text of a language has."""
    words = words_to_read(phrase)
    return len(phrase) != 1 and (
        not words or any(not (word in FREQUENT or (word.isascii() and len(word) < 3)) for word in words)
    )


def words_to_read(phrase: str) -> list[str]:
    """Return the words in letters, and pictures: people read them, and skip marks, tags and commands."""
    return [word for word in phrase.split() if word[0].isalpha() or unicodedata.category(word[0]) == "So"]


def wording_of(text: str, hashes: Hashes, counted: int) -> Wording:
    """Return the wording of a counted phrase, and of those that go with it; empty if the text lacks the phrase."""
    shown, own, bounds = _cut(text)
    covered = np.zeros(len(shown), np.bool_)
    places: list[_Run] = []
    for words_in_phrase, some, first in phrases_of(own, np.zeros(len(own), np.int64)):
        for at in first[np.isin(some, hashes) | (some == np.uint64(counted))].tolist():
            covered[at : at + words_in_phrase] = True
        places += [(at, at + words_in_phrase) for at in first[some == np.uint64(counted)].tolist()]
    best, longest = Wording(), (-1, -1)
    for passage in _passages(shown, covered):
        inside = [place for place in places if passage[0][0] <= place[0] and place[1] <= passage[-1][1]]
        words = [word for run in passage for word in shown[slice(*run)]][:MAX_RUN]
        length = len(words_to_read(" ".join(words))), len(words)
        if inside and length > longest:
            words, counted_words = _words(shown, passage, inside[0])
            written = _written(text, bounds, passage, inside[0])
            best, longest = Wording(" ".join(words), pattern_of(words, counted_words), written), length
    return best


def _cut(text: str) -> tuple[list[str], Hashes, list[tuple[int, int]]]:
    """Return the words of a text as a phrase shows them, their hashes, and their first byte and the one behind."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    words = words_of(data, np.array([0, len(data)]))
    bounds = [*zip(words.starts.tolist(), words.stops.tolist(), strict=True)]
    written = [data[start:stop].tobytes() for start, stop in bounds]
    shown = [NUMBER if word[:1].isdigit() else word.decode("utf-8", "replace").lower() for word in written]
    return shown, words.hashes, bounds


def _written(text: str, bounds: Sequence[tuple[int, int]], passage: Sequence[_Run], place: _Run) -> str:
    """Return the line of a passage with a place, as it stands."""
    first = max(passage[0][0], place[0] - SHOWN_AROUND)
    last = min(passage[-1][1], place[1] + SHOWN_AROUND) - 1
    parts = [bounds[first][0], bounds[place[0]][0], bounds[place[1] - 1][1], bounds[last][1]]
    data = text.encode("utf-8", "replace")
    before, inner, after = (data[a:b].decode("utf-8", "replace") for a, b in pairwise(parts))
    line = before.split("\n")[-1] + inner + after.split("\n")[0]
    return " ".join(line.split())


def _passages(shown: Sequence[str], covered: NDArray[np.bool_]) -> list[list[_Run]]:
    """Return runs of covered words, joined if they have at least two words and only a few lie between them.

    A run that repeats the one before begins a passage of its own.
    """
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], covered, [False]]).astype(np.int8)))
    passages: list[list[_Run]] = []
    for run in list(pairwise(bounds.tolist()))[::2]:
        before = passages[-1][-1] if passages else (0, -MAX_RUN)
        is_close = run[0] - before[1] <= MAX_GAP and min(run[1] - run[0], before[1] - before[0]) > 1
        if is_close and shown[slice(*run)] != shown[slice(*before)]:
            passages[-1].append(run)
        else:
            passages.append([run])
    return passages


def _words(shown: Sequence[str], passage: Sequence[_Run], place: _Run) -> tuple[list[str], slice]:
    """Return at most `MAX_RUN` words of a passage, without stops at its ends, and where in them a place is."""
    words, at = list[str](), 0
    for run in passage:
        words += [VARIES] if words else []
        if run[0] <= place[0]:
            at = len(words) + place[0] - run[0]
        words += shown[slice(*run)]
    stop = at + place[1] - place[0]
    first = max(0, stop - MAX_RUN)
    last = min(len(words), first + MAX_RUN)
    while first < at and not {*words[first]} - STOPS - {VARIES}:
        first += 1
    while last > stop and not {*words[last - 1]} - STOPS - {VARIES}:
        last -= 1
    return words[first:last], slice(at - first, stop - first)


def pattern_of(words: Sequence[str], counted: slice) -> str:
    """Return an expression of RE2 that finds the counted words, and those of the others that stand around them.

    It takes the words beyond a gap all together or not at all. It matches whole words of ASCII, as `words_of` cuts
    them, if case does not count; RE2 has no look-behind.
    """
    before = after = ""
    for at in range(counted.start):
        if words[at] != VARIES:
            before += f"{_edge(words[at][0])}{_pattern_of_word(words[at])}{_between(*words[at : at + 2])}"
            if words[at + 1] == VARIES or VARIES not in words[at : counted.start]:
                before = f"(?:{before})?"
    for at in range(len(words) - 1, counted.stop - 1, -1):
        if words[at] != VARIES:
            after = f"{_between(*words[at - 1 : at + 1])}{_pattern_of_word(words[at])}{_edge(words[at][-1])}{after}"
            if words[at - 1] == VARIES or VARIES not in words[counted.stop : at]:
                after = f"(?:{after})?"
    inner = words[counted]
    gaps = [*(_between(*pair) for pair in pairwise(inner)), ""]
    middle = "".join(word + gap for word, gap in zip(map(_pattern_of_word, inner), gaps, strict=True))
    return f"{before}{_edge(inner[0][0])}{middle}{_edge(inner[-1][-1])}{after}"


def _between(one: str, other: str) -> str:
    """Return what may stand between two words."""
    if VARIES in (one, other):
        return SOME_WORDS
    return r"\s+" if _are_letters(one[-1], other[0]) or one == other == NUMBER else r"\s*"


SOME_WORDS = r"[\s\S]{1,40}?"
"""Stands for words that vary, in an expression."""

EDGE = r"(?:\b|[0-9])"
"""The end of a run of letters: digits are a word of their own."""


def _edge(character: str) -> str:
    return EDGE if _are_letters(character) else ""


def pattern_of_phrase(phrase: str) -> str:
    """Return an expression that finds a phrase, and nothing around it."""
    words = phrase.split()
    return pattern_of(words, slice(0, len(words)))


def _are_letters(*characters: str) -> bool:
    return all(letter.isascii() and (letter.isalpha() or letter == "_") for letter in characters)


def _pattern_of_word(word: str) -> str:
    if word == NUMBER:
        return "[0-9]+"
    is_mark = word.isascii() and len({*word}) == 1 and not (word[0].isalnum() or word[0] == "_")
    escaped = "".join(f"\\{c}" if c in r"\^$.|?*+()[]{}/" else c for c in (word[0] if is_mark else word))
    return f"{escaped}+" if is_mark else escaped
