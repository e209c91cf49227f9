"""Where the files of a run are sent: a folder, or an address of an object store."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from rolloupe.storage import atomic, is_remote, place_of
from rolloupe.storage.address import parts_of

CHUNK_BYTES = 8 * 2**20
MARK = ".upload.id"
"""A file in the folder of a run, and where it is sent: both have the same contents."""
MARK_CHARS = 64


class FileVersion(NamedTuple):
    """How large a file is, and when it was last written."""

    size: int
    mtime_ns: int


class Target(Protocol):
    """A place that takes whole files. Its methods raise `OSError`."""

    def known(self) -> dict[str, int]:
        """The sizes of the files that lie there, by name."""

    def mark(self) -> str:
        """The mark of the run that lies there; empty without one."""

    def put(self, name: str, path: Path, size: int) -> None:
        """Put the first bytes of a local file there, in place of what had its name."""


def target_of(address: str, source: Path) -> Target:
    """Open a target for the files of a folder. Raises `OSError` for the folder itself, and what lies in it."""
    place = place_of(address)
    if is_remote(place):
        return StoreTarget(str(place))
    folder = Path(address).expanduser().resolve()
    if folder.is_relative_to(source.resolve()):
        raise OSError(errno.EINVAL, "a run is not uploaded into its own folder", address)
    return FolderTarget(folder)


class FolderTarget:
    """A folder, as of a network disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def known(self) -> dict[str, int]:
        """See `Target`."""
        return {name: one.size for name, one in files_in(self._folder).items()}

    def mark(self) -> str:
        """See `Target`."""
        try:
            with (self._folder / MARK).open("rb") as file:
                return file.read(MARK_CHARS).decode("ascii", "replace")
        except FileNotFoundError:
            return ""

    def put(self, name: str, path: Path, size: int) -> None:
        """See `Target`."""
        with atomic.replacing(self._folder / name) as file:
            for chunk in chunks(path, size):
                file.write(chunk)


class StoreTarget:
    """A place in an object store."""

    def __init__(self, place: str) -> None:
        from rolloupe.storage.remote.connection import connection

        scheme, bucket, self._key = parts_of(place)
        self._connection = connection(scheme, bucket)

    def known(self) -> dict[str, int]:
        """See `Target`."""
        return {name: one.size for name, one in self._connection.below(self._key).items()}

    def mark(self) -> str:
        """See `Target`."""
        key = f"{self._key}/{MARK}".lstrip("/")
        try:
            state = self._connection.state(key)
        except FileNotFoundError:
            return ""
        return str(self._connection.read(key, 0, min(state.size, MARK_CHARS), state), "ascii", "replace")

    def put(self, name: str, path: Path, size: int) -> None:
        """See `Target`."""
        self._connection.write(f"{self._key}/{name}".lstrip("/"), lambda: chunks(path, size))


def chunks(path: Path, size: int) -> Iterator[bytes]:
    """Read the first bytes of a file. Raises `OSError`, also if it has fewer by now."""
    left = size
    with path.open("rb") as file:
        while left:
            chunk = file.read(min(left, CHUNK_BYTES))
            if not chunk:
                raise OSError(errno.EIO, "the file became shorter while it was sent", str(path))
            left -= len(chunk)
            yield chunk


def files_in(folder: Path) -> dict[str, FileVersion]:
    """The regular files below a folder, but not hidden ones, by name: the path from there, with `/`."""
    found: dict[str, FileVersion] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):
                state = path.lstat()
                if stat.S_ISREG(state.st_mode) and not name.startswith("."):
                    found[path.relative_to(folder).as_posix()] = FileVersion(state.st_size, state.st_mtime_ns)
    return found
