"""The file: opened, brought to this version's schema, and what stands in for it where it cannot be used.

SQLite with a write-ahead log, so that viewers on several ports read and write the same file. Where the file cannot be
written, what can be read of it is copied into memory; where it is damaged or newer than this program, it is left as it
is.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

WAIT_S = 5.0
"""So long is another process waited for that is writing."""

SCHEMAS = (
    """
    CREATE TABLE owners (key TEXT PRIMARY KEY, format TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL);
    CREATE TABLE places (format TEXT NOT NULL, path TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (format, path));
    CREATE TABLE prints (print TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (print, key));
    CREATE TABLE items (
        kind TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT, version INTEGER NOT NULL UNIQUE,
        changed_s REAL NOT NULL, PRIMARY KEY (kind, owner, name)
    );
    """,
)
"""What makes each version of the schema of the one before; the first of an empty file."""


class TooNew(Exception):
    """Raised for a file that a later version of this program wrote."""


def open_file(path: Path) -> sqlite3.Connection:
    """Open the file, made where it is missing, readable by its owner alone.

    Raises `OSError`, `sqlite3.Error` or `TooNew` where it cannot be used.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = _connected(str(path))
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def in_memory(path: Path | None = None) -> sqlite3.Connection:
    """A database that lives as long as the process, with what can be read of the file at `path`."""
    for mode in ("mode=ro", "immutable=1") if path is not None and path.is_file() else ():
        connection = _connected(":memory:")
        try:
            with contextlib.closing(_connected(f"{path.absolute().as_uri()}?{mode}" if path else "")) as file:
                file.backup(connection)
            migrate(connection)
        except (sqlite3.Error, TooNew):
            connection.close()
        else:
            return connection
    connection = _connected(":memory:")
    migrate(connection)
    return connection


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema to this version, in one transaction. Raises `TooNew`."""
    if _version(connection) == len(SCHEMAS):
        return
    with transaction(connection):
        version = _version(connection)  # another process may have been first
        if version > len(SCHEMAS):
            raise TooNew(f"it was written by a later version of Rolloupe (schema {version})")
        for schema in SCHEMAS[version:]:
            for statement in filter(str.strip, schema.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(SCHEMAS)}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing; nobody else writes meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def is_busy(error: Exception) -> bool:
    """True where another process held the file for longer than was waited."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _connected(name: str) -> sqlite3.Connection:
    """Transactions are our own; threads take turns at `State`."""
    return sqlite3.connect(name, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=True)
