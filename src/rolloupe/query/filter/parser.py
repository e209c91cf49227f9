"""Filters as a person types them: `reward < 0.1 and (status = truncated or not env in (math, code))`.

    filter     = all { "or" all }
    all        = part { "and" part }
    part       = "not" part | "(" filter ")" | condition
    condition  = name ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
               | name [ "not" ] "contains" value
               | name [ "not" ] "in" "(" value { "," value } ")"
               | name "is" [ "not" ] "null"
               | "token" text

Quote a name or value that contains blanks or signs, with single or double quotes, and double a quote inside. An
unquoted value that reads as a number is a number, but text when compared with a text column; a quoted value is text.
Keywords match in any case.

A derived metric needs no `derived.` before its name unless a sample metric or a tag of the run is called so:
`max_kl > 1`.

`token "Wait"` holds for samples with a trained token `Wait`, or ` Wait` with a blank before it.

A filter holds for a sample or not; there is no third state. A missing value fulfils no comparison but `!=`, so that `=`
and `!=`, and a filter and its `not`, always divide the samples in two.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from rolloupe.errors import BadQuery

Value: TypeAlias = float | int | str


class Condition(Struct, frozen=True):
    """`column operator value`: operator is one of = != < <= > >= (numbers, text), or contains (text, in any case).

    With a numeric column, a text is the name of another numeric column, for comparison of the two.
    """

    column: str
    operator: str
    value: Value
    typed: str = ""
    """The spelling of a number as typed (`007`), if it differs from the usual one: columns of text compare with it."""


class Among(Struct, frozen=True):
    """`column in (values)`: the column has one of these values."""

    column: str
    values: tuple[Value, ...]
    typed: tuple[str, ...] = ()
    """As in `Condition`, for each value; empty if no value has one."""


class Missing(Struct, frozen=True):
    """`column is null`: the column has no value, or an empty text."""

    column: str


class HasToken(Struct, frozen=True):
    """`token "text"`: a trained token of the sample has this string, with or without a blank before it."""

    text: str


class Not(Struct, frozen=True):
    """Fulfilled by samples that do not fulfil `of`."""

    of: "Filter"


class And(Struct, frozen=True):
    """Fulfilled by samples that fulfil each of them."""

    of: tuple["Filter", ...]


class Or(Struct, frozen=True):
    """Fulfilled by samples that fulfil at least one of them."""

    of: tuple["Filter", ...]


Leaf: TypeAlias = Condition | Among | Missing | HasToken
Filter: TypeAlias = Leaf | Not | And | Or


def leaves(filters: Iterable[Filter]) -> Iterator[Leaf]:
    """The conditions of some filters, from left to right."""
    for node in filters:
        if isinstance(node, And | Or):
            yield from leaves(node.of)
        elif isinstance(node, Not):
            yield from leaves([node.of])
        else:
            yield node


_TOKEN = re.compile(
    r"""\s*(?:
    (?P<operator> == | != | <> | <= | >= | = | < | > )
    | (?P<sign> [(),] )
    | (?P<quoted> "(?:[^"]|"")*" | '(?:[^']|'')*' )
    | (?P<word> [^\s<>=!"'(),]+ )
    )""",
    re.VERBOSE,
)
_SAME = {"==": "=", "<>": "!="}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE)
_MAX_INTEGER = 2**63
KEYWORD = "token"
FOLLOWING = frozenset(("and", "or", "not", "in", "is", "contains"))
"""Words that may follow the name of a column, or a condition."""
NEGATED = "`contains` or `in`"
COMPARING = "one of = != < <= > >= `in` `contains` `is`"
MAX_CHARS = 4000
MAX_DEPTH = 50


class FilterToken(NamedTuple):
    """A piece of a filter's text; `text` has no quotes, `place` counts characters from 0."""

    kind: str  # `operator`, `sign`, `quoted` or `word`
    text: str
    place: int


def conditions(text: str) -> tuple[Filter, ...]:
    """Read a filter as conditions that must all hold. Raises `BadQuery` with the place where reading stopped."""
    if not text.strip():
        return ()
    if len(text) > MAX_CHARS:
        raise BadQuery(f"a filter of {len(text)} characters; at most {MAX_CHARS} are read", place=MAX_CHARS)
    tree = _Reader(text).whole()
    return tree.of if isinstance(tree, And) else (tree,)


def tokens_of(text: str) -> list[FilterToken]:
    """The pieces of a filter. Raises `BadQuery` for text that is not a piece."""
    tokens, place, end = [], 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            blanks = len(text[place:]) - len(text[place:].lstrip())
            raise _stopped(text, place + blanks, "a column, an operator or a value, quotes closed")
        kind = str(match.lastgroup)
        piece = match[kind]
        piece = piece[1:-1].replace(piece[0] * 2, piece[0]) if kind == "quoted" else piece
        tokens.append(FilterToken(kind, piece, match.start(kind)))
        place = match.end()
    return tokens


def place_of(text: str, column: str) -> int | None:
    """The first place of a column's name in a filter; None if the filter is invalid, or does not contain the name."""
    try:
        names = [(getattr(leaf, "column", None), getattr(leaf, "value", None)) for leaf in leaves(conditions(text))]
        if all(column not in pair for pair in names):
            return None
        return next((token.place for token in tokens_of(text) if token.text == column), None)
    except BadQuery:
        return None


@contextmanager
def pointing(text: str) -> Iterator[None]:
    """Add to the error for an unknown column its place in the text of the filter."""
    try:
        yield
    except BadQuery as error:
        if error.place is None and error.column is not None:
            error.place = place_of(text, error.column)
        raise


def quoted(text: str) -> str:
    """Quote a name or a value so that the parser reads it back as that text."""
    is_plain = _TOKEN.fullmatch(text) is not None and not text[:1].isspace() and text[:1] not in "\"'(),<>=!"
    is_word = text.lower() in ("and", "or", "not", "in", "is", "contains", "null")
    return text if is_plain and not is_word and not _NUMBER.fullmatch(text) else '"' + text.replace('"', '""') + '"'


class _Reader:
    """Reads the tokens of a text from left to right, each once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Filter:
        tree = self._either()
        if (token := self._peek()) is not None:
            raise self._stopped("`and` or `or`", token)
        return tree

    def _either(self) -> Filter:
        alternatives = [self._all()]
        while self._skip("or"):
            alternatives.append(self._all())
        return alternatives[0] if len(alternatives) == 1 else Or(tuple(alternatives))

    def _all(self) -> Filter:
        parts = [self._part()]
        while self._skip("and"):
            parts.append(self._part())
        flat = [part for part in parts for part in (part.of if isinstance(part, And) else (part,))]
        return flat[0] if len(flat) == 1 else And(tuple(flat))

    def _part(self) -> Filter:
        after = self._peek(1)
        is_name = after is not None and after.kind == "operator"  # the word is a column, whatever it is
        if not self._is("(") and (is_name or not self._is("not")):
            return self._condition()
        if self._depth >= MAX_DEPTH:
            place = self._tokens[self._at].place
            raise BadQuery(f"the filter is nested more than {MAX_DEPTH} levels deep", place=place)
        self._depth += 1
        if self._skip("not"):
            node: Filter = Not(self._part())
        else:
            self._take("sign", "(")
            node = self._either()
            self._expect(")")
        self._depth -= 1
        return node

    def _condition(self) -> Filter:
        after = self._peek(1)
        if self._is(KEYWORD) and after is not None and is_token_text(after):
            self._at += 2
            return HasToken(after.text)
        name = self._take("word quoted", "the name of a column").text
        if (operator := self._peek()) is not None and operator.kind == "operator":
            self._at += 1
            token = self._take("word quoted", "a value")
            return Condition(name, _SAME.get(operator.text, operator.text), value_of(token), typed_of(token))
        if self._skip("is"):
            is_not = self._skip("not")
            self._expect("null")
            return Not(Missing(name)) if is_not else Missing(name)
        is_not = self._skip("not")
        if self._skip("contains"):
            value = self._take("word quoted", "a text")
            node: Filter = Condition(name, "contains", value.text)
        elif self._skip("in"):
            self._expect("(")
            tokens = [self._take("word quoted", "a value")]
            while self._skip(","):
                tokens.append(self._take("word quoted", "a value"))
            self._expect(")")
            typed = tuple(map(typed_of, tokens))
            node = Among(name, tuple(map(value_of, tokens)), typed if any(typed) else ())
        else:
            raise self._stopped(NEGATED if is_not else COMPARING, self._peek())
        return Not(node) if is_not else node

    def _peek(self, ahead: int = 0) -> FilterToken | None:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def _is(self, word: str) -> bool:
        token = self._peek()
        return token is not None and token.kind in ("word", "sign") and token.text.lower() == word

    def _skip(self, word: str) -> bool:
        is_next = self._is(word)
        self._at += is_next
        return is_next

    def _expect(self, word: str) -> None:
        if not self._skip(word):
            raise self._stopped(f"`{word}`", self._peek())

    def _take(self, kinds: str, wanted: str) -> FilterToken:
        token = self._peek()
        if token is None or token.kind not in kinds.split():
            raise self._stopped(wanted, token)
        self._at += 1
        return token

    def _stopped(self, wanted: str, token: FilterToken | None) -> BadQuery:
        return _stopped(self._text, token.place if token else len(self._text.rstrip()), wanted)


def value_of(token: FilterToken) -> Value:
    """The value of a word or a quoted text."""
    if token.kind == "quoted" or not _NUMBER.fullmatch(token.text):
        return token.text
    try:
        whole = int(token.text)
    except ValueError:
        return float(token.text)
    return whole if -_MAX_INTEGER <= whole < _MAX_INTEGER else float(token.text)


def is_token_text(token: FilterToken) -> bool:
    """True if what follows the word `token` is the string of a token."""
    return token.kind == "quoted" or (token.kind == "word" and token.text.lower() not in FOLLOWING)


def typed_of(token: FilterToken) -> str:
    """The text as typed, for a number in an unusual spelling; else empty."""
    value = value_of(token)
    return "" if isinstance(value, str) or str(value) == token.text else token.text


def _stopped(text: str, place: int, wanted: str) -> BadQuery:
    rest = text[place : place + 20]
    actual = f"found {rest!r}" if rest else "it ends there"
    return BadQuery(f"cannot read the filter: at character {place + 1} expected {wanted}, {actual}", place=place)
