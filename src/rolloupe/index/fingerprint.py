"""Tells whether a file still has the scanned bytes: a file that grew does, a file that was replaced does not.

A fingerprint holds device, inode, size and modification time at the scan, and hashes of the first and of the last
scanned 4 KiB, and of a few blocks in between. If the file's state is unchanged, nothing is read; if it changed, two
small reads decide. If device or inode changed, the blocks in between are read too: many network file systems number
files differently after each mount, so a new number alone proves nothing.

The bytes of a stream (`Source.stream`) are not read: its word stands for the inode.
"""

import contextlib
import hashlib
import stat
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from rolloupe.model import Location, Source
from rolloupe.storage import REMOTE_DEVICE, expect, open_file, path_state

SPAN = 4096

STREAM = -1
"""The device of the state of a stream."""

BETWEEN = 16
"""The number of blocks between the first and the last: all of a small file, samples of a large one."""


class FileState(Struct, frozen=True, array_like=True, gc=False):
    """The facts about a file that `stat` returns."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class Fingerprint(Struct, frozen=True, array_like=True, gc=False):
    """A file after a scan up to `stop`, which counts the bytes of the file itself, even if it is compressed."""

    state: FileState
    stop: int
    head: bytes
    tail: bytes
    between: bytes

    @property
    def contents(self) -> bytes:
        """A digest of the scanned bytes, the same in every process."""
        return hashlib.blake2b(b"%d " % self.stop + self.head + self.tail + self.between, digest_size=16).digest()

    def is_of(self, now: FileState) -> bool:
        """True if device and inode are those of the scan."""
        return (now.device, now.inode) == (self.state.device, self.state.inode)


def state_of(path: str | Path) -> FileState | None:
    """The file's state; None without such a regular file."""
    with contextlib.suppress(OSError, ValueError):
        st = path_state(path)
        if stat.S_ISREG(st.st_mode):
            return FileState(st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns)
    return None


def state_of_source(source: Source) -> FileState | None:
    """The state of a source: of its stream if it has one, else of its file; None without such a regular file."""
    state = state_of(source.path)
    if state is None or source.stream is None:
        return state
    word = hashlib.blake2b(source.stream.word.encode("utf-8", "replace"), digest_size=7).digest()
    return FileState(STREAM, int.from_bytes(word), source.stream.length, source.stream.changed_ns)


def size_of(path: str | Path) -> int:
    """The file's size; 0 without such a file."""
    return state.size if (state := state_of(path)) else 0


def take(file: BinaryIO, state: FileState, stop: int) -> Fingerprint:
    """Fingerprint an open file, scanned up to `stop`."""
    if state.device == STREAM:
        return Fingerprint(state, stop, b"%d" % state.inode, b"", b"")
    _expect(file, stop)
    return Fingerprint(state, stop, *(_hash(file, stop, starts) for starts in _blocks(stop)))


def take_of(location: Location, state: FileState) -> Fingerprint:
    """Fingerprint a whole file. If it cannot be read, the fingerprint matches only until the file changes."""
    try:
        with open_file(location) as file:
            return take(file, state, state.size)
    except OSError:
        return Fingerprint(state, state.size, b"", b"", b"")


def still_holds(location: Location, print_: Fingerprint, now: FileState) -> bool:
    """True if the file still has the scanned bytes in the few places that are read."""
    if now == print_.state:
        return True
    if now.size < print_.stop:
        return False
    if STREAM in (now.device, print_.state.device):
        return print_.is_of(now)
    is_rewritten = now.size == print_.state.size and now.mtime_ns != print_.state.mtime_ns
    # an object that is uploaded in other parts may hold the same bytes under another tag
    if is_rewritten and not (now.device == REMOTE_DEVICE and (now.inode | print_.state.inode) & 1):
        return False
    try:
        with open_file(location) as file:
            if now.device == REMOTE_DEVICE:
                _expect(file, print_.stop)
            hashes = (print_.head, print_.tail, *(() if print_.is_of(now) else (print_.between,)))
            blocks = zip(_blocks(print_.stop), hashes, strict=False)
            return all(_hash(file, print_.stop, starts) == known for starts, known in blocks)
    except OSError:
        return False


def _blocks(stop: int) -> tuple[list[int], list[int], list[int]]:
    """Where the hashed blocks begin: the first, the last, and those in between."""
    between = [stop * number // (BETWEEN + 1) for number in range(1, BETWEEN + 1)]
    return [0], [max(0, stop - SPAN)], between


def _expect(file: BinaryIO, stop: int) -> None:
    """Have a remote file fetch all hashed blocks at once."""
    expect(file, [(start, min(start + SPAN, stop)) for starts in _blocks(stop) for start in starts])


def _hash(file: BinaryIO, stop: int, starts: list[int]) -> bytes:
    digest = hashlib.blake2b(digest_size=12)
    for start in starts:
        file.seek(start)
        digest.update(file.read(min(SPAN, stop - start)))
    return digest.digest()
