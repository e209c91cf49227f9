"""Files ending in `.gz` or `.zst`, opened as a seekable binary stream of their uncompressed content.

Offsets are those of the uncompressed stream. Memory is bounded for the process, not for each file: it holds the
contents of a few files, and the most recently decoded blocks.

A cut-off or damaged stream reads as one that ends there; `damage_of` tells the two apart.
"""

import errno
import io
import os
from collections.abc import Iterable
from typing import Any, BinaryIO

from rolloupe.formats.reading.access_points import BLOCK_BYTES, Contents, FileStamp, Gap, StreamExtent, read_at
from rolloupe.formats.reading.codecs import Damage
from rolloupe.formats.reading.files import compression_of
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import open_file, open_state

KEPT_FILES = 8
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"

_known: Lru[tuple[int, int, bool], Contents] = Lru(KEPT_FILES)


def _contents(file: BinaryIO, gzip: bool) -> Contents:
    """Return the state of an open file, up to date."""
    state = open_state(file)
    contents = _known.setdefault((state.st_dev, state.st_ino, gzip), Contents(gzip))
    with contents.lock:
        contents.refresh(file, FileStamp(state.st_size, state.st_mtime_ns))
    return contents


class _Raw(io.RawIOBase):
    """The uncompressed stream of an open file."""

    def __init__(self, file: BinaryIO, contents: Contents) -> None:
        self.contents = contents
        self.damage: Damage | None = None
        self.file = file
        self.spent_bytes = 0
        """The number of compressed bytes that the data read so far came from."""
        self._from: int | None = None
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def state(self) -> os.stat_result:
        """Return the state of the compressed file."""
        return open_state(self.file)

    def expect(self, spans: Iterable[tuple[int, int]]) -> None:
        """Where in the file these ranges of the stream lie is not known in advance."""

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            raise io.UnsupportedOperation("where a compressed stream ends is known only by reading it")
        self._at = max(0, offset + (self._at if whence == os.SEEK_CUR else 0))
        return self._at

    def readinto(self, into: Any) -> int:
        index, start = divmod(self._at, BLOCK_BYTES)
        block = self.contents.block(self.file, index)
        length = max(0, min(len(into), len(block.data) - start))
        into[:length] = block.data[start : start + length]
        self._at += length
        if self._from is None:
            self._from = max(0, block.file_stop - self.contents.ahead_bytes) if index else 0
        self.spent_bytes = max(self.spent_bytes, block.file_stop - self._from)
        if not length:
            self.damage = block.damage
        return length

    def close(self) -> None:
        self.file.close()
        super().close()


def open_binary(location: Location, buffer_bytes: int = BLOCK_BYTES) -> io.BufferedReader:
    """Open a file to read its content, uncompressed if its name has a compression suffix. Raises OSError."""
    kind = compression_of(location.path)
    if not kind:
        return _open_plain(location, buffer_bytes)
    file = open_file(location, buffering=0)
    try:
        if read_at(file, 0, len(LFS_POINTER)) == LFS_POINTER:
            file.close()
            return _open_plain(location, buffer_bytes)
        return io.BufferedReader(_Raw(file, _contents(file, kind == ".gz")), buffer_bytes)
    except BaseException:
        file.close()
        raise


def _open_plain(location: Location, buffer_bytes: int) -> io.BufferedReader:
    file = open_file(location, buffering=buffer_bytes)
    assert isinstance(file, io.BufferedReader)
    return file


def is_decoded(file: BinaryIO) -> bool:
    """Return whether a file from `open_binary` is decoded while reading."""
    return isinstance(getattr(file, "raw", None), _Raw)


def spent_bytes(file: BinaryIO) -> int | None:
    """Return how many compressed bytes the data read so far came from; None for a file that is not decoded."""
    raw = getattr(file, "raw", None)
    return raw.spent_bytes if isinstance(raw, _Raw) else None


def damage_of(file: BinaryIO) -> Damage | None:
    """Return why a stream that was read to its end ends there; None for a regular end."""
    raw = getattr(file, "raw", None)
    return raw.damage if isinstance(raw, _Raw) else None


def gaps_of(file: BinaryIO) -> list[Gap]:
    """Return the gaps of a stream met so far, in their order."""
    raw = getattr(file, "raw", None)
    return sorted(raw.contents.gaps.values()) if isinstance(raw, _Raw) and raw.contents.gaps else []


def extent(location: Location, stop: int) -> StreamExtent:
    """Return how far a stream reaches, up to `stop`, and how much of the file that is. Raises OSError."""
    with open_binary(location) as file:
        if isinstance(raw := file.raw, _Raw):
            return raw.contents.extent(raw.file, stop)
        reached = min(stop, open_state(file).st_size)
        return StreamExtent(reached, reached)


def known_length(location: Location) -> int | None:
    """Return the length of a stream if it is known without decoding. Raises OSError."""
    with open_binary(location) as file:
        return raw.contents.length if isinstance(raw := file.raw, _Raw) else open_state(file).st_size


def read_bytes(location: Location, limit: int) -> bytes:
    """Return the whole content of a file, uncompressed. Raises OSError, also beyond `limit` bytes and for damage."""
    with open_binary(location) as file:
        data = file.read(limit + 1)
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"holds more than {limit} bytes")
        if damage := damage_of(file):
            raise OSError(errno.EIO, f"{damage.reason}, at byte {damage.offset} of the compressed file")
        return data
