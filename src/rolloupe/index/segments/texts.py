"""The complete texts of a segment: a convenience for searches, which otherwise read the sources."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name
from rolloupe.index.fingerprint import state_of_source, still_holds
from rolloupe.index.segments.kind import Backfilled, SegmentKind, SegmentSource, cut_rows, until
from rolloupe.index.segments.segment import parquet_of, write_groups
from rolloupe.index.snapshot import Piece
from rolloupe.model import RunInfo, SampleRow, Source
from rolloupe.storage import atomic

VERSION = 1
TEXT = ".text.parquet"
"""The ending of the file names, for all versions."""
GROUP_CHARS = 2**25
"""The texts of a row group, which is built in memory. Samples may share a text of megabytes: then there are several."""
CONTENTS = b"contents"
"""The key of the digest of the source that the texts are from: a file of the same name may be of other rows."""

SCHEMA = pa.schema(
    [("byte_start", pa.int64()), ("part", pa.string()), ("prompt", pa.string()), ("response", pa.string())]
)


def text_of(path: Path) -> Path:
    """The path of a segment's texts."""
    return path.with_name(f"{path.stem}.{VERSION}{TEXT}")


def text_table_of(rows: Sequence[SampleRow]) -> pa.Table:
    """Build the text table of some rows, in the order of the scalar table."""
    columns = {
        "byte_start": [row.start for row in rows],
        "part": [row.part for row in rows],
        "prompt": [row.prompt for row in rows],
        "response": [row.response for row in rows],
    }
    return pa.Table.from_pydict(columns, schema=SCHEMA)


def _write(path: Path, records: SegmentSource) -> None:
    schema = SCHEMA.with_metadata({CONTENTS: records.meta.fingerprint.contents})
    groups = [*cut_rows(records.rows, lambda row: len(row.prompt) + len(row.response), GROUP_CHARS)]
    if len(groups) == 1:
        atomic.write(text_of(path), parquet_of(text_table_of(groups[0]).cast(schema)))
    else:
        write_groups(text_of(path), schema, map(text_table_of, until(records.ended, groups)))


_BACKFILLED = Backfilled(lambda path, _, __: text_of(path).exists(), _write)
TEXTS = SegmentKind("texts", VERSION, TEXT, is_budgeted=True, backfilled=_BACKFILLED)


BATCH_BYTES = 4 * 2**20
"""The approximate size of a batch; a longer text comes alone."""

MIN_ROWS, MAX_ROWS = 8, 2**16


class TextBatch(NamedTuple):
    """Texts of consecutive rows from number `first` on; `columns` are the requested ones."""

    first: int
    columns: list[pa.Array]
    is_scanned: bool
    """True if they were read from the source."""

    def __len__(self) -> int:
        return len(self.columns[0])


def read_texts(info: RunInfo, source: Source | None, piece: Piece, names: Sequence[str]) -> Iterator[TextBatch]:
    """Yield the named texts of a piece, `prompt` or `response`. Raises `SourceChanged` if they are gone."""
    done = 0
    if piece.path is not None:
        try:
            for batch in _stored(piece, text_of(piece.path), names):
                yield batch
                done = batch.first + len(batch)
        except FileNotFoundError:  # not written, or deleted
            pass
        except (OSError, pa.ArrowException):  # damaged, or of other rows: once it is deleted, it will be written again
            with contextlib.suppress(OSError):
                text_of(piece.path).unlink()
    if done < piece.rows:
        yield from _scanned(info, source, piece, names, done)


def _stored(piece: Piece, path: Path, names: Sequence[str]) -> Iterator[TextBatch]:
    with pq.ParquetFile(path) as file:
        contents, rows = (file.schema_arrow.metadata or {}).get(CONTENTS), file.metadata.num_rows
        if rows != piece.rows or piece.fingerprint is None or contents != piece.fingerprint.contents:
            raise pa.ArrowInvalid("texts of other rows")
        size_bytes = sum(file.metadata.row_group(n).total_byte_size for n in range(file.metadata.num_row_groups))
        size = max(MIN_ROWS, min(MAX_ROWS, BATCH_BYTES * rows // max(1, size_bytes)))
        first = 0
        for batch in file.iter_batches(batch_size=size, columns=list(names), use_threads=False):
            yield TextBatch(first, [batch.column(name) for name in names], is_scanned=False)
            first += batch.num_rows


def _scanned(
    info: RunInfo, source: Source | None, piece: Piece, names: Sequence[str], done: int
) -> Iterator[TextBatch]:
    state = None if source is None else state_of_source(source)
    if source is None or state is None:
        raise SourceChanged(f"{piece.source} is gone, and the index lacks its texts")
    if piece.fingerprint is not None and not still_holds(source.location, piece.fingerprint, state):
        raise SourceChanged(f"{piece.source} was rewritten, and is being read again: retry")
    rows: list[SampleRow] = []
    first, number, size_bytes = done, 0, 0
    try:
        for item in by_name(info.format).scan(info, source, piece.start, piece.stop):
            if not isinstance(item, SampleRow) or number >= piece.rows:
                continue
            number += 1
            if number <= done:
                continue
            rows.append(item)
            size_bytes += len(item.prompt) + len(item.response)
            if size_bytes >= BATCH_BYTES:
                yield _scanned_batch(first, rows, names)
                first, size_bytes = first + len(rows), 0
                rows.clear()
    except OSError as error:
        raise SourceChanged(f"{piece.source} could not be read: {error.strerror}") from error
    if rows:
        yield _scanned_batch(first, rows, names)
    if number < piece.rows:
        raise SourceChanged(f"{piece.source} has fewer samples than before: retry")


def _scanned_batch(first: int, rows: list[SampleRow], names: Sequence[str]) -> TextBatch:
    table = text_table_of(rows)
    return TextBatch(first, [table[name].combine_chunks() for name in names], is_scanned=True)
