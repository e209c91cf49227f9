"""Reads Parquet files: their footers, the places of row groups, rows in batches of bounded size, and damage.

A file without a footer is being written. If the levels in a damaged footer do not match, pyarrow ends the process when
code reads the facts of a column. So this module reads footers itself, in Thrift's compact protocol, and checks their
claims before pyarrow sees them.

Source: https://github.com/apache/parquet-format, and Thrift's thrift-compact-protocol.md.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rolloupe.formats.reading.codecs import FREE_BYTES, MAX_RATIO
from rolloupe.formats.reading.files import while_unchanged
from rolloupe.formats.reading.stream import LFS_POINTER
from rolloupe.model import Location
from rolloupe.protobuf import BadMessage, varint
from rolloupe.storage import open_file

MAGIC = b"PAR1"
TAIL_BYTES = 8
"""The length of the footer, and the magic, end a file."""
MAX_FOOTER_BYTES = 2**25
"""The largest footer: it holds the least and the largest text, each up to 4 KB, of each column in each row group."""
MAX_VALUES = 2**20
"""The most values of a footer: they take time and memory; the bytes of its texts take little of either."""
MAX_DEPTH = 16
MAX_PAGES = 2**17
"""The most pages of a row group."""
HEADER_BYTES = (2**10, 2**16)
"""Bytes to read for the header of a page, which may hold texts: at first, and if the first read is too short."""
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _, _STRUCT = range(1, 13)
_FIXED = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}
"""Bytes of values of a fixed size; true and false in a list take one each."""
_ROW_GROUPS, _COLUMNS, _BYTES, _ROWS, _META_DATA = 4, 1, 2, 3, 3
_VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_AT, _DICTIONARY_AT = 5, 6, 7, 9, 11
_PATH = 3
_PAGE_KIND, _PAGE_UNPACKED, _PAGE_PACKED, _DICTIONARY = 1, 2, 3, 2
_CUT = (IndexError, KeyError, TypeError, AttributeError, BadMessage)
"""Exceptions of reading a struct that is cut or damaged."""


class Chunk(NamedTuple):
    """The place of the pages of a column in a row group; `column` is the first part of its path."""

    column: str
    start: int
    stop: int


class RowGroup(NamedTuple):
    """A row group according to the footer."""

    number: int
    """Its number in the file."""
    first_row: int
    """The number of its first row."""
    rows: int
    size_bytes: int
    """The size of all its columns, uncompressed."""
    values: int
    columns: int
    start: int
    """The offset of its first column in the file."""
    stop: int
    largest_dictionary: int
    """The size of the largest column with a dictionary, whose values any row may repeat."""
    chunks: tuple[Chunk, ...] = ()


def row_groups(file: BinaryIO) -> list[RowGroup]:
    """Read the row groups of a file. Raises `ValueError` for a file without such a footer, and `OSError`."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    tail = file.read(TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if len(tail) < TAIL_BYTES or tail[4:] != MAGIC or length + TAIL_BYTES > size:
        raise ValueError("it has no footer, so no end of a Parquet file")
    if length > MAX_FOOTER_BYTES:
        raise ValueError("its footer is too large")
    file.seek(size - TAIL_BYTES - length)
    groups: list[RowGroup] = []
    first_row = 0
    try:
        for number, metadata in enumerate(_Compact(file.read(length)).struct()[_ROW_GROUPS]):
            groups.append(_row_group(metadata, number, first_row))
            first_row += groups[-1].rows
    except _CUT:
        raise ValueError("its footer is damaged") from None
    return groups


def _row_group(metadata: dict[int, Any], number: int, first_row: int) -> RowGroup:
    facts = [column[_META_DATA] for column in metadata[_COLUMNS]]
    starts = [column.get(_DICTIONARY_AT) or column[_DATA_AT] for column in facts]
    stops = [start + column[_COMPRESSED] for start, column in zip(starts, facts, strict=True)]
    names = (sys.intern(column[_PATH][0].decode("utf-8", "replace")) for column in facts)
    group = RowGroup(
        number=number,
        first_row=first_row,
        rows=metadata[_ROWS],
        size_bytes=metadata[_BYTES],
        values=sum(column[_VALUES] for column in facts),
        columns=len(facts),
        start=min(starts, default=0),
        stop=max(stops, default=0),
        largest_dictionary=max((column[_UNCOMPRESSED] for column in facts if column.get(_DICTIONARY_AT)), default=0),
        chunks=tuple(map(Chunk, names, starts, stops)),
    )
    if min(group[:-1]) < 0 or any(column[_VALUES] < 0 or column[_COMPRESSED] < 0 for column in facts):
        raise ValueError("its footer is damaged")
    return group


class _Compact:
    """Reads one value after another; reading beyond the end raises one of `_CUT`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0
        self._values_left = MAX_VALUES

    def struct(self, depth: int = 0) -> dict[int, Any]:
        members: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            self._claim(1)
            kind, delta = head & 15, head >> 4
            field = field + delta if delta else self._integer()
            members[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return members

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise IndexError
        if kind in (_I16, _I32, _I64):
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(self._claim(size))]
        size = self._varint() if kind == _BINARY else _FIXED[kind]
        if size > len(self._data) - self.at:
            raise IndexError
        self.at += size
        return self._data[self.at - size : self.at]

    def _claim(self, values: int) -> int:
        """Return a count of values, each of which takes at least a byte."""
        if values > len(self._data) - self.at:
            raise IndexError
        self._values_left -= values
        if self._values_left < 0:
            raise ValueError("its footer has too many values")
        return values

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        number, self.at = varint(self._data, self.at)
        return number

    def _integer(self) -> int:
        coded = self._varint()
        return coded >> 1 ^ -(coded & 1)


class _Page(NamedTuple):
    """A page according to its header; the footer does not have its sizes."""

    is_dictionary: bool
    unpacked: int
    packed: int
    stop: int


def _page_at(file: BinaryIO, place: int) -> _Page:
    """Read the header of a page. Raises `ValueError`."""
    for size in HEADER_BYTES:
        file.seek(place)
        reader = _Compact(file.read(size))
        with contextlib.suppress(*_CUT):
            header = reader.struct()
            unpacked, packed = header[_PAGE_UNPACKED], header[_PAGE_PACKED]
            if min(unpacked, packed) >= 0:
                return _Page(header.get(_PAGE_KIND) == _DICTIONARY, unpacked, packed, place + reader.at + packed)
    raise ValueError("the header of a page is damaged")


MAX_COLUMNS = 4096
FREE_ROWS = 2**14
"""A file may have this many rows, and one more for each of its bytes."""
BATCH_ROWS = 256
FEW_ROWS = 8
BATCH_BYTES = 32 * 2**20
"""The largest batch: any row may be as large as its group, or repeat the largest text of a dictionary."""
REPEATED_BYTES = 4 * BATCH_BYTES
"""The largest batch whose rows each repeat a text as large as the dictionary; a single row may be larger."""
MAX_PAGE_BYTES = 192 * 2**20
"""pyarrow decodes a page at once: the largest pages and the dictionaries of all columns together take at most this."""
BUFFER_BYTES = 2**20
KEPT_FOOTERS = 64
UNREADABLE = (OSError, pa.ArrowException, ValueError, MemoryError)
"""Exceptions that reading a damaged or changing file may raise."""


class LargePages(ValueError):
    """Raised for a row group that has pages too large to be decoded; its text is the reason."""


@while_unchanged(2)
def _footer(location: Location) -> list[RowGroup]:
    with open_file(location) as file:
        return row_groups(file)


@while_unchanged(1024)
def page_bytes(location: Location, number: int, columns: tuple[str, ...] | None = None) -> int:
    """Return the memory for decoding columns of a row group at once: the dictionary and the largest page of each.

    pyarrow holds the packed page too, and of a dictionary two copies of the texts. Raises `ValueError` for damaged
    headers, and OSError.
    """
    chunks = [chunk for chunk in _footer(location)[number].chunks if columns is None or chunk.column in columns]
    total = pages = 0
    with open_file(location) as file:
        for chunk in chunks:
            place, largest, dictionary = chunk.start, 0, 0
            while place < chunk.stop:
                pages += 1
                if pages > MAX_PAGES:
                    raise ValueError("a row group of too many pages")
                page = _page_at(file, place)
                if page.is_dictionary:
                    dictionary = max(dictionary, 3 * page.unpacked + page.packed)
                else:
                    largest = max(largest, page.unpacked + page.packed)
                place = page.stop
            total += largest + dictionary
    return total


@while_unchanged(1024)
def largest_dictionary(location: Location, number: int) -> int:
    """Return the size of the largest dictionary of a row group. Raises as `page_bytes`."""
    with open_file(location) as file:
        first_pages = [_page_at(file, chunk.start) for chunk in _footer(location)[number].chunks]
    return max((page.unpacked for page in first_pages if page.is_dictionary), default=0)


def batch_rows(location: Location, group: RowGroup) -> int:
    """Return how many rows of a row group to decode at a time. Raises as `page_bytes`."""
    rows = min(BATCH_ROWS, max(FEW_ROWS, BATCH_BYTES // max(group.size_bytes, group.largest_dictionary, 1)))
    if rows * group.largest_dictionary <= REPEATED_BYTES:
        return rows
    return max(1, min(rows, REPEATED_BYTES // max(1, largest_dictionary(location, group.number))))


@while_unchanged(KEPT_FOOTERS)
def groups_of(location: Location) -> tuple[RowGroup, ...]:
    """Return the row groups of a file, without their chunks.

    Raises OSError, and ValueError for a missing footer or excessive claims.
    """
    with open_file(location) as file:
        size_bytes = file.seek(0, os.SEEK_END)
    groups = tuple(group._replace(chunks=()) for group in _footer(location))
    if sum(group.rows for group in groups) > FREE_ROWS + size_bytes:
        raise ValueError("more rows than the file has bytes: not read")
    if sum(group.size_bytes for group in groups) > max(FREE_BYTES, MAX_RATIO * size_bytes):
        raise ValueError(f"expands more than {MAX_RATIO}-fold: not read")
    if any(group.columns > MAX_COLUMNS for group in groups):
        raise ValueError(f"more than {MAX_COLUMNS:,} columns: not read")
    return groups


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
    group: RowGroup,
    columns: Sequence[str] | None = None,
    rows: int = 0,
    numbered: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Decode a row group in batches; columns in `numbered` keep each different text once, and its number in each row.

    Raises `LargePages`, and the exceptions of pyarrow.
    """
    size = page_bytes(location, group.number, None if columns is None else tuple(columns))
    if size > MAX_PAGE_BYTES:
        raise LargePages(
            f"pages of {size >> 20:,} MiB, which would have to be in memory at once: up to {MAX_PAGE_BYTES >> 20} MiB "
            "are read. Next: write the file again with smaller ones: in pyarrow, "
            "write_batch_size=16, use_dictionary=False"
        )
    with opened_table(location, read_dictionary=list(numbered)) as file:
        yield from file.iter_batches(rows or batch_rows(location, group), [group.number], columns, use_threads=False)


def first_of(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the first of some batches. Raises ValueError without any: the file is not the one of the footer."""
    for batch in batches:
        return batch
    raise ValueError("fewer rows than its footer says")


def reason_of(error: BaseException) -> str:
    """Say why a file could not be read, in a line."""
    if isinstance(error, OSError) and error.strerror:
        return f"could not be read: {error.strerror}"
    return f"could not be read: {next(iter(str(error).splitlines()), type(error).__name__)[:200]}"


LOOKED_AT = 2**12
AGAIN = "Next: copy it again, or have its writer write it again"
WAIT = "Next: wait until its writer is done; if nobody writes it any more, copy it again"
_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "compressed by gzip", "Next: unpack it with gunzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "Next: unpack it with zstd -d"),
    (b"PK\x03\x04", "a zip archive", "Next: unpack it"),
    (b"ARROW1", "an Arrow file (Feather)", "Next: write it as Parquet, as with pyarrow.parquet.write_table"),
    (b"SQLite format 3\0", "a database of SQLite", "Next: name it .db"),
    (b"\x89HDF", "HDF5", "Next: write its samples as JSON lines"),
    (b"\x93NUMPY", "an array of NumPy", "Next: write its samples as JSON lines"),
    (b"PAR1", "a Parquet file", "Next: name it .parquet"),
    (LFS_POINTER, "a pointer of Git LFS in place of the file", "Next: run git lfs pull in its repository"),
    (b"<!DOCTYPE", "a web page, such as an error of a download", AGAIN),
    (b"<html", "a web page, such as an error of a download", AGAIN),
    (b"<?xml", "XML, such as an error of an object store", AGAIN),
    (b"{", "JSON", "Next: name it .jsonl"),
    (b"[", "JSON", "Next: name it .json"),
)


class _FileEnds(NamedTuple):
    size: int
    head: bytes
    tail: bytes


def _ends(location: Location) -> _FileEnds:
    with open_file(location) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(LOOKED_AT)
        file.seek(max(0, size - LOOKED_AT))
        return _FileEnds(size, head, file.read(LOOKED_AT))


def _common(ends: _FileEnds, own: bytes) -> str:
    """Say what is odd about an empty or zeroed file, or one that does not begin with `own`; empty for any other."""
    if not ends.size:
        return f"empty: 0 bytes. {WAIT}"
    if not any(ends.head) and not any(ends.tail):
        return f"zeros in place of contents, as after a crash or an incomplete copy. {AGAIN}"
    if not any(ends.tail[-64:]):
        return f"cut off: its end is zeros, as after a crash or an incomplete copy. {AGAIN}"
    if not any(ends.head[:16]):
        return f"damaged: its beginning is zeros. {AGAIN}"
    for start, what, step in _OTHERS:
        if not own.startswith(start) and ends.head.lstrip(b" \r\n\t").startswith(start):
            return f"{what}, whatever its name says. {step}"
    return ""


def why_no_table(location: Location) -> str:
    """Return why a Parquet file cannot be read; empty if its beginning and its end are whole."""
    try:
        ends = _ends(location)
        if reason := _common(ends, b"PAR1"):
            return reason
        head, tail = ends.head[:4], ends.tail[-4:]
        if b"PARE" in (head, tail):
            return "an encrypted Parquet file, for which Rolloupe has no key. Next: write it without encryption"
        if head != b"PAR1":
            odd = "damaged: its first bytes are not those of Parquet"
            return f"{odd if tail == b'PAR1' else 'no Parquet file: garbled'}. {AGAIN}"
        if tail != b"PAR1":
            return f"cut off, or still being written: its last bytes are not the end of a Parquet file. {WAIT}"
        length = int.from_bytes(ends.tail[-8:-4], "little")
        if length + 12 > ends.size:
            return f"damaged: its end claims a footer of {length:,} bytes, and the file has {ends.size:,}. {AGAIN}"
        try:
            groups = groups_of(location)
        except ValueError as error:
            return f"damaged: {error}. {AGAIN}"
        try:
            if groups:
                first_of(batches_of(location, groups[0], rows=1))
        except UNREADABLE as error:
            if isinstance(error, OSError) and error.errno:
                raise
            words = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            return words if "Next:" in words else f"damaged: its first row group cannot be decoded ({words}). {AGAIN}"
    except OSError:
        return ""
    return ""


def why_no_torch(location: Location) -> str:
    """Return why a `.pt` file cannot be read, judging by its beginning and end; else an empty text."""
    try:
        ends = _ends(location)
    except OSError:
        return ""
    if reason := _common(ends, b"PK\x03\x04"):
        return reason
    if ends.head.startswith(b"PK\x03\x04"):
        with open_file(location) as file:
            file.seek(max(0, ends.size - 2**16 - 22))
            has_directory = b"PK\x05\x06" in file.read()
        return "" if has_directory else f"cut off, or still being written: the archive has no directory. {WAIT}"
    if ends.head[:1] != b"\x80":
        return f"no file of PyTorch: garbled, or another file of this name. {AGAIN}"
    return ""
