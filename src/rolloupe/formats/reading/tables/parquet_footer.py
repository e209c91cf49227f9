"""The footer of a Parquet file: its row groups, checked before any library trusts them.

pyarrow ends the process on a damaged footer with mismatched levels, as soon as code reads the facts of a column. This
module therefore reads them itself: Thrift's compact protocol, as far as a footer uses it.

Source: https://github.com/apache/parquet-format, and Thrift's thrift-compact-protocol.md.
"""

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, NamedTuple

MAGIC = b"PAR1"
TAIL_BYTES = 8
"""The length of the footer, and the magic."""

MAX_FOOTER_BYTES = 2**25
"""A footer holds the least and the largest text of each column in each row group, of up to 4 KB each."""

MAX_VALUES = 2**20
"""The values of a footer take time and memory; the bytes of its texts take next to none."""

MAX_DEPTH = 16

MAX_PAGES = 2**17
"""Of the columns of a row group."""

HEADER_BYTES = (2**10, 2**16)
"""How much is read for the header of a page, which may hold texts, at first and then."""

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = range(1, 14)
_FIXED = {_BYTE: 1, _DOUBLE: 8, _UUID: 16}
_ROW_GROUPS, _COLUMNS, _BYTES, _ROWS, _META_DATA = 4, 1, 2, 3, 3
_VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_AT, _DICTIONARY_AT = 5, 6, 7, 9, 11
_PATH = 3
_PAGE_KIND, _PAGE_UNPACKED, _PAGE_PACKED, _DICTIONARY = 1, 2, 3, 2


class Chunk(NamedTuple):
    """Where the pages of a column of a row group lie; `column` is what its path begins with."""

    column: str
    start: int
    stop: int


class RowGroup(NamedTuple):
    """A row group according to the footer."""

    rows: int
    size_bytes: int
    """Of all its columns, uncompressed."""
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
        raise ValueError("it has no end of a Parquet file")
    if length > MAX_FOOTER_BYTES:
        raise ValueError("its footer is too large")
    file.seek(size - TAIL_BYTES - length)
    try:
        metadata = _Compact(file.read(length)).struct(0)
        return [_row_group(one) for one in metadata[_ROW_GROUPS]]
    except (IndexError, KeyError, TypeError, AttributeError):
        raise ValueError("its footer is damaged") from None


def _row_group(metadata: dict[int, Any]) -> RowGroup:
    columns = metadata[_COLUMNS]
    facts = [one[_META_DATA] for one in columns]
    starts = [one.get(_DICTIONARY_AT) or one[_DATA_AT] for one in facts]
    stops = [start + one[_COMPRESSED] for start, one in zip(starts, facts, strict=True)]
    found = RowGroup(
        rows=metadata[_ROWS],
        size_bytes=metadata[_BYTES],
        values=sum(one[_VALUES] for one in facts),
        columns=len(columns),
        start=min(starts, default=0),
        stop=max(stops, default=0),
        largest_dictionary=max((one[_UNCOMPRESSED] for one in facts if one.get(_DICTIONARY_AT)), default=0),
    )
    if min(found[:-1]) < 0 or any(one[_VALUES] < 0 or one[_COMPRESSED] < 0 for one in facts):
        raise ValueError("its footer is damaged")
    names = (sys.intern(one[_PATH][0].decode("utf-8", "replace")) for one in facts)
    return found._replace(chunks=tuple(map(Chunk, names, starts, stops)))


def page_bytes(file: BinaryIO, chunks: Iterable[Chunk]) -> int:
    """Return what decoding some columns at once takes: of each its dictionary, and its largest page, packed as well.

    Of a dictionary, pyarrow holds the page and two copies of its texts.

    Raises `ValueError` for damaged headers, and OSError.
    """
    total, pages = 0, 0
    for chunk in chunks:
        place, largest, dictionary = chunk.start, 0, 0
        while place < chunk.stop:
            pages += 1
            header, length = _page_header(file, place)
            unpacked, packed = header.get(_PAGE_UNPACKED), header.get(_PAGE_PACKED)
            if not (isinstance(unpacked, int) and isinstance(packed, int)) or min(unpacked, packed) < 0:
                raise ValueError("the header of a page is damaged")
            if pages > MAX_PAGES:
                raise ValueError("a row group of too many pages")
            if header.get(_PAGE_KIND) == _DICTIONARY:
                dictionary = max(dictionary, 3 * unpacked + packed)
            else:
                largest = max(largest, unpacked + packed)
            place += length + packed
        total += largest + dictionary
    return total


def dictionary_bytes(file: BinaryIO, chunks: Iterable[Chunk]) -> int:
    """Return the size of the largest dictionary of some columns. Raises as `page_bytes`."""
    headers = (_page_header(file, chunk.start)[0] for chunk in chunks)
    found = (one.get(_PAGE_UNPACKED) for one in headers if one.get(_PAGE_KIND) == _DICTIONARY)
    return max((size for size in found if isinstance(size, int)), default=0)


def _page_header(file: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    """The header of the page at a place, and its length. Raises `ValueError`."""
    for size in HEADER_BYTES:
        file.seek(place)
        reader = _Compact(file.read(size))
        with contextlib.suppress(IndexError, TypeError):
            return reader.struct(0), reader.at
    raise ValueError("the header of a page is damaged")


class _Compact:
    """Reads one value after another; reading beyond the end raises `IndexError`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0
        self._values_left = MAX_VALUES

    def struct(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            self._count(1)
            kind, delta = head & 15, head >> 4
            field = field + delta if delta else self._integer()
            found[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise IndexError
        if kind in (_I16, _I32, _I64):
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind == _MAP:
            return self._map(depth + 1)
        return self._skip(_FIXED.get(kind, 1))  # true and false in a list take a byte each

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        return [self._value(head & 15, depth) for _ in range(self._count(size))]

    def _map(self, depth: int) -> None:
        size = self._count(self._varint())
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._value(kinds >> 4, depth)
            self._value(kinds & 15, depth)

    def _count(self, values: int) -> int:
        """A number of values, each of which takes a byte or more."""
        self._values_left -= self._checked(values)
        if self._values_left < 0:
            raise ValueError("its footer has too many values")
        return values

    def _checked(self, size: int) -> int:
        if size > len(self._data) - self.at:
            raise IndexError
        return size

    def _bytes(self, size: int) -> bytes:
        self._skip(size)
        return self._data[self.at - size : self.at]

    def _skip(self, size: int) -> None:
        self.at += self._checked(size)

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        found = shift = 0
        while shift < 70:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
        raise IndexError

    def _integer(self) -> int:
        coded = self._varint()
        return coded >> 1 ^ -(coded & 1)
