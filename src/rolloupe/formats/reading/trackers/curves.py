"""The runs that trackers log, in records that all trackers share; logs that grow; and curves in plain files.

Plain files are JSON lines, CSV, and the `trainer_state.json` of Hugging Face's trainers. A table of CSV has a header.
The separator (comma, semicolon or tab) and the decimal mark (point or comma) must be certain: a table that could be
read in two ways is refused with the reason.
"""

import codecs
import contextlib
import csv
import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from io import BytesIO, TextIOWrapper
from itertools import chain, islice
from typing import Any, NamedTuple

from msgspec import Struct

from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.records import Unusable, step_of
from rolloupe.model import Location, MetricRow
from rolloupe.storage import open_file, open_state

TRAINER_STEPS = (
    "train/global_step", "training/global_step", "trainer/global_step", "global_step", "train/step", "trainer/step",
    "step", "progress/batch",
)  # fmt: skip
"""Metrics in which trainers log their own step, which often differs from the tracker's count."""
_MOST_DIGITS = 400
"""Python refuses integers of very many digits; as floats they are infinities."""
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class LoggedRow(NamedTuple):
    """The numbers of one logging call."""

    step: int | None
    """The tracker's count of steps."""
    values: dict[str, float]
    time_s: float | None = None
    """Seconds since the epoch."""


class LoggedTable(NamedTuple):
    """A file with a table that was logged."""

    key: str
    step: int | None
    """The trainer's own step if it was logged with the table, else the tracker's count."""
    follows_eval: bool = False
    """True if metrics of an evaluation were logged just before."""


class LoggedRun(Struct):
    """A run of a tracker."""

    name: str
    rows: list[LoggedRow]
    config: dict[str, Any] = {}
    id: str = ""
    """Its id among the runs of a file."""
    tables: dict[str, LoggedTable] = {}
    """Tables by the path or name of their files."""
    damage: str = ""
    """Why reading ended early; empty if it did not."""


def number_of(value: object) -> float | None:
    """Read a number, or a text for one that JSON lacks, such as `"NaN"` and `"Infinity"`."""
    return _SPECIAL.get(value) if isinstance(value, str) else parsers.number(value)


def seconds_of(value: object) -> float | None:
    """Read a time in ISO 8601 as seconds since the epoch; None for anything else."""
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def parsed(data: bytes | str) -> Any:
    """Decode JSON as Python does, NaN included; None for anything else."""
    try:
        try:
            return json.loads(data)
        except ValueError:
            return json.loads(data, parse_int=lambda text: int(text) if len(text) < _MOST_DIGITS else float(text))
    except (ValueError, RecursionError):
        return None


def flat(value: object, name: str = "", depth: int = 8) -> Iterable[tuple[str, float]]:
    """Yield the numbers in nested objects, by their names joined with `/`."""
    if isinstance(value, dict) and depth:
        for key, member in value.items():
            yield from flat(member, f"{name}/{key}" if name else str(key), depth - 1)
    elif (number := number_of(value)) is not None:
        yield name, number


def trainer_step_of(rows: Iterable[LoggedRow]) -> str:
    """Return the metric that holds the trainer's own step: the first usual name whose values are all steps, else "".

    At least half of the rows that the trainer logged must have it. Its rows have other metrics with the same first
    word, as in `train/global_step` and `train/loss`; rows logged by other code, such as timings, do not count.
    If no row has such metrics, all rows count.
    """
    rows = [row for row in rows if row.values]
    for name in TRAINER_STEPS:
        steps = [row.values[name] for row in rows if name in row.values]
        if not steps or not all(map(is_step, steps)):
            continue
        family = name[: name.rfind("/") + 1]
        own = sum(any(key.startswith(family) and key not in TRAINER_STEPS for key in row.values) for row in rows)
        if 2 * len(steps) >= (own or len(rows)):
            return name
    return ""


def is_step(value: float) -> bool:
    """Return whether a number is whole and no larger than a step may be."""
    return abs(value) <= parsers.MAX_STEP and float(value).is_integer()


def metric_rows(rows: Iterable[LoggedRow], step_name: str = "") -> list[MetricRow]:
    """Merge the rows of each step, the last value of a metric wins; rows without a step follow.

    With `step_name`, the step is the value of that metric; a row without it belongs to the last step before it. Rows
    whose step is too large are left out.
    """
    by_step: dict[int, dict[str, float]] = {}
    times: dict[int, float | None] = {}
    loose: list[MetricRow] = []
    last: int | None = None
    names = parsers.MetricNames()
    for row in rows:
        step = row.step
        if step_name:
            with contextlib.suppress(Unusable):
                own = step_of(row.values.get(step_name))
                last = last if own is None else own
            step = last
        values = {names[name]: value for name, value in row.values.items() if name != step_name}
        if step is None:
            loose.append(MetricRow(step=None, values=values, time_s=row.time_s))
        elif values and is_step(step):
            by_step.setdefault(step, {}).update(values)
            times[step] = row.time_s if row.time_s is not None else times.get(step)
    return [MetricRow(step=step, values=by_step[step], time_s=times[step]) for step in sorted(by_step)] + loose


MAX_BYTES = 512 * 2**20
"""The most that is read of one file."""
BLOCK_BYTES = 4 * 2**20
LAST_BYTES = 64
"""If this many bytes, those read last, have changed, the file was replaced."""


class ReadSoFar:
    """The place up to which a file has been read."""

    def __init__(self) -> None:
        self._stop = 0
        self._last = b""
        self._inode = (0, 0)

    def read_on(self, location: Location, take: Callable[[bytes], int]) -> bool:
        """Pass appended bytes to `take`, which returns how many it has taken; it gets the others again next time.

        Returns False, and passes nothing, for a file that shrank or was replaced. Raises OSError.
        """
        with open_file(location, buffering=0) as file:
            state = open_state(file)
            if self._stop:
                file.seek(self._stop - len(self._last))
                same = (state.st_dev, state.st_ino) == self._inode and file.read(len(self._last)) == self._last
                if not same:
                    return False
            self._inode = state.st_dev, state.st_ino
            rest = b""
            while block := file.read(min(max(BLOCK_BYTES, len(rest)), MAX_BYTES - self._stop - len(rest))):
                rest += block
                done = take(rest)
                self._stop += done
                self._last = (self._last + rest[max(0, done - LAST_BYTES) : done])[-LAST_BYTES:]
                rest = rest[done:]
        return True


class Log(ABC):
    """The contents of a log's files so far. `LogReader` passes the bytes that are appended to them."""

    @abstractmethod
    def take(self, name: str, data: bytes) -> int:
        """Take the whole records at the beginning of `data`, which follows the bytes taken from that file before.

        Returns the size of these records. Raises `ValueError` for a different kind of file.
        """

    def merge(self) -> bool:
        """Merge the records taken since the last call. Returns False if all files have to be read again."""
        return True

    @abstractmethod
    def run(self) -> LoggedRun:
        """Return a copy of the run so far."""


class LogReader:
    """Reads the files of a log, and then only the bytes that are appended to them."""

    def __init__(self, kind: Callable[[], Log]) -> None:
        self._kind = kind
        self._begin()

    def _begin(self) -> None:
        self._log = self._kind()
        self._files: dict[str, ReadSoFar] = {}

    def read(self, locations: Sequence[Location]) -> list[LoggedRun]:
        """Read the new bytes, and return the run. Raises `ValueError` for a different kind of file, and OSError."""
        try:
            if not self._read_on(locations):
                self._begin()
                self._read_on(locations)
        except BaseException:
            self._begin()
            raise
        return [self._log.run()]

    def _read_on(self, locations: Sequence[Location]) -> bool:
        """Return False if all files have to be read again."""
        if not {location.path for location in locations} >= self._files.keys():
            return False
        for location in locations:
            take = partial(self._log.take, os.path.basename(location.path))
            if not self._files.setdefault(location.path, ReadSoFar()).read_on(location, take):
                return False
        return self._log.merge()


TIMES = ("_timestamp", "timestamp", "time", "wall_time")
"""Columns with seconds since the epoch."""
STEPS = ("step", "_step", "Step", "global_step", "iteration", "iter")
"""Columns with the step."""
EARLIEST_S = 1e9
"""The earliest time that such a column may hold: September 2001."""
MAX_ROWS = 5_000_000


class JsonLines(Log):
    """A file with an object for each row; nested names are joined with `/`."""

    def __init__(self) -> None:
        self._rows: list[LoggedRow] = []
        self._fresh: list[LoggedRow] = []
        self._lines = self._bad = 0
        self._rest = b""

    def take(self, name: str, data: bytes) -> int:  # noqa: ARG002 - there is one file
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

    def run(self) -> LoggedRun:
        """See `Log`. A last line without an end counts if it is an object."""
        damage = f"lines left out because they are not JSON objects: {self._bad:,}" if self._bad else ""
        if self._lines >= MAX_ROWS:
            damage = f"only its first {MAX_ROWS:,} lines are read"
        self._rows, self._fresh = [*self._rows, *self._fresh], []  # lists that were returned stay as they are
        rest, self._rest = self._rest, b""
        return LoggedRun("", [*self._rows, *rows_of(_objects([rest]))], damage=damage)


def _objects(lines: Iterable[bytes]) -> list[dict[Any, Any]]:
    return [record for line in lines if isinstance(record := parsed(line), dict)]


def read_trainer_state(data: bytes) -> LoggedRun:
    """Read the rows of `log_history`. Raises `ValueError` without any."""
    history = parsers.as_dict(parsed(data)).get("log_history")
    if isinstance(history, list):
        return LoggedRun("", [*rows_of(row for row in history if isinstance(row, dict))])
    raise ValueError("it has no log_history")


def rows_of(objects: Iterable[dict[Any, Any]]) -> Iterator[LoggedRow]:
    """Yield a row for each object with numbers; in `{"step", "data"}`, as verl writes it, `data` is the row."""
    for number, record in enumerate(objects):
        if number == MAX_ROWS:
            return
        data, cells = record.get("data"), record
        if isinstance(data, dict):
            cells = data | {key: cell for key, cell in record.items() if key != "data"}
        values = {name: value for key, cell in cells.items() for name, value in flat(_cell(cell), str(key)) if key}
        name = next((name for name in STEPS if parsers.integer(values.get(name)) is not None), "")
        step = parsers.integer(values.pop(name, None))
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
"""The characters of a table that are compared to find its separator."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_QUOTED = re.compile(r'"[^"]*"')
_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
_COMMA = re.compile(r"\s*[+-]?(\d*),(\d+)([eE][+-]?\d+)?\s*")
_GROUPED = re.compile(r"\s*[+-]?\d+([.,]\d+){2,}\s*")


class CsvTable:
    """The cells of a table, and a count of what was left out."""

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
        """Yield the lines of each row: a quoted cell may have several lines, up to a limit."""
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
    """Read a table whose first row has the names of its columns. Cells that are not numbers are left out.

    Raises `ValueError` for too many names, and for a table that could be read in two ways.
    """
    table = CsvTable(data)
    has_commas = table.separator != "," and b"," in data and _has_decimal_commas(table.cells())
    cells = table.cells()
    names, first = [name.strip() for name in next(cells, [])], next(cells, None)
    all_cells = cells if first is None else chain([first], cells)
    if has_commas:
        all_cells = ([cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in row] for row in all_cells)
    rows = [*rows_of(dict(zip(names, row, strict=False)) for row in all_cells)]
    notes = [f"rows left out: {count:,} ({reason})" for reason, count in table.left_out.items()]
    if table.is_cut:
        notes.append(f"only its first {MAX_ROWS:,} lines are read")
    if rows and not (table.has_end or table.left_out["it breaks off"]):
        notes.append("no line end follows its last row, so that the last number may be cut")
    if twice := [name for name, count in Counter(filter(None, names)).items() if count > 1]:
        notes.append(f"several columns share a name, and only the last is read: {', '.join(twice[:20])}")
    if first is not None and not rows:
        notes.append(f"no row holds a metric ({SEPARATORS[table.separator]} separate its cells)")
    return LoggedRun("", rows, damage="; ".join(notes))


def _separator_of(head: str) -> str:
    """Return the separator of the cells of a table. Raises `ValueError` if it is uncertain."""
    lines = [line for line in head.splitlines()[:COMPARED_LINES] if line.strip()]
    if len(head) == COMPARED_CHARS and len(lines) > 1:
        lines.pop()  # it may go on
    header, *rows = [_QUOTED.sub("", line) for line in lines] or [""]
    separators = [separator for separator in SEPARATORS if separator in header]
    if len(separators) > 1:
        separators = [sep for sep in separators if all(row.count(sep) == header.count(sep) for row in rows)]
        if len(separators) > 1:
            names = " or ".join(SEPARATORS[separator] for separator in separators)
            raise ValueError(f"it is uncertain whether {names} separate its cells")
    return separators[0] if separators else ","


def _has_decimal_commas(cells: Iterator[list[str]]) -> bool:
    """Return whether the decimal mark is a comma. Raises `ValueError` if that is uncertain."""
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
