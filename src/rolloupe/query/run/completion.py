"""Completions of an unfinished filter: columns, operators, values, words."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rolloupe.derive import METRICS
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, Snapshot
from rolloupe.index.segments.columns import NUMBER
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import compile_query
from rolloupe.query.engine.names import column, is_number, kind_of, reference, run_names
from rolloupe.query.filter.parser import KEYWORD, FilterToken, is_token_text, quoted, tokens_of
from rolloupe.query.records import SampleQuery, scope_of
from rolloupe.query.run.columns import catalogue
from rolloupe.query.run_tokens.words import words_of_steps
from rolloupe.query.samples.pages import in_known_splits
from rolloupe.query.tokens.page import each_readable
from rolloupe.questions import CompletionQuery

MAX_ROWS = 200_000  # number of samples to scan for the values of a column: more would keep a typing person waiting
MAX_FOUND = 30
MAX_VALUE_CHARS = 200
QUOTE = '"'

COMPARE = ("=", "!=", "<", "<=", ">", ">=")
NUMBER_WORDS = (*COMPARE, "in", "is null", "is not null")
TEXT_WORDS = ("=", "!=", "contains", "not contains", "in", "not in", "is null", "is not null")

_AFTER_NAME = {"contains": "value", "in": "list", "is": "null", "not": "in"}
FOLLOWING = {
    "operator": _AFTER_NAME,
    "token": _AFTER_NAME,
    "in": {"in": "list", "contains": "value"},
    "null": {"not": "null", "null": "joint"},
    "list": {"(": "listed"},
    "comma": {",": "listed", ")": "joint"},
    "joint": {"and": "name", "or": "name"},
}
"""The next part of a filter, for each part that may be due and each word or sign in its place."""

_PARTIAL = re.compile(r"""(?P<quoted>"(?:[^"]|"")*|'(?:[^']|'')*)\Z|(?P<word>[^\s<>=!"'(),]+)\Z""")


class Suggestion(Struct, frozen=True):
    """A completion. `kind` is `column`, `operator`, `value` or `word`; `note` is a remark for people."""

    text: str
    kind: str
    note: str = ""


class Completion(Struct, frozen=True):
    """Candidates to replace the characters from `start` to the cursor."""

    start: int
    found: list[Suggestion]


class Expected(NamedTuple):
    """The next piece of a filter: `name`, `operator`, `token`, `value`, `list`, `listed`, `null`, `in` or `joint`."""

    what: str
    column: str = ""
    depth: int = 0


def complete(run: OpenRun, query: SampleQuery, text: str) -> Completion:
    """Return completions at the end of `text`, the filter up to the cursor. Values are those of the query's samples."""
    start, partial = _cut(text)
    expected: Expected | None = Expected("name")
    try:
        for token in tokens_of(text[:start]):
            expected = None if expected is None else _after(expected, token)
    except BadQuery:
        expected = None
    suggestions = [] if expected is None else list(_suggestions(run, run.snapshot(), query, expected, partial))
    return Completion(start, suggestions[:MAX_FOUND])


def completion_answer(run: OpenRun, asked: CompletionQuery) -> Completion:
    """Return the completions at the end of a filter."""
    return complete(run, replace(scope_of(asked), trained=asked.trained), asked.text)


def _cut(text: str) -> tuple[int, str]:
    place = 0
    for token in re.finditer(r""""(?:[^"]|"")*"|'(?:[^']|'')*'|[^"']+""", text):
        place = token.end() if token.group()[0] in "\"'" else place
    match = _PARTIAL.search(text, place)
    if match is None:
        return len(text), ""
    whole = match.group()
    return match.start(), whole[1:].replace(whole[0] * 2, whole[0]) if match["quoted"] else whole


def _after(at: Expected, token: FilterToken) -> Expected | None:
    word = token.text.lower() if token.kind in ("word", "sign") else ""
    is_name = token.kind in ("word", "quoted")
    if at.what == "name":
        if word == "(":
            return at._replace(depth=at.depth + 1)
        if word == KEYWORD:
            return at._replace(what="token", column=KEYWORD)
        return at if word == "not" else at._replace(what="operator", column=token.text) if is_name else None
    if at.what == "joint" and word == ")" and at.depth:
        return at._replace(depth=at.depth - 1)
    follows = FOLLOWING.get(at.what, {}).get(word)
    if (at.what == "token" and is_token_text(token)) or (at.what == "value" and is_name):
        follows = "joint"
    elif at.what in ("operator", "token") and token.kind == "operator":
        follows = "value"
    elif at.what == "listed" and is_name:
        follows = "comma"
    return at._replace(what=follows) if follows else None


def _suggestions(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, at: Expected, partial: str
) -> Iterable[Suggestion]:
    if at.what == "name":
        columns = catalogue(run, query.splits[0] if len(query.splits) == 1 else None).columns
        sources = {info.name: "" if info.source == "fixed" else info.source for info in columns}
        named = [Suggestion(quoted(name), "column", source) for name, source in sources.items()]
        named += [] if NUMBER in sources else [Suggestion(NUMBER, "column", "in its step, from 0")]
        named += [Suggestion(quoted(name), "column", kind) for name, kind in run_names(snapshot) if name not in sources]
        named += [Suggestion(name, "column", "derived") for name in METRICS if kind_of(run, name) == "derived"]
        pieces = snapshot.of(snapshot.pieces)
        has_words = any(piece.tokens is not None and piece.tokens.words_bytes for piece in pieces)
        return [*_matching(named, partial), *_words(("not", "(", *([KEYWORD] if has_words else [])), partial)]
    if at.what == "token":
        return _token_strings(run, query, partial)
    if at.what == "operator":
        if reference(snapshot, at.column) is None:
            return []
        return _words(NUMBER_WORDS if is_number(snapshot, at.column) else TEXT_WORDS, partial, "operator")
    if at.what in ("value", "listed"):
        return _values(run, snapshot, query, at.column, partial)
    others: dict[str, tuple[str, ...]] = {
        "list": ("(",), "in": ("in", "contains"), "null": ("null", "not null"), "comma": (",", ")"),
        "joint": ("and", "or", *([")"] if at.depth else [])),
    }  # fmt: skip
    return _words(others[at.what], partial)


def _token_strings(run: OpenRun, query: SampleQuery, partial: str) -> list[Suggestion]:
    """The most frequent strings of tokens in the steps of the query, without blanks around them."""
    steps = SampleQuery(splits=query.splits, step_min=query.step_min, step_max=query.step_max)
    counts: Counter[str] = Counter()
    words = words_of_steps(run, steps, by="tokens", limit=MAX_ROWS).words
    for entry, text in zip(words, each_readable([entry.word for entry in words]), strict=True):
        counts[text.strip()] += entry.tokens
    strings = [
        Suggestion(f'"{text.replace(QUOTE, 2 * QUOTE)}"', "value", f"{count:,}")
        for text, count in counts.most_common()
        if text
    ]
    return _matching(strings, partial)


def _words(words: Iterable[str], partial: str, kind: str = "word") -> list[Suggestion]:
    return [Suggestion(word, kind) for word in words if word.startswith(partial.lower())]


def _matching(candidates: list[Suggestion], partial: str) -> list[Suggestion]:
    """Candidates that begin with the text, then those that contain it; all in their order without a text."""
    low = partial.lower()
    matches = [candidate for candidate in candidates if low in candidate.text.lower()]
    if low:
        matches.sort(key=lambda candidate: not candidate.text.lower().lstrip('"').startswith(low))
    return matches


def _values(run: OpenRun, snapshot: Snapshot, query: SampleQuery, name: str, partial: str) -> list[Suggestion]:
    """The most frequent values of a column, of text or of a few numbers, among the first samples of the query."""
    query = in_known_splits(snapshot, replace(query, where=(), sort="index"))
    if reference(snapshot, name) is None:
        return []
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    terms = compile_query(snapshot, query, by_group=False, also=[name])
    sql = f"""
    , looked AS (SELECT {column(snapshot, name)}::VARCHAR AS value FROM rows WHERE {terms.where.sql} LIMIT {MAX_ROWS})
    SELECT value, count(*) FROM looked WHERE value IS NOT NULL AND contains(lower(value), lower(?))
    AND length(value) <= {MAX_VALUE_CHARS} GROUP BY value
    ORDER BY starts_with(lower(value), lower(?)) DESC, count(*) DESC, value LIMIT {MAX_FOUND}"""
    answer = database.ask(run, terms.question(pieces, sql, [partial, partial]))
    if is_number(snapshot, name):
        return [Suggestion(value.removesuffix(".0"), "value", f"{count:,}") for value, count in answer[:8] if count > 1]
    return [Suggestion(quoted(value), "value", f"{count:,}") for value, count in answer if value]
