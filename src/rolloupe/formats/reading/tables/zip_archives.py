"""Members of a zip archive, as Parquet tables or as bytes, read within bounds: an archive is as hostile as any file.

Nothing is unpacked under a name from the archive: readers look up members by fixed names, and contents go to
memory or to a nameless temporary file. Python's `zipfile` reads the directory; this module unpacks the members, because
`zipfile` knows zstd only from Python 3.14 on and does not bound memory. Unreadable tables become texts, never
exceptions; only an archive that cannot be opened raises.
"""

import contextlib
import io
import os
import struct
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO, Any, BinaryIO, Self, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rolloupe.formats.reading.codecs import FREE_BYTES, MAX_RATIO, ZstdError, zstd_decompressor
from rolloupe.formats.reading.files import while_unchanged
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.tables.parquet import readable
from rolloupe.formats.reading.tables.parquet_files import reason_of
from rolloupe.model import Location
from rolloupe.storage import open_file

STORED, DEFLATED, ZSTD = 0, 8, 93
_HEADER = struct.Struct("<4s22xHH")
_SIGNATURE = b"PK\x03\x04"
_BLOCK_BYTES = 2**17
_NOT_UNPACKED = (
    zipfile.BadZipFile, zlib.error, ZstdError, EOFError, ValueError, struct.error, NotImplementedError,
)  # fmt: skip
"""Exceptions of directories and members that are damaged, or packed unusually."""


class LargeDirectory(ValueError):
    """Raised for an archive whose directory is too large to be read; its text is the reason."""


class _Sparing(io.BufferedReader):
    """A file that refuses reads larger than a directory: an archive may hold two directories, one of them false."""

    most = 0

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self.most + 1 if size is None or size < 0 else size
        data = super().read(min(wanted, self.most + 1))
        if len(data) > self.most:
            raise LargeDirectory(f"a directory of more than {self.most >> 20} MiB: not read")
        return data


def opened_archive(location: Location, most_bytes: int) -> BinaryIO:
    """Open an archive for `zipfile`, which reads a directory of at most `most_bytes`."""
    file = _Sparing(cast("io.RawIOBase", open_file(location, 0)))
    file.most = most_bytes
    return file


def _contents(file: BinaryIO, info: zipfile.ZipInfo, limit: int) -> Iterator[bytes]:
    """Yield the content of a member in pieces of bounded size, at most `limit` bytes. Raises one of `_NOT_UNPACKED`."""
    if info.flag_bits & 1:
        raise ValueError("it is encrypted")
    file.seek(info.header_offset)
    signature, name_bytes, extra_bytes = _HEADER.unpack(file.read(_HEADER.size))
    if signature != _SIGNATURE:
        raise ValueError("no member where the directory says")
    file.seek(name_bytes + extra_bytes, os.SEEK_CUR)
    checksum = count = 0
    for piece in _pieces(file, info.compress_type, info.compress_size):
        count += len(piece)
        if count > limit:
            raise ValueError(f"it expands to more than {max(0, limit) >> 20} MiB: not read")
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if checksum != info.CRC:
        raise ValueError("its checksum does not match")


def _pieces(file: BinaryIO, method: int, size: int) -> Iterator[bytes]:
    if method not in (STORED, DEFLATED, ZSTD):
        raise NotImplementedError(f"it is packed by method {method}, which is not read")
    stop = file.tell() + size
    blocks = iter(lambda: file.read(min(_BLOCK_BYTES, max(0, stop - file.tell()))), b"")
    if method == STORED:
        yield from blocks
        return
    is_zstd = method == ZSTD
    codec: Any = zstd_decompressor() if is_zstd else zlib.decompressobj(-zlib.MAX_WBITS)
    for block in blocks:
        while is_zstd and (block or not (codec.eof or codec.needs_input)):  # one frame after another
            codec = zstd_decompressor() if codec.eof else codec
            yield codec.decompress(block, _BLOCK_BYTES)
            block = codec.unused_data if codec.eof else b""  # noqa: PLW2901
        while not is_zstd and block and not codec.eof:
            yield codec.decompress(block, _BLOCK_BYTES)
            block = codec.unconsumed_tail  # type: ignore[pyrefly:missing-attribute]  # noqa: PLW2901


MAX_MEMBERS_DIRECTORY_BYTES = 64 * 2**20
MAX_UNPACKED_BYTES = 256 * 2**20
FREE_UNPACKED_BYTES = 64 * 2**20
"""All members read from one archive may take this much, or `MAX_RATIO` times its size."""


class Members:
    """The members of an open archive; of those that share a name, the last counts. Use it in a `with`."""

    def __init__(self, location: Location) -> None:
        """Read the directory, once until the file changes. Raises `Unusable` and OSError."""
        self._infos = _directory(location)
        self._file = opened_archive(location, MAX_MEMBERS_DIRECTORY_BYTES)
        self._left = max(FREE_UNPACKED_BYTES, MAX_RATIO * self._file.seek(0, os.SEEK_END))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def names(self) -> list[str]:
        """Return the names of all members, as stored."""
        return list(self._infos)

    def read(self, name: str) -> bytes:
        """Return the content of a member; empty if it is missing. Raises `Unusable` and OSError."""
        info = self._infos.get(name)
        if info is None:
            return b""
        if self._left <= 0:
            raise Unusable("the members before it took all that is read of an archive of this size")
        pieces: list[bytes] = []
        try:
            pieces += _contents(self._file, info, min(MAX_UNPACKED_BYTES, self._left))
        except _NOT_UNPACKED as error:
            raise Unusable(f"it cannot be unpacked: {error}") from None
        finally:  # failed members take time as well, and members may share their bytes
            packed_bytes = min(info.compress_size, self._file.tell() - info.header_offset)
            self._left -= max(sum(map(len, pieces)), packed_bytes)
        return b"".join(pieces)


@while_unchanged(4)
def _directory(location: Location) -> dict[str, zipfile.ZipInfo]:
    try:
        with opened_archive(location, MAX_MEMBERS_DIRECTORY_BYTES) as file, zipfile.ZipFile(file) as archive:
            return {info.filename: info for info in archive.infolist()}
    except _NOT_UNPACKED as error:
        raise Unusable(f"no readable zip archive: {error}") from None


MAX_MEMBERS = 1000
MAX_DIRECTORY_BYTES = 2**22
"""The largest directory: this many members, and no table has longer names."""
MAX_MEMBER_BYTES = 8 * 2**30
IN_MEMORY_BYTES = 32 * 2**20
"""A larger table goes to a temporary file, from which rows are read as needed."""
MAX_TABLE_BYTES = 16 * 2**30
MAX_ROWS = 2**26
FREE_ROWS = 2**20
ROWS_PER_BYTE = 64
"""All tables of an archive may have `FREE_ROWS`, and this many more for each byte of it, up to `MAX_ROWS`.

Compressed, repeated rows take almost no space: a file of 7 kB can hold a hundred million of them. Readers of a table
make arrays of its length. Telescope's own tables hold texts as well, and stay far below the limit.
"""
MAX_COLUMNS = 64
BATCH_ROWS = 1024
FEW_ROWS = 64
LARGE_BYTES = 8 * 2**20
"""If a dictionary may hold values this large, batches are small: each row may repeat the largest."""
T = TypeVar("T")
_UNREADABLE = (
    *_NOT_UNPACKED, OSError, pa.ArrowException, RuntimeError, ArithmeticError, LookupError,
)  # fmt: skip
"""These exceptions, and those of pyarrow on damaged tables."""


class Unreadable(Exception):
    """Raised for an archive that cannot be opened; its text is the reason."""


class Tables:
    """The tables of one archive, each read on first use. Thread-safe."""

    def __init__(self, location: Location, state: object = None) -> None:
        """Read the directory of an archive. Raises `Unreadable`."""
        self.location = location
        self.state = state
        """The state of the file just before its directory was read."""
        self.trouble: dict[str, str] = {}
        """Reasons for unreadable members."""
        self._held: dict[tuple[str, frozenset[str]], pa.Table | None] = {}
        self._rows = 0
        self.unpacked_bytes: dict[str, int] = {}
        """The most bytes that were unpacked from each member, even if reading it failed."""
        self._lock = threading.Lock()
        self._derived: dict[str, Any] = {}
        self._deriving = threading.Lock()
        try:
            with opened_archive(location, MAX_DIRECTORY_BYTES) as file, zipfile.ZipFile(file) as archive:
                listed = archive.infolist()
                size = file.seek(0, os.SEEK_END)
        except zipfile.BadZipFile as error:
            reason = "no directory at its end" if "not a zip file" in str(error) else error
            raise Unreadable(f"could not be read: {reason}") from None
        except _UNREADABLE as error:
            raise Unreadable(reason_of(error)) from None
        if len(listed) > MAX_MEMBERS:
            raise Unreadable(f"could not be read: a directory of {len(listed):,} members")
        self._most_rows = min(MAX_ROWS, FREE_ROWS + ROWS_PER_BYTE * size)
        self._most_bytes = max(FREE_BYTES, MAX_RATIO * size)
        self._members = {info.filename: info for info in listed}
        if len(self._members) < len(listed):
            self.trouble[os.path.basename(location.path)] = "members that share a name: the last of each counts"

    def names(self) -> list[str]:
        """Return the names of all members, as stored."""
        return list(self._members)

    def has(self, name: str) -> bool:
        """Return whether the archive has a table of that name."""
        return f"{name}.parquet" in self._members

    def table(self, name: str, without: frozenset[str] = frozenset(), most: int = MAX_ROWS) -> pa.Table | None:
        """Return a table without some columns; None if none is readable, or if it has more rows than `most`."""
        key = (name, without)
        with self._lock:
            if key not in self._held:
                limit = min(most, self._most_rows - self._rows)
                table = self._read(name, lambda column: column not in without, limit)
                self._rows += table.num_rows if table is not None else 0
                self._held[key] = table
            return self._held[key]

    def derived(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of a function of some tables, computed once; it lives as long as they do."""
        with self._deriving:
            if name not in self._derived:
                self._derived[name] = make()
            return cast("T", self._derived[name])

    def columns(self, name: str, columns: frozenset[str], most: int = MAX_ROWS) -> pa.Table | None:
        """Return some columns of a table, which are not cached."""
        return self._read(name, columns.__contains__, min(most, self._most_rows))

    def _read(self, name: str, is_wanted: Callable[[str], bool], most: int) -> pa.Table | None:
        if not self.has(name):
            return None
        try:
            with self._unpacked(f"{name}.parquet") as file, pq.ParquetFile(file, pre_buffer=False) as table:
                return _decoded(table, is_wanted, most)
        except _UNREADABLE as error:
            self.trouble[name] = reason_of(error)
            return None

    @contextlib.contextmanager
    def _unpacked(self, member: str) -> Iterator[IO[bytes]]:
        """Unpack a member to a file with random access."""
        info = self._members[member]
        others = sum(size for name, size in self.unpacked_bytes.items() if name != member)
        limit = min(MAX_MEMBER_BYTES, max(FREE_BYTES, MAX_RATIO * info.compress_size), self._most_bytes - others)
        with (
            opened_archive(self.location, MAX_DIRECTORY_BYTES) as file,
            tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as unpacked,
        ):
            try:
                for piece in _contents(file, info, limit):
                    unpacked.write(piece)
            finally:  # members may share their bytes
                self.unpacked_bytes[member] = max(unpacked.tell(), self.unpacked_bytes.get(member, 0))
            unpacked.seek(0)
            yield unpacked


def _decoded(file: pq.ParquetFile, is_wanted: Callable[[str], bool], most: int) -> pa.Table:
    """Decode a table in batches; a large one goes to a temporary file, and its rows are read from there.

    Raises ValueError for a table with more rows than `most`.
    """
    own = [field for field in file.schema_arrow if is_wanted(field.name) and any(fits(field.type) for fits in _FLAT)]
    names = [field.name for field in own]
    if len(names) > MAX_COLUMNS or len(set(names)) < len(names):
        raise ValueError(f"{len(names)} columns, or columns that share a name")
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    largest = max((column.total_uncompressed_size for column in columns if column.has_dictionary_page), default=0)
    rows = FEW_ROWS if largest > LARGE_BYTES else BATCH_ROWS  # as each row may repeat a large value of a dictionary
    batches = _counted(file.iter_batches(batch_size=rows, columns=names, use_threads=False), most)
    first = _joined(batches, pa.schema(own))
    following = next(batches, None)
    return first if following is None else _on_disk(first, chain([following], batches))


def _counted(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        if rows > most:
            raise ValueError(f"more than {most:,} rows, more than are read of so small a file")
        yield batch


def _joined(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Join batches until they take more than `IN_MEMORY_BYTES`."""
    some, size = [], 0
    for batch in batches:
        some.append(batch)
        size += batch.nbytes
        if size > IN_MEMORY_BYTES:
            break
    return pa.Table.from_batches(some, schema).combine_chunks()


def _on_disk(table: pa.Table, rest: Iterator[pa.RecordBatch]) -> pa.Table:
    """Write a table and the batches after it to a nameless temporary file, and map it into memory."""
    handle, path = tempfile.mkstemp(suffix=".arrow")
    os.close(handle)
    schema, written = table.schema, 0
    try:
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
            while table.num_rows:
                written += table.nbytes
                if written > MAX_TABLE_BYTES:
                    raise ValueError(f"a table of more than {MAX_TABLE_BYTES >> 30} GiB: not read")
                writer.write_table(table)
                del table  # before the next batches take as much
                table = _joined(rest, schema)
        return pa.ipc.open_stream(pa.memory_map(path)).read_all()
    finally:
        with contextlib.suppress(OSError):  # if a mapped file cannot be removed, the system cleans it up
            os.unlink(path)


_FLAT = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string, pa.types.is_large_string,
    pa.types.is_binary, pa.types.is_large_binary,
)  # fmt: skip
"""The types of columns that are read."""


def integers(table: pa.Table, name: str, missing: int) -> np.ndarray:
    """Return a column as int64, with `missing` for values that are not integers, and for a missing column."""
    if name in table.column_names:
        column = table.column(name)
        if pa.types.is_integer(column.type) and column.type != pa.uint64():
            return np.asarray(column.cast(pa.int64()).fill_null(missing).to_numpy(), dtype=np.int64)
    return np.full(table.num_rows, missing, dtype=np.int64)


def taken(table: pa.Table, rows: np.ndarray) -> list[dict[str, object]]:
    """Return some rows of a table, ascending, as Python values."""
    values: list[dict[str, object]] = []
    start = 0
    for batch in table.to_batches():
        low, high = np.searchsorted(rows, (start, start + batch.num_rows))
        if low < high:
            values += _as_python(batch.take(pa.array(rows[low:high] - start)))
        start += batch.num_rows
    return values


def _as_python(batch: pa.RecordBatch) -> list[dict[str, object]]:
    """Return the rows of a batch, with the readable part of invalid UTF-8."""
    try:
        rows: list[dict[str, object]] = batch.to_pylist()
    except UnicodeDecodeError:
        columns = [[readable(value) for value in column] for column in batch.columns]
        rows = [dict(zip(batch.schema.names, values, strict=True)) for values in zip(*columns, strict=True)]
    return rows
