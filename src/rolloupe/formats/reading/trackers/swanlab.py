"""Runs of SwanLab: `backup.swanlab` of version 0.7, whose records are JSON, and `run-{id}.swanlab` of 0.10.

Source: SwanLab 0.7.20 and 0.10.3 (the start (10) and scalars (13) of a record). A scalar has a name, a step and a
number. Version 0.10 writes nothing before the run ends.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, LoggedTable, number_of, parsed, seconds_of
from rolloupe.formats.reading.trackers.framed_log import FramedLog, FramedRun
from rolloupe.protobuf import fields

JSON_RECORDS, MESSAGES = b":SWL\xd6\xe1\x01", b":SWL\xd6\xe1\x02"
"""How a log begins, by the version of its framing."""
START, SCALAR, MEDIA = 10, 13, 14
"""Fields of a record."""
START_NAME = 4
KEY, STEP, TIME, VALUE = 1, 2, 4, 5
"""Fields of a scalar; its time has seconds (1) and nanoseconds (2), its value a double (1)."""
OF_MACHINE = "__swanlab__."
"""How the names of metrics begin that SwanLab takes of the machine, at steps of their own."""
MOST_FIELDS = 100_000


ITEM, FILE_NAME = 1, 1
"""Fields of the value of media, and of an item."""


class _MediaFile(NamedTuple):
    name: str
    key: str
    step: int


class _Scalar(NamedTuple):
    key: str
    step: int
    value: float
    time_s: float | None


class _SwanLabRun(FramedRun):
    magics = JSON_RECORDS, MESSAGES
    tracker = "SwanLab"

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._by_step: dict[int, LoggedRow] = {}
        self._tables: dict[str, LoggedTable] = {}

    def add(self, record: bytes) -> None:
        for found in (_of_json if self.begin == JSON_RECORDS else _of_message)(record):
            if isinstance(found, str):
                self._name = found
            elif isinstance(found, _MediaFile):
                self._tables[found.name] = LoggedTable(found.key, found.step)
            elif not found.key.startswith(OF_MACHINE):
                row = self._by_step.setdefault(found.step, LoggedRow(found.step, {}, found.time_s))
                row.values[found.key] = found.value

    def logged(self) -> LoggedRun:
        rows = [row._replace(values=dict(row.values)) for _, row in sorted(self._by_step.items())]
        return LoggedRun(self._name, rows, tables=dict(self._tables))


class SwanLabLog(FramedLog):
    """A log of SwanLab, which is read on where it grows."""

    kind = _SwanLabRun


read_swanlab = _SwanLabRun.whole


def _of_json(record: bytes) -> Iterator[_Scalar | _MediaFile | str]:
    """Yield the name of the run, a scalar or files."""
    found = parsed(record)
    data = found.get("data") if isinstance(found, dict) else None
    if not isinstance(data, dict):
        return
    kind = found.get("model_type")
    if kind == "Experiment" and isinstance(data.get("name"), str):
        yield data["name"]
    elif kind == "Media":
        names, key, step = data.get("buffers_name"), data.get("key"), data.get("step")
        if isinstance(names, list) and isinstance(key, str) and isinstance(step, int):
            yield from (_MediaFile(one, key, step) for one in names if isinstance(one, str))
    elif kind == "Scalar":
        metric, key, step = data.get("metric"), data.get("key"), data.get("step")
        inner = metric if isinstance(metric, dict) else {}
        value = number_of(inner.get("data"))
        if isinstance(key, str) and isinstance(step, int) and value is not None:
            yield _Scalar(key, step, value, seconds_of(inner.get("create_time")))


def _of_message(record: bytes) -> Iterator[_Scalar | _MediaFile | str]:
    """Yield the name of the run, a scalar or files."""
    for field, value in fields(record, MOST_FIELDS):
        if field not in (START, SCALAR, MEDIA) or not isinstance(value, bytes):
            continue
        members = dict(fields(value, MOST_FIELDS))
        if field == START:
            yield _text(members.get(START_NAME))
            continue
        step = members.get(STEP, 0)
        if field == MEDIA:
            values = fields(value, MOST_FIELDS)
            named = (_members(_members(one).get(ITEM)).get(FILE_NAME) for place, one in values if place == VALUE)
            yield from (_MediaFile(_text(one), _text(members.get(KEY)), step) for one in named if isinstance(step, int))
            continue
        number = _members(members.get(VALUE)).get(1, b"\0" * 8)  # a zero is left out
        if isinstance(step, int) and isinstance(number, bytes) and len(number) == 8:
            signed = step - 2**64 if step >= 2**63 else step
            yield _Scalar(_text(members.get(KEY)), signed, struct.unpack("<d", number)[0], _seconds(members.get(TIME)))


def _members(message: int | bytes | None) -> dict[int, int | bytes]:
    return dict(fields(message, MOST_FIELDS)) if isinstance(message, bytes) else {}


def _seconds(time: int | bytes | None) -> float | None:
    members = _members(time)
    seconds, nanoseconds = members.get(1), members.get(2, 0)
    if isinstance(seconds, int) and isinstance(nanoseconds, int):
        return seconds + nanoseconds / 1e9
    return None


def _text(value: int | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
