"""Rows of CSV, TSV and JSON documents, each with its place in bytes: a part of a file owns the rows in it.

A document is an array of objects, one object, several of them one after another, or an object with `columns` and, in
`data`, an array for each row, as pandas (`orient="split"`), `mlflow.log_table` and Weights & Biases write tables. The
module `shapes` finds the samples in an object.
"""

import csv
import io
import json
import re
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

from rolloupe.formats.generic.keys import candidates
from rolloupe.formats.reading import line_reader
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.text import conversation

MAX_BYTES = 256 * 2**20
"""Rows beyond this limit are not read; holes in a table do not count."""
MAX_CELL_CHARS = 64 * 2**20
MAX_DIGITS = 400
"""The most digits of an integer: no float holds a longer one, and Python converts some thousands at most."""
HEAD_BYTES = 2**20
"""The columns of a table must be within this many first bytes."""
LOOKED_ROWS = 16
"""The number of rows that decide whether a table continues after a line with an open quote."""
DELIMITED = {".csv": ",;\t|", ".tsv": "\t"}
"""The possible delimiters of a table, by its suffix: the most frequent one in the header counts."""

TOO_LARGE = "more than {} MiB: the rows from here on are not read"
TOO_BROKEN = "too much of the file is not JSON: the rows from here on are not read. Next: write one object on each line"
AS_JSON = "Next: have a JSON library write the file"
DOUBLED = 'Next: write each quote within a cell as two (""), as csv and pandas do'

_NEWLINE = ord("\n")
_BETWEEN = b" \t\r\n,"
_between = re.compile(rb"[ \t\r\n,]*")
_COLUMNS = re.compile(r'\s*\{\s*"columns"\s*:\s*')
_MEMBER = re.compile(r'\s*,\s*"(?P<name>index|data)"\s*:\s*')
_OPENINGS = re.compile(rb"\s*(?P<opening>\{|\[\s*\{|\[)[ \t\r]*\n\s*(?P<next>.)?", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf)", re.IGNORECASE)
_RETURN = re.compile(r"\r(?!\n)")
_UNENDED = "unexpected end of data"
_KEY = re.compile(r'\{\s*("(?:[^"\\]|\\.)*")\s*:')
_ROW = re.compile(r"(?<=\])\s*,\s*(?=\[)")
_BEHIND = re.compile(r"\s*(?:[,{]|\Z|\]\s*(?:\[|\}?\s*\Z))")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_TRUTHS = {"True": True, "False": False, "true": True, "false": False, "TRUE": True, "FALSE": False}
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_check = msgspec.json.Decoder(msgspec.Raw).decode
_decoder = json.JSONDecoder()


class PlacedRow(NamedTuple):
    """A row and its place; without a record, `reason` says why. The last row of a file may grow."""

    start: int
    stop: int
    record: Record | None
    reason: str = ""
    may_grow: bool = False


def rows_in(file: BinaryIO, ending: str, limit: int = MAX_BYTES) -> Iterator[PlacedRow]:
    """Yield the rows of a file; for a file beyond the `limit`, the last row has no record."""
    if ending in DELIMITED:
        return _TableReader(file, ending, limit).rows()
    data = file.read(limit)
    return _of_document(data, TOO_LARGE.format(limit // 2**20) if file.read(1) else "")


class Header(NamedTuple):
    """The facts at the beginning of a file that each of its rows needs."""

    table: "_Cells | None" = None
    columns: list[str] | None = None


def header_of(beginning: bytes, ending: str) -> Header:
    """Read the header from the beginning of a file."""
    if ending not in DELIMITED:
        names, _ = _columns(beginning)
        return Header(columns=None if names is None else _numbered(names)[0])
    data = beginning.removeprefix(line_reader.BOM)
    delimiter = _delimiter(data, ending)
    return Header(_Cells(next(csv.reader(io.StringIO(_text(data)), delimiter=delimiter), []), delimiter))


def row_in(data: bytes, header: Header) -> Record:
    """Return the row in its own bytes; see `header_of` for the header. Raises `Unusable`."""
    if header.table is None:
        return _object(data, header.columns)
    return header.table.record(_leniently(_text(data), header.table.delimiter)[0])


def is_document(beginning: bytes) -> bool:
    """Return whether a file with this beginning holds objects over several lines, not one on each line."""
    beginning = beginning.removeprefix(line_reader.BOM)
    match = _OPENINGS.match(beginning)
    if match is None or match["next"] is None:
        return False
    if b"{" in match["opening"]:
        return match["next"] in b'"}'
    line = beginning[match.start("next") :].partition(b"\n")[0]
    return match["next"] not in b"{]" or not line.rstrip(_BETWEEN).endswith((b"}", b"]"))


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").replace("\0", "\ufffd")


def _delimiter(data: bytes, ending: str) -> str:
    """The most frequent delimiter in the first line of a table, outside of quotes."""
    first = _QUOTED.sub("", _text(data[:HEAD_BYTES].partition(b"\n")[0]))
    return max(DELIMITED[ending], key=first.count)


class _TableReader:
    """Reads a table row by row. After text that is not CSV, it continues at a row with a cell for each column."""

    def __init__(self, file: BinaryIO, ending: str, limit: int) -> None:
        csv.field_size_limit(MAX_CELL_CHARS)
        beginning = file.read(HEAD_BYTES)
        self._file, self._limit, self._left = file, limit, limit
        self._start = self._read_to = len(beginning) - len(beginning.removeprefix(line_reader.BOM))
        """Where the next row begins, and where the next line does."""
        self._is_cut = False
        """Whether the last line has no end."""
        self._delimiter = _delimiter(beginning[self._start :], ending)
        self._columns: _Cells | None = None
        """None before the header was read."""
        self._torn: PlacedRow | None = None
        """Torn rows that are not yielded yet, up to where the next row begins."""

    def rows(self) -> Iterator[PlacedRow]:
        """Yield the rows, and a problem for each place that is not read."""
        is_readable = True
        while is_readable:
            self._go_to(self._start)
            try:
                for cells in csv.reader(self._lines(), delimiter=self._delimiter, strict=True):
                    yield from self._take(cells)
            except csv.Error as error:
                is_readable = yield from self._recover(str(error))
            else:
                is_readable = yield from self._skip()

    def _go_to(self, at: int) -> None:
        self._file.seek(at)
        self._read_to, self._is_cut = at, False

    def _lines(self) -> Iterator[str]:
        """Yield lines up to the end of the file, a hole, or a line that is too long."""
        readline, most, left = self._file.readline, line_reader.MAX_LINE_BYTES + 1, self._left
        read_to = self._read_to
        while read_to < left and (line := readline(most)):
            if b"\0" not in line and line[-1] == _NEWLINE:  # nearly always
                self._read_to = read_to = read_to + len(line)
                yield line.decode("utf-8", "replace")
                continue
            hole = line.find(line_reader.HOLE)
            if hole >= 0:
                line = line[:hole]
            elif len(line) == most and line[-1] != _NEWLINE:
                return
            else:
                self._is_cut = line[-1] != _NEWLINE
            self._read_to = read_to = read_to + len(line)
            if line:
                yield _text(line)
            if hole >= 0:
                return

    def _take(self, cells: list[str]) -> Iterator[PlacedRow]:
        """Yield the row that ends with the last line read."""
        start, self._start = self._start, self._read_to
        columns, torn = self._columns, self._torn
        if columns is None:
            self._columns = columns = _Cells(cells, self._delimiter)
            if columns.repeated:
                yield PlacedRow(start, self._start, None, columns.repeated)
        elif cells and (torn is None or len(cells) == columns.width):
            yield from self._end_torn(start)
            try:
                yield PlacedRow(start, self._read_to, columns.record(cells), "", self._is_cut)
            except Unusable as error:
                yield PlacedRow(start, self._read_to, None, str(error), self._is_cut)
        elif torn is not None and not cells and torn.start == start:
            self._torn = torn._replace(start=self._start)

    def _recover(self, error: str) -> Generator[PlacedRow, None, bool]:
        """Continue after the first line that is not CSV, which may be a row nevertheless; return False at the end."""
        start, reached = self._start, self._read_to
        self._file.seek(start)
        beginning = self._file.read(min(reached - start, HEAD_BYTES))
        self._go_to(start)
        cells, is_open = _leniently(next(self._lines()), self._delimiter)
        reason = "" if self._torn else _why(error, start, beginning, self._delimiter, is_open=is_open)
        is_row = bool(cells) and not is_open
        if self._columns is None and not is_row:
            yield PlacedRow(start, reached, None, reason, may_grow=True)
            return False
        if is_row and (self._columns is None or len(cells) == self._columns.width):
            yield from self._take(cells)
        else:
            self._torn = self._torn or PlacedRow(start, reached, None, reason)
            self._start = self._read_to
        if self._columns is None or _UNENDED not in error or self._goes_on(self._columns.width):
            return True
        self._go_to(reached)
        self._start = reached
        return (yield from self._skip())

    def _goes_on(self, width: int) -> bool:
        """Whether most of the next rows have a cell for each column, as the lines of a text do not."""
        fits = looked = 0
        while looked < LOOKED_ROWS:
            at = self._read_to
            self._go_to(at)
            try:
                cells = next(csv.reader(self._lines(), delimiter=self._delimiter, strict=True), None)
            except csv.Error:
                self._go_to(at)
                next(self._lines())
                cells = []
            if cells is None:
                break
            looked += 1
            fits += len(cells) == width
        return 2 * fits > looked

    def _skip(self) -> Generator[PlacedRow, None, bool]:
        """Continue after a hole or a line that is too long; return False at the end of the file."""
        start, between = self._read_to, None
        self._go_to(start)
        behind = self._file.read(len(line_reader.HOLE))
        if behind == line_reader.HOLE:
            self._go_to(line_reader.behind_nuls(self._file, start))
            self._left += self._read_to - start
            between = PlacedRow(start, self._read_to, None, line_reader.IS_HOLE.format(self._read_to - start))
        elif behind and start >= self._left:
            between = PlacedRow(start, start, None, TOO_LARGE.format(self._limit // 2**20), may_grow=True)
        elif behind:
            self._go_to(start)
            self._go_to(start + line_reader.skip_line(self._file, self._left - start)[0])
            between = PlacedRow(start, self._read_to, None, line_reader.TOO_LONG)
        yield from self._end_torn(self._start, may_grow=between is None)
        if between is not None:
            yield between
        if self._read_to == self._start:
            return False
        self._start = self._read_to
        self._torn = PlacedRow(self._start, self._start, None, "the rest of a row") if self._columns else None
        return True

    def _end_torn(self, stop: int, *, may_grow: bool = False) -> Iterator[PlacedRow]:
        """Yield the torn rows before a place as one problem, if there are any."""
        if self._torn is not None and self._torn.start < stop:
            yield self._torn._replace(stop=stop, may_grow=may_grow or self._torn.may_grow)
        self._torn = None


def _leniently(line: str, delimiter: str) -> tuple[list[str], bool]:
    """The cells of a row with stray quotes or carriage returns, and whether a quoted cell has no end."""
    is_open = False
    line = _RETURN.sub("\0", line)  # which no text holds: see `_text`

    def alone() -> Iterator[str]:
        nonlocal is_open
        yield line
        is_open = True

    cells = next(csv.reader(alone(), delimiter=delimiter), [])
    return [cell.replace("\0", "\r") for cell in cells], is_open


def _why(error: str, start: int, row: bytes, delimiter: str, *, is_open: bool) -> str:
    """Why a row is not CSV, in plain words."""
    if "new-line" in error:
        return "a carriage return in a cell that is not quoted. Next: quote the cells that hold one"
    if _UNENDED not in error and "expected after" not in error:
        return f"not CSV: {error}"
    mark = re.escape(delimiter).encode()
    cell = re.compile(rb'(?:"(?:[^"]++|"")*+"|[^"\n%b][^\n%b]*+)?(?:%b|\r?\n)' % (mark, mark, mark))
    at = 0
    while match := cell.match(row, at):
        at = match.end()
    quote = f"the quote at byte {start + at:,}"
    return f"{quote} has no end in its cell. {DOUBLED}" if is_open else f"a quote in the cell behind {quote}. {DOUBLED}"


class _Cells:
    """The columns of a table, which make records of its rows."""

    def __init__(self, names: list[str], delimiter: str) -> None:
        self.delimiter = delimiter
        self.width = len(names)
        self._names, self.repeated = _numbered(names)
        usual = candidates(tuple(self._names))
        self._texts = {*usual.of("prompt", "response", "label")}
        self._scores = usual.of("score")
        self._has_commas = delimiter == ";"

    def record(self, cells: list[str]) -> Record:
        """Return the cells by the names of their columns; drops empty cells, except for a missing score.

        A prompt, response or label that is JSON stays a text, as models write JSON, too, unless it holds messages, or a
        list of texts next to a list of as many rewards. Spreadsheets leave out empty cells at the end of a row. Raises
        `Unusable` for more cells than columns.
        """
        if len(cells) > self.width and any(cells[self.width :]):
            shown = "tab" if self.delimiter == "\t" else self.delimiter
            raise Unusable(f"{_too_many(len(cells), self.width)}. Next: quote cells with a {shown} in them")
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
        """The number, truth value, JSON or printed Python list in a cell, else its text; a prompt is not a number."""
        if cell[0] in "[{":
            return line_reader.value_of(cell)
        if name in self._texts:
            return cell
        if self._has_commas and _DECIMAL_COMMA.fullmatch(cell):
            cell = cell.replace(",", ".")
        if not _NUMBER.fullmatch(cell):
            return _TRUTHS.get(cell, cell)
        return int(cell) if cell.lstrip("+-").isdecimal() and len(cell) < MAX_DIGITS else float(cell)


def _numbered(names: list[str]) -> tuple[list[str], str]:
    """The names of columns, with pandas' numbers for repeated ones, and a note about them."""
    taken, counts = set(names), dict.fromkeys(names, 0)
    found: list[str] = []
    for name in names:
        number, own = counts[name], name
        while number and (own := f"{name}.{number}") in taken:
            number += 1
        counts[name] = number + 1
        taken.add(own)
        found.append(own)
    again = [own for own, name in zip(found, names, strict=True) if own != name and name]
    if not again:
        return found, ""
    shown = ", ".join(f"`{own[:100]}`" for own in again[:3]) + (", ..." if len(again) > 3 else "")
    return found, f"columns of the same name: the later ones are {shown}. Next: give each column a name of its own"


def _too_many(cells: int, columns: int) -> str:
    return f"{cells:,} cells for {columns:,} columns: nothing says which cell belongs to which column"


def _columns(data: bytes) -> tuple[list[str] | None, int]:
    """The names of the columns in a table, and the place of its first row; None and 0 for any other document."""
    head = data[:HEAD_BYTES].removeprefix(line_reader.BOM)
    text = head.decode("latin-1")  # a character for each byte
    if (found := _COLUMNS.match(text)) is None:
        return None, 0
    try:
        _, end = _decoder.raw_decode(text, found.end())
        names = json.loads(head[found.end() : end])
        while member := _MEMBER.match(text, end):
            if member["name"] == "data":
                return [*map(str, names)], member.end() + len(data[:HEAD_BYTES]) - len(head)
            _, end = _decoder.raw_decode(text, member.end())
    except (ValueError, RecursionError, TypeError):
        pass
    return None, 0


def _object(data: bytes, columns: list[str] | None) -> Record:
    if columns is None:
        return line_reader.parse(data)
    cells = line_reader.parse(b'{"": ' + data + b"}").get("")
    if isinstance(cells, list):
        if len(cells) > len(columns):
            raise Unusable(_too_many(len(cells), len(columns)))
        return dict(zip(columns, cells, strict=False))
    raise Unusable("not an array of cells")


def _sizes(data: bytes, *, is_table: bool) -> Iterator[int]:
    try:
        whole = data.removeprefix(line_reader.BOM)
        return iter([len(bytes(element)) for element in _elements(_members(whole)["data"] if is_table else whole)])
    except (msgspec.DecodeError, ValueError, RecursionError, KeyError):
        return iter(())


def _of_document(data: bytes, too_large: str) -> Iterator[PlacedRow]:
    """Yield the objects of a document, or the rows of a table; after text that is not JSON, search for the next."""
    names, at = _columns(data)
    columns, repeated = (names, "") if names is None else _numbered(names)
    if repeated:
        yield PlacedRow(0, at, None, repeated)
    sizes = _sizes(data, is_table=columns is not None)
    within = columns is not None
    if within and data[at : at + 1] != b"[":
        return
    at = at + 1 if within else len(data) - len(data.removeprefix(line_reader.BOM))
    characters, line_end, content_end, before = "", -1, -1, at
    budget = line_reader.MOST_LOOKS * len(data) + line_reader.FREE_LOOKS
    while True:
        at = match.end() if (match := _between.match(data, at)) else at
        first = data[at : at + 1]
        if not first or (columns is not None and first == b"]"):
            return
        if first in (b"[", b"]") and within == (first == b"]"):
            within, at = not within, at + 1
            continue
        if line_end < at:
            line_end = data.find(b"\n", at) % (len(data) + 1)
            content_end = at + len(data[at:line_end].rstrip(_BETWEEN))
        stop = at + (next(sizes, 0) or _size_in_line(data, at, content_end))
        try:
            if stop == at:
                characters = characters or data.decode("latin-1")  # a character for each byte
                stop = _decoder.raw_decode(characters, at)[1]
            if stop < len(data) or not too_large:
                yield PlacedRow(at, stop, _object(data[at:stop], columns), "", stop == len(data))
            else:
                yield PlacedRow(at, stop, None, too_large, may_grow=True)
        except Unusable as error:
            yield PlacedRow(at, stop, None, str(error), stop == len(data))
        except (ValueError, RecursionError) as error:
            budget -= _looked(error, len(data)) - at
            stop, budget = _resumed(characters, at, before, columns, budget)
            if stop == len(data):
                reason = "the array has no end, or is not JSON from here on" if within else "no JSON from here on"
                reason = reason if budget > 0 else TOO_BROKEN
                yield PlacedRow(at, stop, None, too_large or reason, may_grow=True)
                return
            what = f" ({error.msg} at byte {error.pos:,})" if isinstance(error, json.JSONDecodeError) else ""
            yield PlacedRow(at, stop, None, f"no JSON{what}: not read up to the next row. {AS_JSON}")
        before, at = at, stop


def _resumed(characters: str, at: int, before: int, columns: list[str] | None, budget: int) -> tuple[int, int]:
    """The next place after text that is not JSON that parses as a row, or the end; and the rest of the search budget.

    An object must begin with the same key as the one here, or the one `before`, which nested objects seldom do; a row
    of a table must have a cell for each column.
    """
    keys = {found[1] for place in (at, before) if (found := _KEY.match(characters, place))}
    begun = _ROW if columns is not None else re.compile(r"\{\s*(?:" + "|".join(map(re.escape, keys)) + r")\s*:")
    while budget > 0 and (keys or columns is not None) and (match := begun.search(characters, at + 1)):
        at = match.end() if columns is not None else match.start()
        try:
            row, stop = _decoder.raw_decode(characters, at)
            is_row = columns is None or len(row) == len(columns)
            if is_row and _BEHIND.match(characters, stop):
                return at, budget
            budget -= stop - at
        except (ValueError, RecursionError) as error:
            budget -= _looked(error, len(characters)) - at
    return len(characters), budget


def _looked(error: Exception, size: int) -> int:
    """The cost of a failed parse: the bytes that it read, and a share for counting the lines before."""
    is_placed = isinstance(error, json.JSONDecodeError) and not error.msg.startswith("Unterminated")
    reached = error.pos if is_placed and isinstance(error, json.JSONDecodeError) else size
    return reached + reached // line_reader.BYTES_PER_LOOK


def _size_in_line(data: bytes, at: int, end: int) -> int:
    """The size of an object that fills the rest of its line; 0 for any other."""
    try:
        _check(memoryview(data)[at:end])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return 0
    return end - at
