"""Matches in turns, by role, with snippets of their surroundings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from msgspec import Struct

from rolloupe import text as texts
from rolloupe.index import OpenRun
from rolloupe.model import Part, SampleKey, Turn
from rolloupe.query.sample.load import sample as whole_sample
from rolloupe.query.search.pattern import Pattern, Span, TextQuery

BEFORE_BYTES, AFTER_BYTES = 160, 320  # context on both sides, before it is cut to characters
BEFORE_CHARS, AFTER_CHARS = 60, 120
HIT_CHARS = 400
MOST = 3  # snippets of one text
MAX_SPANS = 5000  # maximum number of places to mark in one sample; more places are not counted

SAME = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool"}
"""Roles with other names."""


class Snippet(Struct, frozen=True):
    """A piece of a text: `pieces` alternate between context and hit, and begin and end with (maybe empty) context."""

    role: str
    pieces: tuple[str, ...]
    is_start: bool
    """True if the text begins with it."""
    is_end: bool


def snippets_of(pattern: Pattern, role: str, encoded: bytes) -> tuple[list[Snippet], bool]:
    """Return snippets of the first matches in a text, and whether there are more."""
    spans = list(islice(pattern.spans(encoded), 4 * MOST + 1))
    snippets: list[Snippet] = []
    place = 0
    while place < len(spans) and len(snippets) < MOST:
        stop = place + 1
        while stop < min(len(spans), place + 4) and spans[stop][0] - spans[stop - 1][1] < BEFORE_CHARS:
            stop += 1
        snippets.append(_snippet(role, encoded, spans[place:stop]))
        place = stop
    if not spans:  # the match is empty
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
    return piece.decode("utf-8", "ignore")


class RolePlace(NamedTuple):
    """A place in a sample: `start` and `stop` count the code points of `part.text` of a turn, 0-based.

    `field` is `text`, or for a tool call `arguments`, which are then read by `rolloupe.text.readable`.
    """

    turn: int
    part: int
    field: str
    start: int
    stop: int


def speaks(turn: Turn, roles: Sequence[str]) -> bool:
    """Return whether a turn has one of some roles; without roles, any turn does."""
    return not roles or SAME.get(turn.role, turn.role) in roles or turn.origin in roles


def fields_of(part: Part) -> Iterator[tuple[str, str]]:
    """The texts of a part that a person reads."""
    if part.call is not None:
        yield "arguments", texts.readable(part.call.arguments)
        yield "name", f"{part.call.name} {part.call.id}"
    elif part.kind != "image":
        yield "text", part.text


def marked(run: OpenRun, key: SampleKey, query: TextQuery) -> tuple[list[RolePlace], bool]:
    """Return the matches in the turns of a sample, and whether there are more. Raises as `sample` and `Pattern`."""
    pattern = Pattern(query)
    places: list[RolePlace] = []
    for number, turn in enumerate(whole_sample(run, key).turns):
        if speaks(turn, query.roles):
            fields = [next(fields_of(part), ("text", "")) for part in turn.parts]
            matches = places_in(pattern, turn.parts, [text for _, text in fields])
            for part, start, stop in islice(matches, MAX_SPANS + 1 - len(places)):
                places.append(RolePlace(number, part, fields[part][0], start, stop))
    return places[:MAX_SPANS], len(places) > MAX_SPANS


def places_in(
    pattern: Pattern, parts: Sequence[Part], shown: Sequence[str], length: Callable[[str], int] = len
) -> Iterator[tuple[int, int, int]]:
    """The matches in the shown texts of the parts of a turn: the number of the part, start and stop.

    Of a match that runs over a tag which no part shows, such as `</think>`, each part has a piece.
    """
    pieces: list[list[Span]] = [[] for _ in parts]
    for part, start, stop in _across(pattern, parts, shown) if len(parts) > 1 or (parts and parts[0].raw) else ():
        first = length(shown[part][:start])
        pieces[part].append((first, first + length(shown[part][start:stop])))
    for part, text in enumerate(shown):
        for start, stop in _joined(sorted([*pattern.places(text, length), *pieces[part]])):
            yield part, start, stop


def _across(pattern: Pattern, parts: Sequence[Part], shown: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Pieces of the matches in the verbatim text of a turn that no part shows whole, in code points."""
    written = [part.text if part.raw is None else part.raw for part in parts]
    starts = [0, *accumulate(map(len, written))][:-1]
    firsts = [start + max(0, text.find(own)) for start, text, own in zip(starts, written, shown, strict=True)]
    areas = [
        (part, first, first + len(own))
        for part, (first, text, own) in enumerate(zip(firsts, written, shown, strict=True))
        if own and own in text
    ]
    for start, stop in pattern.places("".join(written)):
        touched = [area for area in areas if start < area[2] and area[1] < stop]
        if not any(first <= start and stop <= last for _, first, last in touched):
            for part, first, last in touched:
                at, end = max(start, first) - first, min(stop, last) - first
                if piece := shown[part][at:end].strip():
                    at += shown[part][at:end].index(piece)
                    yield part, at, at + len(piece)


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, stop in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined


def snippets_in(
    pattern: Pattern, turns: Iterable[Turn], check: Callable[[], None] = lambda: None
) -> tuple[list[Snippet], bool]:
    """Return snippets of the first matches in turns of the roles, and whether there are more. `check` may end it."""
    snippets: list[Snippet] = []
    for turn in turns:
        if not speaks(turn, pattern.query.roles):
            continue
        role = SAME.get(turn.role, turn.role)
        for _, text in (field for part in turn.parts for field in fields_of(part)):
            check()
            encoded = texts.clean(text).encode()
            if next(pattern.spans(encoded), None) is None:
                continue
            further, is_more = snippets_of(pattern, role, encoded)
            if len(snippets) >= MOST:
                return snippets, True
            snippets += further
            if is_more:
                return snippets, True
    return snippets, False
