"""Think blocks, tool calls and tool results in texts, and the places where their delimiters may be.

This module makes no part objects, and finds the places of many texts at once. The delimiters, and the way they are
paired, are those of `rolloupe.text.blocks` and `rolloupe.text.templates`.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe import text as texts
from rolloupe.derive.text_array import FIRST, INNER, TextArray
from rolloupe.text.blocks import ASKING, BLOCKS, CLOSINGS, MARKERS, MAX_PARTS, THINK_ENDS
from rolloupe.text.images import SCHEME
from rolloupe.text.templates import Start

_RESTS: dict[str, list[str]] = defaultdict(list)
for _word in sorted({*BLOCKS, *CLOSINGS}, key=len, reverse=True):
    _RESTS[_word[:2]].append(re.escape(_word[2:]))
_DELIMITER = re.compile("|".join(f"{re.escape(start)}(?:{'|'.join(rests)})" for start, rests in _RESTS.items()))
"""For most words, it compares two characters only."""

_PLAIN = re.compile(r"\s*[^\s<\[◁]")  # a beginning with neither delimiters nor markers
_MARKUP = re.compile(r"[<\[◁]|data:")
_BEGINNINGS = ("<", "[", "◁", SCHEME)  # the beginnings of parts that are not plain text
_RESULTS = frozenset(word for word, (_, kind) in BLOCKS.items() if kind == "tool_result")
_OF_RESULTS = _RESULTS | {BLOCKS[word][0] for word in _RESULTS}

_OF_THOUGHTS = {*THINK_ENDS, *(word for word, (_, kind) in BLOCKS.items() if kind == "think")}
TOOL_TEXT = "tool_text"  # the kind of a block that is the text of a tool's turn without marked results


class TaggedBlock(NamedTuple):
    """A block of a text: `inner` is the text between its delimiters, `role` the role of its turn."""

    kind: str
    inner: str
    closed: bool
    role: str = "assistant"


def may_exceed_parts(text: str) -> bool:
    """Return whether a text may have more than `MAX_PARTS` parts; `text.parts` then leaves the rest as one text."""
    return len(text) > MAX_PARTS and 2 * sum(map(text.count, _BEGINNINGS)) >= MAX_PARTS


def blocks_of(text: str, places: Iterable[int]) -> list[TaggedBlock]:
    """Return the blocks of a text whose delimiters are at some of these places, in time linear in their number."""
    delimiters = [match for at in places if (match := _DELIMITER.match(text, at))]
    return _paired(text, delimiters, 0, len(text), "assistant") if delimiters else []


def blocks_in_turns(text: str, places: Sequence[int], first: int) -> list[TaggedBlock] | None:
    """Return the blocks of a response with a turn at `first`; None if only `text.split_response` can assign them."""
    turns = texts.turn_starts(text, first)
    if not turns:
        return None
    if turns[0].at:
        turns.insert(0, Start(0, "assistant", 0))
    delimiters = [match for at in places if (match := _DELIMITER.match(text, at))]
    at = [match.start() for match in delimiters]
    blocks: list[TaggedBlock] = []
    for number, ((_, role, start), (stop, _, _)) in enumerate(pairwise([*turns, Start(len(text), "", 0)])):
        in_turn: list[re.Match[str]] | None = delimiters[bisect_left(at, start) : bisect_left(at, stop)]
        if in_turn and role in ASKING:
            in_turn = _result_delimiters(text, in_turn, start)
            if in_turn is None:
                return None
        own = _paired(text, in_turn, start, stop, role) if in_turn else []
        if not number and not (_PLAIN.match(text, start, stop) or any(block.inner.strip() for block in own)):
            return None  # the turn may have no text at all: the next turn takes its parts
        has_result = any(block.kind == "tool_result" for block in own)
        blank = (block.inner for block in own if block.kind == "think" and not block.inner.strip())
        if role == "assistant" and has_result and any(inner.strip("\n") for inner in blank):
            return None  # such white space counts unless all else in the turn is a tool's result
        if role == "tool" and not has_result:
            pieces = texts.parts(text[start:stop], role)
            own.append(TaggedBlock(TOOL_TEXT, "".join(part.text for part in pieces if part.kind == "text"), True, role))
        blocks += own
    return blocks


def _result_delimiters(text: str, delimiters: list[re.Match[str]], start: int) -> list[re.Match[str]] | None:
    """Return the result delimiters of a turn of a role in `ASKING` that begins with one; None if that is unclear."""
    first = delimiters[0][0]
    before = text[start : delimiters[0].start()].strip()
    if first in MARKERS or (before and _MARKUP.search(before)):
        return None
    is_result = not before and first in _RESULTS
    return [match for match in delimiters if match[0] in _OF_RESULTS] if is_result else []


def _paired(text: str, delimiters: list[re.Match[str]], start: int, stop: int, role: str) -> list[TaggedBlock]:
    """Pair each opening delimiter of a turn with the next closing one of its kind, as `text.parts` does."""
    words = [match[0] for match in delimiters]
    blocks: list[TaggedBlock] = []
    number = 0
    first = next((at for at, word in enumerate(words) if word in _OF_THOUGHTS), None)
    if first is not None and words[first] in THINK_ENDS:  # it closes a thought that the prompt opened
        inner = text[start : delimiters[first].start()]
        if inner.strip():
            blocks.append(TaggedBlock("think", inner, True, role))
        number = first + 1
    while number < len(words):
        begin, word = delimiters[number].end(), words[number]
        number += 1
        if word not in BLOCKS:
            continue
        closing, kind = BLOCKS[word]
        try:
            number = words.index(closing, number) + 1
        except ValueError:
            blocks.append(TaggedBlock(kind, text[begin:stop], False, role))
            break
        blocks.append(TaggedBlock(kind, text[begin : delimiters[number - 1].start()], True, role))
    return blocks


_OF_TURNS = (
    "<|", "<｜", "<start_of_turn>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[TOOL_RESULTS]"
)  # fmt: skip
"""How turns begin in `rolloupe.text.templates`."""

_STARTS = [*map(ord, "<["), "◁".encode()[0]]
"""The first bytes of delimiters and turns."""


def _followers() -> NDArray[np.bool_]:
    """For each pair of bytes, whether a delimiter or a turn may begin with it."""
    table = np.zeros((256, 256), np.bool_)
    for word in (*BLOCKS, *CLOSINGS, *_OF_TURNS):
        first, second = word.encode()[:2]
        table[first, second] = True
    return table


_FOLLOWERS = _followers()


def places_of(joined: TextArray) -> list[Sequence[int]]:
    """For each text, return the ascending places where delimiters and turns may begin, and hardly any others."""
    data = joined.data
    is_start = data == _STARTS[0]
    for start in _STARTS[1 : 2 if joined.is_ascii else None]:
        is_start |= data == start
    at = np.flatnonzero(is_start)
    at = at[_FOLLOWERS[data[at], data[at + 1]]]  # most of them, in formulas and code, begin none
    if not len(at):
        return [()] * len(joined)
    bounds = np.searchsorted(at, joined.starts)
    starts = joined.starts[:-1]
    if not joined.is_ascii:  # from bytes to characters
        inner = np.flatnonzero((data >= INNER) & (data < FIRST))
        at, starts = at - np.searchsorted(inner, at), starts - np.searchsorted(inner, starts)
    local = (at - np.repeat(starts, np.diff(bounds))).tolist()
    return [local[start:stop] for start, stop in pairwise(bounds.tolist())]
