"""Scans a part of a source, and writes it as a segment.

Scanning a part is a pure function of the file's bytes, so any number of processes make the same segments, and writing
one (temporary name, then rename, the `.meta` file last) needs no lock. Readers ignore a `.meta` that is unreadable or
lacks its `.parquet`.
"""

import contextlib
import errno
import hashlib
import os
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from rolloupe import text
from rolloupe.columns import ANNOTATED, COLUMNS, KNOWN, ColumnType
from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name, extent
from rolloupe.index import fingerprint
from rolloupe.index.features.shares import ScanShare
from rolloupe.index.fingerprint import FileState, Fingerprint
from rolloupe.index.segments.columns import metric_column, names_of, tag_column, values_of
from rolloupe.index.segments.files import contents_of, discard
from rolloupe.index.segments.grid import grid_span, has_open_grid, span_of
from rolloupe.index.segments.kind import NEVER, Noted, PartRecords, SegmentKind, until
from rolloupe.index.segments.launches import StepBlock, blocks_of, number
from rolloupe.index.segments.scores import scan_scores
from rolloupe.index.segments.step_stats import StepStats, decoded, encoded, step_stats_of
from rolloupe.model import Annotation, Problem, RunInfo, RunLoss, SampleRow, Scanned, Source
from rolloupe.storage import Interrupted, atomic, open_file

LAYOUT = 22
"""Raise it when the names or places of files change: all indexes are then rebuilt. Kinds have their own versions."""

NUMBERS = SegmentKind("numbers", 7, ".parquet")
ANNOTATIONS = SegmentKind("annotations", 2, ".parquet")

PACK = ".pack.parquet"
"""The ending of a pack's file name."""

ANNOTATION_ROWS = 8192
"""The number of annotations, sorted by uid, in a row group: queries skip groups by their least and greatest uid."""

META_BYTES = 64 * 2**20
"""A larger `.meta` is nobody's: most have a kilobyte, one of thousands of steps a few megabytes."""

MAX_PROBLEMS = 1_000
"""The maximum number of listed problems: the first ones, and the last, which explains the end; all are counted."""


PREVIEW_CHARS = 240
END_CHARS = 160
"""More than a line of the list has room for."""

WORD = pa.dictionary(pa.int32(), pa.string())
ARROW_TYPES: dict[ColumnType, pa.DataType] = {
    "integer": pa.int64(), "short": pa.int32(), "number": pa.float64(), "text": pa.string(), "word": WORD,
}  # fmt: skip
LARGEST = {"integer": 2**63 - 1, "short": 2**31 - 1}


ZSTD = pa.Codec("zstd", 1)
LZ4 = pa.Codec("lz4")
"""For few numbers: as small, and written in half the time."""


class SegmentMeta(Struct, kw_only=True, gc=False):
    """The facts about a segment that the catalog needs."""

    version: int
    format: str
    source: str
    part: int
    start: int
    stop: int
    complete: bool
    """True if the segment covers the whole part: it is not scanned again while the file stays the same."""
    rows: int
    """The number of samples, without annotations."""
    duplicates: bool
    """True if two samples of the segment share a key."""
    fingerprint: Fingerprint
    step_stats: list[StepStats] = msgspec.field(name="sketches")
    """Stored as `sketches`."""
    metrics: list[str]
    tags: list[str]
    problems: list[Problem]
    problem_count: int
    scalar_bytes: int
    annotates: bool = False
    """True if it holds annotations instead of samples."""
    depends: str = ""
    """`Source.depends` at the scan."""
    texts_from: str = ""
    """`Source.texts_from` at the scan."""
    lacks_prompts: bool = False
    """True if some samples have no prompt, which another file may hold later."""
    annotates_discarded: bool = False
    """True if its annotations tell whether samples were trained on."""
    has_series: bool = True
    """False if the scan saw no token series in any sample."""
    annotated_series: Sequence[str] = ()
    """The token series for which its annotations hold values."""
    scores: bool = False
    """As in `Source`."""
    digest: str = ""
    """Names the contents: the numbers, and samples of the source's bytes."""
    blocks: Sequence[StepBlock] = ()
    """The steps in the order of the file; empty where nothing follows from it."""
    launches: tuple[int, ...] = ()
    """`Source.launches` at the scan."""


class Scan(NamedTuple):
    """The records in a byte range of a source, and the end of the last one."""

    source: Source
    rows: list[SampleRow]
    annotations: list[Annotation]
    problems: list[Problem]
    stop: int
    unfinished: bool
    blocks: list[StepBlock]

    @property
    def named(self) -> list[SampleRow] | list[Annotation]:
        """The records with sample metrics and tags."""
        return self.annotations if self.source.annotates else self.rows

    def table(self) -> pa.Table:
        """The scalars, in the form of a segment."""
        name = self.source.name
        return annotations_of(self.annotations, name) if self.source.annotates else table_of(self.rows, name)

    def as_stored(self) -> tuple[pa.Table, int | None]:
        """The table to store, and the size of its row groups: annotations are sorted, to find those of one sample."""
        table = self.table()
        if not self.source.annotates:
            return table, None
        return table.sort_by([(name, "ascending") for name in ("uid", "byte_start", "nth")]), ANNOTATION_ROWS


def _kind(*, annotates: bool) -> SegmentKind:
    return ANNOTATIONS if annotates else NUMBERS


def scan(run: RunInfo, source: Source, start: int, stop: int, ended: threading.Event = NEVER) -> Scan:
    """Scan the records that begin in `[start, stop)`. Raises `EndedEarly`."""
    rows: list[SampleRow] = []
    annotations: list[Annotation] = []
    problems: list[Problem] = []
    end, unfinished, prompts = start, False, Prompts()
    try:
        for item in until(ended, _records(run, source, start, stop)):
            if isinstance(item, Problem):
                problems.append(item)
                unfinished = unfinished or item.transient
                end = end if item.transient else max(end, item.stop or end)
                continue
            if isinstance(item, SampleRow):
                rows.append(shorten(item, prompts))
            else:
                annotations.append(item)
            end = max(end, item.start + item.length)
    except Interrupted:
        raise
    except OSError as error:
        problems.append(Problem(source=source.name, reason=f"could not be read: {error.strerror}", transient=True))
        unfinished = True
    blocks = blocks_of(rows)
    number(rows, source.launches)
    return Scan(source, rows, annotations, problems, end, unfinished, blocks)


def _records(run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
    if source.scores:
        yield from scan_scores(source, start, stop)
    else:
        yield from by_name(run.format).scan(run, source, start, stop)


class Prompts:
    """What the index keeps of prompts. The samples of a group, which mostly follow each other, share one."""

    def __init__(self) -> None:
        self._last, self._kept = "", ("", 0)

    def kept(self, prompt: str, group: str) -> tuple[str, int]:
        """The preview of a prompt, and its hash."""
        if prompt != self._last or not prompt or prompt.isspace():
            self._kept = text.preview(prompt, PREVIEW_CHARS), prompt_hash_of(prompt, group)
            self._last = prompt
        return self._kept


def shorten(row: SampleRow, prompts: Prompts) -> SampleRow:
    """Cut the texts of a row down to what lists show, and add length, hash and stamp of the whole.

    A part of a source holds megabytes of text, which must not all be in memory together.
    """
    prompt, response = row.prompt, row.response
    ends = f"{prompt[:40]} {prompt[-40:]} {response[:40]} {response[-40:]}"
    facts = f"{row.group} {row.index} {row.length} {row.reward!r} {ends}"
    row.prompt, row.prompt_hash = prompts.kept(prompt, row.group)
    row.response = text.one_line(response[:PREVIEW_CHARS])
    row.response_end = text.one_line(response[-END_CHARS:]) if len(response) > PREVIEW_CHARS else ""
    row.response_chars = len(response)
    row.messages = None
    row.stamp = zlib.crc32(facts.encode("utf-8", "replace"))
    return row


def prompt_hash_of(prompt: str, group: str) -> int:
    """Identify a prompt across steps, whatever its groups are called at each."""
    name = prompt if prompt and not prompt.isspace() else f"\0{group}"
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def table_of(rows: Sequence[SampleRow], source: str) -> pa.Table:
    """Build the scalar table of some rows of one source."""
    values = values_of(rows) | {"source": [source] * len(rows)}
    return _with_names(pa.table({one.column: _array(values[one.name], one.type) for one in COLUMNS}), rows)


def _array(values: Sequence[Any], type: ColumnType) -> pa.Array:
    """A column. Integers that do not fit are replaced: a count by none, a launch by the largest number."""
    try:
        return pa.array(values, ARROW_TYPES[type])
    except (OverflowError, pa.ArrowInvalid):
        largest = LARGEST[type]
        beyond = largest if type == "short" else None
        bounded = [value if value is None or -largest <= value <= largest else beyond for value in values]
        return pa.array(bounded, ARROW_TYPES[type])


def annotations_of(annotations: Sequence[Annotation], source: str) -> pa.Table:
    """Build the table of annotations of one source: newer ones have greater `source`, `byte_start`, `nth`."""
    count, place = len(annotations), text.natural(source)
    columns = {
        "uid": pa.array([one.uid for one in annotations], pa.string()),
        "source": pa.array([place] * count, WORD),
        "file": pa.array([source] * count, WORD),
        "byte_start": pa.array([one.start for one in annotations], pa.int64()),
        "byte_length": pa.array([one.length for one in annotations], pa.int64()),
        "nth": pa.array(range(count), pa.int64()),
    }
    for one in (KNOWN[name] for name in ANNOTATED):
        type_ = pa.string() if one.type == "word" else ARROW_TYPES[one.type]
        columns[one.column] = pa.array([getattr(annotation, one.name) for annotation in annotations], type_)
    return _with_names(pa.table(columns), annotations)


def _with_names(table: pa.Table, rows: Sequence[SampleRow] | Sequence[Annotation]) -> pa.Table:
    """The table with a column for each sample metric and tag."""
    metrics, tags, _ = names_of(rows)
    arrays = [pa.array([row.metrics.get(name) for row in rows], type=pa.float64()) for name in metrics]
    arrays += [pa.array([row.tags.get(name) for row in rows], type=pa.string()) for name in tags]
    names = [*map(metric_column, metrics), *map(tag_column, tags)]
    return pa.Table.from_arrays([*table.columns, *arrays], names=[*table.column_names, *names])


def numbers_of(folder: Path, meta: SegmentMeta) -> Path:
    """The path of a segment's numbers. Its name follows from the contents: one of a replaced source has another."""
    key = hashlib.blake2b(meta.source.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
    word = hashlib.blake2b(meta.texts_from.encode("utf-8", "surrogateescape"), digest_size=5).hexdigest()
    texts = f"-{word}" if meta.texts_from else ""
    return folder / key[:2] / f"{key}-{meta.part:06d}-{meta.stop:x}{texts}-{meta.digest}.parquet"


def build(folder: Path, run: RunInfo, source: Source, part: int, ended: threading.Event = NEVER) -> SegmentMeta | None:
    """Scan one part of a source and write its scalars. Returns None if the file is gone. Raises `EndedEarly`."""
    splittable = by_name(run.format).splittable
    state = fingerprint.state_of_source(source)
    if state is None:
        return None
    is_open = has_open_grid(splittable, source.path)
    start, stop = span_of(splittable, source.path, part, state.size)
    # the stream's extent is measured before the scan: additions in between are scanned again, never lost
    reached, file_bytes = extent(source.location, stop) if is_open else (stop, None)
    records = scan(run, source, start, stop, ended)
    stop = reached
    covered = records.stop if records.unfinished else max(records.stop, stop)
    with open_file(source.location) as file:
        if not fingerprint.is_of_state(file, state):
            raise OSError(errno.ESTALE, "was replaced while it was read; it will be read again", source.path)
        print_ = fingerprint.take(file, state, min(covered if file_bytes is None else file_bytes, state.size))
    meta = _meta(run, source, part, records, print_)
    meta.start, meta.stop = start, covered
    meta.complete = splittable and stop == grid_span(part)[1] and not records.unfinished
    numbers = parquet_of(*records.as_stored())
    meta.scalar_bytes = numbers.nbytes
    digest = hashlib.blake2b(numbers, digest_size=6)
    digest.update(print_.contents)
    meta.digest = digest.hexdigest()
    path = numbers_of(folder, meta)
    _make_way(path, source, state)
    atomic.write(path, numbers)
    atomic.write(path.with_suffix(".meta"), encoded(meta))
    return meta


def _make_way(path: Path, source: Source, state: FileState) -> None:
    """Remove a segment of this name if the source has changed since, in texts that its name does not follow from."""
    old = read_meta(path.with_suffix(".meta"))
    if old is not None and not fingerprint.still_holds(source.location, old.fingerprint, state):
        discard(path)


def write_parquet(
    path: Path,
    table: pa.Table,
    row_group_size: int | None = None,
    codec: pa.Codec = ZSTD,
    encodings: Mapping[str, str] | None = None,
    *,
    repeats: bool = False,
) -> int:
    """Write a table, with the usual encoding of a column unless `encodings` names one. Returns the file's size.

    `repeats` says that most columns have few values, so that it is quicker to read their numbers.
    """
    contents = parquet_of(table, row_group_size, codec, encodings, repeats=repeats)
    atomic.write(path, contents)
    return contents.nbytes


def write_groups(path: Path, schema: pa.Schema, groups: Iterable[pa.Table]) -> None:
    """Write tables as the row groups of a file, one after another, so that one alone is in memory."""
    with (
        atomic.replacing(path) as file,
        pq.ParquetWriter(
            file,
            schema,
            compression=ZSTD.name,
            compression_level=ZSTD.compression_level,
            use_dictionary=False,
        ) as writer,
    ):
        for group in groups:
            writer.write_table(group)


def parquet_of(
    table: pa.Table,
    row_group_size: int | None = None,
    codec: pa.Codec = ZSTD,
    encodings: Mapping[str, str] | None = None,
    *,
    repeats: bool = False,
) -> memoryview:
    """The contents of a file with a table, as `write_parquet` writes it."""
    few = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]  # values, stored by number
    sink = pa.BufferOutputStream()  # one write in place of one a page
    pq.write_table(
        table,
        sink,
        compression=codec.name,
        compression_level=codec.compression_level,
        use_dictionary=repeats or few or False,
        row_group_size=row_group_size,
        column_encoding=None if encodings is None else dict(encodings),
    )
    return memoryview(sink.getvalue())


def has_other_texts(source: Source, meta: SegmentMeta) -> bool:
    """Tell whether a segment that needs texts from another file may now get them from a different one."""
    return source.texts_from != meta.texts_from and bool(meta.texts_from or meta.lacks_prompts)


def records_of(
    run: RunInfo,
    source: Source,
    meta: SegmentMeta,
    noted: Noted,
    loss: RunLoss | None,
    share: ScanShare,
    ended: threading.Event = NEVER,
) -> PartRecords | None:
    """The records of a segment; None if its files have changed since the scan."""
    if has_other_texts(source, meta):
        return None
    state = fingerprint.state_of_source(source)
    if state is None or not fingerprint.still_holds(source.location, meta.fingerprint, state):
        return None
    return PartRecords(run, source, meta, lambda: _all_rows(run, source, meta, ended), noted, loss, share, ended)


def _all_rows(run: RunInfo, source: Source, meta: SegmentMeta, ended: threading.Event) -> list[SampleRow]:
    rows = _rows(run, source, meta, ended)
    if len(rows) != meta.rows:
        raise SourceChanged(f"{source.name} no longer has the samples of the index")
    return rows


def _rows(run: RunInfo, source: Source, meta: SegmentMeta, ended: threading.Event) -> list[SampleRow]:
    """The readable rows of a segment with their texts."""
    rows: list[SampleRow] = []
    prompt = ""
    with contextlib.suppress(OSError):
        for item in until(ended, by_name(run.format).scan(run, source, meta.start, meta.stop)):
            if isinstance(item, SampleRow) and len(rows) < meta.rows:
                item.prompt = prompt = prompt if item.prompt == prompt else item.prompt  # a group has one in memory
                rows.append(item)
    number(rows, meta.launches)
    return rows


def _meta(run: RunInfo, source: Source, part: int, records: Scan, print_: Fingerprint) -> SegmentMeta:
    metrics, tags, left_out = names_of(records.named)
    problems = list(records.problems)
    if left_out:
        reason = f"too many names of sample metrics or tags: {left_out} of them show in the sample alone"
        problems.append(Problem(source=source.name, reason=reason))
    return SegmentMeta(
        version=_kind(annotates=source.annotates).version, format=run.format, source=source.name, part=part,
        start=0, stop=0, complete=False, rows=len(records.rows), duplicates=has_duplicates(records.rows),
        fingerprint=print_, step_stats=step_stats_of(records.rows), metrics=metrics, tags=tags,
        problems=_listed(problems), problem_count=len(problems), scalar_bytes=0, annotates=source.annotates,
        scores=source.scores, depends=source.depends, annotates_discarded=annotates_discarded(records.annotations),
        texts_from=source.texts_from, lacks_prompts=not all(row.prompt for row in records.rows),
        has_series=any(row.series or row.has_series for row in records.rows),
        annotated_series=sorted({name for one in records.annotations for name in one.series}),
        blocks=records.blocks, launches=source.launches,
    )  # fmt: skip


def _listed(problems: list[Problem]) -> list[Problem]:
    return problems if len(problems) <= MAX_PROBLEMS else [*problems[: MAX_PROBLEMS - 1], problems[-1]]


def annotates_discarded(annotations: Sequence[Annotation]) -> bool:
    """True if some of the annotations tell whether their samples were trained on."""
    return any(one.discarded is not None for one in annotations)


def has_duplicates(rows: Sequence[SampleRow]) -> bool:
    """True if two of the rows share a key."""
    return len({(row.split, row.step, row.group, row.index) for row in rows}) < len(rows)


def has_columns(path: Path) -> bool:
    """Tell whether a file of numbers has the columns that queries name: somebody else may have written it."""
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return False
    return any(
        all(schema.get_field_index(one.name) >= 0 and schema.field(one.name).type == one.type for one in table.schema)
        for table in (table_of([], ""), annotations_of([], ""))
    )


def read_meta(path: Path | str, numbers: Path | str = "", contents: bytes | None = None) -> SegmentMeta | None:
    """Read a segment's `.meta`, or its known contents.

    Returns None for one of another version, torn, or without its Parquet file, `numbers`.
    """
    try:
        meta: SegmentMeta = decoded(contents_of(path, META_BYTES) if contents is None else contents, SegmentMeta)
        size = os.stat(numbers or Path(path).with_suffix(".parquet")).st_size
    except (OSError, ValueError, msgspec.MsgspecError):  # ValueError: invalid UTF-8
        return None
    is_whole = meta.version == _kind(annotates=meta.annotates).version and meta.scalar_bytes == size
    return (
        meta
        if is_whole and min(meta.rows, meta.part, meta.start, *(one.rows for one in meta.step_stats)) >= 0
        else None
    )
