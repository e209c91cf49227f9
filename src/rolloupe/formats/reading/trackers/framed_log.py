"""Logs of Weights & Biases and SwanLab: records in LevelDB's framing, in blocks of 32 KiB, with checksums.

Source: LevelDB's `doc/log_format.md`. The checksum here is zlib's CRC-32 of the type and the data, without LevelDB's
mask.

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

from rolloupe.formats.reading.trackers import curves
from rolloupe.formats.reading.value_parsers import as_dict, as_list
from rolloupe.protobuf import BadMessage, decoded, fields, members, real, repeated, signed

BLOCK_BYTES = 32 * 1024
HEADER = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
MAX_RECORD_BYTES = 64 * 2**20


class FramedLog(curves.Log):
    """A client's log, read block by block."""

    magics: ClassVar[tuple[bytes, ...]]
    """The first bytes that a log may have; all have the same length."""
    tracker: ClassVar[str]

    def __init__(self) -> None:
        self.begin = b""
        """The first bytes of this log; empty before the first block."""
        self._damage = ""
        self._gaps: list[int] = []
        self._last_gaps: list[int] = []
        """Gaps after the last whole record; the next block begins before them."""
        self._taken = 0

    @classmethod
    def whole(cls, data: bytes) -> curves.LoggedRun:
        """Read a run without its damaged records. Raises `ValueError` for another file."""
        log = cls()
        if not log.take("", data):
            raise ValueError(f"it is not a run of {cls.tracker}")
        return log.run()

    def take(self, name: str, data: bytes) -> int:  # noqa: ARG002 - there is one file
        start = 0
        if not self._taken:
            self.begin = next((magic for magic in self.magics if data.startswith(magic)), b"")
            if not self.begin:
                if any(magic.startswith(data) for magic in self.magics):  # the writer has only begun
                    return 0
                raise ValueError(f"it is not a run of {self.tracker}")
            start = len(self.begin)
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
        """Add a record to the run. Raises `BadMessage`."""

    def run(self) -> curves.LoggedRun:
        gaps = [*self._gaps, *self._last_gaps]
        lost = f"at byte {gaps[0]:,} it is damaged, and records after it are missing" if gaps else ""
        return replace(self.logged(), damage=self._damage or lost)

    @abstractmethod
    def logged(self) -> curves.LoggedRun:
        """Return a copy of the run so far, without its damage."""


def records_from(data: bytes, start: int, gaps: list[int], before: int = 0) -> Iterator[tuple[bytes | None, int]]:
    """Yield each whole record from `start` on, and where it ends; None for a damaged one.

    The rest of a block after a damaged record is lost; `gaps` gets the place of the damage. `before` bytes of the file
    precede `data`, and end with a record.
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
        is_last = kind in (FULL, LAST)
        if is_last and size <= MAX_RECORD_BYTES:
            yield b"".join(parts), at
        if is_last or size > MAX_RECORD_BYTES:
            parts, size = [], 0


MAGIC = b":W&B\xe1\xbe\x00"
HISTORY, CONFIG, RUN = 2, 5, 17
"""Fields of a record."""
ITEM = 1
"""Field of a history or a configuration."""
KEY, NESTED_KEY, VALUE = 1, 2, 16
"""Fields of an item."""
RUN_ID, RUN_CONFIG, DISPLAY_NAME = 1, 4, 8
"""Fields of a run."""
MOST_BEFORE = 16
"""How many calls before a table to search for the last one with numbers."""
OF_EVAL = "eval/"


class WandbLog(FramedLog):
    """A log of the client of Weights & Biases."""

    magics = (MAGIC,)
    tracker = "Weights & Biases"

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[curves.LoggedRow] = []
        self._tables: dict[str, curves.LoggedTable] = {}
        self._config: dict[str, Any] = {}
        self._name = ""

    def add(self, record: bytes) -> None:
        for field, value in fields(record):
            if not isinstance(value, bytes):
                continue
            if field == HISTORY:
                items = dict(_items(value))
                self._tables.update(_tables(items, self._rows))
                self._rows.append(_row(items))
            elif field == CONFIG:
                self._config.update(_items(value))
            elif field == RUN:
                for config in repeated(value, RUN_CONFIG):
                    self._config.update(_items(config))
                run = members(value)
                self._name = decoded(run.get(DISPLAY_NAME)) or decoded(run.get(RUN_ID))

    def logged(self) -> curves.LoggedRun:
        config = {key: value for key, value in self._config.items() if key != "_wandb"}
        return curves.LoggedRun(self._name, [*self._rows], config, tables=dict(self._tables))


def _tables(items: dict[str, Any], rows: Sequence[curves.LoggedRow]) -> Iterator[tuple[str, curves.LoggedTable]]:
    """Yield the tables that were logged in a call, by the paths of their files; `rows` are those of earlier calls."""
    for name, kind in items.items():
        key = name.removesuffix("/_type")
        path = items.get(f"{key}/path")
        if name != key and isinstance(kind, str) and kind.endswith("table-file") and isinstance(path, str):
            steps = (items.get(step) for step in (*curves.TRAINER_STEPS, "_step"))
            step = next((step for step in steps if isinstance(step, int)), None)
            earlier = next((row.values for row in reversed(rows[-MOST_BEFORE:]) if row.values), {})
            yield path, curves.LoggedTable(key, step, any(metric.startswith(OF_EVAL) for metric in earlier))


def _row(items: dict[str, Any]) -> curves.LoggedRow:
    media = tuple(key.removesuffix("_type") for key in items if key.endswith("/_type"))  # members of a table, a picture
    values: dict[str, float] = {}
    for key, value in items.items():
        is_object = isinstance(value, dict) and "_type" in value
        if not (is_object or key.startswith(("_", *media))):
            values.update(curves.flat(value, key))
    step = items.get("_step")
    return curves.LoggedRow(step if isinstance(step, int) else None, values, curves.number_of(items.get("_timestamp")))


def _items(message: bytes) -> Iterator[tuple[str, Any]]:
    """Yield names and values; names of several parts are joined with `/`."""
    for item in repeated(message, ITEM):
        parts, value = [], b"null"
        for field, part in fields(item):
            if field in (KEY, NESTED_KEY) and part:
                parts.append(decoded(part))
            elif field == VALUE and isinstance(part, bytes):
                value = part
        yield "/".join(parts), curves.parsed(value)


JSON_RECORDS, MESSAGES = b":SWL\xd6\xe1\x01", b":SWL\xd6\xe1\x02"
"""The first bytes of a log, by the version of its framing."""
START, SCALAR, MEDIA = 10, 13, 14
"""Fields of a record."""
START_NAME = 4
POINT_KEY, POINT_STEP, SCALAR_TIME, POINT_VALUE = 1, 2, 4, 5
"""Fields of a scalar or of media. A time has seconds (1) and nanoseconds (2), the value of a scalar a double (1)."""
MEDIA_ITEM, MEDIA_NAME = 1, 1
"""Fields of the value of media, and of an item."""
OF_MACHINE = "__swanlab__."
"""The prefix of the machine's metrics, which have separate steps."""


class SwanLabLog(FramedLog):
    """A log of SwanLab."""

    magics = JSON_RECORDS, MESSAGES
    tracker = "SwanLab"

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._by_step: dict[int, curves.LoggedRow] = {}
        self._tables: dict[str, curves.LoggedTable] = {}

    def add(self, record: bytes) -> None:
        if self.begin == JSON_RECORDS:
            self._add_json(record)
        else:
            self._add_message(record)

    def _add_scalar(self, key: str, step: int, value: float | None, time_s: float | None) -> None:
        if value is not None and not key.startswith(OF_MACHINE):
            self._by_step.setdefault(step, curves.LoggedRow(step, {}, time_s)).values[key] = value

    def _add_json(self, record: bytes) -> None:
        document = as_dict(curves.parsed(record))
        data, kind = as_dict(document.get("data")), document.get("model_type")
        key, step = data.get("key"), data.get("step")
        if kind == "Experiment" and isinstance(data.get("name"), str):
            self._name = data["name"]
        elif isinstance(key, str) and isinstance(step, int):
            if kind == "Media":
                files = [name for name in as_list(data.get("buffers_name")) if isinstance(name, str)]
                self._tables.update(dict.fromkeys(files, curves.LoggedTable(key, step)))
            elif kind == "Scalar":
                metric = as_dict(data.get("metric"))
                self._add_scalar(
                    key, step, curves.number_of(metric.get("data")), curves.seconds_of(metric.get("create_time"))
                )

    def _add_message(self, record: bytes) -> None:
        for field, message in fields(record):
            if field not in (START, SCALAR, MEDIA) or not isinstance(message, bytes):
                continue
            point = members(message)
            key, step = decoded(point.get(POINT_KEY)), point.get(POINT_STEP, 0)
            if field == START:
                self._name = decoded(point.get(START_NAME))
            elif not isinstance(step, int):
                continue
            elif field == MEDIA:
                for item in repeated(message, POINT_VALUE):
                    file = decoded(members(members(item).get(MEDIA_ITEM)).get(MEDIA_NAME))
                    self._tables[file] = curves.LoggedTable(key, step)
            else:
                number = members(point.get(POINT_VALUE)).get(1, bytes(8))  # a zero is left out
                time = members(point.get(SCALAR_TIME))
                seconds, nanoseconds = time.get(1), time.get(2, 0)
                time_s = None
                if isinstance(seconds, int) and isinstance(nanoseconds, int):
                    time_s = seconds + nanoseconds / 1e9
                self._add_scalar(key, signed(step), real(number), time_s)

    def logged(self) -> curves.LoggedRun:
        rows = [row._replace(values=dict(row.values)) for _, row in sorted(self._by_step.items())]
        return curves.LoggedRun(self._name, rows, tables=dict(self._tables))
