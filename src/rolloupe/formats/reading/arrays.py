"""Cuts long arrays of numbers out of a line and reads them separately.

Nearly all of a line with per-token arrays is digits, and turning them into Python floats takes nearly all the time of a
scan. The result equals decoding the whole line, with arrays in place of lists: msgspec checks the line and finds its
members, and a doubtful line is decoded whole. Numbers replace the words that msgspec does not know, such as NaN, until
the members are found. Halves of surrogate pairs and bytes that are not UTF-8 are replaced as `line_reader` does.
"""

import contextlib
import math
import secrets
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rolloupe.formats.reading.line_reader import replace_lone_surrogates
from rolloupe.tokens import Floats

MIN_LINE_BYTES = 2**15
"""Shorter lines decode faster whole than by looking for arrays."""
MAX_ARRAY_BYTES = 4 * 2**20
"""Longer arrays are decoded with their line: simdjson keeps the memory that it allocates."""
MIN_ARRAY_BYTES = 2**10
PATIENCE = 3
"""After this many long lines in a row without an array, a scan stops looking for arrays."""
_FAILURES = (ValueError, TypeError, RuntimeError)
"""Exceptions that reading anything but numbers may raise."""
_FIRST = frozenset(b"-0123456789NntfI")
_decode = msgspec.json.Decoder().decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MARK = msgspec.Raw(b'"%b"' % secrets.token_hex(16).encode())
"""Marks the place of an array. No file contains it, because it is newer than the file."""
_COMMA, _OPEN = b", ", b"["[0]
_NAN = np.array(math.nan)


class Word(NamedTuple):
    """A word in place of a number in an array, and the digits that replace it while the array is read."""

    name: bytes
    digits: bytes
    value: float


_VALUES = {b"null": math.nan, b"NaN": math.nan, b"true": 1.0, b"false": 0.0, b"Infinity": math.inf}
_WORDS = [
    Word(name, (b"" if name == b"Infinity" else b"-") + b"9.%015de307" % secrets.randbelow(10**15), value)
    for name, value in _VALUES.items()
]
"""Digits that no file holds. A digit, sign or point next to them never yields another number: "1-9", "--9", "e3075" and
"19e307" are invalid."""
_UNKNOWN = [word for word in _WORDS if word.name in (b"NaN", b"Infinity")]


class Cutter:
    """Decodes the lines of one scan: `parse` decodes a whole line, `may_cut` selects the keys whose lists become
    arrays, and `is_length` those whose arrays need only the right length: most are checked but not read, and hold NaN.
    """

    def __init__(
        self,
        parse: Callable[[bytes], dict[str, Any]],
        may_cut: Callable[[str], bool],
        is_length: Callable[[str], bool] = lambda _key: False,
    ) -> None:
        self._parse = parse
        self._may_cut = may_cut
        self._is_length = is_length
        self._wordy: set[str] = set()
        """Keys of arrays that had words among their numbers."""
        self._misses = 0
        self._numeric: list[str] | None = None
        """Keys of arrays that were read in the first line; empty if they stand elsewhere in another."""
        self.read_numbers = _reader()

    def parse(self, data: bytes) -> dict[str, Any]:
        """Decode a line. Raises the same errors as decoding it whole."""
        if len(data) >= MIN_LINE_BYTES and self._misses < PATIENCE:
            with contextlib.suppress(Exception):  # decoding it whole raises the accurate error
                record = self._parsed(data)
                is_cut = any(isinstance(value, np.ndarray) for value in record.values())
                self._misses = 0 if is_cut else self._misses + 1
                if self._numeric is None:
                    are_read = ((key, isinstance(value, np.ndarray)) for key, value in record.items())
                    self._numeric = [key for key, is_read in are_read if is_read and not self._is_length(key)]
                return record
        return self._parse(data)

    def read(self, key: str, member: msgspec.Raw | bytes, *, is_hidden: bool = False) -> Any:
        """Decode a member of a line, in which digits may replace words."""
        data = bytes(memoryview(member))
        is_array = MIN_ARRAY_BYTES <= len(data) <= MAX_ARRAY_BYTES and data[0] == _OPEN and data[1] in _FIRST
        is_cut = is_array and self._may_cut(key) and data.find(b"]") == len(data) - 1
        if is_cut and (values := self._values(key, data, is_hidden=is_hidden)) is not None:
            return values
        data = _shown(data) if is_hidden else data
        try:
            return _decode(data)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return self._parse(b'{"":%b}' % data)[""]

    def _parsed(self, data: bytes) -> dict[str, Any]:
        """Decode a line member by member. Raises any exception in case of doubt."""
        rest, arrays = self._marked(data)
        try:
            members = _members(rest)
            if all(members.get(key) == _MARK for key in arrays):
                return {key: self.read(key, arrays.get(key, member)) for key, member in members.items()}
            self._numeric, members = [], _members(data)
            return {key: self.read(key, member) for key, member in members.items()}
        except msgspec.DecodeError:
            data = replace_lone_surrogates(data.decode("utf-8", "replace")).encode()
            for word in _UNKNOWN:
                data = data.replace(word.name, word.digits) if word.name[:1] in data else data
        read = ((key, self.read(key, member, is_hidden=True)) for key, member in _members(data).items())
        return {_shown(key.encode()).decode(): value for key, value in read}

    def _marked(self, data: bytes) -> tuple[bytes, dict[str, bytes]]:
        """Put marks in place of arrays that will be read, and return these: msgspec need not check them, too."""
        arrays, pieces, at = dict[str, bytes](), list[bytes | msgspec.Raw](), 0
        colon = b": [" if b": " in data[:MIN_ARRAY_BYTES] else b":["
        for key in self._numeric or ():
            name = b'"%b"%b' % (key.encode(), colon)
            start = data.find(name, at) + len(name) - 1
            stop = data.find(b"]", start) + 1
            if start < at + len(name) - 1 or not stop:
                return data, {}
            arrays[key], pieces, at = data[start:stop], [*pieces, data[at:start], _MARK], stop
        return b"".join([*pieces, data[at:]]) if arrays else data, arrays

    def _values(self, key: str, data: bytes, *, is_hidden: bool) -> Floats | None:
        """Read a flat array as float64, shape (T,); None if it holds anything else, or an integer beyond a float."""
        if count := _repetitions(data):
            element = self._values(key, data[: data.find(_COMMA)] + b"]", is_hidden=is_hidden)
            return None if element is None else np.repeat(element, count)
        if not is_hidden and self._is_length(key) and b'"' not in data:
            count = 1 + int(np.count_nonzero(np.frombuffer(data, np.uint8) == _COMMA[0]))
            return np.ndarray((count,), buffer=_NAN, strides=(0,))
        if key not in self._wordy and not is_hidden:  # looking for words takes a tenth of the time of reading
            with contextlib.suppress(*_FAILURES):
                return self.read_numbers(data)
        words = [word for word in _WORDS if word.name[0] in data or (is_hidden and word in _UNKNOWN)]
        if words:
            self._wordy.add(key)
        digits = data
        for word in words:
            digits = digits.replace(word.name, word.digits)
        try:
            values = self.read_numbers(digits).copy()
        except _FAILURES:
            return None
        for word in words:  # as `tokens.read_floats` reads the list
            number = float(word.digits)
            values[values == number] = word.value
            values[values == -number] = -word.value
        return values


def _shown(data: bytes) -> bytes:
    """Return data with words instead of their digits."""
    for word in _UNKNOWN:
        data = data.replace(word.digits, word.name)
    return data


def _repetitions(data: bytes) -> int:
    """Return the length of an array whose elements are all equal, such as an advantage; 0 for any other."""
    comma = data.find(_COMMA)
    if comma < 0:
        return 0
    unit = _COMMA + data[1:comma]
    further, left = divmod(len(data) - 1 - comma, len(unit))
    if left or not data.startswith(unit, comma) or not data.startswith(unit, len(data) - 1 - len(unit)):
        return 0
    return 1 + further if b"," not in unit[1:] and data[comma:-1] == unit * further else 0


def _reader() -> Callable[[bytes], Floats]:
    """Return a reader of flat arrays of numbers. It is not thread-safe, and raises for anything else in an array."""
    try:
        import simdjson
    except ImportError:  # it lacks wheels for some Pythons
        decode = msgspec.json.Decoder(list[float]).decode
        return lambda data: np.frombuffer(array("d", decode(data)))
    parser = simdjson.Parser()

    def read(data: bytes) -> Floats:
        parsed = parser.parse(data)
        assert isinstance(parsed, simdjson.Array)
        return np.frombuffer(parsed.as_buffer(of_type="d"))

    return read
