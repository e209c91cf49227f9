"""Local files: an opened file is a regular file below the root, even if its path is swapped meanwhile.

A path is only a name: between a check of the name and the opening, a link may be swapped in. So the check comes
after the opening, and asks the descriptor where its file lies and whether it is a regular file.
Opening never blocks, because a pipe without a writer would block for ever.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from rolloupe.model import Location

GETPATH: int | None = getattr(fcntl, "F_GETPATH", None)

DESCRIPTORS = "/proc/self/fd"
MAX_PATH_BYTES = 1024
"""The longest path that `F_GETPATH` of macOS returns."""

TRIES = 3
"""How often to open a file that is replaced while it is opened."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY


def is_below(path: str, root: str) -> bool:
    """Tell whether a real path is that real root, or lies below it."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def open_file(location: Location, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading. Raises OSError, also if a link leads out of the root."""
    descriptor, state = _opened(location)
    try:
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", location.path)  # noqa: TRY301
        return os.fdopen(descriptor, "rb", buffering=buffering)
    except BaseException:
        os.close(descriptor)
        raise


def file_state(location: Location) -> os.stat_result:
    """Return the state of a regular file. Raises OSError as `open_file` does."""
    with open_file(location, buffering=0) as file:
        return os.fstat(file.fileno())


@contextlib.contextmanager
def folder_entries(location: Location) -> Iterator[Iterator["os.DirEntry[str]"]]:
    """List a folder; an entry knows its name and its kind, not its path. Raises OSError."""
    descriptor, state = _opened(location)
    try:
        if not stat.S_ISDIR(state.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        with os.scandir(descriptor) as listing:
            yield listing
    finally:
        os.close(descriptor)


def real_path(path: str) -> str:
    """Return a path without links, spelled as the file system spells it. Raises OSError for a missing file."""
    real = os.path.realpath(path, strict=True)
    descriptor = os.open(real, _FLAGS)
    try:
        return _path_of(descriptor, real)
    finally:
        os.close(descriptor)


def _opened(location: Location) -> tuple[int, os.stat_result]:
    """Open the file or folder at a location. Raises OSError if it is outside the root."""
    for _ in range(TRIES):
        descriptor = os.open(location.path, _FLAGS)
        try:
            state = os.fstat(descriptor)
            if location.root == os.sep or is_below(path := _path_of(descriptor, location.path), location.root):
                return descriptor, state
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if state.st_nlink:
            reason = f"a link out of the root, to {printable(path)}: not followed. Next: --follow-symlinks"
            raise PermissionError(errno.EACCES, reason, location.path)
    raise FileNotFoundError(errno.ENOENT, "replaced again and again while it was opened", location.path)


def _path_of(descriptor: int, path: str) -> str:
    """Return where the file of a descriptor lies. A deleted file yields a path that does not exist."""
    with contextlib.suppress(OSError):
        return os.readlink(f"{DESCRIPTORS}/{descriptor}")
    if GETPATH is not None:
        return os.fsdecode(fcntl.fcntl(descriptor, GETPATH, bytes(MAX_PATH_BYTES)).rstrip(b"\0"))
    real = os.path.realpath(path, strict=True)  # on a system without such a call, the name may mean another file
    if os.path.samestat(_state_without_links(real), os.fstat(descriptor)):
        return real
    raise FileNotFoundError(errno.ENOENT, "replaced while it was opened")


def _state_without_links(path: str) -> os.stat_result:
    """Return the state of the file at an absolute path. Raises OSError if a part of the path is a link by now.

    `lstat` alone checks the last part only, and follows a link swapped in for a folder above.
    """
    *folders, name = path.lstrip(os.sep).split(os.sep)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY
    descriptor = os.open(os.sep, flags)
    try:
        for folder in folders:
            above, descriptor = descriptor, os.open(folder, flags, dir_fd=descriptor)
            os.close(above)
        return os.stat(name or ".", dir_fd=descriptor, follow_symlinks=False)
    finally:
        os.close(descriptor)


def printable(path: str) -> str:
    """Return a path as text, bytes that are not UTF-8 as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
