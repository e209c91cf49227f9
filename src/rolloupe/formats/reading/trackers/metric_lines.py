"""Metrics in lines of JSON that a trainer appends to, compressed or not: of a file that grows, what is new is read.

A file that was read once is read whole again when it has changed; from then on its rows stay in memory. Runs that have
ended take none.
"""

import io
import threading
from typing import NamedTuple

from rolloupe.formats.reading.access_points import read_at
from rolloupe.formats.reading.jsonl import BLANK, Line, lines, parse, strip_bom
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trainer_files import MAX_BYTES, MergedMetrics
from rolloupe.lru import Lru
from rolloupe.model import Location, MetricRow
from rolloupe.storage import expect, open_state

KEPT_VALUES = 3_000_000
"""How many numbers of such files stay in memory."""

COMPARED_BYTES = 1024
"""How many of the first bytes, and of those that were read last, are compared: with others it is another file."""


NONE = (-1, -1)


class LinesSoFar(NamedTuple):
    """The metrics of a file, merged by step, and the records that its reader set apart."""

    rows: list[MetricRow]
    apart: list[Record]


class MetricLines:
    """A file as far as it has been read. A subclass may turn lines into other rows in `take`, and set some apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._merged = MergedMetrics()
        self.apart: dict[int | None, Record] = {}
        self._stop = self.values = 0
        self._inode, self._first, self._last = NONE, b"", b""

    def take(self, record: Record) -> None:
        """Take the object of a line."""
        self._merged.add(record)
        self.values += len(record)

    def read(self, location: Location) -> LinesSoFar:
        """Read what is new in a file, or all of it where that is another one; of an unreadable one, nothing."""
        with self._lock:
            try:
                with open_binary(location) as file:
                    if not self._grew(file):
                        self._begin()
                    self._read_on(file)
            except OSError:
                self._begin()
            return LinesSoFar(self._merged.rows(), [*self.apart.values()])

    def _grew(self, file: io.BufferedReader) -> bool:
        return (
            _inode(file) == self._inode
            and read_at(file, 0, len(self._first)) == self._first
            and read_at(file, self._stop - len(self._last), len(self._last)) == self._last
        )

    def _read_on(self, file: io.BufferedReader) -> None:
        is_done = True
        expect(file, [(self._stop, open_state(file).st_size)])
        for line in lines(file, self._stop, MAX_BYTES):
            is_taken = self._took(line)
            if line.ended:
                self._stop = line.stop + 1
            else:  # it may become another line
                is_done = is_done and not is_taken
        self._inode = _inode(file) if is_done else NONE
        if is_done:
            part = min(self._stop, COMPARED_BYTES)
            self._first, self._last = read_at(file, 0, part), read_at(file, self._stop - part, part)

    def _took(self, line: Line) -> bool:
        if line.data is None or not (data := strip_bom(line.data, line.start)).strip(BLANK):
            return False
        try:
            self.take(parse(data))
        except Unusable:
            return False
        return True


def _inode(file: io.BufferedReader) -> tuple[int, int]:
    state = open_state(file)
    return state.st_dev, state.st_ino


_kept: Lru[tuple[type[MetricLines], str], MetricLines] = Lru(total=KEPT_VALUES)
_known: Lru[tuple[type[MetricLines], str], bool] = Lru(entries=10_000)


def lines_so_far(location: Location, kind: type[MetricLines] = MetricLines) -> LinesSoFar:
    """Return the metrics of a file. Where it was read before, its rows stay in memory from now on."""
    key = kind, location.path
    reader = _kept.get(key) or kind()
    found = reader.read(location)
    if _known.get(key):
        _kept.put(key, reader, reader.values + 1)
    _known.put(key, True)
    return found


def metrics_of(location: Location | None) -> list[MetricRow]:
    """Return the metrics of a file whose lines are rows; none without a file."""
    return [] if location is None else lines_so_far(location).rows
