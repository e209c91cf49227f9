"""The pattern of a search, on an engine with time linear in the text for any pattern: RE2.

Arrow, which has RE2 built in, selects rows a column at a time; google-re2 finds places within a text. Both read a
pattern the same way.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa
import re2
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe import text as texts
from rolloupe.errors import BadPattern, BadQuery
from rolloupe.model import Sample
from rolloupe.tokens import Flags

MAX_CHARS = 10_000
MAX_PROGRAM = 50_000
"""Maximum number of instructions of a compiled pattern: a larger one may take as many steps for each byte of a text."""

MAX_TRIES = 100_000
"""Maximum number of places to examine in one text: a pattern that matches empty text, `x*`, has one for each byte."""

BLOCK, SHORT_BYTES = 32, 1024
"""Number of shorter texts to search at once: starting each search takes as long as the search itself."""

WORD = r"\pL\pN\pM_"  # the characters of words
ROLES = ("prompt", "response", "system", "user", "assistant", "tool")
COLUMNS = ("prompt", "response")

Rows = NDArray[np.int64]  # numbers of rows of a piece
Span = tuple[int, int]


class SearchStopped(Exception):
    """Raised within a search that must end."""


class TextQuery(Struct, frozen=True, kw_only=True):
    """A text or an expression to find in samples; an empty `roles` means prompts and responses."""

    text: str
    regex: bool = False
    case: bool = False
    """True for a case-sensitive search."""
    word: bool = False
    """True if a hit must not lie within a longer word."""
    roles: tuple[str, ...] = ()
    """Some of `ROLES`: the whole prompt or response, or the messages of one role."""


class Pattern:
    """A `TextQuery` ready to match. Raises `BadPattern` with the place of an error."""

    def __init__(self, query: TextQuery) -> None:
        if not query.text:
            raise BadQuery("the search is empty: name a text")
        if len(query.text) > MAX_CHARS:
            raise BadQuery(f"a text of {len(query.text):,} characters; at most {MAX_CHARS:,} are searched for")
        if unknown := [role for role in query.roles if role not in ROLES]:
            raise BadQuery(f"no role {unknown[0]!r}; there are: {', '.join(ROLES)}")
        cleaned = texts.clean(query.text)
        body = cleaned if query.regex else re2.escape(cleaned)
        flag = "" if query.case else "(?i)"
        self.query = query
        self._plain = flag + body
        self._compiled = _compiled(self._plain, cleaned)
        self._word = ""
        if query.word:
            try:
                re2.compile(f"(?:{body})", _options())
            except re2.error:
                body += "\\E"  # it has an open \Q
            self._word = f"{flag}(?:^|[^{WORD}])({body})(?:$|[^{WORD}])"
            self._compiled = _compiled(self._word, cleaned)

    @property
    def word(self) -> bytes:
        """Lower-case ASCII letters and blanks that occur, in any case, in every matching text; empty if unknown.

        Ignoring case, k and s also match other characters: the Kelvin sign and the long s.
        """
        letters = _LETTERS if self.query.case else _PLAIN_LETTERS
        pieces: list[str] = [] if self.query.regex else letters.findall(self.query.text)
        return max((piece.strip() for piece in pieces), key=len, default="").lower().encode()

    def within(self, column: pa.Array) -> Flags:
        """Return which of some texts match."""
        has_edges = self.query.regex and _EDGES.search(self.query.text) is not None
        mask = _mask(column, self._plain) if has_edges else _mask_of_blocks(column, self._plain)
        if self._word and mask.any():
            places = np.flatnonzero(mask)
            mask[places] = _mask(column.take(pa.array(places)), self._word)
        return mask

    def possibly(self, column: pa.Array) -> Flags:
        """Return which texts may match in a piece of them, which may end before they do; texts of tool calls are
        escaped.
        """
        if self.query.regex and _EDGES.search(self.query.text):
            return np.ones(len(column), np.bool_)
        mask = _mask(column, self._plain)
        return mask if _UNESCAPED.fullmatch(self.query.text) else mask | _mask(column, '"arguments"')

    def places(self, text: str, length: Callable[[str], int] = len) -> Iterator[Span]:
        """The matches in a text, as `spans`, in code points, or in the units of `length`."""
        encoded = texts.clean(text).encode()
        at, count = 0, 0
        for start, stop in self.spans(encoded):
            first = count + length(encoded[at:start].decode("utf-8", "ignore"))
            at, count = stop, first + length(encoded[start:stop].decode("utf-8", "ignore"))
            yield first, count

    def spans(self, encoded: bytes) -> Iterator[Span]:
        """The matches in a text in UTF-8, from left to right, in bytes, without empty ones."""
        group = 1 if self._word else 0
        place = 0
        for _ in range(MAX_TRIES):
            match = self._compiled.search(encoded, place) if place <= len(encoded) else None
            if match is None:
                return
            start, stop = match.span(group)
            if stop > start:
                yield start, stop
            while self._word and stop > 0:  # the character that ends a word may also precede the next one
                stop -= 1
                if encoded[stop] & 0xC0 != 0x80:
                    break
            place = max(place + 1, stop)


def utf16_length(text: str) -> int:
    """UTF-16 code units of a text, the unit of browsers."""
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)


_EDGES = re.compile(r"[\^$]|\\[AzbB]")
_LETTERS = re.compile(r"[A-Za-z ]+")
_PLAIN_LETTERS = re.compile(r"[A-JL-RT-Za-jl-rt-z ]+")
_UNESCAPED = re.compile(r"[\w ]*")


def _mask(column: pa.Array, pattern: str) -> Flags:
    import pyarrow.compute as pc

    try:
        hits = pc.match_substring_regex(column, pattern)
    except pa.ArrowInvalid as error:
        raise BadQuery(str(error)) from error
    if not hits.true_count:
        return np.zeros(len(hits), np.bool_)
    return np.array((hits.fill_null(False) if hits.null_count else hits).to_numpy(zero_copy_only=False), np.bool_)


def _mask_of_blocks(column: pa.Array, pattern: str) -> Flags:
    """Match short texts in blocks, for a pattern that does not depend on the ends of a text.

    The texts are adjacent in memory. A match in one of them is a match in the block, so only blocks with a match, which
    may span two texts, are searched text by text.
    """
    _, ends, data = column.buffers()
    if len(column) < 2 * BLOCK or column.null_count or ends is None or data is None:
        return _mask(column, pattern)
    offsets = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1]
    if offsets[-1] - offsets[0] > SHORT_BYTES * len(column):
        return _mask(column, pattern)
    edges = np.append(offsets[:-1:BLOCK], offsets[-1])
    blocks = pa.StringArray.from_buffers(len(edges) - 1, pa.py_buffer(edges), data)
    matching = np.flatnonzero(_mask(blocks, pattern))
    if 2 * len(matching) > len(blocks):
        return _mask(column, pattern)
    places = (matching[:, np.newaxis] * BLOCK + np.arange(BLOCK)).ravel()
    places = places[places < len(column)]
    mask = np.zeros(len(column), np.bool_)
    if len(places):
        mask[places] = _mask(column.take(pa.array(places)), pattern)
    return mask


def _options() -> "re2.Options":
    options = re2.Options()
    options.log_errors = False
    return options


def _compiled(pattern: str, original: str) -> "re2._Regexp":
    if _ANY_BYTE.search(pattern):
        raise BadPattern(r"cannot read the pattern: \C, one byte, may cut a character in two", original.find(r"\C"))
    try:
        compiled = re2.compile(pattern.encode(), _options())
    except re2.error as error:
        (message, *_) = error.args
        words = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        raise _bad(words, original) from None
    if compiled.programsize > MAX_PROGRAM:
        raise BadPattern("the pattern is too large: repeat less in it", 0)
    return compiled


_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_PARENTHESIS = re.compile(
    r"\\.|\[(?:\\.|[^\]\\])*|([()])", re.DOTALL
)  # those in the group are not escaped, nor in a class


def _bad(message: str, pattern: str) -> BadPattern:
    """Return the error of a pattern with its place: RE2 names the piece that it could not read."""
    what, _, piece = message.partition(": ")
    place, reason = max(0, pattern.find(piece)), f"{what} {piece}" if piece and len(piece) <= 40 else what
    if what in ("missing )", "unexpected )"):
        opened, unopened, reason = [0], [0], what
        for match in _PARENTHESIS.finditer(pattern):
            if match[1] == "(":
                opened.append(match.start())
            elif match[1] and len(opened) > 1:
                opened.pop()
            elif match[1]:
                unopened.append(match.start())
        place = opened[-1] if what == "missing )" else unopened[:2][-1]
    return BadPattern(f"cannot read the pattern at character {place + 1}: {reason}", place)


SIGN = "*"
WRITTEN = frozenset(("text", "think", "answer", "tool_result", "json"))


class Mask:
    """Masks texts; without a pattern, none."""

    def __init__(self, pattern: Pattern | None = None) -> None:
        self._pattern = pattern

    def __call__(self, text: str) -> str:
        """Return the masked text."""
        return text if self._pattern is None else "".join(_pieces(text, list(self._pattern.places(text))))

    def apply_to(self, sample: Sample) -> None:
        """Mask the texts of a sample; `raw` keeps them as they were."""
        if self._pattern is None:
            return
        sample.label = self(sample.label)
        for turn in (*sample.turns, *sample.ref_turns):
            for place, part in enumerate(turn.parts):
                if part.kind in WRITTEN and (text := self(part.text)) != part.text:
                    raw = part.text if part.raw is None else part.raw
                    turn.parts[place] = replace(part, text=text, raw=raw)

    def tokens(self, texts: Sequence[str]) -> list[str]:
        """Return consecutive texts, with one sign in place of each text's part of a match."""
        if self._pattern is None:
            return list(texts)
        shown, nth = list(texts), 0
        ends = list(accumulate(map(len, texts)))
        done = [0] * len(texts)  # letters of each text that are decided
        kept: list[list[str]] = [[] for _ in texts]
        for start, stop in self._pattern.places("".join(texts)):
            while ends[nth] <= start:
                nth += 1
            last = nth
            while True:
                first = ends[last] - len(texts[last])
                kept[last] += [texts[last][done[last] : max(0, start - first)], SIGN]
                done[last] = min(len(texts[last]), stop - first)
                shown[last] = "".join(kept[last]) + texts[last][done[last] :]
                if ends[last] >= stop:
                    break
                last += 1
            nth = last
        return shown


NO_MASK = Mask()


def mask_of(expression: str) -> Mask:
    """Return what masks a text; an empty expression masks nothing. Raises `BadPattern`.

    The engine is that of the search, which takes time linear in the text for any expression.
    """
    if not expression:
        return NO_MASK
    return Mask(Pattern(TextQuery(text=expression, regex=True, case=True)))


def _pieces(text: str, places: list[tuple[int, int]]) -> Iterator[str]:
    at = number = 0
    for nth, (start, stop) in enumerate(places):
        if number == 0:
            yield text[at:start]
        number += 1
        at = stop
        if nth + 1 == len(places) or places[nth + 1][0] != stop:
            yield SIGN if number == 1 else f"{SIGN}×{number}"
            number = 0
    yield text[at:]
