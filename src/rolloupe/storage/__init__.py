"""Access to the files of a run: no other package opens them directly.

One function answers each question about files, whether they lie on a disk or in an object store. Remote code is
imported with the first remote path.
"""

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from rolloupe.model import Location
from rolloupe.storage import local, notices
from rolloupe.storage.address import (
    REMOTE_DEVICE,
    Interrupted,
    RemoteEntry,
    address_of,
    both_places,
    is_remote,
    own_place,
    parts_of,
    place_of,
)
from rolloupe.storage.local import is_below, printable

StorageEntry: TypeAlias = "os.DirEntry[str] | RemoteEntry"
"""An entry of a listing. It has no path, because a remote path is not a path on a disk."""


def open_file(location: Location, buffering: int = -1) -> BinaryIO:
    """Open a regular file or an object for reading. Raises OSError, also if it is not below the root."""
    if not is_remote(location.path):
        return local.open_file(location, buffering)
    from rolloupe.storage.remote import reader

    _check_root(location)
    raw = reader.open_object(location.path)
    if buffering == 0:
        return cast("BinaryIO", raw)
    return io.BufferedReader(raw, buffering if buffering > 0 else io.DEFAULT_BUFFER_SIZE)


def open_named(path: Path) -> BinaryIO:
    """Open a regular file that a person named; links may lead anywhere. Raises OSError, at once for a pipe."""
    return open_file(Location(os.path.abspath(path), os.sep))


def open_state(file: Any) -> os.stat_result:
    """Return the state of an open file: the object being read, even if a new one has replaced it."""
    raw = getattr(file, "raw", file)
    return raw.state() if hasattr(raw, "state") else os.fstat(file.fileno())


def next_data(file: Any, at: int) -> int:
    """Return the next place with data in an open file, at or after `at`: behind a hole, if the system knows of one.

    A hole is a range of a sparse file that was never written, and reads as NUL bytes.
    """
    try:
        before = os.lseek(file.fileno(), 0, os.SEEK_CUR)
    except (OSError, ValueError):  # an object in a store, or a compressed stream
        return at
    try:
        return os.lseek(file.fileno(), at, os.SEEK_DATA) if hasattr(os, "SEEK_DATA") else at
    except OSError as error:  # no data is behind the place, or the file system has no such call
        return max(at, os.fstat(file.fileno()).st_size) if error.errno == errno.ENXIO else at
    finally:
        os.lseek(file.fileno(), before, os.SEEK_SET)


def expect(file: Any, spans: Iterable[tuple[int, int]]) -> None:
    """Announce the ranges of an open file that will be read, in order: a remote file fetches them at once."""
    raw = getattr(file, "raw", file)
    if hasattr(raw, "expect"):
        raw.expect(spans)


def fetch_beginnings(locations: Iterable[Location], length: int) -> None:
    """Fetch the beginnings of remote files that will be read one after the other, all at once."""
    if paths := [location.path for location in locations if is_remote(location.path)]:
        from rolloupe.storage.remote import reader

        reader.fetch_beginnings(paths, length)


def fetch_soon(location: Location, start: int, stop: int) -> None:
    """Begin to fetch a range of a remote file that this process opens next."""
    if is_remote(location.path):
        from rolloupe.storage.remote import reader

        reader.fetch_soon(location.path, start, stop)


def file_state(location: Location) -> os.stat_result:
    """Return the state of a regular file. Raises OSError as `open_file` does."""
    if not is_remote(location.path):
        return local.file_state(location)
    from rolloupe.storage.remote import tree

    _check_root(location)
    return tree.stat_of(location.path, tree.object_state(location.path))


def path_state(path: str | Path, *, follow: bool = True) -> os.stat_result:
    """Return the state of the file or folder at a path, or of the link itself without `follow`. Raises OSError."""
    if not is_remote(path):
        return os.stat(path, follow_symlinks=follow)
    from rolloupe.storage.remote import tree

    return tree.path_state(os.fspath(path))


def stamp_of_state(state: os.stat_result) -> tuple[int, int, int]:
    """Return the part of a file's state that changes with every write."""
    return state.st_ino, state.st_size, state.st_mtime_ns


def is_file(path: str | Path) -> bool:
    """Tell whether a path leads to a regular file."""
    return _is(path, stat.S_ISREG) if is_remote(path) else os.path.isfile(path)


def is_folder(path: str | Path) -> bool:
    """Tell whether a path leads to a folder."""
    return _is(path, stat.S_ISDIR) if is_remote(path) else os.path.isdir(path)


def _is(path: str | Path, kind: Any) -> bool:
    try:
        return bool(kind(path_state(path).st_mode))
    except OSError:
        return False


@contextlib.contextmanager
def folder_entries(location: Location) -> Iterator[Iterator[StorageEntry]]:
    """List a folder; an entry knows its name and its kind, not its path. Raises OSError."""
    if is_remote(location.path):
        from rolloupe.storage.remote import tree

        _check_root(location)
        yield iter(tree.entries(location.path))
        return
    with local.folder_entries(location) as listing:
        yield listing


def real_path(path: str) -> str:
    """Return a path without links, spelled as the file system spells it. Raises OSError for a missing file."""
    if is_remote(path):
        path_state(path)
        return path
    return local.real_path(path)


def trouble_at(path: str) -> str:
    """Return the notice about the store of a path; empty if all is well, and for local files."""
    if not is_remote(path):
        return ""
    scheme, bucket, _ = parts_of(path)
    return notices.notice(f"{scheme}://{bucket}")


def _check_root(location: Location) -> None:
    if location.root != os.sep and not local.is_below(location.path, location.root):
        raise PermissionError(13, "outside the root: not followed", location.path)
