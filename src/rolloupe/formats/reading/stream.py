"""Files ending in `.gz` or `.zst`, opened as a seekable binary stream of their uncompressed content.

Offsets are those of the uncompressed stream. Memory is bounded for the process, not for each file: it holds the access
points of a few files, and the most recently decoded blocks. An access point is the start of a gzip member or a zstd
frame (a seek table at the end of the file lists these), or a decoder's state saved on an earlier pass, as zlib allows.

A cut-off or damaged stream ends at the damage, which `damage_of` returns. If a seek table locates the next frame, the
gap before it reads as blank lines, so that all offsets stay valid; `gaps_of` lists the gaps.
"""

import io
import os
import struct
import threading
from bisect import bisect_right
from collections.abc import Iterable
from itertools import count
from typing import Any, BinaryIO, NamedTuple

from rolloupe.formats.reading.codecs import (
    CHUNK_BYTES,
    FREE_BYTES,
    MAX_RATIO,
    PIECE_BYTES,
    Damage,
    Decoder,
    DecodingStopped,
    Point,
)
from rolloupe.formats.reading.files import compression_of
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import open_file, open_state

BLOCK_BYTES = 2**20
CACHED_BLOCKS = 64
KEPT_STATES = 128
"""Decoder states of one gzip file, 40 KiB each. When the list is full, every second one is dropped."""
KEPT_STARTS = 16_384
STATE_SPACING = 4 * 2**20
START_SPACING = 2**20
_SEEK_FOOTER = struct.Struct("<IBI")
_SEEK_FOOTER_MAGIC = 0x8F92EAB1
_SEEK_TABLE_MAGIC = 0x184D2A5E
MAX_TABLE_BYTES = 16 * 2**20
_PROBE_BYTES = 4096


class StreamExtent(NamedTuple):
    """The length of a stream, up to the requested end, and how many bytes of the file it takes."""

    stop: int
    file_bytes: int


class Block(NamedTuple):
    """`BLOCK_BYTES` of a stream, fewer at its end; `damage` is the reason for an early end."""

    data: bytes
    file_stop: int
    damage: Damage | None = None


class Gap(NamedTuple):
    """A piece of the stream that cannot be decoded, followed by a readable one."""

    start: int
    stop: int
    damage: Damage


class Contents:
    """The access points of a file, a decoder at some position, and the end once it was reached."""

    _numbers = count()

    def __init__(self, gzip: bool) -> None:
        self.lock = threading.RLock()
        self._gzip = gzip
        self.ahead_bytes = 0 if gzip else CHUNK_BYTES
        """`Block.file_stop` may lie this far behind the block: a zstd frame is fed in chunks."""
        self._size, self._mtime_ns = -1, 0
        self._forget()

    def _forget(self) -> None:
        self._number = next(self._numbers)
        self.points = [Point(0, 0)]
        self._spacing = STATE_SPACING if self._gzip else START_SPACING
        self.table_text: int | None = None
        """The length of the stream, if a seek table states it."""
        self._limit = 0
        """The number of the next point before the decoder, according to a seek table."""
        self._decoder: Decoder | _Filler | None = None
        self._buffer = bytearray()
        self._buffer_start = 0
        self._end: tuple[int, Block] | None = None
        self.gaps: dict[int, Gap] = {}
        """The gaps that decoding has met, by their starts."""
        self._head = b""
        self._furthest = (0, b"")

    def refresh(self, file: BinaryIO, size: int, mtime_ns: int) -> None:
        """Note the state of the file; forget everything about it unless it only grew."""
        if (size, mtime_ns) == (self._size, self._mtime_ns):
            return
        stop, tail = self._furthest
        if (
            size <= self._size
            or self.table_text is not None
            or read_at(file, 0, len(self._head)) != self._head
            or read_at(file, stop - len(tail), len(tail)) != tail
        ):
            self._forget()
        self._size, self._mtime_ns = size, mtime_ns
        self._end = None
        if not self._gzip and (table := _read_seek_table(file, size)):
            self.points, self.table_text = table

    def extent(self, file: BinaryIO, stop: int) -> StreamExtent:
        """Return how far the stream reaches, up to `stop`."""
        index = max(0, stop - 1) // BLOCK_BYTES
        with self.lock:
            block = self.block(file, index)
            if not block.data and self._end is not None:
                index, block = self._end
        return StreamExtent(min(stop, index * BLOCK_BYTES + len(block.data)), block.file_stop)

    def block(self, file: BinaryIO, index: int) -> Block:
        """Return a block, empty beyond the end. Raises OSError."""
        with self.lock:
            if cached := _blocks.get((self._number, index)):
                return cached
            if self._end is None or index < self._end[0]:
                self._approach(index)
                block = self._decode(file, index)
                if block is not None:
                    return block
            assert self._end is not None
            last, block = self._end
            return block if index == last else Block(b"", block.file_stop, block.damage)

    def _approach(self, index: int) -> None:
        """Position a decoder before a block, as near as possible."""
        wanted = index * BLOCK_BYTES
        nearest = self._nearest(wanted)
        decoder = self._decoder
        if decoder and self._buffer_start <= wanted and decoder.text >= nearest.text:
            return
        self._begin(nearest)
        self._buffer = bytearray()
        self._buffer_start = nearest.text

    def _begin(self, point: Point) -> None:
        self._decoder = Decoder(self._gzip, point)
        self._limit = bisect_right(self.points, point.file, key=lambda other: other.file)

    def _nearest(self, text: int) -> Point:
        return self.points[bisect_right(self.points, text, key=lambda point: point.text) - 1]

    def _decode(self, file: BinaryIO, index: int) -> Block | None:
        """Decode up to a block; None if the stream ends before the block is full."""
        while True:
            decoder = self._decoder
            assert decoder is not None
            damage = None
            try:
                piece = decoder.pull(file)
            except DecodingStopped as stopped:
                piece, damage = b"", stopped.damage
                if stopped.lossy and isinstance(decoder, Decoder):
                    piece, damage = self._last_piece(file, decoder, damage)
            if self.table_text is not None and isinstance(decoder, Decoder):
                piece, damage = self._held_to_table(decoder, piece, damage)
            if piece and not damage:
                self._note(file, decoder)
            self._buffer += piece
            wanted = self._cut_blocks(decoder, index)
            goes_on = bool(piece and not damage) or self._goes_on(decoder, damage)
            if wanted or not goes_on:
                return wanted

    def _last_piece(self, file: BinaryIO, decoder: Decoder, damage: Damage) -> tuple[bytes, Damage]:
        """Decode again in small steps: an error discards all output of its call."""
        start = self._nearest(decoder.text) if self.table_text is None else self.points[self._limit - 1]
        again = Decoder(self._gzip, start, fine_from=decoder.chunk_start)
        piece = b""
        try:
            while len(piece) < PIECE_BYTES and (more := again.pull(file)):
                piece += more[-(again.text - decoder.text) :] if again.text > decoder.text else b""
        except DecodingStopped as stopped:
            damage = stopped.damage
        decoder.text += len(piece)
        return piece, damage

    def _goes_on(self, decoder: "Decoder | _Filler", damage: Damage | None) -> bool:
        """Continue after the place where a decoder stopped; return False if the stream ends there."""
        if isinstance(decoder, _Filler):
            self._begin(decoder.behind)
            return True
        if damage and self.table_text is not None and self._limit < len(self.points):
            behind = self.points[self._limit]
            self.gaps[decoder.text] = Gap(decoder.text, behind.text, damage)
            self._decoder = _Filler(decoder, behind)
            return True
        return not self._note_end(decoder, damage)

    def _held_to_table(self, decoder: Decoder, piece: bytes, damage: Damage | None) -> tuple[bytes, Damage | None]:
        """Check that a decoder reaches the next point where the seek table states; else stop it before that point.

        So the content of a block never depends on the point where decoding began, even if the table is wrong.
        """
        while self._limit < len(self.points):
            text, place, _ = self.points[self._limit]
            before = decoder.text - len(piece)
            if before == text and decoder.begun >= place:
                self._limit += 1
                continue
            if decoder.begun >= place or decoder.text > text or not (piece or damage):
                piece = b"" if decoder.begun >= place else piece[: text - before]
                decoder.text = before + len(piece)
                damage = Damage(decoder.begun, "damaged (the seek table does not fit the frames)")
            break
        return piece, damage

    def _cut_blocks(self, decoder: "Decoder | _Filler", index: int) -> Block | None:
        """Take the full blocks off the buffer; return the requested one if it is among them."""
        wanted = None
        while len(self._buffer) >= (missing := BLOCK_BYTES - self._buffer_start % BLOCK_BYTES):
            number = self._buffer_start // BLOCK_BYTES
            if missing == BLOCK_BYTES:  # otherwise, decoding began within the block
                block = Block(bytes(self._buffer[:missing]), decoder.place)
                _blocks.put((self._number, number), block)
                wanted = block if number == index else wanted
            del self._buffer[:missing]
            self._buffer_start += missing
        return wanted

    def _note_end(self, decoder: Decoder, damage: Damage | None) -> bool:
        """Note how the stream ends. Return False if its last block has to be decoded from an earlier point first."""
        index = decoder.text // BLOCK_BYTES
        if self._buffer_start > index * BLOCK_BYTES:
            self._approach(index)
            return False
        self._end = (index, Block(bytes(self._buffer), decoder.place, damage))
        if damage and not damage.cut:  # more bytes would not help
            self._decoder = None
        return True

    def _note(self, file: BinaryIO, decoder: "Decoder | _Filler") -> None:
        """Keep an access point at the decoder if it is far enough from the last one."""
        if decoder.place > self._furthest[0]:
            length = min(_PROBE_BYTES, decoder.place)
            self._furthest = (decoder.place, read_at(file, decoder.place - length, length))
            self._head = self._head or read_at(file, 0, length)
        if self.table_text is not None or decoder.text - self.points[-1].text < self._spacing:
            return
        if (point := decoder.point()) is None:
            return
        self.points.append(point)
        if len(self.points) > (KEPT_STATES if self._gzip else KEPT_STARTS):
            del self.points[1::2]
            self._spacing *= 2


class _Filler:
    """Takes the place of a decoder in a gap: returns short blank lines."""

    def __init__(self, decoder: Decoder, behind: Point) -> None:
        self.text = decoder.text
        self.place = decoder.place
        self.behind = behind

    def point(self) -> None:
        """See `Decoder`."""

    def pull(self, _file: BinaryIO) -> bytes:
        length = min(PIECE_BYTES, self.behind.text - self.text)
        self.text += length
        return b"\n" + b" " * (length - 2) + b"\n" * (length > 1) if length else b""


_blocks: Lru[tuple[int, int], Block] = Lru(CACHED_BLOCKS)
"""The cached blocks of all files together."""


def _read_seek_table(file: BinaryIO, size: int) -> tuple[list[Point], int] | None:
    """Read the table at the end of a seekable zstd file: access points, and the length of the stream.

    Source: contrib/seekable_format/zstd_seekable_compression_format.md of zstd.
    """
    footer = read_at(file, size - _SEEK_FOOTER.size, _SEEK_FOOTER.size)
    frames, flags, magic = _SEEK_FOOTER.unpack(footer) if len(footer) == _SEEK_FOOTER.size else (0, 0, 0)
    if magic != _SEEK_FOOTER_MAGIC or flags & 0x7C:
        return None
    entry = struct.Struct("<III" if flags & 0x80 else "<II")
    length = frames * entry.size + _SEEK_FOOTER.size
    start = size - length - 8
    if length > MAX_TABLE_BYTES or start < 0:
        return None
    data = read_at(file, start, 8 + length)
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


def read_at(file: BinaryIO, start: int, length: int) -> bytes:
    """Read bytes from a position on: fewer at the end of the file."""
    file.seek(max(0, start))
    return file.read(length)


KEPT_FILES = 8
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
opened_files: Lru[tuple[int, int, bool], Contents] = Lru(KEPT_FILES)


class DecodedFile(io.RawIOBase):
    """The uncompressed stream of an open file."""

    def __init__(self, file: BinaryIO, contents: Contents) -> None:
        self.contents = contents
        self.damage: Damage | None = None
        self.file = file
        self.spent_bytes = 0
        """The number of compressed bytes of the data read so far."""
        self._from: int | None = None
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def state(self) -> os.stat_result:
        return open_state(self.file)

    def expect(self, spans: Iterable[tuple[int, int]]) -> None:
        """Do nothing: the places of these ranges in the compressed file are unknown."""

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
        state = open_state(file)
        contents = opened_files.setdefault((state.st_dev, state.st_ino, kind == ".gz"), Contents(kind == ".gz"))
        with contents.lock:
            contents.refresh(file, state.st_size, state.st_mtime_ns)
        return io.BufferedReader(DecodedFile(file, contents), buffer_bytes)
    except BaseException:
        file.close()
        raise


def _open_plain(location: Location, buffer_bytes: int) -> io.BufferedReader:
    file = open_file(location, buffering=buffer_bytes)
    assert isinstance(file, io.BufferedReader)
    return file


def is_decoded(file: BinaryIO) -> bool:
    """Return whether a file from `open_binary` is decoded while reading."""
    return isinstance(getattr(file, "raw", None), DecodedFile)


def spent_bytes(file: BinaryIO) -> int | None:
    """Return the number of compressed bytes of the data read so far; None for a file that is not decoded."""
    raw = getattr(file, "raw", None)
    return raw.spent_bytes if isinstance(raw, DecodedFile) else None


def damage_of(file: BinaryIO) -> Damage | None:
    """Return why a stream that was read to its end ends irregularly; None if it does not."""
    raw = getattr(file, "raw", None)
    return raw.damage if isinstance(raw, DecodedFile) else None


def gaps_of(file: BinaryIO) -> list[Gap]:
    """Return the gaps in the part of a stream that was read, in their order."""
    raw = getattr(file, "raw", None)
    return sorted(raw.contents.gaps.values()) if isinstance(raw, DecodedFile) and raw.contents.gaps else []


def extent(location: Location, stop: int) -> StreamExtent:
    """Return how far a stream reaches, up to `stop`, and how much of the file that is. Raises OSError."""
    with open_binary(location) as file:
        if isinstance(raw := file.raw, DecodedFile):
            return raw.contents.extent(raw.file, stop)
        reached = min(stop, open_state(file).st_size)
        return StreamExtent(reached, reached)


def known_length(location: Location) -> int | None:
    """Return the length of a stream if it is known without decoding. Raises OSError."""
    with open_binary(location) as file:
        return raw.contents.table_text if isinstance(raw := file.raw, DecodedFile) else open_state(file).st_size


def read_fully(file: BinaryIO, size: int) -> bytes:
    """Read this many bytes, or to the end: one call of `read` may return fewer."""
    blocks = []
    while size > 0 and (data := file.read(size)):
        blocks.append(data)
        size -= len(data)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)
