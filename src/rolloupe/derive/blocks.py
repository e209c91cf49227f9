"""Think blocks, tool calls and tool results in a text, without a part object for each piece of it.

The delimiters are those of `rolloupe.text.blocks`, and so is the way they are paired.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from rolloupe.text.blocks import BLOCKS, CLOSINGS, THINK_ENDS
from rolloupe.text.delimiters import Delimiters, literal

_WORDS = sorted({*BLOCKS, *CLOSINGS}, key=len, reverse=True)
_DELIMITERS = Delimiters(map(literal, _WORDS))


class TaggedBlock(NamedTuple):
    """A block of a text: `inner` is what stands between its delimiters."""

    kind: str
    inner: str
    closed: bool


class Delimiter(NamedTuple):
    """A delimiter in a text."""

    start: int
    stop: int
    word: str


def may_have_blocks(text: str) -> bool:
    """Tell, at next to no cost, whether a text may have a delimiter."""
    return "<" in text or ("[" in text and "THINK]" in text) or (not text.isascii() and "◁" in text)


def blocks_of(text: str) -> list[TaggedBlock]:
    """The blocks of a text, in time linear in it."""
    delimiters = [Delimiter(match.start(), match.end(), match[0]) for match in _DELIMITERS.find(text)]
    return list(_paired(text, delimiters)) if delimiters else []


def _paired(text: str, delimiters: list[Delimiter]) -> Iterator[TaggedBlock]:
    """Pair each opening delimiter with the next closing one of its kind, as `text.parts` does."""
    ends: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(delimiters):
        ends[one.word].append(number)
    number = 0
    leading = _leading_thought(delimiters)
    if leading is not None:
        inner = text[: delimiters[leading].start]
        if inner.strip():
            yield TaggedBlock("think", inner, closed=True)
        number = leading + 1
    while number < len(delimiters):
        one = delimiters[number]
        number += 1
        if one.word not in BLOCKS:
            continue
        closing, kind = BLOCKS[one.word]
        later = ends[closing]
        at = bisect_right(later, number - 1)
        if at == len(later):
            yield TaggedBlock(kind, text[one.stop :], closed=False)
            return
        yield TaggedBlock(kind, text[one.stop : delimiters[later[at]].start], closed=True)
        number = later[at] + 1


def _leading_thought(delimiters: list[Delimiter]) -> int | None:
    """The delimiter that closes a thought that the prompt opened."""
    for number, one in enumerate(delimiters):
        if one.word in BLOCKS and BLOCKS[one.word][1] == "think":
            return None
        if one.word in THINK_ENDS:
            return number
    return None
