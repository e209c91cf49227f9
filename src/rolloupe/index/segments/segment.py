"""Writes a part of a source as a segment, and reads it back.

A scan is a pure function of the file's bytes, so any number of processes make the same segments, and writing one
(temporary name, then rename, the `.meta` file last) needs no lock. Readers ignore a `.meta` that is unreadable or
lacks its `.parquet`.
"""

import contextlib
import errno
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rolloupe.formats import by_name, extent
from rolloupe.index import fingerprint
from rolloupe.index.segments import parts
from rolloupe.index.segments.kind import NEVER, SegmentKind, SegmentMeta
from rolloupe.index.segments.samples import NO_SAMPLES, Names
from rolloupe.index.segments.step_stats import decoded, encoded, step_stats_of
from rolloupe.model import Location, Problem, RunInfo, Source
from rolloupe.storage import atomic, open_file, open_state

PASSING = {
    errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN, errno.EIO, errno.ESTALE, errno.ETIMEDOUT,
}  # fmt: skip
"""Errors that a later try may not meet: they say nothing about a file."""


def is_damage(error: Exception) -> bool:
    """Tell whether a file is gone or damaged, and not only out of reach for now, as without free descriptors."""
    return not isinstance(error, OSError) or error.errno not in PASSING


@contextlib.contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file in half the time that it takes by its path, which may be the name of a store."""
    with pa.OSFile(os.fsencode(path)) as source, pq.ParquetFile(source) as file:
        yield file


def is_readable(path: Path) -> bool:
    """Read a Parquet file; return False if it is missing or damaged. One out of reach for now counts as whole."""
    try:
        with parquet_file(path) as file:
            for _ in file.iter_batches():
                pass
    except (OSError, pa.ArrowException) as error:
        return not is_damage(error)
    return True


def contents_of(path: Path | str, most_bytes: int) -> bytes:
    """Read a file. Raises OSError, and ValueError for a larger file: others may write to the index."""
    with open_file(Location(os.fspath(path), os.sep), buffering=0) as file:
        if open_state(file).st_size > most_bytes:
            raise ValueError(f"{path} is not an index file")
        return file.read()


def discard(path: Path) -> None:
    """Remove all files of a segment, its numbers last: they name its source."""
    own = path.with_suffix(".meta"), path
    others = [file for file in path.parent.glob(f"{path.stem}.*") if file not in own]
    for file in (*others, *own):
        with contextlib.suppress(OSError):
            file.unlink()


LAYOUT = 22
"""Raise it when the names or places of files change: all indexes are then rebuilt. Kinds have their own versions."""

NUMBERS = SegmentKind("numbers", 16, ".parquet")
ANNOTATIONS = SegmentKind("annotations", 2, ".parquet")
"""Raise their versions when rows of samples, or of files beside them, are read in another way or get a column."""

PACK = ".pack.parquet"
"""The ending of a pack's file name."""


META_BYTES = 64 * 2**20
"""A larger file is no `.meta`: most have a kilobyte, one of thousands of steps a few megabytes."""

MAX_PROBLEMS = 1_000
"""The maximum number of listed problems: the first ones, and the last, which explains the end; all are counted."""


ZSTD = pa.Codec("zstd", 1)
LZ4 = pa.Codec("lz4")
"""For few numbers: as small, and written in half the time."""


def numbers_of(folder: Path, meta: SegmentMeta) -> Path:
    """The path of a segment's numbers. The name follows from the contents, so a replaced source leads to another."""
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
    is_open = parts.has_open_grid(splittable, source.path)
    start, stop = parts.span_of(splittable, source.path, part, state.size)
    # the stream's extent is measured before the scan: additions in between are scanned again, never lost
    reached, file_bytes = extent(source.location, stop) if is_open else (stop, None)
    records = parts.scan(run, source, start, stop, ended)
    covered = records.stop if records.unfinished else max(records.stop, reached)
    with open_file(source.location) as file:
        now = open_state(file)
        if state.device != fingerprint.STREAM and (now.st_dev, now.st_ino) != (state.device, state.inode):
            raise OSError(errno.ESTALE, "was replaced while it was read; it will be read again", source.path)
        print_ = fingerprint.take(file, state, min(covered if file_bytes is None else file_bytes, state.size))
    meta = _meta(run, source, part, records, print_)
    meta.start, meta.stop = start, covered
    meta.complete = splittable and reached == parts.grid_span(part)[1] and not records.unfinished
    table, group_rows = records.as_stored()
    numbers = parquet_of(table, row_group_size=group_rows)
    meta.scalar_bytes = numbers.nbytes
    digest = hashlib.blake2b(numbers, digest_size=6)
    digest.update(print_.contents)
    meta.digest = digest.hexdigest()
    path = numbers_of(folder, meta)
    old = read_meta(path.with_suffix(".meta"))
    if old is not None and not fingerprint.still_holds(source.location, old.fingerprint, state):
        discard(path)  # the source has other texts now, which have no part in the name
    atomic.write(path, numbers)
    atomic.write(path.with_suffix(".meta"), encoded(meta))
    return meta


def write_groups(path: Path, schema: pa.Schema, groups: Iterable[pa.Table]) -> None:
    """Write tables as the row groups of a file, one after another, so that only one is in memory."""
    codec = {"compression": ZSTD.name, "compression_level": ZSTD.compression_level}
    with atomic.replacing(path) as file, pq.ParquetWriter(file, schema, use_dictionary=False, **codec) as writer:
        for group in groups:
            writer.write_table(group)


def parquet_of(table: pa.Table, codec: pa.Codec = ZSTD, **options: Any) -> memoryview:
    """The contents of a Parquet file, made with these options of `write_table`."""
    few = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]  # each value is stored once
    sink = pa.BufferOutputStream()  # one write instead of one per page
    options = {"use_dictionary": few or False, **options}
    pq.write_table(table, sink, compression=codec.name, compression_level=codec.compression_level, **options)
    return memoryview(sink.getvalue())


def _meta(run: RunInfo, source: Source, part: int, records: parts.Scan, print_: fingerprint.Fingerprint) -> SegmentMeta:
    samples, annotations, problems = records.samples, records.annotations, list(records.problems)
    if records.names.left_out:
        number = records.names.left_out
        reason = f"too many names of sample metrics or tags: {number} of them are shown only in the sample itself"
        problems.append(Problem(source=source.name, reason=reason))
    kind = ANNOTATIONS if source.annotates else NUMBERS
    fields = samples.fields
    keys = {*zip(*(fields.get(name, ()) for name in ("split", "step", "group", "index")), strict=True)}
    return SegmentMeta(
        version=kind.version, format=run.format, source=source.name, part=part, start=0, stop=0, complete=False,
        rows=samples.count, duplicates=len(keys) < samples.count, fingerprint=print_, step_stats=step_stats_of(samples),
        metrics=records.names.metrics, tags=records.names.tags, problem_count=len(problems), scalar_bytes=0,
        annotates=source.annotates,
        problems=problems if len(problems) <= MAX_PROBLEMS else [*problems[: MAX_PROBLEMS - 1], problems[-1]],
        scores=source.scores, depends=source.depends, texts_from=source.texts_from, launches=source.launches,
        annotates_discarded=any(annotation.discarded is not None for annotation in annotations),
        lacks_prompts=not all(fields.get("prompt", ())), blocks=records.blocks,
        has_series=any(any(fields.get(name, ())) for name in ("series", "has_series")),
        annotated_series=sorted({name for annotation in annotations for name in annotation.series}),
    )  # fmt: skip


def has_columns(path: Path) -> bool:
    """Tell whether a file of numbers has the columns that queries name: another program may have written it."""
    try:
        fields = {(field.name, field.type) for field in pq.read_schema(path)}
    except (OSError, pa.ArrowException) as error:
        return not is_damage(error)
    tables = parts.table_of(NO_SAMPLES, ""), parts.annotations_of([], "", Names([], []))
    return any(fields.issuperset((field.name, field.type) for field in table.schema) for table in tables)


def read_meta(path: Path | str, numbers: Path | str = "", contents: bytes | None = None) -> SegmentMeta | None:
    """Read a `.meta`, or its known contents; None for one of another version, torn, or without its numbers."""
    try:
        meta: SegmentMeta = decoded(contents_of(path, META_BYTES) if contents is None else contents, SegmentMeta)
        size = os.stat(numbers or Path(path).with_suffix(".parquet")).st_size
    except (OSError, ValueError, msgspec.MsgspecError):  # ValueError: invalid UTF-8
        return None
    is_whole = meta.version == (ANNOTATIONS if meta.annotates else NUMBERS).version and meta.scalar_bytes == size
    least = min(meta.rows, meta.part, meta.start, *(stats.rows for stats in meta.step_stats))
    return meta if is_whole and least >= 0 else None
