"""Files ending in `.gz` or `.zst`, opened as the seekable binary stream of what they hold.

Offsets are those of the uncompressed stream. Decoding begins at the nearest point of access: the start of a gzip
member or a zstd frame (known at once where a seek table ends the file), or a decoder's state that was put aside on an
earlier pass, which zlib allows and zstd does not. What was decoded last stays in memory, in blocks. All of it is
bounded, for the process and not for each file.

A stream that is cut off or damaged reads as one that ends there; `damage_of` tells the two apart. What lies behind
damage is not read, as nothing says where in the stream it would stand.
"""

import errno
import io
import os
import struct
import threading
from bisect import bisect_right
from collections import OrderedDict
from itertools import count
from typing import Any, BinaryIO, NamedTuple

from rolloupe.formats._decoding import FREE_BYTES, MAX_RATIO, Damage, Decoder, Point, Stopped
from rolloupe.formats._files import compression_of

BLOCK_BYTES = 2**20
CACHED_BLOCKS = 64
KEPT_FILES = 8
KEPT_STATES = 128
"""Decoder states of one gzip file, 40 KiB each. Where there would be more, every second one goes."""

KEPT_STARTS = 16_384
STATE_SPACING = 4 * 2**20
START_SPACING = 2**20

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
_SEEK_FOOTER = struct.Struct("<IBI")
_SEEK_FOOTER_MAGIC = 0x8F92EAB1
_SEEK_TABLE_MAGIC = 0x184D2A5E
MAX_TABLE_BYTES = 16 * 2**20
_PROBE_BYTES = 4096


class Extent(NamedTuple):
    """How far a stream reaches, up to where one asked, and how many bytes of the file that takes."""

    stop: int
    file_bytes: int


class Block(NamedTuple):
    """`BLOCK_BYTES` of a stream, fewer at its end; `damage` says why it ends there, if not by itself."""

    data: bytes
    file_stop: int
    damage: Damage | None = None


class _State(NamedTuple):
    size: int
    mtime_ns: int


class _Contents:
    """What is known of one file's contents: points of access, a decoder that stands somewhere, the end if seen."""

    _numbers = count()

    def __init__(self, gzip: bool) -> None:
        self.lock = threading.RLock()
        self._gzip = gzip
        self._state = _State(-1, 0)
        self._forget()

    def _forget(self) -> None:
        self._number = next(self._numbers)
        self._points = [Point(0, 0)]
        self._spacing = STATE_SPACING if self._gzip else START_SPACING
        self._table_text: int | None = None
        self._decoder: Decoder | None = None
        self._buffer = bytearray()
        self._buffer_start = 0
        self._end: tuple[int, Block] | None = None
        self._head = b""
        self._furthest = (0, b"")

    def refresh(self, file: BinaryIO, state: _State) -> None:
        """Take note of what the file is now: keep what is known where it only grew."""
        if state == self._state:
            return
        if state.size <= self._state.size or self._table_text is not None or not self._still_holds(file):
            self._forget()
        self._state = state
        self._end = None
        if not self._gzip and (table := _read_seek_table(file, state.size)):
            self._points, self._table_text = table

    def _still_holds(self, file: BinaryIO) -> bool:
        stop, tail = self._furthest
        return _read_at(file, 0, len(self._head)) == self._head and _read_at(file, stop - len(tail), len(tail)) == tail

    @property
    def length(self) -> int | None:
        """The length of the stream where a seek table tells it."""
        return self._table_text

    def extent(self, file: BinaryIO, stop: int) -> Extent:
        """See `extent`."""
        index = max(0, stop - 1) // BLOCK_BYTES
        with self.lock:
            block = self.block(file, index)
            if not block.data and self._end is not None:
                index, block = self._end
        return Extent(min(stop, index * BLOCK_BYTES + len(block.data)), block.file_stop)

    def block(self, file: BinaryIO, index: int) -> Block:
        """Return a block, empty beyond the end. Raises OSError."""
        with self.lock:
            if held := _blocks.get(self._number, index):
                return held
            if self._end is None or index < self._end[0]:
                self._approach(index)
                found = self._decode(file, index)
                if found is not None:
                    return found
            assert self._end is not None
            last, block = self._end
            return block if index == last else Block(b"", block.file_stop, block.damage)

    def _approach(self, index: int, fine_from: int | None = None) -> None:
        """Have a decoder that stands before a block, as near as can be."""
        wanted = index * BLOCK_BYTES
        nearest = self._points[bisect_right(self._points, wanted, key=lambda point: point.text) - 1]
        decoder = self._decoder
        if fine_from is None and decoder and self._buffer_start <= wanted and decoder.text >= nearest.text:
            return
        self._decoder = Decoder(self._gzip, nearest, fine_from)
        self._buffer = bytearray()
        self._buffer_start = nearest.text

    def _decode(self, file: BinaryIO, index: int) -> Block | None:
        """Decode up to a block; None where the stream ends before it is full."""
        while True:
            decoder = self._decoder
            assert decoder is not None
            damage = None
            try:
                piece = decoder.pull(file)
                self._check(decoder)
            except Stopped as stopped:
                piece, damage = b"", stopped.damage
            if damage and not damage.cut and decoder.fine_from is None:
                self._approach(self._buffer_start // BLOCK_BYTES, fine_from=decoder.chunk_start)
                continue
            if not piece:
                if self._note_end(decoder, damage):
                    return None
                continue
            self._note(file, decoder)
            self._buffer += piece
            if (found := self._cut_block(decoder, index)) is not None:
                return found

    def _cut_block(self, decoder: Decoder, index: int) -> Block | None:
        """Take a full block off the buffer, if there is one; return it if it is the one that was asked for."""
        missing = BLOCK_BYTES - self._buffer_start % BLOCK_BYTES
        if len(self._buffer) < missing:
            return None
        number, whole = self._buffer_start // BLOCK_BYTES, missing == BLOCK_BYTES
        block = Block(bytes(self._buffer[:missing]) if whole else b"", decoder.place)
        del self._buffer[:missing]
        self._buffer_start += missing
        if whole:
            _blocks.put(self._number, number, block)
        return block if number == index and whole else None

    def _note_end(self, decoder: Decoder, damage: Damage | None) -> bool:
        """Remember how the stream ends. False where its last block has to be decoded from an earlier point first."""
        index = decoder.text // BLOCK_BYTES
        if self._buffer_start > index * BLOCK_BYTES:
            self._approach(index, decoder.fine_from)
            return False
        self._end = (index, Block(bytes(self._buffer), decoder.place, damage))
        if damage and not damage.cut:  # the decoder is of no more use
            self._decoder = None
        return True

    def _note(self, file: BinaryIO, decoder: Decoder) -> None:
        """Remember where the decoder is, if it is the furthest one so far, and far from the one before."""
        if decoder.place > self._furthest[0]:
            length = min(_PROBE_BYTES, decoder.place)
            self._furthest = (decoder.place, _read_at(file, decoder.place - length, length))
            self._head = self._head or _read_at(file, 0, length)
        if decoder.text - self._points[-1].text < self._spacing or not (point := decoder.point()):
            return
        self._points.append(point)
        if len(self._points) > (KEPT_STATES if self._gzip else KEPT_STARTS):
            del self._points[1::2]
            self._spacing *= 2

    def _check(self, decoder: Decoder) -> None:
        """Hold a seek table against what is found. Raises `Stopped` where it lies."""
        if self._table_text is None or not decoder.between:
            return
        at = bisect_right(self._points, decoder.place, key=lambda point: point.file) - 1
        if self._points[at].file == decoder.place and self._points[at].text != decoder.text:
            raise Stopped(Damage(decoder.place, "damaged (the seek table does not fit the frames)"))


class _Blocks:
    """The blocks that were used last, of all files together."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[int, int], Block] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, number: int, index: int) -> Block | None:
        with self._lock:
            block = self._held.get((number, index))
            if block is not None:
                self._held.move_to_end((number, index))
            return block

    def put(self, number: int, index: int, block: Block) -> None:
        with self._lock:
            self._held[number, index] = block
            while len(self._held) > CACHED_BLOCKS:
                self._held.popitem(last=False)


_blocks = _Blocks()
_known: OrderedDict[tuple[int, int, bool], _Contents] = OrderedDict()
_known_lock = threading.Lock()


def _contents(file: BinaryIO, gzip: bool) -> _Contents:
    """Return what is known of an open file, brought up to date."""
    state = os.fstat(file.fileno())
    key = (state.st_dev, state.st_ino, gzip)
    with _known_lock:
        found = _known.setdefault(key, _Contents(gzip))
        _known.move_to_end(key)
        while len(_known) > KEPT_FILES:
            _known.popitem(last=False)
    with found.lock:
        found.refresh(file, _State(state.st_size, state.st_mtime_ns))
    return found


def _read_seek_table(file: BinaryIO, size: int) -> tuple[list[Point], int] | None:
    """Read the table that ends a seekable zstd file: points of access, and the length of the stream.

    Source: contrib/seekable_format/zstd_seekable_compression_format.md of zstd.
    """
    frames, flags, magic = _unpacked(_SEEK_FOOTER, _read_at(file, size - _SEEK_FOOTER.size, _SEEK_FOOTER.size))
    if magic != _SEEK_FOOTER_MAGIC or flags & 0x7C:
        return None
    entry = struct.Struct("<III" if flags & 0x80 else "<II")
    length = frames * entry.size + _SEEK_FOOTER.size
    start = size - length - 8
    if length > MAX_TABLE_BYTES or start < 0:
        return None
    data = _read_at(file, start, 8 + length)
    if len(data) < 8 + length or struct.unpack_from("<II", data) != (_SEEK_TABLE_MAGIC, length):
        return None
    points, place, text, spacing = [Point(0, 0)], 0, 0, START_SPACING
    for packed, unpacked, *_ in entry.iter_unpack(data[8 : -_SEEK_FOOTER.size]):
        if text - points[-1].text >= spacing:
            points.append(Point(text, place))
        if len(points) > KEPT_STARTS:
            del points[1::2]
            spacing *= 2
        place, text = place + packed, text + unpacked
    return (points, text) if place == start and text <= max(FREE_BYTES, MAX_RATIO * size) else None


def _unpacked(layout: struct.Struct, data: bytes) -> tuple[Any, ...]:
    return layout.unpack(data) if len(data) == layout.size else (0, 0, 0)


def _read_at(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(max(0, start))
    return file.read(length)


class _Raw(io.RawIOBase):
    """The uncompressed stream of an open file."""

    def __init__(self, file: BinaryIO, contents: _Contents) -> None:
        self.contents = contents
        self.damage: Damage | None = None
        self.file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

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
        if not length:
            self.damage = block.damage
        return length

    def close(self) -> None:
        self.file.close()
        super().close()


def open_binary(path: str, buffer_bytes: int = BLOCK_BYTES) -> io.BufferedReader:
    """Open a file to read what it holds, uncompressed if its name says that it is compressed. Raises OSError."""
    kind = compression_of(path)
    if not kind:
        return _open_plain(path, buffer_bytes)
    file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with the stream
    try:
        if _read_at(file, 0, len(LFS_POINTER)) == LFS_POINTER:
            file.close()
            return _open_plain(path, buffer_bytes)
        return io.BufferedReader(_Raw(file, _contents(file, kind == ".gz")), buffer_bytes)
    except BaseException:
        file.close()
        raise


def _open_plain(path: str, buffer_bytes: int) -> io.BufferedReader:
    file = open(path, "rb", buffering=buffer_bytes)  # noqa: SIM115 - closed by the caller
    assert isinstance(file, io.BufferedReader)
    return file


def is_decoded(file: BinaryIO) -> bool:
    """Tell whether a file that `open_binary` opened is decoded as it is read."""
    return isinstance(getattr(file, "raw", None), _Raw)


def damage_of(file: BinaryIO) -> Damage | None:
    """Return why a stream that was read to its end ends there; None for one that ends by itself."""
    raw = getattr(file, "raw", None)
    return raw.damage if isinstance(raw, _Raw) else None


def extent(path: str, stop: int) -> Extent:
    """Tell how far a stream reaches, up to `stop`, and how much of the file that is. Raises OSError."""
    with open_binary(path) as file:
        if isinstance(raw := file.raw, _Raw):
            return raw.contents.extent(raw.file, stop)
        reached = min(stop, os.fstat(file.fileno()).st_size)
        return Extent(reached, reached)


def known_length(path: str) -> int | None:
    """Return the length of a stream if that is known without decoding it. Raises OSError."""
    with open_binary(path) as file:
        return raw.contents.length if isinstance(raw := file.raw, _Raw) else os.fstat(file.fileno()).st_size


def read_bytes(path: str, limit: int) -> bytes:
    """Return all that a file holds, uncompressed. Raises OSError, also for more than `limit` bytes and for damage."""
    with open_binary(path) as file:
        data = file.read(limit + 1)
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"holds more than {limit} bytes")
        if damage := damage_of(file):
            raise OSError(errno.EIO, f"{damage.reason}, at byte {damage.offset} of the compressed file")
        return data
