"""The parts of a source: fixed byte ranges that own the records beginning in them, and the tables of these records.

The grid of parts divides a compressed source's uncompressed stream, whose length is mostly unknown until it is read.
Files with a person's own scores, lines of JSON outside the run, are cut and read in the same way.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from rolloupe import text
from rolloupe.formats import by_name, compression_of, extent
from rolloupe.formats.reading.line_reader import lines
from rolloupe.formats.reading.stream import open_binary
from rolloupe.index.segments.columns import metric_column, tag_column
from rolloupe.index.segments.kind import NEVER, until
from rolloupe.index.segments.launches import StepBlock, blocks_of, launches_at
from rolloupe.index.segments.samples import DEFAULTS, Names, SampleCollector, names_of
from rolloupe.model import (
    ANNOTATED,
    COLUMNS,
    KNOWN,
    Annotation,
    Location,
    Problem,
    RunInfo,
    SampleColumns,
    Source,
)
from rolloupe.storage import Interrupted, next_data, open_file

GRID_BYTES = 16 * 2**20
"""Small enough to show the newest part of a huge file at once, large enough for few segments."""


def span_of(splittable: bool, path: str, part: int, size: int) -> tuple[int, int]:
    """The byte range of a part of a file of `size` bytes; if the file is compressed, the range is of its stream."""
    if not splittable:
        return 0, size
    start, stop = grid_span(part)
    return start, stop if has_open_grid(splittable, path) else min(stop, size)


def parts_of(splittable: bool, size: int) -> int:
    """The number of parts of a file of `size` bytes."""
    return max(1, -(-size // GRID_BYTES)) if splittable else 1


def parts_with_data(location: Location, count: int) -> list[int]:
    """The parts of a file, except parts inside a hole of a sparse file; all parts if the file cannot be opened."""
    parts = [0]
    try:
        with open_file(location, buffering=0) as file:
            while (part := parts[-1] + 1) < count:
                # a hole that begins with a part belongs to it, so the byte before it counts too
                at = next_data(file, grid_span(part)[0] - 1)
                parts.append(max(part, at // GRID_BYTES))
    except OSError:
        return list(range(count))
    return [part for part in parts if part < count]


def has_open_grid(splittable: bool, path: str) -> bool:
    """True if the grid divides a stream of unknown length: that of a compressed file."""
    return splittable and bool(compression_of(path))


def grid_span(part: int) -> tuple[int, int]:
    """The byte range of a part, regardless of the stream's end."""
    return part * GRID_BYTES, (part + 1) * GRID_BYTES


def reaches(location: Location, part: int) -> bool:
    """Tell whether the stream of a compressed file reaches the end of a part."""
    stop = grid_span(part)[1]
    try:
        return extent(location, stop).stop == stop
    except OSError:
        return False


SUFFIX = ".jsonl"


class ScoreLine(msgspec.Struct, omit_defaults=True):
    """A line of a file of scores."""

    place: str = ""
    id: str = ""
    """The id that the sample had, for people who read the file."""
    metrics: dict[str, float] = {}
    tags: dict[str, str] = {}
    about: dict[str, Any] = {}
    """In the first line: how the scores were made."""


_decode_scores = msgspec.json.Decoder(ScoreLine).decode


def scan_scores(source: Source, start: int, stop: int) -> Iterator[Annotation | Problem]:
    """Yield the scores of the lines that begin in `[start, stop)`."""
    with open_binary(source.location, 2**13) as file:
        for line in lines(file, start, stop):
            reason, transient = "not a line of scores", not line.ended
            try:
                of = _decode_scores(line.data or b"")
            except (msgspec.MsgspecError, ValueError):
                yield Problem(source=source.name, reason=reason, start=line.start, stop=line.stop, transient=transient)
                continue
            if of.place:
                yield Annotation(uid=of.place, start=line.start, length=line.length, metrics=of.metrics, tags=of.tags)


ANNOTATION_ROWS = 8192
"""The annotations of a row group, sorted by uid: queries skip groups by their least and greatest uid."""

WORD = pa.dictionary(pa.int32(), pa.string())
ARROW_TYPES: dict[str, pa.DataType] = {
    "integer": pa.int64(), "short": pa.int32(), "number": pa.float64(), "text": pa.string(), "word": WORD,
}  # fmt: skip
LARGEST = {"integer": 2**63 - 1, "short": 2**31 - 1}


class Scan(NamedTuple):
    """The records in a byte range of a source, and the end of the last one."""

    source: Source
    samples: SampleColumns
    annotations: list[Annotation]
    problems: list[Problem]
    names: Names
    stop: int
    unfinished: bool
    blocks: list[StepBlock]

    @property
    def records(self) -> int:
        """The number of samples, or of annotations."""
        return len(self.annotations) if self.source.annotates else self.samples.count

    def table(self) -> pa.Table:
        """The scalars, in the form of a segment."""
        name = self.source.name
        if self.source.annotates:
            return annotations_of(self.annotations, name, self.names)
        return table_of(self.samples, name)

    def as_stored(self) -> tuple[pa.Table, int | None]:
        """The table to store, and the size of its row groups: annotations are sorted to find those of one sample."""
        table = self.table()
        if not self.source.annotates:
            return table, None
        return table.sort_by([(name, "ascending") for name in ("uid", "byte_start", "nth")]), ANNOTATION_ROWS


def scan(run: RunInfo, source: Source, start: int, stop: int, ended: threading.Event = NEVER) -> Scan:
    """Scan the records that begin in `[start, stop)`. Raises `EndedEarly`."""
    collected = SampleCollector()
    annotations: list[Annotation] = []
    problems: list[Problem] = []
    end, unfinished = start, False
    try:
        scores = scan_scores(source, start, stop) if source.scores else None
        for item in until(ended, scores or by_name(run.format).scan_columns(run, source, start, stop)):
            if isinstance(item, Problem):
                problems.append(item)
                unfinished = unfinished or item.transient
                end = end if item.transient else max(end, item.stop or end)
            elif isinstance(item, SampleColumns):
                collected.add_all(item)
                end = max(end, item.fields["start"][-1] + item.fields["length"][-1])
            else:
                if isinstance(item, Annotation):
                    annotations.append(item)
                else:
                    collected.add(item)
                end = max(end, item.start + item.length)
    except Interrupted:
        raise
    except OSError as error:
        reason = f"could not be read: {error.strerror}"
        problems.append(Problem(source=source.name, reason=reason, transient=True))
        unfinished = True
    samples, names = collected.finish()
    blocks = blocks_of(samples)
    if source.launches and samples.count:
        samples.fields = {**samples.fields, "launch": launches_at(samples.fields["start"], source.launches)}
    names = names_of(annotations) if source.annotates else names
    return Scan(source, samples, annotations, problems, names, end, unfinished, blocks)


def table_of(samples: SampleColumns, source: str) -> pa.Table:
    """Build the scalar table of some samples of one source. Integers that do not fit are replaced."""
    columns, constant = {}, {**DEFAULTS, "source": source}
    for column in COLUMNS:
        kind = ARROW_TYPES[column.type]
        if column.name not in samples.fields:
            columns[column.stored] = _repeated(constant.get(column.name), samples.count, kind)
            continue
        own = samples.fields[column.name]
        try:
            columns[column.stored] = pa.array(own, kind)
        except (OverflowError, pa.ArrowInvalid):
            largest = LARGEST[column.type]
            beyond = largest if column.type == "short" else None
            bounded = [value if value is None or -largest <= value <= largest else beyond for value in own]
            columns[column.stored] = pa.array(bounded, kind)
    arrays = {metric_column(name): values for name, values in samples.metrics.items()}
    arrays |= {tag_column(name): pa.array(values, pa.string()) for name, values in samples.tags.items()}
    return pa.Table.from_arrays([*columns.values(), *arrays.values()], names=[*columns, *arrays])


def _repeated(value: Any, count: int, kind: pa.DataType) -> pa.Array:
    """An array of one value."""
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([value], pa.string())
        )
    return pa.repeat(pa.scalar(value, kind), count)


def annotations_of(annotations: Sequence[Annotation], source: str, names: Names) -> pa.Table:
    """Build the table of annotations of one source: newer ones have greater `source`, `byte_start`, `nth`."""
    count, place = len(annotations), text.natural(source)
    columns = {
        "uid": pa.array([annotation.uid for annotation in annotations], pa.string()),
        "source": pa.array([place] * count, WORD),
        "file": pa.array([source] * count, WORD),
        "byte_start": pa.array([annotation.start for annotation in annotations], pa.int64()),
        "byte_length": pa.array([annotation.length for annotation in annotations], pa.int64()),
        "nth": pa.array(range(count), pa.int64()),
    }
    for column in (KNOWN[name] for name in ANNOTATED):
        type_ = pa.string() if column.type == "word" else ARROW_TYPES[column.type]
        columns[column.stored] = pa.array([getattr(annotation, column.name) for annotation in annotations], type_)
    for name in names.metrics:
        columns[metric_column(name)] = pa.array([item.metrics.get(name) for item in annotations], pa.float64())
    for name in names.tags:
        columns[tag_column(name)] = pa.array([item.tags.get(name) for item in annotations], pa.string())
    return pa.table(columns)
