"""Runs of SwanLab: `backup.swanlab` of version 0.7, whose records are JSON, and `run-{id}.swanlab` of 0.10.

Source: SwanLab 0.7.20 and 0.10.3 (the start (10) and scalars (13) of a record). A scalar has a name, a step and a
number. Version 0.10 writes nothing before the run ends.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, LoggedTable, number_of, parsed, seconds_of
from rolloupe.formats.reading.trackers.framed_log import damage_of, framed_records
from rolloupe.protobuf import BadMessage, fields

MAGIC = b":SWL\xd6\xe1"
JSON_RECORDS, MESSAGES = 1, 2
"""Versions of the framing."""
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


def read_swanlab(data: bytes) -> LoggedRun:
    """Read a run. Raises `ValueError` for another file."""
    version = data[len(MAGIC)] if data.startswith(MAGIC) and len(data) > len(MAGIC) else 0
    if version not in (JSON_RECORDS, MESSAGES):
        raise ValueError("it is no run of SwanLab")
    name, damage, read = "", "", _of_json if version == JSON_RECORDS else _of_message
    by_step: dict[int, LoggedRow] = {}
    tables: dict[str, LoggedTable] = {}
    gaps: list[int] = []
    for record in framed_records(data, len(MAGIC) + 1, gaps):
        try:
            for found in read(record):
                if isinstance(found, str):
                    name = found
                    continue
                if isinstance(found, _MediaFile):
                    tables[found.name] = LoggedTable(found.key, found.step)
                    continue
                if found.key.startswith(OF_MACHINE):
                    continue
                row = by_step.setdefault(found.step, LoggedRow(found.step, {}, found.time_s))
                row.values[found.key] = found.value
        except BadMessage as error:
            damage = str(error)
    return LoggedRun(name, [by_step[step] for step in sorted(by_step)], tables=tables, damage=damage or damage_of(gaps))


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
