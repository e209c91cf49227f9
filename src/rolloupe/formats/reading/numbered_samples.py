"""Formats whose samples lie in a document by number, and formats whose runs hold files of several kinds.

A document of JSON or YAML, the members of an archive, a database: such a file is scanned whole, and a sample's place
is its number.
"""

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from rolloupe.formats.base import NO_ANNOTATIONS, Annotations, Format, changed
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import cause_of
from rolloupe.formats.reading.records import Record, RecordFormat, Unusable, row_at
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleRow, Scanned, Source, Texts
from rolloupe.tokens import SampleTokens

PART = "sample"


class NumberedFormat(RecordFormat):
    """A format whose files hold samples by number. `row` receives the number as `start`."""

    splittable = False

    @abstractmethod
    def numbered(self, location: Location, within: str) -> Iterator[tuple[int, Record | Unusable]]:
        """Yield the records of a run in a file with their numbers, or why one cannot be read.

        `within` says which of the runs in the file. Raises `Unusable` for the file, and OSError.
        """

    def numbered_record(self, location: Location, number: int) -> Record:
        """Return one record. Raises `Unusable` and OSError."""
        listed = self.numbered(location, "")
        found = next((record for at, record in listed if at == number), Unusable("it has no such sample"))
        if isinstance(found, Unusable):
            raise found
        return found

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        found: list[Record] = []
        for location in some[:1]:
            try:
                found += [
                    record for _, record in islice(self.numbered(location, ""), 2) if not isinstance(record, Unusable)
                ]
            except (Unusable, OSError):
                continue
        return found

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`. A file is scanned whole."""
        if start or stop <= start:
            return
        try:
            for number, record in self.numbered(source.location, run.within):
                yield from self._items(run, source, record, number)
        except (Unusable, OSError) as error:
            yield Problem(source=source.name, reason=cause_of(error), start=0, transient=True)

    def _items(self, run: RunInfo, source: Source, record: Record | Unusable, number: int) -> list[Scanned]:
        reason = ""
        try:
            if not isinstance(record, Unusable):
                return self._rows(run, source, self.prepared(run, record), number)
        except Unusable as error:
            reason = str(error)
        except Exception as error:  # a defect must not cost the samples after it
            reason = self.failure(error)
        return [Problem(source=source.name, reason=f"sample {number}: {reason or record}")]

    def _rows(self, run: RunInfo, source: Source, record: Record, number: int) -> list[Scanned]:
        found = self.rows_of(run, source, record, number, 0)
        for row in found:
            if isinstance(row, SampleRow):
                row.part = f"{PART}.{row.part}" if row.part else PART
        return found

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`. Returns the sample as JSON, whatever the file is."""
        try:
            record = self.numbered_record(source.location, locator.start)
        except (Unusable, OSError) as error:
            raise changed(source, locator.start, cause_of(error)) from None
        return json.dumps(fields.showable(record), ensure_ascii=False).encode("utf-8", "surrogatepass")

    def _record_and_row(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        try:
            record = self.prepared(run, self.numbered_record(source.location, locator.start))
            rows = self._rows(run, source, record, locator.start)
        except (Unusable, OSError) as error:
            raise changed(source, locator.start, cause_of(error)) from None
        return record, row_at(rows, source, locator)


class ByEnding(Format):
    """A format that leaves its files to other readers."""

    @abstractmethod
    def reader_of(self, source: Source) -> Format:
        """Return what reads a file."""

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        return self.reader_of(source).scan(run, source, start, stop)

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        return self.reader_of(source).load(run, source, locator)

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        return self.reader_of(source).load_texts(run, source, locator)

    def raw(self, source: Source, locator: Locator) -> bytes:
        return self.reader_of(source).raw(source, locator)

    def record_at(self, run: RunInfo, source: Source, locator: Locator) -> tuple[dict[str, Any], SampleRow] | None:
        return self.reader_of(source).record_at(run, source, locator)

    def token_arrays(
        self, run: RunInfo, source: Source, places: Sequence[Locator], annotations: Annotations = NO_ANNOTATIONS
    ) -> Iterator[SampleTokens | Problem]:
        return self.reader_of(source).token_arrays(run, source, places, annotations)

    def samples_at(self, run: RunInfo, source: Source, places: Sequence[Locator]) -> Iterator[Sample | Problem]:
        return self.reader_of(source).samples_at(run, source, places)
