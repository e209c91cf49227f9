"""Conditions as a person types them: `reward < 0.1 and status = truncated`.

Grammar: `column operator value`, joined by `and`. A column or value with blanks or signs in it stands in quotes, single
or double, a quote inside doubled. A value that reads as a number is one; in quotes it is text.
"""

import re
from typing import NamedTuple

from rolloupe.errors import BadQuery
from rolloupe.query.records import Condition

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<operator> == | != | <> | <= | >= | = | < | > )
    | (?P<quoted> "(?:[^"]|"")*" | '(?:[^']|'')*' )
    | (?P<word> [^\s<>=!"']+ )
    )""",
    re.VERBOSE,
)
_SAME = {"==": "=", "<>": "!="}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE)
_MAX_CHARS = 2000
_MAX_INTEGER = 2**63


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def conditions(text: str) -> tuple[Condition, ...]:
    """Read conditions joined by `and`; blank is none. Raises `BadQuery`, which says where it stopped, and why."""
    if not text.strip():
        return ()
    if len(text) > _MAX_CHARS:
        raise BadQuery(f"conditions of {len(text)} characters; at most {_MAX_CHARS} are read")
    tokens = _tokens(text)
    found = []
    while True:
        column = _take(tokens, text, ("word", "quoted"), "the name of a column")
        operator = _take(tokens, text, ("operator",), "one of = != < <= > >=")
        value = _take(tokens, text, ("word", "quoted"), "a value")
        found.append(Condition(column.text, _SAME.get(operator.text, operator.text), _value(value)))
        if not tokens:
            return tuple(found)
        joint = _take(tokens, text, ("word",), "and")
        if joint.text.lower() != "and":
            raise _stopped(text, joint.place, "and")


def _tokens(text: str) -> list[_Token]:
    found, place, end = [], 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            blanks = len(text[place:]) - len(text[place:].lstrip())
            raise _stopped(text, place + blanks, "a column, an operator or a value, quotes closed")
        kind = str(match.lastgroup)
        found.append(_Token(kind, _bare(match[kind]) if kind == "quoted" else match[kind], match.start(kind)))
        place = match.end()
    return found


def _bare(quoted: str) -> str:
    return quoted[1:-1].replace(quoted[0] * 2, quoted[0])


def _take(tokens: list[_Token], text: str, kinds: tuple[str, ...], wanted: str) -> _Token:
    if not tokens:
        raise _stopped(text, len(text.rstrip()), wanted)
    if tokens[0].kind not in kinds:
        raise _stopped(text, tokens[0].place, wanted)
    return tokens.pop(0)


def _value(token: _Token) -> float | int | str:
    if token.kind == "quoted" or not _NUMBER.fullmatch(token.text):
        return token.text
    try:
        whole = int(token.text)
    except ValueError:
        return float(token.text)
    return whole if -_MAX_INTEGER <= whole < _MAX_INTEGER else float(token.text)


def _stopped(text: str, place: int, wanted: str) -> BadQuery:
    rest = text[place : place + 20]
    found = f"found {rest!r}" if rest else "it ends there"
    return BadQuery(
        f"cannot read the condition {text!r}: at character {place + 1} expected {wanted}, {found}; "
        "write such as reward < 0.1 and status = truncated"
    )
