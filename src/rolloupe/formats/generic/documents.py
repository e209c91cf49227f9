"""Rows of CSV, TSV and of one JSON document, each with its place in bytes: a part of a file owns the rows in it.

A document is an array of objects, or an object with `columns` and, in `data`, an array for each row, as pandas
(`orient="split"`), `mlflow.log_table` and Weights & Biases write tables.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from rolloupe.formats.generic.keys import LABELS, PROMPTS, RESPONSES
from rolloupe.formats.reading.jsonl import BOM, parse
from rolloupe.formats.reading.records import Record, Unusable

MAX_BYTES = 256 * 2**20
"""Of a longer file, the rows behind are not read."""
MAX_CELL_CHARS = 64 * 2**20
HEAD_BYTES = 2**20
"""The columns of a table are in the first of them."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}

_BETWEEN = b" \t\r\n,"
_COLUMNS = re.compile(r'\s*\{\s*"columns"\s*:\s*')
_MEMBER = re.compile(r'\s*,\s*"(?P<name>index|data)"\s*:\s*')
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf)", re.IGNORECASE)
_TEXTS = frozenset((*PROMPTS, *RESPONSES, *LABELS))
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decoder = json.JSONDecoder()


class PlacedRow(NamedTuple):
    """A row, and where it lies; without a record, `reason` says why."""

    start: int
    stop: int
    record: Record | None
    reason: str = ""


def rows_in(data: bytes, ending: str) -> Iterator[PlacedRow]:
    """Yield the rows of a whole file."""
    return _cells(data, DELIMITERS[ending]) if ending in DELIMITERS else _of_document(data)


def row_in(data: bytes, header: bytes, ending: str) -> Record:
    """Return the row in its own bytes; a table's needs the bytes of the file's beginning. Raises `Unusable`."""
    if ending not in DELIMITERS:
        return _object(data, _columns(header)[0])
    names = next(csv.reader(io.StringIO(_text(header.removeprefix(BOM))), delimiter=DELIMITERS[ending]), [])
    cells = next(csv.reader(io.StringIO(_text(data)), delimiter=DELIMITERS[ending]), [])
    return _record(names, cells)


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").replace("\0", "\ufffd")


def _cells(data: bytes, delimiter: str) -> Iterator[PlacedRow]:
    """Yield the rows of a table. A row that is cut off at the file's end may still grow."""
    csv.field_size_limit(MAX_CELL_CHARS)
    read_to = 0

    def lines() -> Iterator[str]:
        nonlocal read_to
        for line in io.BytesIO(data):
            read_to += len(line)
            yield _text(line.removeprefix(BOM) if read_to == len(line) else line)

    names: list[str] | None = None
    start = 0
    try:
        for cells in csv.reader(lines(), delimiter=delimiter):
            if names is None:
                names = cells
            elif cells:
                yield PlacedRow(start, read_to, _record(names, cells))
            start = read_to
    except csv.Error as error:
        yield PlacedRow(start, len(data), None, f"not CSV: {error}")


def _record(names: list[str], cells: list[str]) -> Record:
    return {name: _value(name, cell) for name, cell in zip(names, cells, strict=False) if cell}


def _value(name: str, cell: str) -> Any:
    """A number or JSON, as far as the cell is one; a prompt of digits stays a text."""
    if cell[0] in "[{":
        try:
            return parse(b'{"": ' + cell.encode() + b"}").get("", cell)
        except Unusable:
            return cell
    if name in _TEXTS or not _NUMBER.fullmatch(cell):
        return cell
    return int(cell) if cell.lstrip("+-").isdecimal() and len(cell) < 16 else float(cell)


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
    """Yield the objects of an array, or the rows of a table, up to its end or to where it is no JSON."""
    columns, at = _columns(data)
    sizes = _sizes(data, is_table=columns is not None)
    at = at or len(data) - len(data.removeprefix(BOM).lstrip(_BETWEEN[:4]))
    if data[at : at + 1] != b"[":
        return
    characters = ""
    at += 1
    while True:
        at = _next(data, at)
        if data[at : at + 1] == b"]":
            return
        size = next(sizes, 0)
        try:
            if not size:  # NaN, or an end that is missing
                characters = characters or data.decode("latin-1")
                size = _decoder.raw_decode(characters, at)[1] - at
            yield PlacedRow(at, at + size, _object(data[at : at + size], columns))
        except Unusable as error:
            yield PlacedRow(at, at + size, None, str(error))
        except (ValueError, RecursionError):
            yield PlacedRow(at, len(data), None, "the array has no end, or is no JSON from here on")
            return
        at += size


def _next(data: bytes, at: int) -> int:
    while data[at : at + 1] and data[at] in _BETWEEN:
        at += 1
    return at
