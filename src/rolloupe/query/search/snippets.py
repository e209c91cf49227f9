"""The surroundings of a match, short enough for a list."""

from itertools import islice
from typing import NamedTuple

from rolloupe.query.search.pattern import Pattern, Span

BEFORE_BYTES, AFTER_BYTES = 160, 320
"""Context on both sides, before it is cut to characters."""
BEFORE_CHARS, AFTER_CHARS = 60, 120
HIT_CHARS = 400
MOST = 3
"""Snippets of one text."""


class Snippet(NamedTuple):
    """A piece of a text: `pieces` alternate between context and hit, and begin and end with (maybe empty) context."""

    role: str
    pieces: tuple[str, ...]
    is_start: bool
    """True if the text begins with it."""
    is_end: bool


def snippets_of(pattern: Pattern, role: str, encoded: bytes, most: int = MOST) -> tuple[list[Snippet], bool]:
    """The first matches in a text, and whether there are more."""
    spans = list(islice(pattern.spans(encoded), 4 * most + 1))
    snippets: list[Snippet] = []
    place = 0
    while place < len(spans) and len(snippets) < most:
        stop = place + 1
        while stop < min(len(spans), place + 4) and spans[stop][0] - spans[stop - 1][1] < BEFORE_CHARS:
            stop += 1
        snippets.append(_snippet(role, encoded, spans[place:stop]))
        place = stop
    if not spans and not snippets:  # the match is empty
        snippets.append(Snippet(role, (_text(encoded[:AFTER_BYTES])[:AFTER_CHARS],), True, len(encoded) <= AFTER_CHARS))
    return snippets, place < len(spans)


def _snippet(role: str, encoded: bytes, spans: list[Span]) -> Snippet:
    first, last = spans[0][0], spans[-1][1]
    before = _text(encoded[max(0, first - BEFORE_BYTES) : first])
    after = _text(encoded[last : last + AFTER_BYTES])
    pieces = [before[-BEFORE_CHARS:]]
    for number, (start, stop) in enumerate(spans):
        hit = _text(encoded[start : min(stop, start + 4 * HIT_CHARS)])
        pieces.append(hit if len(hit) <= HIT_CHARS else f"{hit[:HIT_CHARS]}…")
        pieces.append(_text(encoded[stop : spans[number + 1][0]]) if number + 1 < len(spans) else after[:AFTER_CHARS])
    is_start = first <= BEFORE_BYTES and len(before) <= BEFORE_CHARS
    is_end = len(encoded) - last <= AFTER_BYTES and len(after) <= AFTER_CHARS
    return Snippet(role, tuple(pieces), is_start, is_end)


def _text(piece: bytes) -> str:
    """Decode bytes of a text, without characters that a cut went through."""
    return piece.decode("utf-8", "ignore")
