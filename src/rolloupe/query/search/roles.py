"""Matches in turns, by role, with snippets of their surroundings: in samples that are read whole, and in reports.

Reports hold texts that a trainer logged and no sample shows; the index does not contain them. Their bytes rule most of
them out; reading another one takes some milliseconds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rolloupe import text as texts
from rolloupe.errors import SourceChanged, UnreadablePath
from rolloupe.formats.base import StepReport, TranscriptQuery
from rolloupe.index import OpenRun, Piece
from rolloupe.model import Locator, Part, SampleKey, Turn
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import is_asked
from rolloupe.query.engine.relation import PLACE, RowPlace
from rolloupe.query.records import SampleQuery
from rolloupe.query.sample.load import read_sample
from rolloupe.query.sample.load import sample as whole_sample
from rolloupe.query.search.pattern import Pattern, Rows, SearchStopped, Span, TextQuery

BEFORE_BYTES, AFTER_BYTES = 160, 320  # context on both sides, before it is cut to characters
BEFORE_CHARS, AFTER_CHARS = 60, 120
HIT_CHARS = 400
MOST = 3  # snippets of one text
MAX_SPANS = 5000  # maximum number of places to mark in one sample; further ones are not counted

SAME = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool"}
"""Roles with other names."""

PLACED = "split, step, grp, idx, source, byte_start, byte_length, part"


class Snippet(Struct, frozen=True):
    """A piece of a text: `pieces` alternate between context and hit, and begin and end with (maybe empty) context."""

    role: str
    pieces: tuple[str, ...]
    is_start: bool
    """True if the text begins with it."""
    is_end: bool


def snippets_of(pattern: Pattern, role: str, encoded: bytes, most: int = MOST) -> tuple[list[Snippet], bool]:
    """Return snippets of the first matches in a text, and whether there are more."""
    spans = list(islice(pattern.spans(encoded), 4 * most + 1))
    snippets: list[Snippet] = []
    place = 0
    while place < len(spans) and len(snippets) < most:
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
    """Decode bytes of a text, without characters that a cut went through."""
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
    role = SAME.get(turn.role, turn.role)
    return not roles or role in roles or turn.origin in roles


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
    """Spans in order, those that overlap as one."""
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


class FoundRow(NamedTuple):
    """A matching row of the index."""

    piece: Piece
    row: int
    snippets: tuple[Snippet, ...]
    more: bool  # true if it has more matches than snippets


def rows_of_roles(
    run: OpenRun, pattern: Pattern, piece: Piece, numbers: Rows, go_on: Callable[[], bool], note: Callable[[str], None]
) -> Iterator[FoundRow]:
    """Read samples of a piece whole, and yield those that match; notes a sample that can no longer be read."""
    places = [RowPlace(piece, number) for number in numbers.tolist()]
    sql = f"SELECT nth, {PLACED} FROM rows JOIN places USING ({', '.join(PLACE)}) ORDER BY nth"
    rows = database.ask(run, Question([piece] if places else (), sql, at=places))
    for nth, split, step, group, index, source, start, length, part in rows:
        if not go_on():
            return
        locator = Locator(source=source, start=start, length=length, part=part)
        try:
            sample = read_sample(run, SampleKey(split, step, group, index), locator)
        except SourceChanged as error:
            note(str(error))
            continue
        snippets, more = snippets_in(pattern, sample.turns)
        if snippets:
            yield FoundRow(piece, places[nth].row, tuple(snippets), more)


class Transcript(NamedTuple):
    """A logged text with a match that no sample shows; `at` is its place in the step's report."""

    split: str
    step: int
    title: str
    at: str
    snippets: tuple[Snippet, ...]
    more: bool  # true if it has more matches than snippets


def reports_of(run: OpenRun, query: SampleQuery, *, oldest_first: bool) -> list[StepReport]:
    """Return the reports of a query's splits and steps in search order; none if it asks for certain samples."""
    if query.where or query.group is not None or query.trained is not None:
        return []
    low, high, splits = query.step_min, query.step_max, query.splits
    due = [
        report
        for report in run.format.reports(run.info)
        if (low is None or report.step >= low) and (high is None or report.step <= high)
        if not splits or any(is_asked(report.split, split) for split in splits)
    ]
    way = 1 if oldest_first else -1
    return sorted(due, key=lambda report: (way * report.step, report.split != "train", report.split))


def transcripts_in(
    report: StepReport, pattern: Pattern, go_on: Callable[[], bool], note: Callable[[str], None]
) -> list[Transcript]:
    """Search one report; return nothing once `go_on` returns False. Notes unreadable logs."""

    def check() -> None:
        if not go_on():
            raise SearchStopped

    def holds(turns: Sequence[Turn]) -> bool:
        check()
        return bool(snippets_in(pattern, _answered(turns), check)[0])

    hits = []
    try:
        for transcript in report.search(TranscriptQuery(pattern.word, holds, check)):
            snippets, more = snippets_in(pattern, _answered(transcript.turns), check)
            place = transcript.split, transcript.step, transcript.title, transcript.at
            hits.append(Transcript(*place, tuple(snippets), more))
    except UnreadablePath as error:
        note(str(error))
        return []
    except SearchStopped:
        return []
    return hits


def _answered(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Yield the turns of a conversation without a sample: its response begins at the first assistant turn."""
    first = texts.first_answer(turns)
    return chain(turns[:first], (replace(turn, origin="response") for turn in turns[first:]))
