"""Think blocks, tool calls and tool results in a text, without a part object for each piece of it.

The delimiters are those of `rolloupe.text.blocks`, and so is the way they are paired.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rolloupe.text.blocks import BLOCKS, CLOSINGS, THINK_ENDS

_WORDS = sorted({*BLOCKS, *CLOSINGS}, key=len, reverse=True)
_DELIMITER = re.compile("|".join(map(re.escape, _WORDS)))


class TaggedBlock(NamedTuple):
    """A block of a text: `inner` is what stands between its delimiters."""

    kind: str
    inner: str
    closed: bool


def blocks_of(text: str, places: Iterable[int]) -> list[TaggedBlock]:
    """The blocks of a text whose delimiters are at some of these places, in time linear in their number."""
    delimiters = [match for at in places if (match := _DELIMITER.match(text, at))]
    return list(_paired(text, delimiters)) if delimiters else []


def _paired(text: str, delimiters: list[re.Match[str]]) -> Iterator[TaggedBlock]:
    """Pair each opening delimiter with the next closing one of its kind, as `text.parts` does."""
    words = [one[0] for one in delimiters]
    number = 0
    leading = _leading_thought(words)
    if leading is not None:
        inner = text[: delimiters[leading].start()]
        if inner.strip():
            yield TaggedBlock("think", inner, closed=True)
        number = leading + 1
    while number < len(words):
        opening = delimiters[number]
        number += 1
        if opening[0] not in BLOCKS:
            continue
        closing, kind = BLOCKS[opening[0]]
        try:
            number = words.index(closing, number) + 1
        except ValueError:
            yield TaggedBlock(kind, text[opening.end() :], closed=False)
            return
        yield TaggedBlock(kind, text[opening.end() : delimiters[number - 1].start()], closed=True)


def _leading_thought(words: list[str]) -> int | None:
    """The delimiter that closes a thought that the prompt opened."""
    for number, word in enumerate(words):
        if word in THINK_ENDS:
            return number
        if word in BLOCKS and BLOCKS[word][1] == "think":
            return None
    return None
