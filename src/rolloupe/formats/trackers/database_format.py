"""Formats whose samples are rows of a SQLite database: the rows of a run in a table are a stream.

Each row has the same number of bytes in the stream, regardless of its contents: new rows lengthen the stream and change
nothing else. A part of the index is some hundreds or thousands of rows.
"""

import contextlib
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import apsw
import msgspec
from msgspec import Struct

from rolloupe.formats.reading.files import files, is_one_file, links_of
from rolloupe.formats.reading.trackers.sqlite import UNREADABLE, BadDatabase, read_database
from rolloupe.formats.trackers.samples import LoggedSample, Placed, TrackerSamples
from rolloupe.lru import Lru
from rolloupe.model import Location, RowStream, RunInfo, Source

WIDTHS = (2**12, 2**14, 2**16, 2**18, 2**20)
"""The widths of rows in a stream; a table takes the smallest width above the average size of its first rows."""
FIRST_ROWS = 64
"""The number of first rows of a run whose average size is measured."""
BATCH_BYTES = 32 * 2**20
"""The bytes of a table in memory at once; a single row may be larger."""


class RowsOfTable(Struct, frozen=True):
    """The rows of a run in a table."""

    table: str
    ids: tuple[str, ...]
    """The ids of the run in the table, one for each process that writes for it."""
    first: int
    """The number of its first row."""
    width: int
    """The number of bytes of each row in the stream."""

    def number_at(self, place: int) -> int:
        """Return the number of the first row that begins at or after a place of the stream."""
        return self.first + -(-place // self.width)

    def place_of(self, number: int) -> int:
        return (number - self.first) * self.width

    def placed(self, number: int, sample: LoggedSample | str, part: str = "", record: Any = None) -> Placed:
        """Place a sample, or the reason why it cannot be read, at a part of a row."""
        name = f"{number}.{part}" if part else str(number)
        return Placed(self.place_of(number), self.width, part, name, sample, record)


class TableExtent(NamedTuple):
    """The place of a run's rows in a table."""

    rows: RowsOfTable
    last: int
    """The number of its last row."""
    changed_ns: int


def width_for(size_bytes: float | None) -> int:
    """Return the width for rows of this average size."""
    return next((width for width in WIDTHS if width >= (size_bytes or 0)), WIDTHS[-1])


_tables: Lru[tuple[str, str, str], Sequence[TableExtent]] = Lru(entries=10_000)
"""The places of the rows of runs, as of the last reading of their databases."""


class DatabaseFormat(TrackerSamples):
    """A format whose samples are rows of a database."""

    splittable = True
    takes_single_files = True
    unreadable = UNREADABLE
    suffixes: ClassVar[tuple[str, ...]] = (".db",)
    endings: ClassVar[tuple[str, ...]] = (".db",)
    sizes: ClassVar[Mapping[str, str]]
    """The size of a row in bytes, as SQL, for each table."""

    @abstractmethod
    def runs_in(self, location: Location, links: str) -> list[RunInfo]:
        """List the runs with samples in a database, with `links` as their `link_root`; empty for any other file."""

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        if is_one_file(path):
            return self.runs_in(Location(str(path), link_root or str(path)), link_root)
        links = link_root or str(path.resolve())
        databases = files(str(path), links, self.endings)
        return [run for database in databases for run in self.runs_in(database.location, links)]

    @abstractmethod
    def tables(self, run: RunInfo) -> Sequence[TableExtent]:
        """List the places of the run's rows: cheap while the database is unchanged. Raises `BadDatabase`, OSError."""

    @abstractmethod
    def samples(self, database: apsw.Connection, rows: RowsOfTable, first: int, stop: int) -> Iterator[Placed]:
        """Yield the samples in the rows with numbers in `[first, stop)`, in order."""

    def sources(self, run: RunInfo) -> list[Source]:
        key = (self.name, run.root, run.within)
        try:
            with contextlib.suppress(BadDatabase):  # otherwise, the tables listed before count
                _tables.put(key, self.tables(run))
        except OSError:
            return []
        sources = []
        for rows, last, changed_ns in _tables.get(key) or ():
            stream = RowStream(msgspec.json.encode(rows).decode(), rows.place_of(last + 1), changed_ns)
            name = f"{os.path.basename(run.root)}/{rows.table}"
            sources.append(Source(path=run.root, name=name, root=links_of(run), stream=stream))
        return sources

    def placed_in(self, source: Source, start: int, stop: int) -> Iterator[Placed]:
        assert source.stream is not None, "a source of a database is a stream"
        rows = msgspec.json.decode(source.stream.word, type=RowsOfTable)
        first, end = rows.number_at(start), rows.number_at(stop)
        while first < end:
            batch, first = read_database(source.location, partial(self._batch, rows, first, end))
            yield from batch

    def _batch(self, rows: RowsOfTable, first: int, stop: int, database: apsw.Connection) -> tuple[list[Placed], int]:
        """Return the samples in the first rows that fit into memory, and the number of the row after them."""
        size, left, after = self.sizes[rows.table], BATCH_BYTES, stop
        sizes = f"SELECT rowid, {size} FROM {rows.table} WHERE rowid >= ? AND rowid < ? ORDER BY rowid"
        for number, size_bytes in database.execute(sizes, (first, stop)):
            left -= size_bytes or 0
            if left <= 0:
                after = int(number if number > first and left < 0 else number + 1)
                break
        return [*self.samples(database, rows, first, after)], after
