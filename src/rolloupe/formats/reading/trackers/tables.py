"""Curves in plain files: JSON lines, and the `trainer_state.json` of Hugging Face's trainers."""

import codecs
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
