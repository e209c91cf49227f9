"""Formats of Parquet files: a record is a row; a part of the index holds the row groups that begin in its bytes.

A sample's place is its row group, in bytes, and as `part` its number within the group. A file without a footer is being
written. The claims of a footer are checked before pyarrow sees them, and rows are decoded in small batches.
"""

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from rolloupe.formats.base import changed
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.codecs import FREE_BYTES, MAX_RATIO
from rolloupe.formats.reading.records import Record, RecordFormat, Unusable
from rolloupe.formats.reading.tables.parquet_footer import RowGroup, row_groups
from rolloupe.formats.reading.tables.rows import python_rows
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleRow, Scanned, Source, Texts
from rolloupe.storage import file_state, open_file, path_state

MAX_COLUMNS = 4096
FREE_ROWS = 2**14
"""A file must pay for its rows: it may have this many, and one more for each byte."""

BATCH_ROWS = 256
FEW_ROWS = 8
BATCH_BYTES = 32 * 2**20
"""How much a batch should hold at most: any row may be as large as its group, or repeat the largest of a dictionary."""

LEADING_ROWS = 64
"""How many rows at the beginning of a file tell how large its groups are."""


BUFFER_BYTES = 2**20
FIRST_FILES = 4
FIRST_ROWS = 4
KEPT_FOOTERS = 64
KEPT_BATCHES = 4
"""For readers that take the samples of a row group one after another."""

_UNREADABLE = (OSError, pa.ArrowException, ValueError, MemoryError)

Stamp = tuple[int, int, int]


class PlacedGroup(NamedTuple):
    """A row group, its number in the file, and the number of its first row."""

    facts: RowGroup
    number: int
    first_row: int

    @property
    def batch_rows(self) -> int:
        """Number of rows to decode at a time."""
        largest = max(self.facts.size_bytes, self.facts.largest_dictionary, 1)
        return min(BATCH_ROWS, max(FEW_ROWS, BATCH_BYTES // largest))


class ParquetFormat(RecordFormat):
    """A format whose samples are the rows of Parquet files.

    `row` receives the number of the row in the file as `start`; the place of the sample is set afterwards.
    """

    splittable = True
    suffixes = (".parquet",)
    endings = (".parquet",)

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        """See `RecordFormat`."""
        found: list[Record] = []
        for location in some[:FIRST_FILES]:
            with contextlib.suppress(*_UNREADABLE):
                found += _first_records(location, _stamp(location))
        return found

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        try:
            for group in _groups(source.location, _stamp(source.location)):
                if start <= group.facts.start < stop:
                    yield from self._scanned(run, source, group)
        except _UNREADABLE as error:
            yield Problem(source=source.name, reason=_reason(error), start=start, transient=True)

    def _scanned(self, run: RunInfo, source: Source, group: PlacedGroup) -> Iterator[Scanned]:
        number = 0
        for batch in _batches(source.location, group):
            for record in python_rows(batch, self.may_cut):
                yield from self._items(run, source, record, group, number)
                number += 1

    def _items(self, run: RunInfo, source: Source, record: Record, group: PlacedGroup, number: int) -> list[Scanned]:
        try:
            return self._rows(run, source, record, group, number)
        except Unusable as error:
            reason = str(error)
        except Exception as error:  # a defect must not cost the rows after it
            reason = self.failure(error)
        reason = f"row {group.first_row + number}: {reason}"
        return [Problem(source=source.name, reason=reason, start=group.facts.start, stop=group.facts.stop)]

    def _rows(self, run: RunInfo, source: Source, record: Record, group: PlacedGroup, number: int) -> list[Scanned]:
        """The rows of a record, with the places of their samples. Raises `Unusable`."""
        start, stop = group.facts.start, group.facts.stop
        found = self.rows_of(run, source, self.prepared(run, record), group.first_row + number, 0)
        for row in found:
            if not isinstance(row, Problem):
                row.start, row.length = start, stop - start
            if isinstance(row, SampleRow):
                row.part = f"{number}.{row.part}" if row.part else str(number)
        return [replace(row, start=start, stop=stop) if isinstance(row, Problem) else row for row in found]

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """See `Format`."""
        record, row = self._read(run, source, locator)
        sample = self.sample(record, row, locator)
        self.annotate(run, record, sample)
        return sample

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        """See `Format`."""
        return self.texts_of(*self._read(run, source, locator))

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`. Returns the row as JSON: in the file its values are packed and scattered."""
        record = _record(source, locator, frozenset())[0]
        return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        record, group, number = _record(source, locator, self.series_keys)
        record = self.prepared(run, record)
        try:
            rows = self._rows(run, source, record, group, number)
        except Unusable as error:
            raise changed(source, locator.start, str(error)) from None
        row = next((row for row in rows if isinstance(row, SampleRow) and row.part == locator.part), None)
        if row is None:
            raise changed(source, locator.start, f"its row {locator.part!r} is gone")
        return record, row


def _record(source: Source, locator: Locator, arrays: frozenset[str]) -> tuple[Record, PlacedGroup, int]:
    """Read the row at a place: its record, its row group, its number in the group. Raises `SourceChanged`."""
    try:
        stamp, number = _stamp(source.location), int(locator.part.partition(".")[0])
        group = _group_at(_groups(source.location, stamp), locator)
        if group is not None and 0 <= number < group.facts.rows:
            batch = _batch(source.location, stamp, group, number // group.batch_rows)
            row = batch.slice(number % group.batch_rows, 1)
            return next(python_rows(row, arrays.__contains__)), group, number
    except _UNREADABLE as error:
        raise changed(source, locator.start, _reason(error)) from None
    raise changed(source, locator.start, f"it has no row {locator.part!r} there")


def _group_at(groups: Sequence[PlacedGroup], locator: Locator) -> PlacedGroup | None:
    place = locator.start, locator.start + locator.length
    return next((one for one in groups if (one.facts.start, one.facts.stop) == place), None)


def _stamp(location: Location) -> Stamp:
    state = file_state(location)
    return state.st_ino, state.st_size, state.st_mtime_ns


@lru_cache(maxsize=KEPT_FOOTERS)
def _groups(location: Location, stamp: Stamp) -> tuple[PlacedGroup, ...]:  # noqa: ARG001
    """The row groups of a file. Raises OSError, and ValueError for a missing footer or excessive claims."""
    with open_file(location) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        groups = row_groups(file)
    found, rows = [], 0
    for number, one in enumerate(groups):
        found.append(PlacedGroup(one, number, rows))
        rows += one.rows
    if rows > FREE_ROWS + size_bytes:
        raise ValueError("more rows than the file has bytes: not read")
    if sum(one.size_bytes for one in groups) > max(FREE_BYTES, MAX_RATIO * size_bytes):
        raise ValueError(f"expands more than {MAX_RATIO}-fold: not read")
    if any(one.columns > MAX_COLUMNS for one in groups):
        raise ValueError(f"more than {MAX_COLUMNS:,} columns: not read")
    return tuple(found)


def _batches(
    location: Location, group: PlacedGroup, columns: Sequence[str] | None = None, rows: int = 0
) -> Iterator[pa.RecordBatch]:
    with open_file(location) as opened, pq.ParquetFile(opened, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:
        yield from file.iter_batches(rows or group.batch_rows, [group.number], columns, use_threads=False)


@lru_cache(maxsize=KEPT_BATCHES)
def _batch(location: Location, stamp: Stamp, group: PlacedGroup, number: int) -> pa.RecordBatch:  # noqa: ARG001
    """Return one batch of a row group; pyarrow decodes the batches before it. Raises ValueError if there are fewer."""
    for batch in islice(_batches(location, group), number, None):
        return batch
    raise ValueError("fewer rows than its footer says")


@lru_cache(maxsize=KEPT_FOOTERS)
def _first_records(location: Location, stamp: Stamp) -> tuple[Record, ...]:
    groups = [group for group in _groups(location, stamp) if group.facts.rows]
    if not groups:
        return ()
    first = next(_batches(location, groups[0], rows=FIRST_ROWS))
    return tuple(fields.showable(record) for record in python_rows(first, lambda _: False))


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"could not be read: {error.strerror}"
    return f"could not be read: {next(iter(str(error).splitlines()), type(error).__name__)[:200]}"


def column_types(location: Location) -> dict[str, str]:
    """Return the types of a file's columns in their order, in the words of Arrow; nothing of an unreadable file."""
    try:
        return _column_types(location, _stamp(location))
    except _UNREADABLE:
        return {}


@lru_cache(maxsize=KEPT_FOOTERS)
def _column_types(location: Location, stamp: Stamp) -> dict[str, str]:
    groups = [group for group in _groups(location, stamp) if group.facts.rows]
    schema = next(_batches(location, groups[0], rows=1)).schema if groups else pa.schema([])
    return {field.name: str(field.type) for field in schema}


def repeats(location: Location, column: str) -> tuple[int, ...]:
    """Return for each row how often its value in a column came up before the rows with it that lie together here."""
    try:
        return _repeats(location, _stamp(location), column)
    except _UNREADABLE:
        return ()


@lru_cache(maxsize=KEPT_FOOTERS)
def _repeats(location: Location, stamp: Stamp, column: str) -> tuple[int, ...]:
    found: list[int] = []
    times: Counter[str] = Counter()
    last = None
    for group in _groups(location, stamp):
        for batch in _batches(location, group, [column]):
            for record in python_rows(batch, lambda _: False):
                value = fields.digest(fields.joined(record.get(column)))
                times[value] += value != last
                last = value
                found.append(times[value] - 1)
    return tuple(found)


def leading_texts(location: Location, column: str) -> tuple[str, ...]:
    """Return the hashes of the values of a column in the first rows of a file; nothing of an unreadable one."""
    try:
        state = path_state(location.path)
        return _leading_texts(location, (state.st_ino, state.st_size, state.st_mtime_ns), column)
    except _UNREADABLE:
        return ()


@lru_cache(maxsize=1024)
def _leading_texts(location: Location, stamp: Stamp, column: str) -> tuple[str, ...]:
    groups = [group for group in _groups(location, stamp) if group.facts.rows]
    if not groups:
        return ()
    rows = python_rows(next(_batches(location, groups[0], [column], LEADING_ROWS)), lambda _: False)
    return tuple(fields.digest(fields.joined(record.get(column))) for record in rows)
