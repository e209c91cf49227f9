"""Curves in plain files: JSON lines, CSV, and the `trainer_state.json` of Hugging Face's trainers.

A table of CSV has a header. What separates its cells (commas, semicolons or tabs), and whether decimals follow a point
or a comma, must be certain: a table that could be read in two ways is not read, with the reason.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO, TextIOWrapper
from itertools import chain, islice
from typing import Any

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, ReadSoFar, flat, number_of, parsed
from rolloupe.model import Location

TIMES = ("_timestamp", "timestamp", "time", "wall_time")
"""Columns with seconds since the epoch."""
STEPS = ("step", "_step", "Step", "global_step", "iteration", "iter")
"""Columns with the step."""
EARLIEST_S = 1e9
"""Smaller numbers are no such times: September 2001."""
MAX_ROWS = 5_000_000


class JsonLines:
    """A file with an object for each row, which is read on where it grows; nested names are joined with `/`."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._file = ReadSoFar()
        self._rows: list[LoggedRow] = []
        self._fresh: list[LoggedRow] = []
        self._lines = self._bad = 0
        self._rest = b""

    def read(self, locations: Sequence[Location]) -> list[LoggedRun]:
        """Read what was written since, and a last line that has no end but is an object. Raises OSError."""
        self._rest = b""
        if not self._file.read_on(locations[0], self._take):
            self._begin()
            self._file.read_on(locations[0], self._take)
        self._rows = [*self._rows, *self._fresh]  # rows that were given away stay as they are
        self._fresh = []
        return [LoggedRun("", [*self._rows, *rows_of(_objects([self._rest]))], damage=self._damage())]

    def _damage(self) -> str:
        if self._lines >= MAX_ROWS:
            return f"only its first {MAX_ROWS:,} lines are read"
        return f"lines left out because they are no JSON objects: {self._bad:,}" if self._bad else ""

    def _take(self, data: bytes) -> int:
        done = data.rfind(b"\n") + 1
        self._rest = data[done:]
        if self._lines < MAX_ROWS:
            text = data[:done] if self._lines else data[:done].removeprefix(codecs.BOM_UTF8)
            lines = [line for line in text.split(b"\n") if line and not line.isspace()]
            objects = _objects(lines)
            self._fresh += rows_of(objects)
            self._lines += len(lines)
            self._bad += len(lines) - len(objects)
        return done


def _objects(lines: Iterable[bytes]) -> list[dict[Any, Any]]:
    return [found for line in lines if isinstance(found := parsed(line), dict)]


def read_trainer_state(data: bytes) -> LoggedRun:
    """Read the rows of `log_history`. Raises `ValueError` without any."""
    found = parsed(data)
    history = found.get("log_history") if isinstance(found, dict) else None
    if isinstance(history, list):
        return LoggedRun("", [*rows_of(row for row in history if isinstance(row, dict))])
    raise ValueError("it has no log_history")


def rows_of(objects: Iterable[dict[Any, Any]]) -> Iterator[LoggedRow]:
    """Yield a row for each object that holds numbers; of `{"step", "data"}`, as verl writes it, `data` is the row."""
    for number, record in enumerate(objects):
        if number == MAX_ROWS:
            return
        data = record.get("data")
        cells = (
            {**data, **{key: cell for key, cell in record.items() if key != "data"}}
            if isinstance(data, dict)
            else record
        )
        values = {name: value for key, cell in cells.items() for name, value in flat(_cell(cell), str(key)) if key}
        name = next((name for name in STEPS if fields.integer(values.get(name)) is not None), "")
        step = fields.integer(values.pop(name, None))
        time_s = next((values.pop(name) for name in TIMES if values.get(name, 0) > EARLIEST_S), None)
        if values:
            yield LoggedRow(step, values, time_s)


def _cell(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    try:
        return float(cell)
    except ValueError:
        return number_of(cell)


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
MOST_COLUMNS = 200_000
MOST_CELL_CHARS = 131_072
COMPARED_CHARS, COMPARED_LINES = 65_536, 9
"""So much of a table is compared to see what separates its cells."""

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_QUOTED = re.compile(r'"[^"]*"')
_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
_COMMA = re.compile(r"\s*[+-]?(\d*),(\d+)([eE][+-]?\d+)?\s*")
_GROUPED = re.compile(r"\s*[+-]?\d+([.,]\d+){2,}\s*")


class _CsvTable:
    """The cells of a table, and what was left out of it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.separator = _separator_of(self._lines().read(COMPARED_CHARS))
        self.left_out: Counter[str] = Counter()
        self.is_cut = False
        self.has_end = True
        """False if no line end follows the last row, which its writer may not have finished."""

    def _lines(self) -> TextIOWrapper:
        encoding = "utf-16" if self._data.startswith(_UTF16) else "utf-8-sig"
        return TextIOWrapper(BytesIO(self._data), encoding, "replace", newline="")

    def cells(self) -> Iterator[list[str]]:
        """Yield the rows that are not blank, and count the others by the reason."""
        self.left_out.clear()
        lines = self._lines()
        reader = csv.reader(self._whole_rows(self._short_lines(lines)), delimiter=self.separator)
        width = 0
        while True:
            try:
                for row in reader:
                    width = width or len(row)
                    if len(row) < width and not self.has_end:
                        self.left_out["it breaks off"] += bool(row)
                    elif row:
                        yield row
            except csv.Error as error:  # the next line begins a new row
                self.left_out[str(error)] += 1
            else:
                break
        self.is_cut = next(lines, None) is not None

    def _whole_rows(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines of each row: a cell in quotes may have several, but not without end."""
        begun: list[str] = []
        size = quotes = 0
        for line in lines:
            begun.append(line)
            size += len(line)
            quotes += line.count('"')
            is_whole = quotes % 2 == 0
            if size > MOST_CELL_CHARS and not (
                is_whole and max(map(len, line.split(self.separator))) <= MOST_CELL_CHARS
            ):
                self.left_out[f"a cell of more than {MOST_CELL_CHARS:,} characters"] += 1
            elif is_whole:
                yield "".join(begun)
            else:
                continue
            begun, size, quotes = [], 0, 0
        yield from begun

    def _short_lines(self, lines: Iterable[str]) -> Iterator[str]:
        for number, line in enumerate(islice(lines, MAX_ROWS)):
            self.has_end = line.endswith(("\n", "\r"))
            if line.count(self.separator) < MOST_COLUMNS:
                yield line.replace("\0", "")
                continue
            if not number:
                raise ValueError(f"it has more than {MOST_COLUMNS:,} columns")
            self.left_out[f"more than {MOST_COLUMNS:,} columns"] += 1


def read_csv(data: bytes) -> LoggedRun:
    """Read a table whose first row has the names of its columns. Cells that are no numbers are left out.

    Raises `ValueError` for too many names, and for a table that could be read in two ways.
    """
    table = _CsvTable(data)
    has_commas = table.separator != "," and b"," in data and _has_decimal_commas(table.cells())
    cells = table.cells()
    names, first = [name.strip() for name in next(cells, [])], next(cells, None)
    all_cells = cells if first is None else chain([first], cells)
    if has_commas:
        all_cells = ([_with_point(cell) for cell in row] for row in all_cells)
    rows = [*rows_of(dict(zip(names, row, strict=False)) for row in all_cells)]
    notes = [f"rows left out: {count:,} ({reason})" for reason, count in table.left_out.items()]
    if table.is_cut:
        notes.append(f"only its first {MAX_ROWS:,} lines are read")
    if rows and not (table.has_end or table.left_out["it breaks off"]):
        notes.append("no line end follows its last row, so that the last number may be cut")
    if twice := [name for name, count in Counter(filter(None, names)).items() if count > 1]:
        notes.append(f"several columns have one name, of which only the last is read: {', '.join(twice[:20])}")
    if first is not None and not rows:
        notes.append(f"no row holds a metric ({SEPARATORS[table.separator]} separate its cells)")
    return LoggedRun("", rows, damage="; ".join(notes))


def _separator_of(head: str) -> str:
    """Return what separates the cells of a table. Raises `ValueError` if that is uncertain."""
    lines = [line for line in head.splitlines()[:COMPARED_LINES] if line.strip()]
    if len(head) == COMPARED_CHARS and len(lines) > 1:
        lines.pop()  # it may go on
    header, *rows = [_QUOTED.sub("", line) for line in lines] or [""]
    found = [separator for separator in SEPARATORS if separator in header]
    if len(found) > 1:
        fitting = [
            separator for separator in found if all(row.count(separator) == header.count(separator) for row in rows)
        ]
        if len(fitting) > 1:
            names = " or ".join(SEPARATORS[separator] for separator in fitting)
            raise ValueError(f"it is uncertain whether {names} separate its cells")
        found = [*fitting, ","]
    return found[0] if found else ","


def _has_decimal_commas(cells: Iterator[list[str]]) -> bool:
    """Tell whether decimals follow commas. Raises `ValueError` if that is uncertain."""
    next(cells, None)
    points = commas = ""
    is_sure = False
    for row in cells:
        for cell in row:
            if _GROUPED.fullmatch(cell) and "," in cell:
                raise ValueError(f"it is uncertain what the points and commas in a number such as {cell} mean")
            if match := _COMMA.fullmatch(cell):
                commas = commas or cell
                is_sure = is_sure or len(match[2]) != 3 or match[1] in ("", "0") or match[3] is not None
            elif _POINT.fullmatch(cell):
                points = cell
    if commas and points:
        raise ValueError(f"it has numbers with commas, such as {commas}, and numbers with points, such as {points}")
    if commas and not is_sure:
        raise ValueError(f"it is uncertain whether a number such as {commas} is below or above a thousand")
    return bool(commas)


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell
