"""Logs of Weights & Biases and SwanLab: records in LevelDB's framing, in blocks of 32 KiB, with checksums.

Source: LevelDB's `doc/log_format.md`; the checksum is zlib's CRC-32 of the type and the data, without LevelDB's mask.

Weights & Biases: `run-{id}.wandb`, also offline. `wandb/proto/wandb_internal.proto`: history (2), configuration (5)
and run (17) of a `Record`, whose values are JSON. The client writes a block of 32 KiB at a time, so a small run appears
when it ends.

SwanLab: `backup.swanlab` of version 0.7, whose records are JSON, and `run-{id}.swanlab` of 0.10 (the start (10) and
scalars (13) of a record). A scalar has a name, a step and a number. Version 0.10 writes nothing before the run ends.
"""

import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from rolloupe.formats.reading.trackers.curves import (
    TRAINER_STEPS,
    LoggedRow,
    LoggedRun,
    LoggedTable,
    ReadSoFar,
    flat,
    number_of,
    parsed,
    seconds_of,
)
from rolloupe.model import Location
from rolloupe.protobuf import BadMessage, fields

BLOCK_BYTES = 32 * 1024
HEADER = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
MAX_RECORD_BYTES = 64 * 2**20


class FramedRun(ABC):
    """The run that the records taken so far describe."""

    magics: ClassVar[tuple[bytes, ...]]
    """How a log may begin; all have the same length."""
    tracker: ClassVar[str]

    def __init__(self) -> None:
        self.begin = b""
        """How the log begins; empty before anything was taken."""
        self.damage = ""
        self._gaps: list[int] = []
        self._last_gaps: list[int] = []
        """Gaps behind the records taken so far; the next look meets them again."""
        self._taken = 0

    @classmethod
    def whole(cls, data: bytes) -> LoggedRun:
        """Read a run; what is damaged is left out. Raises `ValueError` for another file."""
        run = cls()
        if not run.take(data):
            raise ValueError(run._other())
        return run.run()

    def _other(self) -> str:
        return f"it is no run of {self.tracker}"

    def take(self, data: bytes) -> int:
        """Take the whole records at the beginning of `data`, which follows what was taken."""
        start = 0
        if not self._taken:
            self.begin = next((magic for magic in self.magics if data.startswith(magic)), b"")
            start = len(self.begin)
            if not start and any(magic.startswith(data) for magic in self.magics):  # the writer has only begun
                return 0
            if not start:
                raise ValueError(self._other())
        done = start
        self._last_gaps = []
        for record, done in records_from(data, start, self._last_gaps, self._taken):  # noqa: B007 - where the last ends
            self._gaps += self._last_gaps
            self._last_gaps.clear()
            if record is not None:
                self._add(record)
        self._taken += done
        return done

    def _add(self, record: bytes) -> None:
        try:
            self.add(record)
        except BadMessage as error:
            self.damage = str(error)

    @abstractmethod
    def add(self, record: bytes) -> None:
        """Take a record. Raises `BadMessage`."""

    def run(self) -> LoggedRun:
        """Return a copy of the run so far."""
        gaps = [*self._gaps, *self._last_gaps]
        lost = f"at byte {gaps[0]:,} it is damaged, and records after it are missing" if gaps else ""
        return replace(self.logged(), damage=self.damage or lost)

    @abstractmethod
    def logged(self) -> LoggedRun:
        """Return a copy of the run, without its damage."""


class FramedLog:
    """A log of a client, a block of which is in memory at a time, and which is read on where it grows."""

    kind: ClassVar[type[FramedRun]]

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._file, self._run = ReadSoFar(), self.kind()

    def read(self, locations: Sequence[Location]) -> list[LoggedRun]:
        """Read what was written since. Raises `ValueError` for another file, and OSError."""
        try:
            if not self._file.read_on(locations[0], self._run.take):
                self._begin()
                self._file.read_on(locations[0], self._run.take)
        except BaseException:
            self._begin()
            raise
        return [self._run.run()]


def records_from(data: bytes, start: int, gaps: list[int], before: int = 0) -> Iterator[tuple[bytes | None, int]]:
    """Yield the whole records from `start` of `data` on, and where each ends; None for what is damaged.

    A damaged record ends its block, and where that happens goes into `gaps`. An unfinished record is left out.
    `before` bytes of the file precede `data`; they end where a record did.
    """
    at, size = start, 0
    parts: list[bytes] = []
    while at + HEADER.size <= len(data):
        room = BLOCK_BYTES - (before + at) % BLOCK_BYTES
        if room < HEADER.size:
            at += room
            continue
        checksum, length, kind = HEADER.unpack_from(data, at)
        stop = at + HEADER.size + length
        piece = data[at + HEADER.size : stop]
        if length + HEADER.size > room or stop > len(data) or zlib.crc32(bytes([kind]) + piece) != checksum:
            if stop <= len(data):
                gaps.append(before + at)
            at, parts, size = at + room, [], 0
            if at <= len(data):
                yield None, at
            continue
        at = stop
        if kind in (FULL, FIRST):
            parts, size = [], 0
        elif not parts:  # the rest of a damaged record
            continue
        parts.append(piece)
        size += length
        if kind in (FULL, LAST) and size <= MAX_RECORD_BYTES:
            yield b"".join(parts), at
        if kind in (FULL, LAST) or size > MAX_RECORD_BYTES:
            parts, size = [], 0


MAGIC = b":W&B\xe1\xbe\x00"
HISTORY, CONFIG, RUN = 2, 5, 17
ITEM = 1
"""Field of a history."""
KEY, NESTED_KEY, VALUE = 1, 2, 16
"""Fields of an item."""
RUN_ID, RUN_CONFIG, DISPLAY_NAME = 1, 4, 8
"""Fields of a run."""
MOST_FIELDS = 1_000_000
MOST_BEFORE = 16
"""Among how many calls before a table the last with numbers is looked for."""
OF_EVAL = "eval/"


class _WandbRun(FramedRun):
    magics = (MAGIC,)
    tracker = "Weights & Biases"

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[LoggedRow] = []
        self._tables: dict[str, LoggedTable] = {}
        self._config: dict[str, Any] = {}
        self._name = ""

    def add(self, record: bytes) -> None:
        for field, value in fields(record, MOST_FIELDS):
            if field == HISTORY and isinstance(value, bytes):
                items = dict(_items(value))
                self._tables.update(_tables(items, self._rows))
                self._rows.append(_row(items))
            elif field == CONFIG and isinstance(value, bytes):
                self._config.update(_items(value))
            elif field == RUN and isinstance(value, bytes):
                more, self._name = _run(value)
                self._config.update(more)

    def logged(self) -> LoggedRun:
        config = {key: value for key, value in self._config.items() if key != "_wandb"}
        return LoggedRun(self._name, [*self._rows], config, tables=dict(self._tables))


class WandbLog(FramedLog):
    """A log of the client, which is read on where it grows."""

    kind = _WandbRun


read_wandb = _WandbRun.whole


def _tables(items: dict[str, Any], rows: Sequence[LoggedRow]) -> Iterator[tuple[str, LoggedTable]]:
    """Yield the tables that were logged in a call, by the paths of their files; `rows` are those of earlier calls."""
    for name, kind in items.items():
        key = name.removesuffix("/_type")
        path = items.get(f"{key}/path")
        if name != key and isinstance(kind, str) and kind.endswith("table-file") and isinstance(path, str):
            steps = (items.get(step) for step in (*TRAINER_STEPS, "_step"))
            step = next((step for step in steps if isinstance(step, int)), None)
            earlier = next((row for row in reversed(rows[-MOST_BEFORE:]) if row.values), None)
            follows = earlier is not None and any(metric.startswith(OF_EVAL) for metric in earlier.values)
            yield path, LoggedTable(key, step, follows)


def _row(items: dict[str, Any]) -> LoggedRow:
    media = tuple(key.removesuffix("_type") for key in items if key.endswith("/_type"))  # members of a table, a picture
    values: dict[str, float] = {}
    for key, value in items.items():
        is_object = isinstance(value, dict) and "_type" in value
        if not (is_object or key.startswith(("_", *media))):
            values.update(flat(value, key))
    step = items.get("_step")
    return LoggedRow(step if isinstance(step, int) else None, values, number_of(items.get("_timestamp")))


def _run(run: bytes) -> tuple[dict[str, Any], str]:
    config: dict[str, Any] = {}
    names = {RUN_ID: "", DISPLAY_NAME: ""}
    for field, value in fields(run, MOST_FIELDS):
        if field == RUN_CONFIG and isinstance(value, bytes):
            config.update(_items(value))
        elif field in names and isinstance(value, bytes):
            names[field] = value.decode("utf-8", "replace")
    return config, names[DISPLAY_NAME] or names[RUN_ID]


def _items(message: bytes) -> Iterator[tuple[str, Any]]:
    """Yield names and values; names of several parts are joined with `/`."""
    for field, item in fields(message, MOST_FIELDS):
        if field != ITEM or not isinstance(item, bytes):
            continue
        parts, value = [], b"null"
        for place, text in fields(item, MOST_FIELDS):
            if place in (KEY, NESTED_KEY) and isinstance(text, bytes) and text:
                parts.append(text.decode("utf-8", "replace"))
            elif place == VALUE and isinstance(text, bytes):
                value = text
        yield "/".join(parts), parsed(value)


JSON_RECORDS, MESSAGES = b":SWL\xd6\xe1\x01", b":SWL\xd6\xe1\x02"
"""How a log begins, by the version of its framing."""
START, SCALAR, MEDIA = 10, 13, 14
"""Fields of a record."""
START_NAME = 4
SCALAR_KEY, SCALAR_STEP, SCALAR_TIME, SCALAR_VALUE = 1, 2, 4, 5
"""Fields of a scalar; its time has seconds (1) and nanoseconds (2), its value a double (1)."""
OF_MACHINE = "__swanlab__."
"""How the names of metrics begin that SwanLab takes of the machine, at steps of their own."""


MEDIA_ITEM, MEDIA_NAME = 1, 1
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
            yield from (_MediaFile(name, key, step) for name in names if isinstance(name, str))
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
            yield _decoded(members.get(START_NAME))
            continue
        step = members.get(SCALAR_STEP, 0)
        if field == MEDIA:
            values = fields(value, MOST_FIELDS)
            named = (
                _members(_members(item).get(MEDIA_ITEM)).get(MEDIA_NAME)
                for place, item in values
                if place == SCALAR_VALUE
            )
            yield from (
                _MediaFile(_decoded(name), _decoded(members.get(SCALAR_KEY)), step)
                for name in named
                if isinstance(step, int)
            )
            continue
        number = _members(members.get(SCALAR_VALUE)).get(1, b"\0" * 8)  # a zero is left out
        if isinstance(step, int) and isinstance(number, bytes) and len(number) == 8:
            signed = step - 2**64 if step >= 2**63 else step
            yield _Scalar(
                _decoded(members.get(SCALAR_KEY)),
                signed,
                struct.unpack("<d", number)[0],
                _seconds(members.get(SCALAR_TIME)),
            )


def _members(message: int | bytes | None) -> dict[int, int | bytes]:
    return dict(fields(message, MOST_FIELDS)) if isinstance(message, bytes) else {}


def _seconds(time: int | bytes | None) -> float | None:
    members = _members(time)
    seconds, nanoseconds = members.get(1), members.get(2, 0)
    if isinstance(seconds, int) and isinstance(nanoseconds, int):
        return seconds + nanoseconds / 1e9
    return None


def _decoded(value: int | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
