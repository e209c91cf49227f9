"""Curves in plain files: CSV with a header, JSON lines, and the `trainer_state.json` of Hugging Face's trainers."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, flat, number_of, parsed
from rolloupe.formats.reading.trackers.growth import ReadSoFar
from rolloupe.model import Location

TIMES = ("_timestamp", "timestamp", "time", "wall_time")
"""Columns with seconds since the epoch."""
STEPS = ("step", "_step", "Step", "global_step", "iteration", "iter")
"""Columns with the step."""
EARLIEST_S = 1e9
"""Smaller numbers are no such times: September 2001."""
MAX_ROWS = 5_000_000


def read_csv(data: bytes) -> LoggedRun:
    """Read a table whose first row has the names of its columns. Cells that are no numbers are left out."""
    text = data.decode("utf-8-sig", "replace").replace("\0", "")
    try:
        return LoggedRun("", [*rows_of(csv.DictReader(io.StringIO(text, newline="")))])
    except csv.Error as error:
        return LoggedRun("", [], damage=str(error))


class JsonLines:
    """A file with an object for each row, which is read on where it grows; nested names are joined with `/`."""

    def __init__(self) -> None:
        self._file = ReadSoFar()
        self._rows: list[LoggedRow] = []
        self._fresh: list[LoggedRow] = []
        self._rest = b""

    def read(self, locations: Sequence[Location]) -> list[LoggedRun]:
        """Read what was written since, and a last line that has no end but is an object. Raises OSError."""
        self._rest = b""
        if not self._file.read_on(locations[0], self._take):
            self._file, self._rows = ReadSoFar(), []
            self._file.read_on(locations[0], self._take)
        self._rows = [*self._rows, *self._fresh]  # rows that were given away stay as they are
        self._fresh = []
        return [LoggedRun("", [*self._rows, *_of_lines([self._rest])])]

    def _take(self, data: bytes) -> int:
        done = data.rfind(b"\n") + 1
        self._rest = data[done:]
        if len(self._rows) + len(self._fresh) < MAX_ROWS:
            self._fresh += _of_lines(data[:done].split(b"\n"))
        return done


def _of_lines(lines: Iterable[bytes]) -> Iterator[LoggedRow]:
    return rows_of(found for line in lines if line and isinstance(found := parsed(line), dict))


def read_trainer_state(data: bytes) -> LoggedRun:
    """Read the rows of `log_history`. Raises `ValueError` without any."""
    found = parsed(data)
    history = found.get("log_history") if isinstance(found, dict) else None
    if isinstance(history, list):
        return LoggedRun("", [*rows_of(row for row in history if isinstance(row, dict))])
    raise ValueError("it has no log_history")


def rows_of(objects: Iterable[dict[Any, Any]]) -> Iterator[LoggedRow]:
    """Yield a row for each object that holds numbers; of `{"step", "data"}`, as verl writes it, `data` is the row."""
    for number, one in enumerate(objects):
        if number == MAX_ROWS:
            return
        data = one.get("data")
        cells = {**data, **{key: cell for key, cell in one.items() if key != "data"}} if isinstance(data, dict) else one
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
