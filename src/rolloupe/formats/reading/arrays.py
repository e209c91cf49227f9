"""Long arrays of numbers, cut out of a line and read by themselves before the rest of it is decoded.

Nearly all of a line with per-token arrays is digits, and to make Python floats of them is nearly all the time of a
scan. What comes out is what the whole line decodes to, but for arrays in place of lists: every array is checked, and a
line of which anything is in doubt is decoded whole. An array is cut where it looks like a member, and a mark put in its
place; only where the decoded object then holds that mark under that key was it a member of the line itself, not of an
object inside, not a piece of a text, and the last of its name.
"""

import json
import math
import re
import secrets
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rolloupe.tokens import Floats

MIN_LINE_BYTES = 2**15
"""A shorter line is decoded whole in less time than it takes to look for arrays."""

MAX_ARRAY_BYTES = 4 * 2**20
"""A longer one is decoded with its line: what simdjson takes for it, it keeps."""

MIN_ARRAY_BYTES = 2**10
MAX_LOOKS = 2_000
"""Brackets looked at in one line: a text may be full of them."""

PATIENCE = 3
"""After so many long lines in a row without an array, a scan looks for no more."""

MAX_KEY_BYTES = 200

_MARK = secrets.token_hex(16)
"""Nothing that a file holds, as it was made after the file."""

_FIRST = frozenset(b"-0123456789NntfI")
_key = re.compile(rb'"([^"\\\x00-\x1f]+)"[ \t\r]*:[ \t\r]*\Z')
_decode = msgspec.json.Decoder().decode


class Word(NamedTuple):
    """What stands for a number in an array, and the digits that take its place while the array is read."""

    name: bytes
    digits: bytes
    value: float


def _word(name: bytes, value: float, sign: bytes = b"-") -> Word:
    """Give a word digits that no file holds.

    No digit, sign or point beside them makes another number of them: "1-9", "--9", "e3075" and "19e307" are none.
    """
    return Word(name, sign + b"9.%015de307" % secrets.randbelow(10**15), value)


_WORDS = (
    _word(b"null", math.nan), _word(b"NaN", math.nan), _word(b"true", 1.0), _word(b"false", 0.0),
    _word(b"Infinity", math.inf, sign=b""),
)  # fmt: skip


class Cut(NamedTuple):
    """Where in a line an array stands, its brackets included, and under which key."""

    key: str
    start: int
    stop: int


class Cutter:
    """Decodes the lines of one scan: `parse` a whole line, `may_cut` tells the keys whose lists may become arrays."""

    def __init__(self, parse: Callable[[bytes], dict[str, Any]], may_cut: Callable[[str], bool]) -> None:
        self._parse = parse
        self._may_cut = may_cut
        self._left: set[str] = set()
        """Keys that were met elsewhere than in the line itself: they are not tried again."""
        self._misses = 0
        self._read = _reader()

    def parse(self, data: bytes) -> dict[str, Any]:
        """Decode a line; raises what decoding it whole raises."""
        if len(data) >= MIN_LINE_BYTES and self._misses < PATIENCE:
            cuts = list(self._cuts(data))
            self._misses = 0 if cuts else self._misses + 1
            if cuts and (record := self._parsed(data, cuts)) is not None:
                return record
        return self._parse(data)

    def _parsed(self, data: bytes, cuts: list[Cut]) -> dict[str, Any] | None:
        """Decode a line around its arrays; None where that is in doubt."""
        try:
            record = self._parse(_without(data, cuts))
        except Exception:  # it is decoded whole, and raises what is true of the line
            return None
        elsewhere = [cut.key for number, cut in enumerate(cuts) if record.get(cut.key) != f"{_MARK}{number}"]
        self._left.update(elsewhere)
        if elsewhere:
            return None
        for cut in cuts:
            values = self._values(data[cut.start : cut.stop])
            if values is None:
                return None
            record[cut.key] = values
        return record

    def _cuts(self, data: bytes) -> Iterator[Cut]:
        start, stop = -1, 0
        for _ in range(MAX_LOOKS):
            start = data.find(b"[", start + 1)
            if start < 0:
                return
            if stop <= start:  # else the next one is known from the look before
                stop = data.find(b"]", start) + 1
                if not stop:
                    return
            if not MIN_ARRAY_BYTES <= stop - start <= MAX_ARRAY_BYTES or data[start + 1] not in _FIRST:
                continue
            match = _key.search(data, max(0, start - MAX_KEY_BYTES), start)
            key = match[1].decode("utf-8", "replace") if match else ""
            if key and key not in self._left and self._may_cut(key):
                yield Cut(key, start, stop)
                start = stop

    def _values(self, data: bytes) -> Floats | list[Any] | None:
        """Read a flat array: as float64, shape (T,), or as a list where something else than such numbers is in it."""
        words = [word for word in _WORDS if word.name[0] in data]
        try:
            return self._read_words(data, words) if words else self._read(data)
        except (ValueError, TypeError, RuntimeError):
            return _elements(data)

    def _read_words(self, data: bytes, words: list[Word]) -> Floats:
        """Read an array in which words stand between numbers, to what `tokens.read_floats` makes of its list."""
        for word in words:
            data = data.replace(word.name, word.digits)
        values = self._read(data).copy()
        for word in words:
            number = float(word.digits)
            values[values == number] = word.value
            values[values == -number] = -word.value
        return values


def _reader() -> Callable[[bytes], Floats]:
    """How a flat array of numbers is read. Not for two threads; raises for whatever else is in it."""
    try:
        import simdjson
    except ImportError:  # it has no wheels for every Python
        decode = msgspec.json.Decoder(list[float]).decode
        return lambda data: np.frombuffer(array("d", decode(data)))
    parser = simdjson.Parser()

    def read(data: bytes) -> Floats:
        parsed = parser.parse(data)
        assert isinstance(parsed, simdjson.Array)
        return np.frombuffer(parsed.as_buffer(of_type="d"))

    return read


def _without(data: bytes, cuts: list[Cut]) -> bytes:
    """The line with a mark in place of each array."""
    pieces, at = [], 0
    for number, cut in enumerate(cuts):
        pieces += [data[at : cut.start], f'"{_MARK}{number}"'.encode()]
        at = cut.stop
    return b"".join([*pieces, data[at:]])


def _elements(data: bytes) -> list[Any] | None:
    """Read an array with integers in it that no float holds; None for one with texts, or that is none."""
    if b'"' in data:
        return None
    found: list[Any]
    for decode in (_decode, lambda data: json.loads(data.decode())):
        try:
            found = decode(data)
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue
        return found
    return None
