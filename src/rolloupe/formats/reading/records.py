"""Formats whose samples are records: a line of JSON, a row of a table. Subclasses interpret the record.

Formats of lines and of Parquet files share this base, so that an author writes the same code for both.
"""

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from rolloupe import text
from rolloupe.formats.base import Format, changed
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.field_map import MISSING, member
from rolloupe.formats.reading.files import (
    alone,
    file_count,
    files,
    is_one_file,
    links_of,
    plain_name,
    source_at,
    stem,
    telling_name,
)
from rolloupe.model import Location, Locator, RunInfo, RunPart, Sample, SampleRow, Scanned, Source, Texts, Turn
from rolloupe.storage import is_below, is_file

TOO_LARGE = "is beyond 2^53: a browser cannot tell such a number from its neighbours"
Record = dict[str, Any]
Completion = Callable[[Record, SampleRow], None]
"""Adds to a row the facts about its record that come from elsewhere."""


class Unusable(Exception):
    """Raised for a record that cannot become a sample; its text is the reason, for a person."""


class Uncut(Exception):
    """Raised for a record whose long arrays a format needs as lists: see `RecordFormat.may_cut`."""


class References(NamedTuple):
    """The references of a sample: the ground truth, and the response of the reference model."""

    label: str
    turns: list[Turn]


class RecordFormat(Format):
    """The base of formats of records. A small format needs only `name`, `title`, `fits` and `row`."""

    suffixes: ClassVar[tuple[str, ...]]
    """The suffixes of its files."""
    placed: ClassVar[frozenset[str]] = frozenset()
    """Keys that `row` and `sample` read; any other key becomes an extra field."""
    needed: ClassVar[frozenset[str]] = frozenset()
    """Keys that identify this layout, and no other, unless `fits` decides."""

    def fits(self, record: Record) -> bool:
        """Return whether a record's keys identify this layout, and no other. Long values are cut short."""
        return bool(self.needed) and record.keys() >= self.needed

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """Convert one record to a row. Raises `Unusable` for a record that is not a sample."""
        raise NotImplementedError

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """Convert one record to rows: one, or several samples with distinct values of `part`."""
        return [self.row(source, record, start, length)]

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """Convert one record to a whole sample: by default, a turn for the prompt and one for the response."""
        references = self.references(record) or References("", [])
        return parsers.sample_of(
            row,
            locator,
            row.prompt,
            row.response,
            label=references.label,
            ref_turns=references.turns,
            extra={key: parsers.showable(value) for key, value in record.items() if key not in self.placed},
        )

    def _why_not(self, error: Exception) -> str:
        """Return why a record is not a sample: the text of `Unusable`, or of a defect, that of `failure`."""
        return str(error) if isinstance(error, Unusable) else self.failure(error)

    def _record_and_row(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        """Read the prepared record at a place, and the row of its sample. Raises `SourceChanged`.

        A format that does not override it has its own `load`.
        """
        raise NotImplementedError

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        record, row = self._record_and_row(run, source, locator)
        sample = self.sample(record, row, locator)
        self.annotate(run, record, sample)
        return sample

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        own = type(self)
        is_plain = RecordFormat._record_and_row is own._record_and_row  # noqa: SLF001 - the same class
        if RecordFormat.references is own.references or is_plain:
            return None
        return self.texts_of(*self._record_and_row(run, source, locator))

    series_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys whose lists `sample`, too, reads only with `tokens`: a loaded sample gets them as arrays."""

    def may_cut(self, key: str) -> bool:  # noqa: ARG002
        """Return whether `rows` reads lists under this key only with `tokens`, or not at all.

        Under such keys, a scan supplies long arrays of numbers as `tokens.Floats` in place of lists.
        """
        return False

    def needs_length(self, key: str) -> bool:  # noqa: ARG002
        """Return whether `rows` needs only the length of a list that may be cut.

        Under such keys, a scan may supply an array of NaN of that length.
        """
        return False

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        """Add to a sample what other files of its run say about it; nothing by default."""

    def references(self, record: Record) -> References | None:  # noqa: ARG002
        """Return the references of a sample; None if only `load` knows its texts."""
        return None

    def own_record(self, record: Record, row: SampleRow) -> Record:  # noqa: ARG002
        """Return the part of a record that belongs to a sample: the whole record, unless it holds several samples."""
        return record

    def prepared(self, run: RunInfo, record: Record) -> Record:  # noqa: ARG002
        """Return the record for `row` and `sample`, after applying a person's field map."""
        return record

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`: a file, or a folder in which at least one file holds a record that fits."""
        links = link_root or str(path.resolve())
        parts = self.parts(path, links)
        if is_one_file(path):
            places, links = [alone(path)], ""
        else:
            places = [place for part in parts for place in self.locations(part.path, links)]
        if not places or not (forced or self.fits_any(places)):
            return []
        return [self._run_at(path, self.reason(places), links, self.run_name(path), tuple(parts))]

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`: the files of each part."""
        links = links_of(run)
        found = []
        for part in run.parts:
            if is_file(part.path):
                places = [Location(part.path, links)]
            else:
                places = self.locations(part.path, links if is_below(part.path, links) else part.path)
            found += [self.source(run, part, place) for place in places]
        return found

    # `detect` and `sources` call these methods: a layout of folders overrides some of them.

    def parts(self, folder: Path, links: str) -> list[RunPart]:  # noqa: ARG002
        """Return the parts of a run at a folder or a file: by default, the place itself."""
        return [RunPart(str(folder))]

    def locations(self, folder: str, links: str) -> list[Location]:
        """Return the files of samples in a part: by default, its files with one of the suffixes."""
        return [entry.location for entry in files(folder, links, self.suffixes)]

    def fits_any(self, locations: Sequence[Location]) -> bool:
        """Return whether a record at the beginning of some files fits."""
        return any(map(self.fits, self.first_records(locations)))

    def reason(self, locations: Sequence[Location]) -> str:
        """Return why these files are a run, for a person."""
        return f"{file_count(locations)} of {self.title}"

    def run_name(self, path: Path) -> str:
        """Return the name of a run at a path: by default, the file's name without its suffix, or the name of the
        first folder, upwards, that does not only say what it holds, as `logs` does.
        """
        return self._stem(path.name) if is_one_file(path) else telling_name(path)

    def source(self, run: RunInfo, part: RunPart, location: Location) -> Source:
        """Return the source of a file: by default a number in its name is the step of its records."""
        return source_at(run, location, split=part.split, step=parsers.step_in(self._stem(location.path)))

    def _stem(self, path: str) -> str:
        name = plain_name(os.path.basename(path))
        return next((name.removesuffix(ending) for ending in self.suffixes if name.endswith(ending)), name)

    @abstractmethod
    def first_records(self, some: Sequence[Location]) -> list[Record]:
        """Return the first records of a few of these files, with long values cut short."""

    def rows_of(self, run: RunInfo, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """Convert a record to rows, and apply the group and the reward that a person chose. Raises `Unusable`."""
        rows = self.rows(source, record, start, length)
        for row in rows:
            if not isinstance(row, SampleRow):
                continue
            if parsers.is_too_large(row.step):
                raise Unusable(f"step {row.step} {TOO_LARGE}")
            if row.reward is None:
                row.tags = parsers.reward_texts(self.own_record(record, row)) | row.tags
            inexact = [name for name, value in row.metrics.items() if not -parsers.MAX_STEP < value < parsers.MAX_STEP]
            if inexact:  # integers that no float holds, such as ids, become tags: texts stay exact
                own = self.own_record(record, row)
                members = {**parsers.as_dict(own.get("metrics")), **own}
                for name in inexact:
                    if type(number := members.get(name)) is int:
                        del row.metrics[name]
                        row.tags[name] = str(number)[: parsers.MAX_TAG_CHARS]
            if run.reading.group_by:
                row.group = _group_by(run.reading.group_by, self.own_record(record, row), row, source)
            if key := run.reading.reward_key:
                row.reward = row.metrics.get(f"reward.{key}", row.metrics.get(key))
        return rows

    def texts_of(self, record: Record, row: SampleRow) -> Texts | None:
        """Return the texts of a sample without its turns; None if only `load` knows them."""
        references = self.references(self.own_record(record, row))
        return references and Texts(  # type: ignore[pyrefly:bad-return]
            key=row.key,
            prompt=row.prompt,
            response=row.response,
            label=references.label,
            reference="".join(map(text.verbatim, references.turns)),
        )


def row_at(rows: Sequence[Scanned], source: Source, locator: Locator) -> SampleRow:
    """Return the row of a record whose sample is at a place. Raises `SourceChanged`."""
    for row in rows:
        if isinstance(row, SampleRow) and row.part == locator.part:
            return row
    raise changed(source, locator.start, f"its part {locator.part!r} is gone")


def step_of(value: object) -> int | None:
    """Read a step, or None for null. Raises `Unusable` for a value that is not an integer, or too large to show."""
    if value is None or (type(value) is int and -parsers.MAX_STEP <= value <= parsers.MAX_STEP):
        return value
    if parsers.is_too_large(value):
        raise Unusable(f"step {str(value)[:40]} {TOO_LARGE}")
    step = parsers.integer(value)
    if step is None:
        shown = repr(value[:40]) if isinstance(value, str) else parsers.as_text(value)[:40]
        raise Unusable(f"step {shown} is not an integer")
    return step


def step_in(source: Source, *values: object) -> int:
    """Return the first step among some values of a record, else that of its file, else 0. Raises `Unusable`."""
    for value in values:
        if (step := step_of(value)) is not None:
            return step
    return source.step or 0


def _group_by(keys: str, record: Record, row: SampleRow, source: Source) -> str:
    """Return the group named by the values of columns, of any type; the row's own group if all columns are missing.

    `keys` is a column, or several separated by commas. `prompt` and `file` need no column.
    """
    names = []
    for key in [keys] if "," not in keys or member(record, keys) is not MISSING else keys.split(","):
        key = key.strip()  # noqa: PLW2901
        value = member(record, key)
        if value is MISSING:
            value = row.tags.get(key, row.metrics.get(key, MISSING))
        if value is MISSING and key in ("prompt", "file"):
            value = parsers.digest(row.prompt) if key == "prompt" else os.path.basename(stem(source.name))
        if value is not MISSING:
            names.append(parsers.name(value) or parsers.digest(parsers.as_text(value)))
    return (parsers.name("/".join(names)) or parsers.digest("")) if names else row.group
