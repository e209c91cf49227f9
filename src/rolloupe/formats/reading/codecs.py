"""Decodes gzip members or zstd frames in one pass from any access point, in bounded memory.

Every call passes the file to the decoder, which keeps only its position, so a file may grow between calls. Formats: RFC
1952 (gzip), RFC 8878 (zstd).
"""

import sys
import zlib
from typing import BinaryIO, NamedTuple

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZstdError = zstd.ZstdError
CHUNK_BYTES = 2**16
"""Bytes per read. Reads end at multiples of it, so every pass over a file feeds the same chunks."""
PIECE_BYTES = 2**17
"""Bytes per decoding step."""
FREE_BYTES = 2**30
MAX_RATIO = 250
"""A stream longer than `FREE_BYTES` that exceeds the size of its file by this factor is a bomb: reading stops.

gzip reaches 1,032, zstd 32,768; rollouts, which repeat their prompts, have been seen at 5 to 30.
"""
MAX_EMPTY = 1_000
MAX_PADDING_BYTES = 2**20
"""Maximum number of empty members or frames in a row, and of zeros after a member: both cost work for nothing, and a
file of a trillion zeros takes no room on a disk. Writers leave one empty block or a few kB of zeros.
"""
MAX_WINDOW_LOG = 27
"""Largest window of a zstd frame, 2^27 bytes, as `zstd --long` and `--ultra` use; larger ones are refused."""


class Damage(NamedTuple):
    """Why a stream ends early, and at which byte of the compressed file.

    `cut` is True if the file ends too early, so that more bytes would mend it.
    """

    offset: int
    reason: str
    cut: bool = False


class DecodingStopped(Exception):
    """Raised if a stream cannot be decoded further; `lossy` if the error discarded earlier output."""

    def __init__(self, damage: Damage, *, lossy: bool = False) -> None:
        super().__init__(damage.reason)
        self.damage = damage
        self.lossy = lossy


class Gzip:
    """One gzip member, with the methods of a `ZstdDecompressor`; `held` is input that it has not decoded yet."""

    def __init__(self, inner: "zlib._Decompress | None" = None) -> None:
        self._inner = inner or zlib.decompressobj(31)
        self.held = b""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """True once the member is whole."""
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        """Input after the end of the member."""
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed input, and keep what is not needed yet; return at most `max_length` bytes. Raises `zlib.error`."""
        out = self._inner.decompress(self.held + data, max_length)
        self.held = self._inner.unconsumed_tail
        self.needs_input = not self.held and len(out) < max_length
        return out

    def copy(self) -> "Gzip":
        """Return a copy of the state, without `held`: 40 KiB, from which decoding can continue at any time."""
        return Gzip(self._inner.copy())


class Point(NamedTuple):
    """A place to start decoding: an offset in the uncompressed stream, and the matching offset in the file.

    `state` is None at the start of a member or frame.
    """

    text: int
    file: int
    state: Gzip | None = None


class Decoder:
    """A pass that began at a point and is now at `text` in the uncompressed stream."""

    def __init__(self, gzip: bool, point: Point, fine_from: int | None = None) -> None:
        self.text = point.text
        self.begun = point.file
        """Start in the file of the current member or frame; the access point, if that lies inside one."""
        self.fine_from = fine_from
        """From this byte of the file on, input is fed byte by byte: an error costs the output of its whole call."""
        self._gzip = gzip
        self._empty = 0
        """Number of consecutive members or frames without content up to here."""
        self._codec: Gzip | zstd.ZstdDecompressor | None = point.state.copy() if point.state else None
        self._input = b""
        self._at = 0
        self._next = point.file

    @property
    def place(self) -> int:
        """The first byte of the file that has not been decoded yet."""
        codec_bytes = len(self._codec.held) if isinstance(self._codec, Gzip) else 0
        return self._next - len(self._input) + self._at - codec_bytes

    @property
    def chunk_start(self) -> int:
        """The first byte of the file in the most recent chunk."""
        return self._next - len(self._input)

    def point(self) -> Point | None:
        """Return a point to return to; None inside a zstd frame, which has none."""
        if self._codec is None:
            return Point(self.text, self.place)
        return Point(self.text, self.place, self._codec.copy()) if isinstance(self._codec, Gzip) else None

    def pull(self, file: BinaryIO) -> bytes:
        """Return the next piece, or nothing at the end of the file. Raises `DecodingStopped`, and OSError."""
        if self.text > FREE_BYTES and self.text > MAX_RATIO * max(1, self.place):
            raise self._idle(f"expands more than {MAX_RATIO}-fold, to more than {self.text // 2**20} MiB")
        while True:
            if self._codec is None:
                if not self._begins(file):
                    return b""
                self.begun = self.place
                self._codec = Gzip() if self._gzip else zstd_decompressor()
                self._empty += 1
                if self._empty > MAX_EMPTY:
                    raise self._idle(f"more than {MAX_EMPTY:,} times no content at all")
            hungry = self._codec.needs_input
            data = b""
            if hungry and self._fill(file):
                is_fine = self.fine_from is not None and self.chunk_start >= self.fine_from
                data = self._input[self._at : self._at + 1] if is_fine else self._input[self._at :]
                self._at += len(data)
            try:
                out = self._codec.decompress(data, PIECE_BYTES)
            except (zlib.error, ZstdError) as error:
                what = str(error).rpartition("data: ")[2].rstrip(".")
                damage = Damage(max(0, self.place - len(data)), f"damaged ({what})")
                raise DecodingStopped(damage, lossy=True) from None
            self.text += len(out)
            if self._codec.eof:
                self._at -= len(self._codec.unused_data)
                self._codec = None
            elif hungry and not data and not out:
                what = "gzip member" if self._gzip else "zstd frame"
                reason = f"the file ends inside a {what}: cut off, or still being written"
                raise DecodingStopped(Damage(self.place, reason, cut=True))
            if out:
                self._empty = 0
                return out

    def _idle(self, what: str) -> DecodingStopped:
        return DecodingStopped(Damage(self.place, f"{what}: read no further"))

    def _begins(self, file: BinaryIO) -> bool:
        """Return whether another member or frame follows. gzip members may end in zeros. Raises `DecodingStopped`."""
        padding = 0
        while self._fill(file):
            if self._gzip and self.place:
                rest = self._input[self._at :]
                zeros = len(rest) - len(rest.lstrip(b"\0"))
                self._at += zeros
                padding += zeros
                if padding > MAX_PADDING_BYTES:
                    raise self._idle(f"more than {MAX_PADDING_BYTES // 2**20} MiB of zeros")
            if self._at < len(self._input):
                return True
        return False

    def _fill(self, file: BinaryIO) -> bool:
        if self._at >= len(self._input):
            file.seek(self._next)
            self._input = file.read(CHUNK_BYTES - self._next % CHUNK_BYTES)
            self._at = 0
            self._next += len(self._input)
        return bool(self._input)


def zstd_decompressor() -> "zstd.ZstdDecompressor":
    """Return a decoder of one zstd frame, which refuses larger windows than `MAX_WINDOW_LOG`."""
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG})
