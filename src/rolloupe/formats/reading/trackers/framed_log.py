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
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from rolloupe.formats.reading.trackers.curves import (
    TRAINER_STEPS,
    Log,
    LoggedRow,
    LoggedRun,
    LoggedTable,
    flat,
    number_of,
    parsed,
    seconds_of,
)
from rolloupe.formats.reading.value_parsers import as_dict, as_list
from rolloupe.protobuf import BadMessage, fields, signed

BLOCK_BYTES = 32 * 1024
HEADER = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
MAX_RECORD_BYTES = 64 * 2**20


class FramedLog(Log):
    """A log of a client, of which a block is in memory at a time."""

    magics: ClassVar[tuple[bytes, ...]]
    """The first bytes that a log may have; all have the same length."""
    tracker: ClassVar[str]

    def __init__(self) -> None:
        self.begin = b""
        """The first bytes of this log; empty before anything was taken."""
        self._damage = ""
        self._gaps: list[int] = []
        self._last_gaps: list[int] = []
        """Gaps behind the records taken so far; the next look meets them again."""
        self._taken = 0

    @classmethod
    def whole(cls, data: bytes) -> LoggedRun:
        """Read a run without its damaged records. Raises `ValueError` for another file."""
        log = cls()
        if not log.take("", data):
            raise ValueError(f"it is no run of {cls.tracker}")
        return log.run()

    def take(self, name: str, data: bytes) -> int:  # noqa: ARG002 - there is one file
        """See `Log`."""
        start = 0
        if not self._taken:
            self.begin = next((magic for magic in self.magics if data.startswith(magic)), b"")
            start = len(self.begin)
            if not start and any(magic.startswith(data) for magic in self.magics):  # the writer has only begun
                return 0
            if not start:
                raise ValueError(f"it is no run of {self.tracker}")
        done = start
        self._last_gaps = []
        for record, done in records_from(data, start, self._last_gaps, self._taken):  # noqa: B007 - where the last ends
            self._gaps += self._last_gaps
            self._last_gaps.clear()
            if record is not None:
                try:
                    self.add(record)
                except BadMessage as error:
                    self._damage = str(error)
        self._taken += done
        return done

    @abstractmethod
    def add(self, record: bytes) -> None:
        """Take a record. Raises `BadMessage`."""

    def run(self) -> LoggedRun:
        """Return a copy of the run so far."""
        gaps = [*self._gaps, *self._last_gaps]
        lost = f"at byte {gaps[0]:,} it is damaged, and records after it are missing" if gaps else ""
        return replace(self.logged(), damage=self._damage or lost)

    @abstractmethod
    def logged(self) -> LoggedRun:
        """Return a copy of the run, without its damage."""


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
MOST_BEFORE = 16
"""Among how many calls before a table the last with numbers is looked for."""
OF_EVAL = "eval/"


class WandbLog(FramedLog):
    """A log of the client of Weights & Biases."""

    magics = (MAGIC,)
    tracker = "Weights & Biases"

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[LoggedRow] = []
        self._tables: dict[str, LoggedTable] = {}
        self._config: dict[str, Any] = {}
        self._name = ""

    def add(self, record: bytes) -> None:
        for field, value in fields(record):
            if field == HISTORY and isinstance(value, bytes):
                items = dict(_items(value))
                self._tables.update(_tables(items, self._rows))
                self._rows.append(_row(items))
            elif field == CONFIG and isinstance(value, bytes):
                self._config.update(_items(value))
            elif field == RUN and isinstance(value, bytes):
                names = {RUN_ID: "", DISPLAY_NAME: ""}
                for place, part in fields(value):
                    if place == RUN_CONFIG and isinstance(part, bytes):
                        self._config.update(_items(part))
                    elif place in names and isinstance(part, bytes):
                        names[place] = part.decode("utf-8", "replace")
                self._name = names[DISPLAY_NAME] or names[RUN_ID]

    def logged(self) -> LoggedRun:
        config = {key: value for key, value in self._config.items() if key != "_wandb"}
        return LoggedRun(self._name, [*self._rows], config, tables=dict(self._tables))


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


def _items(message: bytes) -> Iterator[tuple[str, Any]]:
    """Yield names and values; names of several parts are joined with `/`."""
    for field, item in fields(message):
        if field != ITEM or not isinstance(item, bytes):
            continue
        parts, value = [], b"null"
        for place, text in fields(item):
            if place in (KEY, NESTED_KEY) and isinstance(text, bytes) and text:
                parts.append(text.decode("utf-8", "replace"))
            elif place == VALUE and isinstance(text, bytes):
                value = text
        yield "/".join(parts), parsed(value)


JSON_RECORDS, MESSAGES = b":SWL\xd6\xe1\x01", b":SWL\xd6\xe1\x02"
"""The first bytes of a log, by the version of its framing."""
START, SCALAR, MEDIA = 10, 13, 14
"""Fields of a record."""
START_NAME = 4
SCALAR_KEY, SCALAR_STEP, SCALAR_TIME, SCALAR_VALUE = 1, 2, 4, 5
"""Fields of a scalar; its time has seconds (1) and nanoseconds (2), its value a double (1)."""
OF_MACHINE = "__swanlab__."
"""The prefix of the metrics that SwanLab takes of the machine, at steps of their own."""
MEDIA_ITEM, MEDIA_NAME = 1, 1
"""Fields of the value of media, and of an item."""


class SwanLabLog(FramedLog):
    """A log of SwanLab."""

    magics = JSON_RECORDS, MESSAGES
    tracker = "SwanLab"

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._by_step: dict[int, LoggedRow] = {}
        self._tables: dict[str, LoggedTable] = {}

    def add(self, record: bytes) -> None:
        if self.begin == JSON_RECORDS:
            self._add_json(record)
        else:
            self._add_message(record)

    def _add_scalar(self, key: str, step: int, value: float, time_s: float | None) -> None:
        if not key.startswith(OF_MACHINE):
            self._by_step.setdefault(step, LoggedRow(step, {}, time_s)).values[key] = value

    def _add_json(self, record: bytes) -> None:
        document = as_dict(parsed(record))
        data, kind = as_dict(document.get("data")), document.get("model_type")
        key, step = data.get("key"), data.get("step")
        if kind == "Experiment" and isinstance(data.get("name"), str):
            self._name = data["name"]
        elif isinstance(key, str) and isinstance(step, int):
            if kind == "Media":
                files = [name for name in as_list(data.get("buffers_name")) if isinstance(name, str)]
                self._tables.update(dict.fromkeys(files, LoggedTable(key, step)))
            elif kind == "Scalar":
                metric = as_dict(data.get("metric"))
                if (value := number_of(metric.get("data"))) is not None:
                    self._add_scalar(key, step, value, seconds_of(metric.get("create_time")))

    def _add_message(self, record: bytes) -> None:
        for field, value in fields(record):
            if field not in (START, SCALAR, MEDIA) or not isinstance(value, bytes):
                continue
            members = _members(value)
            key, step = _decoded(members.get(SCALAR_KEY)), members.get(SCALAR_STEP, 0)
            if field == START:
                self._name = _decoded(members.get(START_NAME))
            elif isinstance(step, int) and field == MEDIA:
                for place, item in fields(value):
                    if place == SCALAR_VALUE:
                        file = _decoded(_members(_members(item).get(MEDIA_ITEM)).get(MEDIA_NAME))
                        self._tables[file] = LoggedTable(key, step)
            elif isinstance(step, int):
                number = _members(members.get(SCALAR_VALUE)).get(1, b"\0" * 8)  # a zero is left out
                time = _members(members.get(SCALAR_TIME))
                seconds, nanoseconds = time.get(1), time.get(2, 0)
                time_s = None
                if isinstance(seconds, int) and isinstance(nanoseconds, int):
                    time_s = seconds + nanoseconds / 1e9
                if isinstance(number, bytes) and len(number) == 8:
                    self._add_scalar(key, signed(step), struct.unpack("<d", number)[0], time_s)

    def logged(self) -> LoggedRun:
        rows = [row._replace(values=dict(row.values)) for _, row in sorted(self._by_step.items())]
        return LoggedRun(self._name, rows, tables=dict(self._tables))


def _members(message: int | bytes | None) -> dict[int, int | bytes]:
    return dict(fields(message)) if isinstance(message, bytes) else {}


def _decoded(value: int | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
