"""One segment: a part of a source, scanned and written.

A source is cut by a fixed grid of byte ranges; a part owns the records that begin in it. Of a compressed source the
grid lies over the uncompressed stream, whose length is mostly not known before it was read. Scanning a part is a pure
function of the file's bytes, so any number of processes make the same segments, and writing one (temporary name, then
rename, the `.meta` file last) needs no lock. A `.meta` without its `.parquet`, or one that cannot be read, is no
segment.
"""

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Struct

from rolloupe.formats import by_name, compression_of, extent
from rolloupe.index import fingerprint
from rolloupe.index.fingerprint import Fingerprint
from rolloupe.index.segments.columns import annotations_of, names_of, table_of
from rolloupe.index.segments.files import replacing, write_parquet
from rolloupe.index.segments.index_row import IndexRow, entry_of
from rolloupe.index.segments.kind import SegmentKind
from rolloupe.index.segments.step_stats import Sketch, sketches_of
from rolloupe.model import Annotation, Location, Problem, RunInfo, SampleRow, Source
from rolloupe.storage import open_file

LAYOUT = 20
"""Raise it when the names or places of files change: every index is made anew. Kinds of segments have own versions."""

NUMBERS = SegmentKind("numbers", 1, "scan", 0, ".parquet")
ANNOTATIONS = SegmentKind("annotations", 1, "scan", 1, ".parquet")

GRID_BYTES = 16 * 2**20
"""Small enough that the newest part of a huge file is on the screen in a blink, large enough for few segments."""

PACK = ".pack.parquet"
"""How the name of a pack ends."""

ANNOTATION_ROWS = 8192
"""So many annotations, sorted by uid, are a row group: by its least and greatest uid a question passes it over."""

MAX_PROBLEMS = 1_000
"""Problems that a segment lists: the first, and the last, which says why nothing follows; more are counted."""


class SegmentMeta(Struct, kw_only=True):
    """What the catalog needs to know of a segment."""

    version: int
    format: str
    source: str
    part: int
    start: int
    stop: int
    complete: bool
    """True where the whole part was there: it is never scanned again while the file stays the same."""
    rows: int
    """Samples: an annotation is none."""
    duplicates: bool
    """True where two samples of the segment share a key."""
    fingerprint: Fingerprint
    sketches: list[Sketch]
    metrics: list[str]
    tags: list[str]
    problems: list[Problem]
    problem_count: int
    scalar_bytes: int
    annotates: bool = False
    """True where it holds annotations instead of samples."""
    depends: str = ""
    """`Source.depends` when it was scanned."""
    texts_from: str = ""
    """`Source.texts_from` when it was scanned."""
    lacks_prompts: bool = False
    """True where samples of it have no prompt: another file may hold it one day."""
    annotates_discarded: bool = False
    """True where annotations in it say of samples whether they were trained on."""


class Scan(NamedTuple):
    """What a byte range of a source holds, and how far that reaches."""

    source: Source
    rows: list[IndexRow]
    annotations: list[Annotation]
    problems: list[Problem]
    stop: int
    unfinished: bool

    @property
    def named(self) -> list[SampleRow] | list[Annotation]:
        """What has sample metrics and tags."""
        return self.annotations if self.source.annotates else [entry.row for entry in self.rows]

    def table(self) -> pa.Table:
        """The scalars, as they lie in a segment."""
        name = self.source.name
        return annotations_of(self.annotations, name) if self.source.annotates else table_of(self.rows, name)

    def as_stored(self) -> tuple[pa.Table, int | None]:
        """The table of a segment, and the size of its row groups: of annotations, those of one sample are found."""
        table = self.table()
        if not self.source.annotates:
            return table, None
        return table.sort_by([(name, "ascending") for name in ("uid", "byte_start", "nth")]), ANNOTATION_ROWS


def _kind(*, annotates: bool) -> SegmentKind:
    return ANNOTATIONS if annotates else NUMBERS


def span_of(splittable: bool, path: str, part: int, size: int) -> tuple[int, int]:
    """The byte range of a part of a file of `size` bytes: that of its stream where the file is compressed."""
    if not splittable:
        return 0, size
    start, stop = grid_span(part)
    return start, stop if has_open_grid(splittable, path) else min(stop, size)


def parts_of(splittable: bool, size: int) -> int:
    """How many parts a file of `size` bytes has."""
    return max(1, -(-size // GRID_BYTES)) if splittable else 1


def has_open_grid(splittable: bool, path: str) -> bool:
    """True where the grid lies over a stream of unknown length: that of a compressed file."""
    return splittable and bool(compression_of(path))


def grid_span(part: int) -> tuple[int, int]:
    """The byte range of a part, wherever the stream ends."""
    return part * GRID_BYTES, (part + 1) * GRID_BYTES


def reaches(location: Location, part: int) -> bool:
    """Tell whether the stream of a compressed file reaches to the end of a part."""
    stop = grid_span(part)[1]
    try:
        return extent(location, stop).stop == stop
    except OSError:
        return False


def scan(run: RunInfo, source: Source, start: int, stop: int) -> Scan:
    """Scan the records that begin in `[start, stop)`."""
    rows: list[IndexRow] = []
    annotations: list[Annotation] = []
    problems: list[Problem] = []
    end, unfinished = start, False
    try:
        for item in by_name(run.format).scan(run, source, start, stop):
            if isinstance(item, Problem):
                problems.append(item)
                unfinished = unfinished or item.transient
                end = end if item.transient else max(end, item.stop or end)
                continue
            if isinstance(item, SampleRow):
                rows.append(entry_of(item))
            else:
                annotations.append(item)
            end = max(end, item.start + item.length)
    except OSError as error:
        problems.append(Problem(source=source.name, reason=f"could not be read: {error.strerror}", transient=True))
        unfinished = True
    return Scan(source, rows, annotations, problems, end, unfinished)


def base_path(folder: Path, source_name: str, part: int, stop: int, texts_from: str) -> Path:
    """Where a segment lies, without its ending. Texts from another file than before are those of another segment."""
    key = hashlib.blake2b(source_name.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
    word = hashlib.blake2b(texts_from.encode("utf-8", "surrogateescape"), digest_size=5).hexdigest()
    return folder / key[:2] / f"{key}-{part:06d}-{stop:x}{f'-{word}' if texts_from else ''}"


def numbers_of(folder: Path, meta: SegmentMeta) -> Path:
    """Where the numbers of a segment lie."""
    return base_path(folder, meta.source, meta.part, meta.stop, meta.texts_from).with_suffix(".parquet")


def build(folder: Path, run: RunInfo, source: Source, part: int) -> SegmentMeta | None:
    """Scan one part of a source and write its scalars. Returns None where the file is gone."""
    splittable = by_name(run.format).splittable
    state = fingerprint.state_of(source.path)
    if state is None:
        return None
    is_open = has_open_grid(splittable, source.path)
    start, stop = span_of(splittable, source.path, part, state.size)
    # how far a stream reaches is asked before it is scanned: what comes between the two is scanned again, never lost
    reached, file_bytes = extent(source.location, stop) if is_open else (stop, None)
    found = scan(run, source, start, stop)
    stop = reached
    covered = found.stop if found.unfinished else max(found.stop, stop)
    with open_file(source.location) as file:
        print_ = fingerprint.take(file, state, min(covered if file_bytes is None else file_bytes, state.size))
    meta = _meta(run, source, part, found, print_)
    meta.start, meta.stop = start, covered
    meta.complete = splittable and stop == grid_span(part)[1] and not found.unfinished
    base = base_path(folder, source.name, part, covered, source.texts_from)
    meta.scalar_bytes = write_parquet(base.with_suffix(".parquet"), *found.as_stored())
    with replacing(base.with_suffix(".meta")) as temporary:
        temporary.write_bytes(msgspec.msgpack.encode(meta))
    return meta


def has_other_texts(source: Source, meta: SegmentMeta) -> bool:
    """Tell whether texts of a segment may stand in another file now than when it was made: if it needs one at all."""
    return source.texts_from != meta.texts_from and bool(meta.texts_from or meta.lacks_prompts)


def rows_of(run: RunInfo, source: Source, meta: SegmentMeta) -> list[SampleRow] | None:
    """The rows of a segment with their texts; None where its files no longer are what was scanned."""
    if has_other_texts(source, meta):
        return None
    state = fingerprint.state_of(source.path)
    if state is None or not fingerprint.still_holds(source.location, meta.fingerprint, state):
        return None
    rows = _rows(run, source, meta)
    return rows if len(rows) == meta.rows else None


def _rows(run: RunInfo, source: Source, meta: SegmentMeta) -> list[SampleRow]:
    """The rows of a segment with their texts, as far as they can be read."""
    rows: list[SampleRow] = []
    with contextlib.suppress(OSError):
        for item in by_name(run.format).scan(run, source, meta.start, meta.stop):
            if isinstance(item, SampleRow) and len(rows) < meta.rows:
                rows.append(item)
    return rows


def _meta(run: RunInfo, source: Source, part: int, found: Scan, print_: Fingerprint) -> SegmentMeta:
    metrics, tags, left_out = names_of(found.named)
    problems = list(found.problems)
    if left_out:
        reason = f"{left_out} names of sample metrics or tags more than an index holds: they show in the sample alone"
        problems.append(Problem(source=source.name, reason=reason))
    return SegmentMeta(
        version=_kind(annotates=source.annotates).version, format=run.format, source=source.name, part=part,
        start=0, stop=0, complete=False, rows=len(found.rows), duplicates=has_duplicates(found.rows),
        fingerprint=print_, sketches=sketches_of(found.rows), metrics=metrics, tags=tags,
        problems=_listed(problems), problem_count=len(problems), scalar_bytes=0, annotates=source.annotates,
        depends=source.depends, annotates_discarded=annotates_discarded(found.annotations),
        texts_from=source.texts_from, lacks_prompts=not all(entry.prompt_preview for entry in found.rows),
    )  # fmt: skip


def _listed(problems: list[Problem]) -> list[Problem]:
    return problems if len(problems) <= MAX_PROBLEMS else [*problems[: MAX_PROBLEMS - 1], problems[-1]]


def annotates_discarded(annotations: Sequence[Annotation]) -> bool:
    """True where some of the annotations say whether their samples were trained on."""
    return any(one.discarded is not None for one in annotations)


def has_duplicates(entries: Sequence[IndexRow]) -> bool:
    """True where two of the entries share a key."""
    return len({(row.split, row.step, row.group, row.index) for row, *_ in entries}) < len(entries)


def read_meta(path: Path) -> SegmentMeta | None:
    """Read a segment's `.meta`; None for one of another version, torn, or without its Parquet file."""
    try:
        meta = msgspec.msgpack.decode(path.read_bytes(), type=SegmentMeta)
        size = path.with_suffix(".parquet").stat().st_size
    except (OSError, ValueError, msgspec.MsgspecError):  # ValueError: text in it that is no UTF-8
        return None
    return meta if meta.version == _kind(annotates=meta.annotates).version and meta.scalar_bytes == size else None
