"""Formats of Parquet files: a record is a row; a part of the index holds the row groups that begin in its bytes.

A sample's place is its row group, in bytes, and as `part` its number within the group.
"""

import contextlib
import json
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache
from itertools import islice

import pyarrow as pa
from msgspec.structs import replace

from rolloupe.formats.base import changed
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.codecs import FREE_BYTES, MAX_RATIO
from rolloupe.formats.reading.records import Record, RecordFormat, Unusable
from rolloupe.formats.reading.tables.parquet_columns import column_types
from rolloupe.formats.reading.tables.parquet_files import (
    KEPT_FOOTERS,
    UNREADABLE,
    LargePages,
    PlacedGroup,
    Stamp,
    batch_rows,
    batches_of,
    first_batch,
    first_of,
    groups_of,
    reason_of,
    stamp_of,
)
from rolloupe.formats.reading.tables.rows import python_rows
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleRow, Scanned, Source, Texts

FIRST_FILES = 4
FIRST_ROWS = 4
KEPT_BATCHES = 4
"""For readers that take the samples of a row group one after another."""


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
            with contextlib.suppress(*UNREADABLE):
                found += _first_records(location, stamp_of(location))
        return found

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        try:
            stamp = stamp_of(source.location)
            expanded, limit = 0, max(FREE_BYTES, MAX_RATIO * stamp[1])
            for group in groups_of(source.location, stamp):
                if start <= group.facts.start < stop:
                    expanded += yield from self._scanned(run, source, group, stamp, limit - expanded)
        except UNREADABLE as error:
            yield Problem(source=source.name, reason=_why(source.location, error), start=start, transient=True)

    def _scanned(
        self, run: RunInfo, source: Source, group: PlacedGroup, stamp: Stamp, most_bytes: int
    ) -> Generator[Scanned, None, int]:
        """The rows of a group; returns the bytes of their values, of which dictionaries may repeat some very often."""
        number = expanded = 0
        for batch in _readable_batches(source, group):
            if isinstance(batch, Problem):
                yield batch
                break
            expanded += batch.nbytes
            found: list[Scanned] = []
            for record in python_rows(batch, self.may_cut):
                expanded += sum(len(value) for value in record.values() if isinstance(value, str))
                if expanded > most_bytes:
                    break
                found += self._items(run, source, record, group, number)
                number += 1
            if stamp_of(source.location) != stamp:  # so the types that rows depend on may be others
                raise ValueError("it changed while it was read")
            yield from found
            if expanded > most_bytes:
                raise ValueError(f"rows from {group.first_row + number:,} on expand too much: not read")
        return expanded

    def _items(self, run: RunInfo, source: Source, record: Record, group: PlacedGroup, number: int) -> list[Scanned]:
        try:
            return self._rows(run, source, self.prepared(run, record), group, number)
        except Unusable as error:
            reason = str(error)
        except Exception as error:  # a defect must not cost the rows after it
            reason = self.failure(error)
        reason = f"row {group.first_row + number}: {reason}"
        return [Problem(source=source.name, reason=reason, start=group.facts.start, stop=group.facts.stop)]

    def _rows(self, run: RunInfo, source: Source, record: Record, group: PlacedGroup, number: int) -> list[Scanned]:
        """The rows of a prepared record, with the places of their samples. Raises `Unusable`."""
        start, stop = group.facts.start, group.facts.stop
        found = self.rows_of(run, source, record, group.first_row + number, 0)
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

    def record_at(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow] | None:
        """See `Format`."""
        record, row = self._read(run, source, locator)
        return self.own_record(record, row), row

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`. Returns the row as JSON: in the file its values are packed and scattered."""
        record = _record(source, locator, frozenset())[0]
        return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        record, group, number = _record(source, locator, self.series_keys)
        try:
            record = self.prepared(run, record)
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
        stamp, number = stamp_of(source.location), int(locator.part.partition(".")[0])
        group = _group_at(groups_of(source.location, stamp), locator)
        if group is not None and 0 <= number < group.facts.rows:
            at, within = divmod(number, batch_rows(source.location, group))
            row = _batch(source.location, stamp, group, at).slice(within, 1)
            return next(python_rows(row, arrays.__contains__)), group, number
    except UNREADABLE as error:
        raise changed(source, locator.start, reason_of(error)) from None
    raise changed(source, locator.start, f"it has no row {locator.part!r} there")


def _readable_batches(source: Source, group: PlacedGroup) -> Iterator[pa.RecordBatch | Problem]:
    """The batches of a row group, or a problem if its pages are too large: those of other groups may be smaller."""
    try:
        yield from batches_of(source.location, group)
    except LargePages as error:
        rows = f"rows {group.first_row:,} to {group.first_row + group.facts.rows - 1:,}"
        yield Problem(source=source.name, reason=f"{rows}: {error}", start=group.facts.start, stop=group.facts.stop)


def _group_at(groups: Sequence[PlacedGroup], locator: Locator) -> PlacedGroup | None:
    place = locator.start, locator.start + locator.length
    return next((one for one in groups if (one.facts.start, one.facts.stop) == place), None)


@lru_cache(maxsize=KEPT_BATCHES)
def _batch(location: Location, stamp: Stamp, group: PlacedGroup, number: int) -> pa.RecordBatch:  # noqa: ARG001
    """Return one batch of a row group; pyarrow decodes the batches before it. Raises ValueError if there are fewer."""
    return first_of(islice(batches_of(location, group), number, None))


@lru_cache(maxsize=KEPT_FOOTERS)
def _first_records(location: Location, stamp: Stamp) -> tuple[Record, ...]:
    groups = [group for group in groups_of(location, stamp) if group.facts.rows]
    if not groups:
        return ()
    try:
        first = first_batch(location, groups[0], min(FIRST_ROWS, batch_rows(location, groups[0])))
    except LargePages:  # a scan says so; what it is, its columns tell
        return (dict.fromkeys(column_types(location)),)
    return tuple(fields.showable(record) for record in python_rows(first, lambda _: False))


def _why(location: Location, error: BaseException) -> str:
    from rolloupe.formats.reading.tables.binary_damage import AGAIN, why_no_table

    reason = why_no_table(location) or reason_of(error)
    return reason if "Next:" in reason or (isinstance(error, OSError) and error.errno) else f"{reason}. {AGAIN}"
