"""Databases of SQLite that a trainer may be writing: opened so that nothing is left beside them.

A read-only connection makes `-wal` and `-shm` files beside the database and leaves them there, and one that is called
immutable reads no row of the `-wal`. So a database with rows in its `-wal` is read from a private copy of both files,
and any other in place, as an immutable one.
"""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from rolloupe.model import Location
from rolloupe.storage import copy_file, file_state, open_file

MAGIC = b"SQLite format 3\0"
MAX_BYTES = 16 * 2**30
TRIES = 3
"""How often a database is read that changes meanwhile."""


class BadDatabase(Exception):
    """Raised for a database that cannot be read; its text is the reason."""


def is_database(location: Location) -> bool:
    """Tell whether a file begins as a database of SQLite does."""
    try:
        with open_file(location) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@contextlib.contextmanager
def opened(location: Location, *, with_wal: bool = True) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; texts come as they are in the file. Raises `BadDatabase`, also while it is read."""
    with contextlib.ExitStack() as stack:
        try:
            path = location.path
            if with_wal and _size(location._replace(path=f"{location.path}-wal")):
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rolloupe-"))
                path = _copied(location, Path(folder))
                uri = f"file:{quote(path)}"
            else:
                file_state(location)  # a regular file of the run
                uri = f"file:{quote(os.path.abspath(path))}?immutable=1"
            connection = stack.enter_context(contextlib.closing(sqlite3.connect(uri, uri=True)))
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            yield connection
        except (sqlite3.Error, OSError) as error:
            raise BadDatabase(f"{os.path.basename(location.path)} cannot be read: {error}") from None


def _size(location: Location) -> int:
    try:
        return file_state(location).st_size
    except OSError:
        return 0


def _copied(location: Location, folder: Path) -> str:
    """Copy a database and its `-wal`, at one moment as far as their sizes and times tell; return the copy's path."""
    target = folder / "copy.db"
    log = location._replace(path=f"{location.path}-wal")
    for _ in range(TRIES):
        before = _stamps(location, log)
        if sum(size for size, _ in before) > MAX_BYTES:
            raise OSError(f"it has more than {MAX_BYTES >> 30} GiB")
        copy_file(location, target)
        copy_file(log, folder / "copy.db-wal")
        if _stamps(location, log) == before:
            break
    return str(target)


def _stamps(*locations: Location) -> list[tuple[int, int]]:
    states = [file_state(one) for one in locations]
    return [(state.st_size, state.st_mtime_ns) for state in states]
