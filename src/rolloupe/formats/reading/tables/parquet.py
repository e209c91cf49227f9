"""Formats of Parquet files: a record is a row; a part of the index holds the row groups that begin in its bytes.

The place of a sample is the bytes of its row group; its `part` is its number within the group. `column_types`,
`repeats` and `leading_texts` answer questions about whole columns; an unreadable file has no answer.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from rolloupe.formats.base import changed
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.codecs import FREE_BYTES, MAX_RATIO
from rolloupe.formats.reading.files import stamp_of, while_unchanged
from rolloupe.formats.reading.records import Record, RecordFormat, Unusable, row_at
from rolloupe.formats.reading.tables import parquet_files
from rolloupe.model import Location, Locator, Problem, RunInfo, SampleRow, Scanned, Source

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
        return [record for location in some[:FIRST_FILES] for record in _first_records(location)]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        try:
            stamp = stamp_of(source.location)
            expanded, limit = 0, max(FREE_BYTES, MAX_RATIO * stamp[1])
            for group in parquet_files.groups_of(source.location):
                if start <= group.start < stop:
                    expanded += yield from self._scanned(run, source, group, stamp, limit - expanded)
        except parquet_files.UNREADABLE as error:
            reason = parquet_files.why_no_table(source.location) or parquet_files.reason_of(error)
            if "Next:" not in reason and not (isinstance(error, OSError) and error.errno):
                reason = f"{reason}. {parquet_files.AGAIN}"
            yield Problem(source=source.name, reason=reason, start=start, transient=True)

    def _scanned(
        self, run: RunInfo, source: Source, group: parquet_files.RowGroup, stamp: tuple[int, int, int], most_bytes: int
    ) -> Generator[Scanned, None, int]:
        """Yield the rows of a group; return the bytes of their values, which dictionaries may repeat very often."""
        number = expanded = 0
        for batch in _readable_batches(source, group):
            if isinstance(batch, Problem):
                yield batch
                break
            expanded += batch.nbytes
            items: list[Scanned] = []
            for record in python_rows(batch, self.may_cut):
                expanded += sum(len(value) for value in record.values() if isinstance(value, str))
                if expanded > most_bytes:
                    break
                items += self._items(run, source, record, group, number)
                number += 1
            if stamp_of(source.location) != stamp:  # so the types that rows depend on may have changed
                raise ValueError("it changed while it was read")
            yield from items
            if expanded > most_bytes:
                raise ValueError(f"rows from {group.first_row + number:,} on expand too much: not read")
        return expanded

    def _items(
        self, run: RunInfo, source: Source, record: Record, group: parquet_files.RowGroup, number: int
    ) -> list[Scanned]:
        try:
            return self._rows(run, source, self.prepared(run, record), group, number)
        except Exception as error:  # a defect must not cost the rows after it
            reason = f"row {group.first_row + number}: {self._why_not(error)}"
            return [Problem(source=source.name, reason=reason, start=group.start, stop=group.stop)]

    def _rows(
        self, run: RunInfo, source: Source, record: Record, group: parquet_files.RowGroup, number: int
    ) -> list[Scanned]:
        """Return the rows of a prepared record, with the places of their samples. Raises `Unusable`."""
        start, stop = group.start, group.stop
        rows = self.rows_of(run, source, record, group.first_row + number, 0)
        for row in rows:
            if not isinstance(row, Problem):
                row.start, row.length = start, stop - start
            if isinstance(row, SampleRow):
                row.part = f"{number}.{row.part}" if row.part else str(number)
        return [replace(row, start=start, stop=stop) if isinstance(row, Problem) else row for row in rows]

    def record_at(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow] | None:
        record, row = self._record_and_row(run, source, locator)
        return self.own_record(record, row), row

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`. Returns the row as JSON: in the file its values are packed and scattered."""
        record = _record(source, locator, frozenset())[0]
        return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def _record_and_row(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        record, group, number = _record(source, locator, self.series_keys)
        try:
            record = self.prepared(run, record)
            rows = self._rows(run, source, record, group, number)
        except Unusable as error:
            raise changed(source, locator.start, str(error)) from None
        return record, row_at(rows, source, locator)


def _record(source: Source, locator: Locator, arrays: frozenset[str]) -> tuple[Record, parquet_files.RowGroup, int]:
    """Read the row at a place: its record, its row group, its number in the group. Raises `SourceChanged`."""
    try:
        number = int(locator.part.partition(".")[0])
        place = locator.start, locator.start + locator.length
        groups = parquet_files.groups_of(source.location)
        group = next((group for group in groups if (group.start, group.stop) == place), None)
        if group is not None and 0 <= number < group.rows:
            at, within = divmod(number, parquet_files.batch_rows(source.location, group))
            row = _batch(source.location, group, at).slice(within, 1)
            return next(python_rows(row, arrays.__contains__)), group, number
    except parquet_files.UNREADABLE as error:
        raise changed(source, locator.start, parquet_files.reason_of(error)) from None
    raise changed(source, locator.start, f"it has no row {locator.part!r} there")


def _readable_batches(source: Source, group: parquet_files.RowGroup) -> Iterator[pa.RecordBatch | Problem]:
    """Yield the batches of a row group, or a problem if its pages are too large; other groups may have smaller ones."""
    try:
        yield from parquet_files.batches_of(source.location, group)
    except parquet_files.LargePages as error:
        rows = f"rows {group.first_row:,} to {group.first_row + group.rows - 1:,}"
        yield Problem(source=source.name, reason=f"{rows}: {error}", start=group.start, stop=group.stop)


@while_unchanged(KEPT_BATCHES)
def _batch(location: Location, group: parquet_files.RowGroup, number: int) -> pa.RecordBatch:
    """Return a batch of a row group; pyarrow decodes the batches before it, too. Raises ValueError if it is missing."""
    return parquet_files.first_of(islice(parquet_files.batches_of(location, group), number, None))


@while_unchanged(parquet_files.KEPT_FOOTERS, errors=parquet_files.UNREADABLE, otherwise=())
def _first_records(location: Location) -> tuple[Record, ...]:
    groups = [group for group in parquet_files.groups_of(location) if group.rows]
    if not groups:
        return ()
    try:
        rows = min(FIRST_ROWS, parquet_files.batch_rows(location, groups[0]))
        first = parquet_files.first_of(parquet_files.batches_of(location, groups[0], rows=rows))
    except parquet_files.LargePages:  # a scan reports it; the columns tell the layout
        return (dict.fromkeys(column_types(location)),)
    return tuple(parsers.showable(record) for record in python_rows(first, lambda _: False))


_PLAIN = frozenset({str, int, bool, type(None)})
_TEXTS = (pa.types.is_string, pa.types.is_large_string)
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_NUMBERS = (pa.types.is_integer, pa.types.is_floating)


def python_rows(batch: pa.RecordBatch, is_array: Callable[[str], bool]) -> Iterator[Record]:
    """Yield the rows of a batch; lists of numbers in columns selected by `is_array` are float64 arrays.

    In a column with invalid UTF-8, U+FFFD replaces unreadable bytes.
    """
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not (is_array(name) and _is_any(column.type, _LISTS) and _is_any(column.type.value_type, _NUMBERS)):
            columns[name] = python_values(column)
            continue
        lists = [value.values for value in column]
        with np.errstate(all="ignore"):  # a signalling NaN
            floats = (None if own is None else own.to_numpy(zero_copy_only=False) for own in lists)
            columns[name] = [None if own is None else np.asarray(own, np.float64) for own in floats]
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def python_values(column: pa.Array) -> list[Any]:
    """Return the values of a column in the types of JSON; see `python_rows` for invalid UTF-8."""
    try:
        values = column.to_pylist()
    except (UnicodeDecodeError, OverflowError, ValueError):
        values = [readable(value) for value in column]
    return values if _is_plain(column.type) else [_as_json(value) for value in values]


def readable(value: pa.Scalar) -> Any:
    """Return the value of a cell: the readable part of a text with invalid UTF-8, None for a list or object with one.

    A date or a duration that Python cannot hold is the number that is stored, with its type.
    """
    try:
        return value.as_py()
    except (OverflowError, ValueError) as error:
        if not isinstance(error, UnicodeDecodeError):
            return f"{getattr(value, 'value', '')} ({value.type})"
        is_text = _is_any(value.type, _TEXTS)
        return value.cast(pa.large_binary()).as_py().decode("utf-8", errors="replace") if is_text else None


def _as_json(value: Any) -> Any:
    """Return a value in the types of JSON: maps become objects, bytes and dates texts, decimals numbers."""
    if type(value) in _PLAIN or isinstance(value, float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _as_json(member) for key, member in value.items()}
    if isinstance(value, list) and value and set(map(type, value)) == {tuple}:  # a map
        return {str(key): _as_json(member) for key, member in value}
    if isinstance(value, list):
        return [_as_json(member) for member in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if hasattr(value, "as_integer_ratio"):
        return float(value) if math.isfinite(value) else math.nan
    return str(value)


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether the values of a type have types of JSON."""
    if pa.types.is_struct(kind):
        return all(_is_plain(kind.field(number).type) for number in range(kind.num_fields))
    if _is_any(kind, _LISTS):
        return _is_plain(kind.value_type)
    return _is_any(kind, (*_TEXTS, *_NUMBERS, pa.types.is_boolean, pa.types.is_null))


def _is_any(kind: pa.DataType, tests: tuple[Callable[[pa.DataType], bool], ...]) -> bool:
    return any(test(kind) for test in tests)


LEADING_ROWS = 64
"""The first rows of a file, whose repeated texts show the size of its groups."""
MANY_ROWS = 2**12
MANY_BYTES = 4 * parquet_files.BATCH_BYTES
"""A row group of at most this size is decoded `MANY_ROWS` at a time if memory holds each different text once."""


@while_unchanged(parquet_files.KEPT_FOOTERS, errors=parquet_files.UNREADABLE, otherwise={})
def column_types(location: Location) -> dict[str, str]:
    """Return the Arrow types of a file's columns, in order; empty for an unreadable file."""
    if not any(group.rows for group in parquet_files.groups_of(location)):
        return {}
    with parquet_files.opened_table(location) as file:
        return {field.name: str(field.type) for field in file.schema_arrow}


@while_unchanged(parquet_files.KEPT_FOOTERS, errors=parquet_files.UNREADABLE, otherwise=())
def repeats(location: Location, column: str) -> tuple[int, ...]:
    """Return, for each row, how many earlier stretches of rows have the same value in a column."""
    counts: list[int] = []
    times: Counter[str] = Counter()
    last = None
    for group in parquet_files.groups_of(location):
        for values in _digests(location, group, column, MANY_ROWS):
            for value, count in values:
                times[value] += value != last
                last = value
                counts += [times[value] - 1] * count
    return tuple(counts)


def _digests(
    location: Location, group: parquet_files.RowGroup, column: str, rows: int
) -> Iterator[list[tuple[str, int]]]:
    """Yield the hashes of a column's values in batches, each with the length of its stretch of rows.

    A column of texts is read as numbers of its different texts, so memory holds a repeated text once.
    """
    is_small = group.rows > 0 and group.size_bytes <= MANY_BYTES
    texts = [column] if is_small and column_types(location).get(column) in ("string", "large_string") else []
    for batch in parquet_files.batches_of(location, group, [column], rows if texts else 0, texts):
        values = batch.column(0)
        if not pa.types.is_dictionary(values.type):
            yield [(parsers.digest(parsers.joined(row.get(column))), 1) for row in python_rows(batch, lambda _: False)]
            continue
        numbers = values.indices.to_numpy(zero_copy_only=False)  # floats if the column has nulls, which are NaN
        numbers = np.nan_to_num(numbers, nan=-1).astype(np.int64)
        starts = np.flatnonzero(np.diff(numbers, prepend=-2))
        lengths = np.diff(starts, append=len(numbers))
        used, places = np.unique(numbers[starts], return_inverse=True)
        digests = []
        for number in used.tolist():  # a text is copied alone, as it may be large; a null has a negative number
            text = python_values(values.dictionary.slice(number, 1))[0] if number >= 0 else None
            digests.append(parsers.digest(parsers.joined(text)))
        yield [(digests[place], count) for place, count in zip(places.tolist(), lengths.tolist(), strict=True)]


@while_unchanged(1024, errors=parquet_files.UNREADABLE, otherwise=())
def leading_texts(location: Location, column: str) -> tuple[str, ...]:
    """Return the hashes of a column's values in the first rows of a file; empty for an unreadable file."""
    groups = [group for group in parquet_files.groups_of(location) if group.rows]
    digests: list[str] = []
    for values in _digests(location, groups[0], column, LEADING_ROWS) if groups else ():
        digests += [value for value, count in values for _ in range(count)]
        if len(digests) >= LEADING_ROWS:
            break
    return tuple(digests[:LEADING_ROWS])
