"""Parquet files: where their row groups lie, and their rows in batches of bounded size.

A file without a footer is being written. The claims of a footer are checked before pyarrow sees them.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rolloupe.formats.reading.codecs import FREE_BYTES, MAX_RATIO
from rolloupe.formats.reading.tables.parquet_footer import RowGroup, dictionary_bytes, page_bytes, row_groups
from rolloupe.model import Location
from rolloupe.storage import open_file, path_state, stamp_of_state

MAX_COLUMNS = 4096
FREE_ROWS = 2**14
"""A file must pay for its rows: it may have this many, and one more for each byte."""

BATCH_ROWS = 256
FEW_ROWS = 8
BATCH_BYTES = 32 * 2**20
"""How much a batch should hold at most: any row may be as large as its group, or repeat the largest of a dictionary."""

REPEATED_BYTES = 4 * BATCH_BYTES
"""How much the rows of a batch may hold if each repeats a text as large as its dictionary; one row may hold more."""

MAX_PAGE_BYTES = 192 * 2**20
"""pyarrow decodes a page at once: of all columns together, the largest pages and dictionaries take at most this."""

BUFFER_BYTES = 2**20
KEPT_FOOTERS = 64

UNREADABLE = (OSError, pa.ArrowException, ValueError, MemoryError)
"""What reading a damaged or changing file may raise."""

Stamp = tuple[int, int, int]


class PlacedGroup(NamedTuple):
    """A row group, its number in the file, and the number of its first row."""

    facts: RowGroup
    number: int
    first_row: int

    @property
    def most_rows(self) -> int:
        """The most rows to decode at a time, by the footer."""
        largest = max(self.facts.size_bytes, self.facts.largest_dictionary, 1)
        return min(BATCH_ROWS, max(FEW_ROWS, BATCH_BYTES // largest))


def stamp_of(location: Location) -> Stamp:
    """What changes with a file; whoever then reads it checks where it lies."""
    return stamp_of_state(path_state(location.path))


class LargePages(ValueError):
    """Raised for a row group that has pages too large to be decoded; its text is the reason."""


@lru_cache(maxsize=2)
def _footer(location: Location, stamp: Stamp) -> list[RowGroup]:  # noqa: ARG001
    with open_file(location) as file:
        return row_groups(file)


@lru_cache(maxsize=1024)
def _page_bytes(location: Location, stamp: Stamp, number: int, columns: tuple[str, ...] | None) -> int:
    chunks = _footer(location, stamp)[number].chunks
    with open_file(location) as file:
        return page_bytes(file, (one for one in chunks if columns is None or one.column in columns))


def check_pages(location: Location, group: PlacedGroup, columns: Sequence[str] | None = None) -> None:
    """Raise `LargePages` if decoding columns of a row group takes too much memory, whatever the footer says."""
    size = _page_bytes(location, stamp_of(location), group.number, None if columns is None else tuple(columns))
    if size > MAX_PAGE_BYTES:
        raise LargePages(
            f"pages of {size >> 20:,} MiB, which would have to be in memory at once: up to {MAX_PAGE_BYTES >> 20} MiB "
            "are read. Next: write the file again with smaller ones: in pyarrow, "
            "write_batch_size=16, use_dictionary=False"
        )


def batch_rows(location: Location, group: PlacedGroup) -> int:
    """Return how many rows of a row group to decode at a time. Raises as `check_pages`, but for `LargePages`."""
    if group.most_rows * group.facts.largest_dictionary <= REPEATED_BYTES:
        return group.most_rows
    size = _dictionary_bytes(location, stamp_of(location), group.number)
    return max(1, min(group.most_rows, REPEATED_BYTES // max(1, size)))


@lru_cache(maxsize=1024)
def _dictionary_bytes(location: Location, stamp: Stamp, number: int) -> int:
    chunks = _footer(location, stamp)[number].chunks
    with open_file(location) as file:
        return dictionary_bytes(file, chunks)


@lru_cache(maxsize=KEPT_FOOTERS)
def groups_of(location: Location, stamp: Stamp) -> tuple[PlacedGroup, ...]:
    """The row groups of a file. Raises OSError, and ValueError for a missing footer or excessive claims."""
    with open_file(location) as file:
        size_bytes = file.seek(0, os.SEEK_END)
    groups = [one._replace(chunks=()) for one in _footer(location, stamp)]
    found, rows = [], 0
    for number, one in enumerate(groups):
        found.append(PlacedGroup(one, number, rows))
        rows += one.rows
    if rows > FREE_ROWS + size_bytes:
        raise ValueError("more rows than the file has bytes: not read")
    if sum(one.size_bytes for one in groups) > max(FREE_BYTES, MAX_RATIO * size_bytes):
        raise ValueError(f"expands more than {MAX_RATIO}-fold: not read")
    if any(one.columns > MAX_COLUMNS for one in groups):
        raise ValueError(f"more than {MAX_COLUMNS:,} columns: not read")
    return tuple(found)


@contextlib.contextmanager
def opened_table(location: Location, **options: Any) -> Iterator[pq.ParquetFile]:
    """Open a file that `groups_of` has checked, to read it in pieces."""
    with (
        open_file(location) as opened,
        pq.ParquetFile(opened, buffer_size=BUFFER_BYTES, pre_buffer=False, **options) as file,
    ):
        yield file


def batches_of(
    location: Location,
    group: PlacedGroup,
    columns: Sequence[str] | None = None,
    rows: int = 0,
    numbered: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Decode a row group in batches; columns of texts in `numbered` are numbers of different texts.

    Raises `LargePages`, beside what pyarrow raises.
    """
    check_pages(location, group, columns)
    with opened_table(location, read_dictionary=list(numbered)) as file:
        yield from file.iter_batches(rows or batch_rows(location, group), [group.number], columns, use_threads=False)


def first_batch(
    location: Location, group: PlacedGroup, rows: int, columns: Sequence[str] | None = None
) -> pa.RecordBatch:
    """Return the first rows of a row group. Raises ValueError without any: the file is not the one of the footer."""
    return first_of(batches_of(location, group, columns, rows))


def first_of(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch:
    """The first of some batches. Raises ValueError without one: the file is not the one of the footer."""
    for batch in batches:
        return batch
    raise ValueError("fewer rows than its footer says")


def reason_of(error: BaseException) -> str:
    """Say why a file could not be read, in a line."""
    if isinstance(error, OSError) and error.strerror:
        return f"could not be read: {error.strerror}"
    return f"could not be read: {next(iter(str(error).splitlines()), type(error).__name__)[:200]}"
