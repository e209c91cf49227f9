"""Databases of SQLite that a trainer may be writing, read where they are: nothing is written or locked beside them.

The `sqlite3` of Python can only leave files there (read-only, it makes `-wal` and `-shm`) or miss rows (`immutable=1`
reads no `-wal`). So SQLite reads through a file system of ours (apsw): pages of the database come from its file, those
of the `-wal` from a copy of that, which is small, and there are no other files. While a `-journal` says that a
transaction is not finished, the database holds pages that may yet be undone, so it is not read.
"""

import contextlib
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from tempfile import TemporaryFile
from typing import Any, BinaryIO, TypeVar

import apsw

from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import file_state, open_file, path_state, stamp_of_state

MAGIC = b"SQLite format 3\0"

MAX_WAL_BYTES = 2**30
"""Of a `-wal`; writers move its rows into the database from 4 MB on."""

TRIES = 3
"""How often a database is read that changes meanwhile."""

WAIT_S = 0.02
"""How long to wait for the end of a transaction, which most often takes less."""

READING_S = 120
"""The most time of a processor that a reading takes."""

MAX_VALUE_BYTES = 64 * 2**20
"""Of one text or one row."""

MAX_PAGE_BYTES = 2**16

ENDINGS = (".db", ".sqlite", ".sqlite3")
SIDE_FILES = ("-wal", "-journal")
"""What SQLite appends to the name of a database for the files that it keeps beside it."""

_JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER = struct.Struct(">L4xL4x8s8x")
"""Of a `-wal`: its magic, the size of its pages and its salt, which each frame repeats."""

_FRAME_BYTES = 24
"""The header of a frame."""

_STEPS_BETWEEN_LOOKS = 10_000
_MAIN, _LOG = "database", "database-wal"
_IS_LOGGED = 18
"""The offset of the byte that is 2 if a database has a `-wal`."""

T = TypeVar("T")

_reasons: Lru[str, tuple[str, tuple[int, ...]]] = Lru(entries=1000)
"""Why databases could not be read last, each with its stamp of then."""


class BadDatabase(Exception):
    """Raised for a database that cannot be read; its text is the reason."""


def is_database(location: Location) -> bool:
    """Tell whether a file begins as a database of SQLite does."""
    try:
        with open_file(location) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def side_file(location: Location, ending: str) -> Location:
    """Return the location of a file beside a database, of a link beside the file that it leads to, as SQLite does.

    If the database is its own root, so is that file.
    """
    path = f"{os.path.realpath(location.path) if os.path.islink(location.path) else location.path}{ending}"
    return Location(path, path if location.root == location.path else location.root)


def states_of(location: Location) -> tuple[int, ...]:
    """Return what changes with a row of a database, also in the files beside it."""
    found = [*stamp_of_state(path_state(location.path))]
    for ending in SIDE_FILES:
        with contextlib.suppress(OSError):
            beside = path_state(side_file(location, ending).path)
            found += [beside.st_size, beside.st_mtime_ns]
    return tuple(found)


def read_database(location: Location, read: Callable[[apsw.Connection], T], seconds: float = READING_S) -> T:
    """Return what `read` makes of a database at one moment. Raises `BadDatabase`, also for errors of `read`."""
    try:
        return _at_one_moment(location, read, seconds)
    except BadDatabase as error:
        with contextlib.suppress(OSError):
            _reasons.put(location.path, (str(error), _stamp(location)))
        raise


def why_unread(location: Location) -> str | None:
    """Return why a database could not be read that has not changed since; None of any other."""
    reason, stamp = _reasons.get(location.path) or ("", ())
    with contextlib.suppress(OSError):
        if is_database(location) and stamp == _stamp(location):
            return reason.removeprefix(f"{os.path.basename(location.path)} ")
    return None


def _at_one_moment(location: Location, read: Callable[[apsw.Connection], T], seconds: float) -> T:
    name = os.path.basename(location.path)
    is_unfinished = False
    try:
        for _ in range(TRIES):
            before = _stamp(location)
            is_unfinished = _is_unfinished(location)
            if is_unfinished:
                time.sleep(WAIT_S)
                continue
            found = _read(location, read, seconds)
            if _stamp(location) == before:
                return found
    except apsw.InterruptError:
        raise BadDatabase(f"{name} cannot be read: it takes more than {seconds:g} seconds") from None
    except (apsw.Error, OSError, ValueError) as error:
        raise BadDatabase(f"{name} cannot be read: {error}") from None
    if is_unfinished:
        raise BadDatabase(
            f"{name} cannot be read: its -journal holds a transaction that is not finished. Next: look again later; if "
            "its writer was killed, opening it with sqlite3 undoes that"
        )
    raise BadDatabase(f"{name} cannot be read: it changes all the time. Next: look again later")


def _is_unfinished(location: Location) -> bool:
    try:
        with open_file(side_file(location, "-journal")) as journal:
            return journal.read(len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC
    except FileNotFoundError:
        return False


def _stamp(location: Location) -> tuple[int, int, int]:
    """What changes when rows are moved into a database from its `-wal`, or written into one without it."""
    return stamp_of_state(file_state(location))


def _read(location: Location, read: Callable[[apsw.Connection], T], seconds: float) -> T:
    with open_file(location) as main:
        files = {_MAIN: main}
        if main.read(_IS_LOGGED + 1)[_IS_LOGGED:] == b"\2":
            files[_LOG] = _copied(side_file(location, "-wal"))
        system = _FileSystem(files)
        try:
            with closing(apsw.Connection(_MAIN, flags=apsw.SQLITE_OPEN_READONLY, vfs=system.name)) as database:
                database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
                database.execute("PRAGMA locking_mode = EXCLUSIVE")  # so that it shares no index of the `-wal`
                database.execute("PRAGMA temp_store = MEMORY")  # as there are no other files
                database.limit(apsw.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
                stop = time.thread_time() + seconds
                database.set_progress_handler(lambda: time.thread_time() > stop, _STEPS_BETWEEN_LOOKS)
                return read(database)
        finally:
            system.close()


def _copied(location: Location) -> BinaryIO:
    """Copy the part of a `-wal` that SQLite reads; the copy of none is empty. Rows written meanwhile may be missing."""
    copy = TemporaryFile(prefix="rolloupe-")  # noqa: SIM115 - closed with the file system
    try:
        with open_file(location) as source:
            if file_state(location).st_size > MAX_WAL_BYTES:
                raise BadDatabase(f"{os.path.basename(location.path)} has more than {MAX_WAL_BYTES >> 30} GiB")
            for block in _frames(source):
                copy.write(block)
    except FileNotFoundError:
        pass
    return copy


def _frames(source: BinaryIO) -> Iterator[bytes]:
    """The header of a `-wal`, and its frames up to the first of an earlier use of the file: that has another salt."""
    header = source.read(_WAL_HEADER.size)
    if len(header) < _WAL_HEADER.size:
        return
    magic, page_bytes, salt = _WAL_HEADER.unpack(header)
    if magic not in _WAL_MAGIC or page_bytes > MAX_PAGE_BYTES:
        return
    yield header
    while (frame := source.read(_FRAME_BYTES + page_bytes)) and frame[8 : 8 + len(salt)] == salt:
        yield frame


class _FileSystem(apsw.VFS):
    """A file system for one connection: of files that are open already, without locks and without writing."""

    def __init__(self, files: dict[str, BinaryIO]) -> None:
        self.name = f"rolloupe-{id(self)}"
        self._files = files
        super().__init__(self.name, base="")

    def xFullPathname(self, name: str) -> str:  # noqa: N802 - a name of apsw, like those below
        return name

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: ARG002, N802
        return pathname in self._files

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "_File":  # type: ignore[override]  # noqa: N802
        flags[1] = flags[0]
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path not in self._files:
            raise apsw.CantOpenError(f"no file {path}")
        return _File(self._files[path])

    def close(self) -> None:
        """End it, with its files."""
        self.unregister()
        for file in self._files.values():
            file.close()


class _File:
    """A file of the file system, as apsw calls it: what is not written needs no locks and no synchronisation."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.xSync = self.xLock = self.xUnlock = self.xClose = _done
        self.xFileControl = self.xCheckReservedLock = _no
        self.xSectorSize = self.xDeviceCharacteristics = _zero

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._file.seek(offset)
        return self._file.read(amount)

    def xFileSize(self) -> int:  # noqa: N802
        return self._file.seek(0, os.SEEK_END)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: ARG002, N802
        raise apsw.ReadOnlyError("nothing is written")

    def xTruncate(self, size: int) -> None:  # noqa: ARG002, N802
        raise apsw.ReadOnlyError("nothing is written")


def _done(*_: object) -> None:
    pass


def _no(*_: object) -> bool:
    return False


def _zero(*_: object) -> int:
    return 0


MAX_ROW_BYTES = 32 * 2**20
"""Of the texts of a row: parsed and indexed, they take about twelve times as much memory."""

OF_TRAINERS = ("traces", "metrics", "configs", "spans", "trace_tags", "trace_info", "rollouts", "trajectories", "runs")
"""The tables of trackio, MLflow and tviz."""

VIEWS = (
    "a database in which a view takes the place of a table: {}. A view may compute without end, so only tables are "
    "read. Next: copy the view into a table of its name"
)

TOO_LARGE = "too large"
"""The key for why a row is not read, which then lacks some values."""


def size_of(columns: Iterable[str]) -> str:
    """The bytes of some columns of a row, in SQL, which reads none of them."""
    return " + ".join(f"ifnull(octet_length({name}), 0)" for name in columns)


def bounded(column: str) -> str:
    """The bytes of a column, in SQL: NULL for more than a row may have, which SQLite then does not read."""
    return f"iif(octet_length({column}) <= {MAX_ROW_BYTES}, CAST({column} AS BLOB), NULL)"


def why_too_large(size_bytes: int) -> str | None:
    """Say why a row of this size is not read; None of one that is."""
    if size_bytes <= MAX_ROW_BYTES:
        return None
    return f"a row of {size_bytes >> 20:,} MiB, which takes too much memory: up to {MAX_ROW_BYTES >> 20} MiB are read"


def stored_columns(database: apsw.Connection, table: str) -> set[str]:
    """Return the columns that a table stores; of a view, which may compute without end, none."""
    stored = (
        "SELECT info.name FROM sqlite_schema AS one, pragma_table_info(one.name) AS info "
        "WHERE one.type = 'table' AND one.rootpage > 0 AND one.name = ?"
    )
    return {str(row[0]) for row in database.execute(stored, (table,))}


def why_no_rows(location: Location) -> str:
    """Say that tables of trainers are views in a database, which are not read; empty for any other file."""
    with contextlib.suppress(BadDatabase, OSError):
        return read_database(location, about_views) if is_database(location) else ""
    return ""


def about_views(database: apsw.Connection) -> str:
    """Say that tables of trainers are views in a database, empty if none is."""
    views = database.execute("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
    found = [f"`{name}`" for (name,) in views if name in OF_TRAINERS]
    return VIEWS.format(", ".join(found)) if found else ""


def table_rows(
    database: apsw.Connection, columns: Sequence[str], rest: str, values: Sequence[object] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `SELECT columns rest` by column, a text as its bytes say: SQLite fails where one is not UTF-8.

    `columns` are names of this code's own, with or without a table before a dot. See `TOO_LARGE`.
    """
    encoding = str(database.pragma("encoding"))
    names = [name.rpartition(".")[2] for name in columns]
    taken = ", ".join(f"iif(typeof({name}) IN ('text', 'blob'), {bounded(name)}, {name})" for name in columns)
    for size_bytes, *row in database.execute(f"SELECT {size_of(columns)}, {taken} {rest}", values):
        found = {
            name: value.decode(encoding, "replace") if isinstance(value, bytes) else value
            for name, value in zip(names, row, strict=True)
        }
        reason = why_too_large(size_bytes)
        yield found | {TOO_LARGE: reason} if reason else found
