"""Rows of CSV, TSV and JSON documents, each with its place in bytes: a part of a file owns the rows in it.

A document is an array of objects, one object, several of them one after another, or an object with `columns` and, in
`data`, an array for each row, as pandas (`orient="split"`), `mlflow.log_table` and Weights & Biases write tables. What
an object holds, one sample or several, `shapes` says.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from rolloupe.formats.generic.keys import candidates
from rolloupe.formats.reading.jsonl import BOM, parse, value_of
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.text import conversation

MAX_BYTES = 256 * 2**20
"""Of a longer file, the rows behind are not read."""
MAX_CELL_CHARS = 64 * 2**20
MAX_DIGITS = 400
"""Of an integer; Python converts no more than some thousands, and a float holds no such number."""
HEAD_BYTES = 2**20
"""The columns of a table are in the first of them."""
DELIMITED = {".csv": ",;\t|", ".tsv": "\t"}
"""The delimiters that a table may have, by the ending of its name; the most frequent one in its header is it."""

_BETWEEN = b" \t\r\n,"
_between = re.compile(rb"[ \t\r\n,]*")
_COLUMNS = re.compile(r'\s*\{\s*"columns"\s*:\s*')
_MEMBER = re.compile(r'\s*,\s*"(?P<name>index|data)"\s*:\s*')
_OPENINGS = re.compile(rb"\s*(?:\{|\[\s*\{|\[)[ \t\r]*\n\s*(?P<next>.)?", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_TRUTHS = {"True": True, "False": False, "true": True, "false": False, "TRUE": True, "FALSE": False}
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_check = msgspec.json.Decoder(msgspec.Raw).decode
_decoder = json.JSONDecoder()


class PlacedRow(NamedTuple):
    """A row, and where it lies; without a record, `reason` says why."""

    start: int
    stop: int
    record: Record | None
    reason: str = ""


def rows_in(data: bytes, ending: str) -> Iterator[PlacedRow]:
    """Yield the rows of a whole file."""
    return _cells(data, ending) if ending in DELIMITED else _of_document(data)


def row_in(data: bytes, header: bytes, ending: str) -> Record:
    """Return the row in its own bytes; see `header_of` for the header. Raises `Unusable`."""
    if ending not in DELIMITED:
        return _object(data, _columns(header)[0])
    delimiter = _delimiter(header, ending)
    names = next(csv.reader(io.StringIO(_text(header)), delimiter=delimiter), [])
    cells = next(csv.reader(io.StringIO(_text(data)), delimiter=delimiter), [])
    return _Cells(names, delimiter).record(cells)


def header_of(beginning: bytes, ending: str) -> bytes:
    """Return what of the beginning of a file its rows need: the line with the names of columns, or nothing."""
    data = beginning.removeprefix(BOM)
    if ending in DELIMITED:
        return data
    return beginning if _COLUMNS.match(data[:HEAD_BYTES].decode("latin-1")) else b""


def is_document(beginning: bytes) -> bool:
    """Return whether a file that begins so holds objects over several lines, and not one on each line."""
    match = _OPENINGS.match(beginning.removeprefix(BOM))
    if match is None:
        return False
    is_list = match[0].lstrip()[:1] == b"["
    return match["next"] not in (b"{", b"]") or not is_list or not _ends_in_line(beginning, match.start("next"))


def _ends_in_line(data: bytes, at: int) -> bool:
    """Whether the object that begins here ends in its line."""
    return data[at : data.find(b"\n", at) % (len(data) + 1)].rstrip(_BETWEEN).endswith((b"}", b"]"))


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").replace("\0", "\ufffd")


def _delimiter(data: bytes, ending: str) -> str:
    """The delimiter that stands most often in the first line of a table, outside of quotes."""
    first = _QUOTED.sub("", _text(data[:HEAD_BYTES].partition(b"\n")[0]))
    return max(DELIMITED[ending], key=first.count)


def _cells(data: bytes, ending: str) -> Iterator[PlacedRow]:
    """Yield the rows of a table. A row that is cut off at the file's end may still grow."""
    csv.field_size_limit(MAX_CELL_CHARS)
    delimiter = _delimiter(data.removeprefix(BOM), ending)
    read_to = 0

    def lines() -> Iterator[str]:
        nonlocal read_to
        for line in io.BytesIO(data):
            read_to += len(line)
            yield _text(line.removeprefix(BOM) if read_to == len(line) else line)

    table: _Cells | None = None
    start = 0
    try:
        for cells in csv.reader(lines(), delimiter=delimiter):
            if table is None:
                table = _Cells(cells, delimiter)
            elif cells:
                yield PlacedRow(start, read_to, table.record(cells))
            start = read_to
    except csv.Error as error:
        yield PlacedRow(start, len(data), None, f"not CSV: {error}")


class _Cells:
    """The columns of a table, which make records of its rows."""

    def __init__(self, names: list[str], delimiter: str) -> None:
        self._names = names
        by_role = candidates(tuple(names)).by_role
        self._texts = {name for role in ("prompt", "response", "label") for name in by_role.get(role, ())}
        self._scores = by_role.get("score", ())
        self._has_commas = delimiter == ";"

    def record(self, cells: list[str]) -> Record:
        """Return the cells by the names of their columns, without empty ones but for a score that is missing.

        A prompt, response or label that is JSON stays a text, as models write JSON, too; not messages, nor a list of
        texts beside one of as many rewards.
        """
        written = {name: cell for name, cell in zip(self._names, cells, strict=False) if cell}
        found = {name: self._value(name, cell) for name, cell in written.items()}
        lengths = {len(value) for name, value in found.items() if name not in self._texts and isinstance(value, list)}
        for name in self._texts & found.keys():
            value = found[name]
            is_list = isinstance(value, list) and len(value) in lengths
            if not isinstance(value, str) and not is_list and conversation(value) is None:
                found[name] = written[name]
        return dict.fromkeys((name for name in self._scores if name not in found), None) | found

    def _value(self, name: str, cell: str) -> Any:
        """A number, a truth value, JSON or what Python prints of a list, if the cell is one; a prompt is no number."""
        if cell[0] in "[{":
            return value_of(cell)
        if name in self._texts:
            return cell
        if self._has_commas and _DECIMAL_COMMA.fullmatch(cell):
            cell = cell.replace(",", ".")
        if not _NUMBER.fullmatch(cell):
            return _TRUTHS.get(cell, cell)
        return int(cell) if cell.lstrip("+-").isdecimal() and len(cell) < MAX_DIGITS else float(cell)


def _columns(data: bytes) -> tuple[list[str] | None, int]:
    """The names of the columns in a table, and where its rows begin; no names, and 0, in another document."""
    head = data[:HEAD_BYTES].removeprefix(BOM)
    text = head.decode("latin-1")  # a character for each byte
    if (found := _COLUMNS.match(text)) is None:
        return None, 0
    try:
        _, end = _decoder.raw_decode(text, found.end())
        names = json.loads(head[found.end() : end])
        while member := _MEMBER.match(text, end):
            if member["name"] == "data":
                return list(map(str, names)), member.end() + len(data[:HEAD_BYTES]) - len(head)
            _, end = _decoder.raw_decode(text, member.end())
    except (ValueError, RecursionError, TypeError):
        pass
    return None, 0


def _object(data: bytes, columns: list[str] | None) -> Record:
    """Return a row of a document. Raises `Unusable`."""
    if columns is None:
        return parse(data)
    cells = parse(b'{"": ' + data + b"}").get("")
    if isinstance(cells, list):
        return dict(zip(columns, cells, strict=False))
    raise Unusable("not an array of cells")


def _sizes(data: bytes, *, is_table: bool) -> Iterator[int]:
    try:
        whole = data.removeprefix(BOM)
        return iter([len(bytes(one)) for one in _elements(_members(whole)["data"] if is_table else whole)])
    except (msgspec.DecodeError, ValueError, RecursionError, KeyError):
        return iter(())


def _of_document(data: bytes) -> Iterator[PlacedRow]:
    """Yield the objects of a document, or the rows of a table, up to its end or to where it is no JSON."""
    columns, at = _columns(data)
    sizes = _sizes(data, is_table=columns is not None)
    within = columns is not None
    if within and data[at : at + 1] != b"[":
        return
    at = at + 1 if within else len(data) - len(data.removeprefix(BOM))
    characters, line_end, content_end = "", -1, -1
    while True:
        at = _next(data, at)
        first = data[at : at + 1]
        if not first or (columns is not None and first == b"]"):
            return
        if first in (b"[", b"]") and within == (first == b"]"):
            within, at = not within, at + 1
            continue
        if line_end < at:
            line_end = data.find(b"\n", at) % (len(data) + 1)
            content_end = at + len(data[at:line_end].rstrip(_BETWEEN))
        size = next(sizes, 0) or _size_in_line(data, at, content_end)
        try:
            if not size:
                characters = characters or data.decode("latin-1")  # a character for each byte
                size = _decoder.raw_decode(characters, at)[1] - at
            yield PlacedRow(at, at + size, _object(data[at : at + size], columns))
        except Unusable as error:
            yield PlacedRow(at, at + size, None, str(error))
        except (ValueError, RecursionError):
            reason = "the array has no end, or is no JSON from here on" if within else "no JSON from here on"
            yield PlacedRow(at, len(data), None, reason)
            return
        at += size


def _size_in_line(data: bytes, at: int, end: int) -> int:
    """The size of an object that alone fills the rest of its line, which ends here; 0 for another."""
    try:
        _check(memoryview(data)[at:end])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return 0
    return end - at


def _next(data: bytes, at: int) -> int:
    match = _between.match(data, at)
    return match.end() if match else at
