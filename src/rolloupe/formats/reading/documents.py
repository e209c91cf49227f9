"""Formats of documents, whose samples are known by number; and readers of JSON documents.

A document of JSON or YAML, an archive or a database is scanned whole, and the place of a sample is its number.
`ByEnding` is for formats whose runs hold files of several kinds.
"""

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Any

import msgspec

from rolloupe.formats.base import Format, changed
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import cause_of, while_unchanged
from rolloupe.formats.reading.line_reader import BOM, parse
from rolloupe.formats.reading.peek import first_keys
from rolloupe.formats.reading.records import Record, RecordFormat, Unusable, row_at
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trainer_files import document, read_bytes
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, Problem, RunInfo, SampleRow, Scanned, Source
from rolloupe.storage import file_state, stamp_of_state

MAX_BYTES = 256 * 2**20
HEAD_BYTES = 2**11
LIMITS = (2**16, 2**20, 2**24)
"""Sizes of the beginning to read, tried in turn until it holds the wanted member."""
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


@while_unchanged(4096, errors=(OSError,), otherwise={})
def beginning(location: Location, *, is_list: bool = False) -> Record:
    """Return the first members of a document, or of the first object in its list; empty for any other file.

    The last value is replaced by an empty one of its type.
    """
    with open_binary(location) as file:
        head = file.read(HEAD_BYTES).removeprefix(BOM).lstrip(b" \t\r\n")
    return first_keys(head.removeprefix(b"[") if is_list else head)


def members_before(location: Location, key: str) -> Record:
    """Return the members of a document before `key`; none if that is not in its first megabytes."""
    for limit in LIMITS:
        data = read_bytes(location, limit)
        members = first_keys(data.removeprefix(BOM))
        if key in members:
            return {name: members[name] for name in takewhile(key.__ne__, members)}
        if len(data) < limit:
            break
    return {}


class ListDocument:
    """A document with a list of objects under one key, and its other members."""

    def __init__(self, data: bytes, key: str) -> None:
        """Decode a document. Raises `Unusable`."""
        self.size_bytes = len(data)
        try:
            raw = _members(data.removeprefix(BOM))
            self._listed: list[Any] = _elements(raw.pop(key)) if key in raw else []
            self.rest: Record = parse(msgspec.json.encode(raw))
        except (msgspec.DecodeError, ValueError, RecursionError, Unusable):
            whole = document(data)  # with NaN
            if not isinstance(whole, dict):
                raise Unusable("not a JSON object") from None
            listed = whole.pop(key, None)
            self._listed = listed if isinstance(listed, list) else []
            self.rest = whole

    def __len__(self) -> int:
        return len(self._listed)

    def element(self, number: int) -> Record:
        """Return an object of the list. Raises `Unusable`."""
        element = self._listed[number]
        if isinstance(element, msgspec.Raw):
            return parse(bytes(element))
        if not isinstance(element, dict):
            raise Unusable("no JSON object")
        return element


_documents: Lru[tuple[Location, str, int, int, int], ListDocument] = Lru(entries=2, total=MAX_BYTES)


def list_document(location: Location, key: str) -> ListDocument:
    """Return a document, decoded once until it changes. Raises `Unusable` and OSError."""

    def read() -> ListDocument:
        with open_binary(location) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise Unusable(f"a document of more than {MAX_BYTES >> 20} MiB: not read")
        return ListDocument(data, key)

    stamp = stamp_of_state(file_state(location))
    return _documents.get_or_make((location, key, *stamp), read, lambda document: document.size_bytes)


MAX_SAMPLES = 100_000
"""The most samples of a record."""


def sample_count(record: Record, column: str) -> int:
    """Return how many samples a column holds. Raises `Unusable`."""
    values = record.get(column)
    if not isinstance(values, list):
        raise Unusable(f"an object without a list under {column!r} holds no columns of samples")
    if len(values) > MAX_SAMPLES:
        raise Unusable(f"more than {MAX_SAMPLES:,} samples in a line: not read")
    return len(values)


def columns_at(record: Record, number: int, count: int) -> Record:
    """Return a record with element `number` of each list of `count` elements; other values belong to all samples.

    Lists of other lengths are left out.
    """
    return {
        key: value[number] if isinstance(value, list) else value
        for key, value in record.items()
        if not isinstance(value, list) or len(value) == count
    }


def unpacked(value: object) -> Any:
    """Return the object or list that a text of JSON holds; any other value unchanged."""
    if not (isinstance(value, str) and value[:1] in ("{", "[")):
        return value
    try:
        return document(value.encode("utf-8", "surrogatepass"))
    except Unusable:
        return value


PART = "sample"


class NumberedFormat(RecordFormat):
    """A format whose files hold samples by number. `row` receives the number as `start`."""

    splittable = False

    @abstractmethod
    def numbered(self, location: Location, within: str) -> Iterator[tuple[int, Record | Unusable]]:
        """Yield the records of a run in a file with their numbers, or why one cannot be read.

        `within` names the run, if the file holds several. Raises `Unusable` for the file, and OSError.
        """

    def numbered_record(self, location: Location, number: int) -> Record:
        """Return one record. Raises `Unusable` and OSError."""
        listed = self.numbered(location, "")
        record = next((record for at, record in listed if at == number), Unusable("it has no such sample"))
        if isinstance(record, Unusable):
            raise record
        return record

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        try:
            listed = [record for location in some[:1] for _, record in islice(self.numbered(location, ""), 2)]
        except (Unusable, OSError):
            return []
        return [record for record in listed if not isinstance(record, Unusable)]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`: scans a file whole."""
        if start or stop <= start:
            return
        try:
            for number, record in self.numbered(source.location, run.within):
                yield from self._items(run, source, record, number)
        except (Unusable, OSError) as error:
            yield Problem(source=source.name, reason=cause_of(error), start=0, transient=True)

    def _items(self, run: RunInfo, source: Source, record: Record | Unusable, number: int) -> list[Scanned]:
        if isinstance(record, Unusable):
            reason = str(record)
        else:
            try:
                return self._rows(run, source, self.prepared(run, record), number)
            except Exception as error:  # a defect must not cost the samples after it
                reason = self._why_not(error)
        return [Problem(source=source.name, reason=f"sample {number}: {reason}")]

    def _rows(self, run: RunInfo, source: Source, record: Record, number: int) -> list[Scanned]:
        rows = self.rows_of(run, source, record, number, 0)
        for row in rows:
            if isinstance(row, SampleRow):
                row.part = f"{PART}.{row.part}" if row.part else PART
        return rows

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`. Returns the sample as JSON, whatever the format of the file."""
        try:
            record = self.numbered_record(source.location, locator.start)
        except (Unusable, OSError) as error:
            raise changed(source, locator.start, cause_of(error)) from None
        return json.dumps(parsers.showable(record), ensure_ascii=False).encode("utf-8", "surrogatepass")

    def _record_and_row(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        try:
            record = self.prepared(run, self.numbered_record(source.location, locator.start))
            rows = self._rows(run, source, record, locator.start)
        except (Unusable, OSError) as error:
            raise changed(source, locator.start, cause_of(error)) from None
        return record, row_at(rows, source, locator)


def _of_reader(name: str) -> Any:
    """Return a method that is the same method of the reader of the source in its arguments."""

    def method(self: "ByEnding", *given: Any, **named: Any) -> Any:
        source = next(argument for argument in given if isinstance(argument, Source))
        return getattr(self.reader_of(source), name)(*given, **named)

    return method


class ByEnding(Format):
    """A format that leaves its files to other readers."""

    @abstractmethod
    def reader_of(self, source: Source) -> Format:
        """Return the format that reads a file."""

    scan, scan_columns, load, load_texts, raw, record_at, token_arrays, samples_at = map(
        _of_reader, ("scan", "scan_columns", "load", "load_texts", "raw", "record_at", "token_arrays", "samples_at")
    )
