"""Whether a file still is the one that was scanned: growth told from replacement.

A fingerprint holds device, inode, size and modification time at the scan, and hashes of the first and of the last
scanned 4 KiB, and of a few blocks between. Where the file's state is unchanged nothing is read; where it changed, two
small reads decide. Under another device or inode the blocks between are read, too: many a network file system gives
a file another number each time it is mounted, so that alone says nothing.
"""

import hashlib
import stat
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from rolloupe.model import Location
from rolloupe.storage import open_file, path_state

SPAN = 4096

BETWEEN = 16
"""So many blocks lie between the first and the last: all of a small file, and some of the samples of a large one."""


class FileState(Struct, frozen=True, array_like=True):
    """What `stat` says of a file."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class Fingerprint(Struct, frozen=True, array_like=True):
    """A file as it was when bytes up to `stop` had been scanned: bytes of the file, compressed if it is."""

    state: FileState
    stop: int
    head: bytes
    tail: bytes
    between: bytes

    def is_of(self, now: FileState) -> bool:
        """True where device and inode are those of the scan."""
        return (now.device, now.inode) == (self.state.device, self.state.inode)


def state_of(path: str | Path) -> FileState | None:
    """The file's state, None where there is no such regular file."""
    try:
        st = path_state(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(st.st_mode):
        return None
    return FileState(st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns)


def size_of(path: str | Path) -> int:
    """The file's size, 0 where there is no such file."""
    state = state_of(path)
    return state.size if state else 0


def take(file: BinaryIO, state: FileState, stop: int) -> Fingerprint:
    """Fingerprint an open file whose bytes before `stop` have been scanned."""
    return Fingerprint(state, stop, *_ends(file, stop), _between(file, stop))


def take_of(location: Location, state: FileState) -> Fingerprint:
    """Fingerprint the whole of a file; where it cannot be read, so that it does not hold once it changes."""
    try:
        with open_file(location) as file:
            return take(file, state, state.size)
    except OSError:
        return Fingerprint(state, state.size, b"", b"", b"")


def still_holds(location: Location, print_: Fingerprint, now: FileState) -> bool:
    """True where the bytes that were scanned are, for all that can be told cheaply, still there."""
    if now == print_.state:
        return True
    if now.size < print_.stop:
        return False
    if now.size == print_.state.size and now.mtime_ns != print_.state.mtime_ns:  # written again in place
        return False
    try:
        with open_file(location) as file:
            return _ends(file, print_.stop) == (print_.head, print_.tail) and (
                print_.is_of(now) or _between(file, print_.stop) == print_.between
            )
    except OSError:
        return False


def _ends(file: BinaryIO, stop: int) -> tuple[bytes, bytes]:
    length = min(SPAN, stop)
    file.seek(0)
    head = file.read(length)
    file.seek(stop - length)
    return _digest(head), _digest(file.read(length))


def _between(file: BinaryIO, stop: int) -> bytes:
    found = hashlib.blake2b(digest_size=12)
    for number in range(1, BETWEEN + 1):
        start = stop * number // (BETWEEN + 1)
        file.seek(start)
        found.update(file.read(min(SPAN, stop - start)))
    return found.digest()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=12).digest()
