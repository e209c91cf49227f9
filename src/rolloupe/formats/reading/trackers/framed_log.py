"""Logs in LevelDB's framing, which Weights & Biases and SwanLab write: records in blocks of 32 KiB, with checksums.

Source: LevelDB's `doc/log_format.md`; the checksum is zlib's CRC-32 of the type and the data, without LevelDB's mask.
"""

import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from rolloupe.formats.reading.trackers.curves import LoggedRun
from rolloupe.formats.reading.trackers.growth import ReadSoFar
from rolloupe.model import Location
from rolloupe.protobuf import BadMessage

BLOCK_BYTES = 32 * 1024
HEADER = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
MAX_RECORD_BYTES = 64 * 2**20


class FramedRun(ABC):
    """What the records of a log say, as far as they were taken."""

    magics: ClassVar[tuple[bytes, ...]]
    """How a log may begin; all have the same length."""
    tracker: ClassVar[str]

    def __init__(self) -> None:
        self.begin = b""
        """How the log begins; empty before anything was taken."""
        self.damage = ""
        self._gaps: list[int] = []
        self._last_gaps: list[int] = []
        """Those behind what was taken, which the next look meets again."""
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
        """The run so far; whoever gets it may keep it."""
        gaps = [*self._gaps, *self._last_gaps]
        lost = f"at byte {gaps[0]:,} it is damaged, and records after it are missing" if gaps else ""
        return replace(self.logged(), damage=self.damage or lost)

    @abstractmethod
    def logged(self) -> LoggedRun:
        """The run without its damage; whoever gets it may keep it."""


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
