"""The file of the state: opening it, migrating its schema, and a copy in memory while it cannot be used.

SQLite with a write-ahead log, so that viewers on several ports read and write the same file. If the file cannot be
written, its readable contents are copied into memory. A file that is damaged or newer than this program stays as it is.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from rolloupe.errors import NotWritable
from rolloupe.state.records import NEWEST
from rolloupe.state.run_identity import Owners

T = TypeVar("T")

WAIT_S = 5.0
"""How long to wait for another process that writes."""

PARTS = ("", "-wal", "-shm")
"""Endings of the files that make up one database."""

Place: TypeAlias = tuple[int, int] | None
"""Device and inode of a file, None for a missing one."""

ITEMS = """
    CREATE TABLE items (
        kind TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT, version BIGINT NOT NULL UNIQUE,
        changed_s DOUBLE PRECISION NOT NULL, person TEXT NOT NULL DEFAULT '', shared INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (kind, owner, name, person, shared)
    )
"""
SCHEMA = (
    "CREATE TABLE owners (key TEXT PRIMARY KEY, format TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL)",
    "CREATE TABLE places (format TEXT NOT NULL, path TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (format, path))",
    "CREATE TABLE prints (print TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (print, key))",
    ITEMS,
)
"""Statements that create the tables, in SQLite and in PostgreSQL."""

ADD_PERSONS = (
    "ALTER TABLE items RENAME TO former_items",
    ITEMS,
    "INSERT INTO items SELECT kind, owner, name, value, version, changed_s, '', 0 FROM former_items",
    "DROP TABLE former_items",
)
MIGRATIONS = (SCHEMA, ADD_PERSONS, ())
"""For each version of a file's schema, the statements that lead to the current one; 0 is an empty file."""

TABLES = {
    "owners": "key, format, name, path", "places": "format, path, key", "prints": "print, key",
    "items": "kind, owner, name, value, version, changed_s, person, shared",
}  # fmt: skip
"""The columns of each table, in this version."""


class TooNew(Exception):
    """Raised if a later version of this program wrote the file."""


def open_file(path: Path, *, check: bool = False) -> sqlite3.Connection:
    """Open the file, or create it readable by its owner alone; with `check`, verify all of it first.

    Raises `OSError`, `sqlite3.Error` or `TooNew` if it cannot be used.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = _connected(str(path))
    try:
        if check:
            result = connection.execute("PRAGMA quick_check(1)").fetchone() or ["nothing can be read"]
            if result[0] != "ok":
                raise sqlite3.DatabaseError(f"the file is damaged: {result[0]}")  # noqa: TRY301
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def in_memory(path: Path) -> sqlite3.Connection:
    """Return a database in memory, with the readable contents of the file at `path`."""
    for mode in (*(("mode=ro", "immutable=1") if path.is_file() else ()), ""):
        connection = _connected(":memory:")
        try:
            if mode:
                with contextlib.closing(_connected(f"{path.absolute().as_uri()}?{mode}")) as file:
                    file.backup(connection)
            migrate(connection)
        except (sqlite3.Error, TooNew):
            connection.close()
        else:
            return connection
    raise AssertionError


def places_of(path: Path) -> dict[Path, Place]:
    """Return the places of the file and of the two that SQLite keeps beside it, the file's first."""
    places: dict[Path, Place] = {}
    for part in [path.with_name(path.name + ending) for ending in PARTS]:
        places[part] = None
        with contextlib.suppress(OSError):
            state = part.stat()
            places[part] = state.st_dev, state.st_ino
    return places


def add_items(former: sqlite3.Connection, into: sqlite3.Connection) -> None:
    """Add the items that only `former` has; items in both stay as they are in the file. Added items get versions above
    the existing ones. Runs with the same place in both are one run.
    """
    with transaction(into):
        known, others = (
            {(form, path): key for form, path, key in connection.execute("SELECT format, path, key FROM places")}
            for connection in (into, former)
        )
        same = {key: known[place] for place, key in others.items() if place in known}
        ((newest,),) = into.execute(NEWEST).fetchall()
        for table, columns in TABLES.items():
            key_at = columns.split(", ").index("owner" if table == "items" else "key")
            above = columns.replace("version", f"version + {int(newest)}")
            for row in former.execute(f"SELECT {above} FROM {table}"):
                values = [*row]
                values[key_at] = same.get(row[key_at], row[key_at])
                into.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", values)


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate the schema to this version, in one transaction. Raises `TooNew`, and `sqlite3.Error` for other tables."""
    current = len(MIGRATIONS) - 1
    if _version(connection) == current:
        for table, columns in TABLES.items():  # fails on a file of another program
            connection.execute(f"SELECT {columns} FROM {table} LIMIT 0")
        return
    with transaction(connection):
        version = _version(connection)  # another process may have been first
        if version > current:
            raise TooNew(f"it was written by a later version of Rolloupe (schema {version})")
        for statement in MIGRATIONS[version]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {current}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing, while nobody else writes."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _connected(name: str) -> sqlite3.Connection:
    """Connect with transactions of our own; threads take turns in `StateFile`."""
    return sqlite3.connect(name, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=True)


FAILURES = (OSError, sqlite3.Error, TooNew)
"""Errors of a file that cannot be used."""


class StateFile(Owners):
    """An open file. `trouble` says why it cannot be used, and is otherwise empty.

    Readable contents are still served, if necessary from a copy in memory, which never changes; each change tries the
    file again.
    """

    unindexed = "+"
    """A sign before the name of a column that keeps SQLite from using its index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        super().__init__()
        self._lock = threading.Lock()
        self._is_copy = False
        try:
            self.connection = open_file(self.path)
        except FAILURES as error:
            self.connection = self._copied(error)
        self._seen = self.read(self._data_version)
        self._places = places_of(self.path)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self.connection.close()

    def __del__(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """See `Owners`."""
        return self.connection.execute(sql, values)

    def read(self, work: Callable[[], T]) -> T:
        """Read, one thread at a time; if the file fails, read from a copy in memory."""
        with self._lock:
            try:
                return work()
            except (sqlite3.DatabaseError, OSError) as error:
                self._check_busy(error)
                if self._is_copy:
                    raise
                broken, self.connection = self.connection, self._copied(error)
                broken.close()
                return work()

    def change(self, work: Callable[[], T]) -> T:
        """Change the file in one transaction.

        Raises `NotWritable` if it cannot be written or another process holds it for long. Nothing changes then.
        """
        with self._lock:
            try:
                self._return()
                with transaction(self.connection):
                    return work()
            except FAILURES as error:
                self._check_busy(error)
                self.trouble = f"{self.path}: {error}"
                raise NotWritable(f"this was not saved, because the file cannot be written: {self.trouble}") from None

    def changed_elsewhere(self) -> bool:
        """True if another process changed the file since the last call, or since it was opened."""
        former, self._seen = self._seen, self.read(self._data_version)
        return former != self._seen

    def _data_version(self) -> int:
        return int(self.all("PRAGMA data_version")[0][0])

    def _check_busy(self, error: Exception) -> None:
        """Raise `NotWritable` if another process held the file for too long."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise NotWritable(f"{self.path} is held by another process: try again in a moment") from None

    def _return(self) -> None:
        """Open the file again after trouble; a new file there gets the held items.

        Raises the errors of `open_file`; held items stay then.
        """
        now = places_of(self.path)
        is_same = now[self.path] == self._places[self.path]
        if is_same and not self.trouble:
            return
        if not is_same:
            for part, place in now.items():  # the log of the former file would damage the new one
                if part != self.path and place is not None and place == self._places[part]:
                    part.unlink()
        connection = open_file(self.path, check=is_same)
        try:
            if not is_same:
                add_items(self.connection, connection)
        except BaseException:
            connection.close()
            raise
        self.connection.close()
        self.connection, self.trouble, self._is_copy = connection, "", False
        self._places, self._seen = places_of(self.path), -1
        self.forget_places()

    def _copied(self, error: Exception) -> sqlite3.Connection:
        """The readable contents of the file, in memory."""
        self.trouble, self._is_copy = f"{self.path}: {error}", True
        return in_memory(self.path)
