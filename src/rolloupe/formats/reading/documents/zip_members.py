"""Members of a zip archive as bytes, read within bounds: by their names, which lead nowhere, and never onto a disk.

Python's `zipfile` reads the directory. The members are unpacked here, as it knows zstd from Python 3.14 on alone.
"""

import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import BinaryIO, Self

from rolloupe.formats.reading.codecs import MAX_RATIO, MAX_WINDOW_LOG
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.tables.zip_archives import opened_archive
from rolloupe.model import Location
from rolloupe.storage import file_state, stamp_of_state

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_DIRECTORY_BYTES = 64 * 2**20
MAX_MEMBER_BYTES = 256 * 2**20
FREE_BYTES = 64 * 2**20
"""All members that are read of one archive may take this much, or `MAX_RATIO` times its size."""

STORED, DEFLATED, ZSTD = 0, 8, 93
_HEADER = struct.Struct("<4s22xHH")
_SIGNATURE = b"PK\x03\x04"
_BLOCK_BYTES = 2**18
_UNREADABLE = (zipfile.BadZipFile, zlib.error, zstd.ZstdError, EOFError, ValueError, struct.error, NotImplementedError)


class Members:
    """An archive that is open: its members by name, of those that share a name the last. Use it in a `with`."""

    def __init__(self, location: Location) -> None:
        """Read the directory, once until the file changes. Raises `Unusable` and OSError."""
        self._infos = _directory(location, *stamp_of_state(file_state(location)))
        self._file = opened_archive(location, MAX_DIRECTORY_BYTES)
        self._left = max(FREE_BYTES, MAX_RATIO * self._file.seek(0, 2))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def names(self) -> list[str]:
        """Return the names of all members, as stored."""
        return list(self._infos)

    def read(self, name: str) -> bytes:
        """Return a member; nothing without one. Raises `Unusable` and OSError."""
        info = self._infos.get(name)
        if info is None:
            return b""
        if info.flag_bits & 1:
            raise Unusable("it is encrypted")
        try:
            data = self._unpacked(info)
        except _UNREADABLE as error:
            raise Unusable(f"it cannot be unpacked: {error}") from None
        if zlib.crc32(data) != info.CRC:
            raise Unusable("it cannot be unpacked: its checksum is another")
        return data

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        limit = min(MAX_MEMBER_BYTES, self._left)
        if limit <= 0:
            raise Unusable("the members before it took all that is read of an archive of this size")
        self._file.seek(info.header_offset)
        signature, name_bytes, extra_bytes = _HEADER.unpack(self._file.read(_HEADER.size))
        if signature != _SIGNATURE:
            raise ValueError("no member where the directory says")
        self._file.seek(name_bytes + extra_bytes, 1)
        began, found, count = self._file.tell(), [], 0
        try:
            for piece in _pieces(self._file, info.compress_type, info.compress_size):
                count += len(piece)
                if count > limit:
                    raise Unusable(f"it expands to more than {limit >> 20} MiB: not read")
                found.append(piece)
        finally:  # what cannot be unpacked takes time as well, and members may share their bytes
            self._left -= max(count, self._file.tell() - began)
        return b"".join(found)


@lru_cache(maxsize=4)
def _directory(location: Location, inode: int, size: int, mtime_ns: int) -> dict[str, zipfile.ZipInfo]:  # noqa: ARG001
    try:
        with opened_archive(location, MAX_DIRECTORY_BYTES) as file, zipfile.ZipFile(file) as archive:
            return {info.filename: info for info in archive.infolist()}
    except _UNREADABLE as error:
        raise Unusable(f"no readable zip archive: {error}") from None


def _pieces(file: BinaryIO, method: int, size: int) -> Iterator[bytes]:
    """Yield the content of a member in pieces of bounded size."""
    if method not in (STORED, DEFLATED, ZSTD):
        raise NotImplementedError(f"it is packed by method {method}, which is not read")
    stop = file.tell() + size
    blocks = iter(lambda: file.read(min(_BLOCK_BYTES, max(0, stop - file.tell()))), b"")
    if method == STORED:
        yield from blocks
    elif method == DEFLATED:
        yield from _inflated(blocks)
    else:
        yield from _of_frames(blocks)


def _inflated(blocks: Iterator[bytes]) -> Iterator[bytes]:
    codec = zlib.decompressobj(-zlib.MAX_WBITS)
    for block in blocks:
        while block and not codec.eof:
            yield codec.decompress(block, _BLOCK_BYTES)
            block = codec.unconsumed_tail  # noqa: PLW2901


def _of_frames(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Unpack zstd, one frame after another."""
    codec = _frame()
    for block in blocks:
        while block or not (codec.eof or codec.needs_input):
            codec = _frame() if codec.eof else codec
            yield codec.decompress(block, _BLOCK_BYTES)
            block = codec.unused_data if codec.eof else b""  # noqa: PLW2901


def _frame() -> "zstd.ZstdDecompressor":
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG})
