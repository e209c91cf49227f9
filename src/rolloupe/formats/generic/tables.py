"""Parquet, CSV, TSV and JSON arrays for the generic format: the same rows in other files."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rolloupe.formats.base import changed
from rolloupe.formats.generic.documents import DELIMITERS, MAX_BYTES, row_in, rows_in
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.field_map import renamed
from rolloupe.formats.reading.files import plain_name
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.tables.parquet import ParquetFormat
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleRow, Scanned, Source, Texts
from rolloupe.storage import path_state

PARQUET = ".parquet"
TABLES = (PARQUET, ".json", *DELIMITERS)
FIRST_BYTES = 2**20
FIRST_ROWS = 8


def ending_of(path: str) -> str:
    """Return the suffix of a table; empty for any other file."""
    return next((ending for ending in TABLES if plain_name(path).endswith(ending)), "")


class _MappedRows(NamedRows):
    """Rows under usual names, or those of a person's field map."""

    name = "generic"
    title = "rows with text and a score"

    def prepared(self, run: RunInfo, record: Record) -> Record:
        """See `RecordFormat`."""
        return renamed(record, run.reading.fields) if run.reading.fields else record


class LineRows(_MappedRows, JsonlFormat):
    """Rows of JSON lines."""


class ParquetRows(_MappedRows, ParquetFormat):
    """Rows of Parquet files."""


class DocumentRows(_MappedRows):
    """Rows of CSV, TSV and JSON arrays. A scan reads the file up to `MAX_BYTES`."""

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        """See `RecordFormat`."""
        return [record for location in some for record in first_rows(location)]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        with open_binary(source.location) as file:
            data = file.read(MAX_BYTES)
            is_whole = not file.read(1)
        for one in rows_in(data, ending_of(source.path)):
            if one.start >= stop:
                return
            if one.start < start:
                continue
            at_end = one.stop >= len(data)
            reason = one.reason
            if one.record is not None and (is_whole or not at_end):
                try:
                    yield from self.rows_of(
                        run, source, self.prepared(run, one.record), one.start, one.stop - one.start
                    )
                    continue
                except Unusable as error:
                    reason = str(error)
            reason = reason or f"more than {MAX_BYTES // 2**20} MiB: the rows from here on are not read"
            yield Problem(source=source.name, reason=reason, start=one.start, stop=one.stop, transient=at_end)

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """See `Format`."""
        record, row = self._read(run, source, locator)
        return self.sample(record, row, locator)

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        """See `Format`."""
        return self.texts_of(*self._read(run, source, locator))

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        data = self.read(source, locator.start, locator.length)
        if len(data) < locator.length:
            raise changed(source, locator.start, "the file ends before it")
        try:
            record = row_in(data, self.read(source, 0, FIRST_BYTES), ending_of(source.path))
            record = self.prepared(run, record)
            (row,) = self.rows_of(run, source, record, locator.start, locator.length)
        except Unusable as error:
            raise changed(source, locator.start, str(error)) from None
        if not isinstance(row, SampleRow):
            raise changed(source, locator.start, "it is no sample")
        return record, row


def first_rows(location: Location) -> tuple[Record, ...]:
    """Return the first rows of a table, long values cut short; nothing of an unreadable file."""
    try:
        state = path_state(location.path)
        return _first_rows(location, state.st_ino, state.st_size, state.st_mtime_ns)
    except OSError:
        return ()


@lru_cache(maxsize=512)
def _first_rows(location: Location, inode: int, size: int, mtime_ns: int) -> tuple[Record, ...]:  # noqa: ARG001
    ending = ending_of(location.path)
    if ending == PARQUET:
        return tuple(ParquetRows().first_records([location]))
    with open_binary(location) as file:
        data = file.read(FIRST_BYTES)
    found = (one.record for one in rows_in(data, ending) if one.record is not None)
    return tuple(fields.showable(record) for record, _ in zip(found, range(FIRST_ROWS), strict=False))
