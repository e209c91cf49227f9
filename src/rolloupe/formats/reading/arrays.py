"""Cuts long arrays of numbers out of a line and reads them separately.

Nearly all of a line with per-token arrays is digits, and turning them into Python floats takes nearly all the time of a
scan. The result equals decoding the whole line, with arrays in place of lists: every array is checked, and a doubtful
line is decoded whole. A mark replaces each array that looks like a member. If the decoded object holds that mark
under that key, the array was a member of the line itself, the last of its name; else it was a member of an inner object
or a piece of a text.
"""

import contextlib
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
"""Shorter lines decode faster whole than by looking for arrays."""
MAX_ARRAY_BYTES = 4 * 2**20
"""Longer arrays are decoded with their line: simdjson keeps the memory that it allocates."""
MIN_ARRAY_BYTES = 2**10
MAX_LOOKS = 2_000
"""The most brackets to examine in a line: a text may be full of them."""
PATIENCE = 3
"""After this many long lines in a row without an array, a scan stops looking for arrays."""
MAX_KEY_BYTES = 200
_MARK = secrets.token_hex(16)
"""Marks the place of an array. No file contains it, because it is newer than the file."""
_FAILURES = (ValueError, TypeError, RuntimeError)
"""Exceptions that reading anything but numbers may raise."""
_FIRST = frozenset(b"-0123456789NntfI")
_key = re.compile(rb'"([^"\\\x00-\x1f]+)"[ \t\r]*:[ \t\r]*\Z')
_decode = msgspec.json.Decoder().decode
_check = msgspec.json.Decoder(msgspec.Raw).decode
"""Checks JSON without building values."""
_COMMA = b", "
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


class Cut(NamedTuple):
    """The place of an array in a line, including its brackets, and its key."""

    key: str
    start: int
    stop: int


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
        self._left: set[str] = set()
        """Keys of arrays that were not members of their lines: they are not cut again."""
        self._wordy: set[str] = set()
        """Keys of arrays that had words among their numbers."""
        self._misses = 0
        self.read_numbers = _reader()

    def parse(self, data: bytes) -> dict[str, Any]:
        """Decode a line. Raises the same errors as decoding it whole."""
        if len(data) >= MIN_LINE_BYTES and self._misses < PATIENCE:
            cuts = list(self._cuts(data))
            self._misses = 0 if cuts else self._misses + 1
            if cuts and (record := self._parsed(data, cuts)) is not None:
                return record
        return self._parse(data)

    def _parsed(self, data: bytes, cuts: list[Cut]) -> dict[str, Any] | None:
        """Decode a line around its arrays; None in case of doubt."""
        try:
            pieces, at = [], 0
            for number, cut in enumerate(cuts):  # a mark in place of each array
                pieces += [data[at : cut.start], f'"{_MARK}{number}"'.encode()]
                at = cut.stop
            record = self._parse(b"".join([*pieces, data[at:]]))
        except Exception:  # decoding it whole raises the accurate error
            return None
        elsewhere = [cut.key for number, cut in enumerate(cuts) if record.get(cut.key) != f"{_MARK}{number}"]
        self._left.update(elsewhere)
        if elsewhere:
            return None
        for cut in cuts:
            values = self._values(data, cut)
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
            if stop <= start:  # otherwise, the previous search located it
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

    def _values(self, line: bytes, cut: Cut) -> Floats | list[Any] | None:
        """Read a flat array of a line: as float64, shape (T,), or as a list if it holds anything else."""
        if count := _repetitions(line, cut):
            first = line[cut.start : line.find(_COMMA, cut.start)] + b"]"
            element = self._values(first, Cut(cut.key, 0, len(first)))
            return np.repeat(element, count) if isinstance(element, np.ndarray) else element and element * count
        if self._is_length(cut.key) and (count := _length(line, cut)):
            return np.ndarray((count,), buffer=_NAN, strides=(0,))
        if cut.key not in self._wordy:  # looking for words takes a tenth of the time of reading
            with contextlib.suppress(*_FAILURES):
                return self.read_numbers(memoryview(line)[cut.start : cut.stop])
        data = line[cut.start : cut.stop]
        words = [word for word in _WORDS if word.name[0] in data]
        if words:
            self._wordy.add(cut.key)
        digits = data
        for word in words:
            digits = digits.replace(word.name, word.digits)
        try:
            values = self.read_numbers(digits).copy()
        except _FAILURES:
            return _elements(data)
        for word in words:  # as `tokens.read_floats` reads the list
            number = float(word.digits)
            values[values == number] = word.value
            values[values == -number] = -word.value
        return values


def _repetitions(line: bytes, cut: Cut) -> int:
    """Return the length of an array whose elements are all equal, such as an advantage; 0 for any other."""
    comma = line.find(_COMMA, cut.start, cut.stop)
    if comma < 0:
        return 0
    unit = _COMMA + line[cut.start + 1 : comma]
    further, left = divmod(cut.stop - 1 - comma, len(unit))
    if left or not line.startswith(unit, comma) or not line.startswith(unit, cut.stop - 1 - len(unit)):
        return 0
    return 1 + further if line[comma : cut.stop - 1] == unit * further else 0


def _length(line: bytes, cut: Cut) -> int:
    """Return the length of a flat array of numbers; 0 in case of doubt. Checking is quicker than reading."""
    if line.find(b'"', cut.start, cut.stop) >= 0:
        return 0
    try:
        _check(memoryview(line)[cut.start : cut.stop])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return 0
    characters = np.frombuffer(line, np.uint8, cut.stop - cut.start, cut.start)
    return 1 + int(np.count_nonzero(characters == _COMMA[0]))


def _reader() -> Callable[[bytes | memoryview], Floats]:
    """Return a reader of flat arrays of numbers. It is not thread-safe, and raises for anything else in an array."""
    try:
        import simdjson
    except ImportError:  # it lacks wheels for some Pythons
        decode = msgspec.json.Decoder(list[float]).decode
        return lambda data: np.frombuffer(array("d", decode(data)))
    parser = simdjson.Parser()

    def read(data: bytes | memoryview) -> Floats:
        parsed = parser.parse(data)
        assert isinstance(parsed, simdjson.Array)
        return np.frombuffer(parsed.as_buffer(of_type="d"))

    return read


def _elements(data: bytes) -> list[Any] | None:
    """Read an array with integers too large for a float; None for anything else."""
    if b'"' in data:
        return None
    for decode in (_decode, json.loads):
        with contextlib.suppress(msgspec.DecodeError, ValueError, RecursionError):
            elements: list[Any] = decode(data)
            return elements
    return None
