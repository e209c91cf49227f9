"""Rows of anybody's files: a reader for each kind of file, JSON lines, Parquet, CSV, TSV and JSON documents."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import TypeVar

import numpy as np

from rolloupe import tokens
from rolloupe.formats.base import NO_ANNOTATIONS, Annotations, changed, no_sample, no_tokens
from rolloupe.formats.generic.documents import DELIMITED, Header, PlacedRow, header_of, is_document, row_in, rows_in
from rolloupe.formats.generic.groups import goes_by_prompt
from rolloupe.formats.generic.mapped_samples import samples_in
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import plain_name, while_unchanged
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.records import Record, Uncut, Unusable
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.tables.parquet import ParquetFormat
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleRow, Scanned, Source
from rolloupe.storage import path_state
from rolloupe.tokens import SampleTokens

T = TypeVar("T")

PARQUET = ".parquet"
TABLES = (PARQUET, ".json", *DELIMITED)
FIRST_BYTES = 2**20
LOOKED_BYTES = 2**25
"""How much of a document is looked at that is one object."""
FIRST_ROWS = 8
HEAD_BYTES = 2**12
KEPT_BYTES = 2**26
"""A line may have as many."""

_prepared: Lru[tuple[object, ...], Record] = Lru(entries=2, total=KEPT_BYTES)
"""Prepared records by their bytes, or by their places: samples of one are loaded one after another."""


def ending_of(path: str) -> str:
    """Return the suffix of a table; empty for any other file."""
    return next((ending for ending in TABLES if plain_name(path).endswith(ending)), "")


class DividedRecord(Record):
    """A record that holds several samples, with these."""

    def __init__(self, record: Record, samples: list[Record]) -> None:
        super().__init__(record)
        self.samples = samples


class AnyRows(NamedRows):
    """Rows under usual names, or those of a person's field map; a row may hold several samples."""

    name = "generic"
    title = "rows with text and a score"

    def prepared(self, run: RunInfo, record: Record) -> Record:
        """See `RecordFormat`: the one sample in a record, or a record with its samples. Raises `Unusable`."""
        samples = samples_in(record, run.reading.fields)
        return samples[0] if len(samples) == 1 else DividedRecord(record, samples)

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        if not isinstance(record, DividedRecord):
            return [self.row(source, record, start, length)]
        found: list[Scanned] = []
        for number, own in enumerate(record.samples):
            try:
                found.append(_number(self.row(source, own, start, length), number))
            except Unusable as error:
                reason = f"sample {number}: {error}"
                found.append(Problem(source=source.name, reason=reason, start=start, stop=start + length))
        return found

    def own_record(self, record: Record, row: SampleRow) -> Record:
        return record.samples[int(row.part.rpartition(".")[2])] if isinstance(record, DividedRecord) else record

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        return super().sample(self.own_record(record, row), row, locator)

    def part_of(self, run: RunInfo, source: Source, locator: Locator, record: Record) -> tuple[Record, SampleRow]:
        """One of the samples that a prepared record holds: its own record, and its row. Raises `Unusable`."""
        samples = record.samples if isinstance(record, DividedRecord) else [record]
        number = int(locator.part or 0)
        if len(samples) <= number or (len(samples) > 1) != bool(locator.part):
            raise Unusable(f"its part {locator.part!r} is gone")
        (row,) = self.rows_of(run, source, samples[number], locator.start, locator.length)
        if not isinstance(row, SampleRow):
            raise Unusable("it is no sample")
        return samples[number], _number(row, number) if locator.part else row


def _number(row: SampleRow, number: int) -> SampleRow:
    """Number the row of one of several samples in a record."""
    if not row.prompt and goes_by_prompt(row):
        row.group = row.index  # responses without a prompt, which one record holds
    row.index, row.ordinal, row.part = f"{row.index}.{number}", row.start + number, str(number)
    return row


class LineRows(AnyRows, JsonlFormat):
    """Rows of JSON lines."""

    def _parsed(self, run: RunInfo, source: Source, data: bytes, locator: Locator) -> tuple[Record, SampleRow]:
        if not locator.part:
            return super()._parsed(run, source, data, locator)
        key = data, run.reading.fields  # samples read in order pass the same bytes object, whose hash is known
        try:
            record = _prepared.get_or_make(key, lambda: self.prepared(run, parse(data)), lambda _: len(data))
            return self.part_of(run, source, locator, record)
        except Unusable as error:
            raise changed(source, locator.start, str(error)) from None

    def samples_at(self, run: RunInfo, source: Source, places: Sequence[Locator]) -> Iterator[Sample | Problem]:
        return self.samples_in_order(run, source, places, self.annotate)


class ParquetRows(AnyRows, ParquetFormat):
    """Rows of Parquet files."""

    def prepared(self, run: RunInfo, record: Record) -> Record:
        try:
            return super().prepared(run, record)
        except Uncut:
            lists = {key: value.tolist() for key, value in record.items() if isinstance(value, np.ndarray)}
            return super().prepared(run, record | lists)


class DocumentRows(AnyRows):
    """Rows of CSV, TSV and JSON documents. A scan reads the file up to `MAX_BYTES`."""

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        return [record for location in some for record in first_rows(location)]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        with open_binary(source.location) as file:
            for placed in rows_in(file, ending_of(source.path)):
                if placed.start >= stop:
                    return
                if placed.start >= start:
                    yield from self._scanned(run, source, placed)

    def _scanned(self, run: RunInfo, source: Source, placed: PlacedRow) -> Iterable[Scanned]:
        start, stop, record, reason, may_grow = placed
        if record is not None:
            try:
                return self.rows_of(run, source, self.prepared(run, record), start, stop - start)
            except Unusable as error:
                reason = str(error)
            except Exception as error:  # a defect of ours must not cost the rows after it
                reason = self.failure(error)
        return [Problem(source=source.name, reason=reason, start=start, stop=stop, transient=may_grow)]

    def record_at(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow] | None:
        return self._record_and_row(run, source, locator)

    def token_arrays(
        self,
        run: RunInfo,
        source: Source,
        places: Sequence[Locator],
        annotations: Annotations = NO_ANNOTATIONS,  # noqa: ARG002
    ) -> Iterator[SampleTokens | Problem]:
        """See `Format`. Nothing annotates such files."""
        return self._in_order(run, source, places, tokens.tokens_of, no_tokens)

    def samples_at(self, run: RunInfo, source: Source, places: Sequence[Locator]) -> Iterator[Sample | Problem]:
        return self._in_order(run, source, places, lambda sample: sample, no_sample)

    def _in_order(
        self,
        run: RunInfo,
        source: Source,
        places: Sequence[Locator],
        of: Callable[[Sample], T],
        failed: Callable[[Source, Locator, Exception], Problem],
    ) -> Iterator[T | Problem]:
        """Read each record once, however large it is and however many samples it holds."""
        for _, several in groupby(places, lambda place: (place.start, place.length)):
            whole: Record | None = None
            for place in several:
                try:
                    whole = self._whole(run, source, place) if whole is None else whole
                    record, row = self.part_of(run, source, place, whole)
                    yield of(self.sample(record, row, place))
                except Exception as error:  # must not cost the samples after it
                    yield failed(source, place, error)

    def _record_and_row(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        try:
            state = path_state(source.path)
            place = locator.start, locator.length, state.st_ino, state.st_size, state.st_mtime_ns
            key = source.location, place, run.reading.fields
            whole = _prepared.get_or_make(key, lambda: self._whole(run, source, locator), lambda _: locator.length)
            return self.part_of(run, source, locator, whole)
        except Unusable as error:
            raise changed(source, locator.start, str(error)) from None
        except OSError as error:
            raise changed(source, locator.start, error.strerror or str(error)) from None

    def _whole(self, run: RunInfo, source: Source, locator: Locator) -> Record:
        """The prepared record at a place. Raises `Unusable`, and `SourceChanged`."""
        data = self.read(source, locator.start, locator.length)
        if len(data) < locator.length:
            raise changed(source, locator.start, "the file ends before it")
        return self.prepared(run, row_in(data, _header(source.location)))


@while_unchanged(512)
def _header(location: Location) -> Header:
    with open_binary(location) as file:
        return header_of(file.read(FIRST_BYTES), ending_of(location.path))


def is_read_whole(location: Location) -> bool:
    """Return whether a file is a table or a document, which is read as a whole; JSON lines are not."""
    if ending_of(location.path):
        return True
    try:
        return _begins_document(location)
    except OSError:
        return False


def _state_of_beginning(location: Location) -> tuple[int, int]:
    state = path_state(location.path)
    return state.st_ino, min(state.st_size, HEAD_BYTES)


@while_unchanged(4096, _state_of_beginning)
def _begins_document(location: Location) -> bool:
    """Whether a file named like JSON lines holds a document over several lines."""
    with open_binary(location) as file:
        return is_document(file.read(HEAD_BYTES))


def first_rows(location: Location) -> tuple[Record, ...]:
    """Return the first rows of a table, long values cut short; nothing of an unreadable file."""
    try:
        return rows_at_start(location)
    except OSError:
        return ()


@while_unchanged(512)
def rows_at_start(location: Location) -> tuple[Record, ...]:
    """Return the first rows of a table as `first_rows` does. Raises OSError."""
    ending = ending_of(location.path)
    if ending == PARQUET:
        return tuple(ParquetRows().first_records([location]))
    is_table = ending in DELIMITED
    with open_binary(location) as file:
        found = _few(rows_in(file, ending, LOOKED_BYTES if is_table else FIRST_BYTES))
        file.seek(0)
        if not found and not is_table and file.read(FIRST_BYTES).lstrip()[:1] == b"{":
            file.seek(0)
            found = _few(rows_in(file, ending, LOOKED_BYTES))  # one object, whose list may be long
    return tuple(map(fields.showable, found))


def _few(rows: Iterator[PlacedRow]) -> list[Record]:
    return [*islice((placed.record for placed in rows if placed.record is not None), FIRST_ROWS)]
