"""The complete texts of a segment: a convenience for searches, which otherwise read the sources."""

import contextlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name
from rolloupe.index.fingerprint import state_of_source, still_holds
from rolloupe.index.segments.kind import SegmentKind, SegmentSource, cut_rows, text_rows, until
from rolloupe.index.segments.segment import is_damage, parquet_file, write_groups
from rolloupe.index.snapshot import Piece
from rolloupe.model import RunInfo, SampleRow, Source

VERSION = 1
TEXT = ".text.parquet"
"""The ending of the file names, for all versions."""
GROUP_CHARS = 2**25
"""The texts of a row group, which is built in memory: samples may share a text of megabytes."""
CONTENTS = b"contents"
"""The key of the digest of the source: a file of the same name may hold the texts of other rows."""

SCHEMA = pa.schema(
    [("byte_start", pa.int64()), ("part", pa.string()), ("prompt", pa.string()), ("response", pa.string())]
)


def text_of(path: Path) -> Path:
    """The path of a segment's texts."""
    return path.with_name(f"{path.stem}.{VERSION}{TEXT}")


def text_table_of(rows: Sequence[SampleRow]) -> pa.Table:
    """Build the text table of some rows, in the order of the scalar table."""
    fields = ("start", "part", "prompt", "response")
    return pa.table([[getattr(row, field) for row in rows] for field in fields], schema=SCHEMA)


def _chars_of(row: SampleRow) -> int:
    return len(row.prompt) + len(row.response)


def _write(path: Path, records: SegmentSource) -> None:
    schema = SCHEMA.with_metadata({CONTENTS: records.meta.fingerprint.contents})
    groups = cut_rows(records.rows, _chars_of, GROUP_CHARS)
    write_groups(text_of(path), schema, map(text_table_of, until(records.ended, groups)))


TEXTS = SegmentKind("texts", VERSION, TEXT, "texts", lambda path, *_: text_of(path).exists(), _write, [text_of])


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
            contents = piece.fingerprint.contents if piece.fingerprint else None
            for batch in stored_texts(text_of(piece.path), piece.rows, contents, names):
                yield batch
                done = batch.first + len(batch)
        except FileNotFoundError:  # not written, or deleted
            pass
        except (OSError, pa.ArrowException) as error:  # once a damaged file is deleted, it is written again
            with contextlib.suppress(OSError):
                if is_damage(error):
                    text_of(piece.path).unlink()
    if done < piece.rows:
        yield from _scanned(info, source, piece, names, done)


def stored_texts(path: Path, rows: int, contents: bytes | None, names: Sequence[str]) -> Iterator[TextBatch]:
    """Yield the named texts in a file. Raises `OSError`, and `ArrowException` if they are of other rows or damaged."""
    with parquet_file(path) as file:
        known = (file.metadata.metadata or {}).get(CONTENTS)
        if file.metadata.num_rows != rows or known is None or known != contents:
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
    rows = islice(text_rows(by_name(info.format).scan_columns(info, source, piece.start, piece.stop)), done, piece.rows)
    try:
        for lot in cut_rows(rows, _chars_of, BATCH_BYTES):
            table = text_table_of(lot)
            yield TextBatch(done, [table[name].combine_chunks() for name in names], is_scanned=True)
            done += len(lot)
    except OSError as error:
        raise SourceChanged(f"{piece.source} could not be read: {error.strerror}") from error
    if done < piece.rows:
        raise SourceChanged(f"{piece.source} has fewer samples than before: retry")
