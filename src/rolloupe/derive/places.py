"""Where delimiters may stand, for many texts at once: in formulas and code, most `<` and `[` begin none."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rolloupe.text.blocks import BLOCKS, CLOSINGS

_OF_TURNS = (
    "<|", "<｜", "<start_of_turn>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[TOOL_RESULTS]"
)  # fmt: skip
"""How turns begin in `rolloupe.text.templates`."""

_RARE = "◁"
"""A first character that most texts lack; the others are `<` and `[`."""


def _seconds(first: str) -> NDArray[np.bool_]:
    """By code: whether a character may follow the first one of a delimiter."""
    table = np.zeros(256, np.bool_)
    words = (word for word in (*BLOCKS, *CLOSINGS, *_OF_TURNS) if word[0] == first)
    table[list({word[1].encode("latin-1", "replace")[0] for word in words})] = True
    return table


_AFTER_ANGLE, _AFTER_BRACKET = _seconds("<"), _seconds("[")


def places_of(texts: Sequence[str]) -> list[Sequence[int]]:
    """For each text, in ascending order, the places where delimiters and turns may begin, and hardly any others."""
    places: list[Sequence[int]] = [()] * len(texts)
    some = [number for number, text in enumerate(texts) if "<" in text or "[" in text]
    if some:
        for number, found in zip(some, _found([texts[number] for number in some]), strict=True):
            places[number] = found
    for number, text in enumerate(texts):
        if not text.isascii() and _RARE in text:
            rare = (at for at, character in enumerate(text) if character == _RARE)
            places[number] = sorted([*places[number], *rare])
    return places


def _found(texts: Sequence[str]) -> Iterable[list[int]]:
    characters = np.frombuffer("\n".join([*texts, ""]).encode("latin-1", "replace"), np.uint8)  # one byte for each
    at = np.flatnonzero((characters[:-1] == ord("<")) | (characters[:-1] == ord("[")))
    second = characters[at + 1]
    at = at[np.where(characters[at] == ord("<"), _AFTER_ANGLE[second], _AFTER_BRACKET[second])]
    offsets = np.cumsum([0, *(len(text) + 1 for text in texts)])
    bounds = np.searchsorted(at, offsets)
    local = (at - np.repeat(offsets[:-1], np.diff(bounds))).tolist()
    return (local[start:stop] for start, stop in pairwise(bounds.tolist()))
