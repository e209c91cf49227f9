"""The runs that trackers log, whatever tracker it is, and files that somebody appends to, which are read on."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Unusable, step_of
from rolloupe.model import Location, MetricRow
from rolloupe.storage import open_file, open_state

TRAINER_STEPS = (
    "train/global_step", "training/global_step", "trainer/global_step", "global_step", "train/step", "trainer/step",
    "step", "progress/batch",
)  # fmt: skip
"""Metrics in which trainers log their own step; the tracker's own count often is another one."""

_MOST_DIGITS = 400
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class LoggedRow(NamedTuple):
    """The numbers of one call."""

    step: int | None
    """As the tracker counts."""
    values: dict[str, float]
    time_s: float | None = None
    """Seconds since the epoch."""


class LoggedTable(NamedTuple):
    """A file with a table that was logged."""

    key: str
    step: int | None
    """The trainer's own if it was logged beside it, else as the tracker counts."""
    follows_eval: bool = False
    """True if metrics of an evaluation were logged just before."""


class LoggedRun(Struct):
    """A run of a tracker."""

    name: str
    rows: list[LoggedRow]
    config: dict[str, Any] = {}
    id: str = ""
    """What identifies it among the runs of a file."""
    tables: dict[str, LoggedTable] = {}
    """By the file's path or name."""
    damage: str = ""
    """Why reading ended before the end; empty if it did not."""


def number_of(value: object) -> float | None:
    """Read a number, also one of those that JSON lacks, as trackers write them: `"NaN"`, `"Infinity"`."""
    return _SPECIAL.get(value) if isinstance(value, str) else fields.number(value)


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
            return json.loads(data, parse_int=_integer)
    except (ValueError, RecursionError):
        return None


def _integer(digits: str) -> float:
    """Read an integer; Python refuses one of very many digits, which is an infinity as a float."""
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)


def flat(value: object, name: str = "", depth: int = 8) -> Iterable[tuple[str, float]]:
    """Yield the numbers in nested objects, by their names joined with `/`."""
    if isinstance(value, dict) and depth:
        for key, member in value.items():
            yield from flat(member, f"{name}/{key}" if name else str(key), depth - 1)
    elif (number := number_of(value)) is not None:
        yield name, number


def trainer_step_of(rows: Iterable[LoggedRow]) -> str:
    """Return the metric that holds the trainer's own step: the first usual name whose values are all steps, else "".

    It must be there in at least half of the rows that the trainer logged, and hold whole numbers that are no larger
    than a step may be. Rows of the trainer have other metrics with the same first word, as in `train/global_step` and
    `train/loss`; what others log between them, such as timings, decides nothing. If no row has any, all rows count.
    """
    rows = [row for row in rows if row.values]
    for name in TRAINER_STEPS:
        steps = [row.values[name] for row in rows if name in row.values]
        if steps and all(map(is_step, steps)) and 2 * len(steps) >= _count_of_trainer(rows, name):
            return name
    return ""


def _count_of_trainer(rows: Sequence[LoggedRow], name: str) -> int:
    family = name[: name.rfind("/") + 1]
    own = sum(any(metric.startswith(family) and metric not in TRAINER_STEPS for metric in row.values) for row in rows)
    return own or len(rows)


def is_step(value: float) -> bool:
    """Tell whether a number is whole and no larger than a step may be."""
    return abs(value) <= fields.MAX_STEP and float(value).is_integer()


def metric_rows(rows: Iterable[LoggedRow], step_name: str = "") -> list[MetricRow]:
    """Merge the rows of one step, the last value of each metric winning; rows without a step follow.

    With `step_name`, the step is the value of that metric; a row without it belongs to the last step before it. Rows
    with a step that is too large are left out.
    """
    by_step: dict[int, dict[str, float]] = {}
    times: dict[int, float | None] = {}
    loose: list[MetricRow] = []
    last: int | None = None
    names = fields.MetricNames()
    for row in rows:
        step = row.step
        if step_name:
            step = last = _whole(row.values.get(step_name), last)
        values = {names[name]: value for name, value in row.values.items() if name != step_name}
        if step is None:
            loose.append(MetricRow(step=None, values=values, time_s=row.time_s))
        elif values and is_step(step):
            by_step.setdefault(step, {}).update(values)
            times[step] = row.time_s if row.time_s is not None else times.get(step)
    return [MetricRow(step=step, values=by_step[step], time_s=times[step]) for step in sorted(by_step)] + loose


def _whole(value: float | None, otherwise: int | None) -> int | None:
    try:
        step = step_of(value)
    except Unusable:
        return otherwise
    return otherwise if step is None else step


MAX_BYTES = 512 * 2**20
"""The most that is read of one file."""

BLOCK_BYTES = 4 * 2**20
LAST_BYTES = 64
"""How many of the bytes that were read last are compared: with others there, it is another file."""


class ReadSoFar:
    """How far a file has been read."""

    def __init__(self) -> None:
        self._stop = 0
        self._last = b""
        self._inode = (0, 0)

    def read_on(self, location: Location, take: Callable[[bytes], int]) -> bool:
        """Hand what was appended to `take`, which returns how many bytes it is done with and gets the others again.

        Returns False, and hands over nothing, for a file that shrank or was replaced. Raises OSError.
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
