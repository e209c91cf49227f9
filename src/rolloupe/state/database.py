"""The database file: opening it, migrating its schema, and a copy in memory for a file that cannot be used.

SQLite with a write-ahead log, so that viewers on several ports read and write the same file. If the file cannot be
written, its readable contents are copied into memory. A file that is damaged or newer than this program stays as it is.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

WAIT_S = 5.0
"""How long to wait for another process that writes."""

PARTS = ("", "-wal", "-shm")
"""Endings of the files that make up one database."""

Place: TypeAlias = tuple[int, int] | None
"""Device and inode of a file, None for a missing one."""

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
    """
    CREATE TABLE team_items (
        kind TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT, version INTEGER NOT NULL UNIQUE,
        changed_s REAL NOT NULL, person TEXT NOT NULL DEFAULT '', shared INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (kind, owner, name, person, shared)
    );
    INSERT INTO team_items SELECT kind, owner, name, value, version, changed_s, '', 0 FROM items;
    DROP TABLE items;
    ALTER TABLE team_items RENAME TO items;
    """,
)
"""Statements that make each version of the schema from the one before; the first starts from an empty file."""

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
            _check(connection)
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection) -> None:
    found = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != ("ok",):
        raise sqlite3.DatabaseError(f"the file is damaged: {found[0] if found else 'nothing can be read'}")


def in_memory(path: Path | None = None) -> sqlite3.Connection:
    """A database in memory, with the readable contents of the file at `path`."""
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


def places_of(path: Path) -> list[Place]:
    """Paths of the file and the two that SQLite keeps beside it, in the order of `PARTS`."""
    return [_place_of(part) for part in _parts(path)]


def reopened(path: Path, former: sqlite3.Connection, former_places: list[Place]) -> sqlite3.Connection:
    """Open the file as `open_file` does, and add the contents of an earlier one, which was in `former_places`."""
    for part, place in list(zip(_parts(path), former_places, strict=True))[1:]:
        if place and _place_of(part) == place:  # its log: applied to another file, it would damage both
            part.unlink()
    connection = open_file(path)
    try:
        _add(former, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _parts(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in PARTS]


def _place_of(path: Path) -> Place:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _add(former: sqlite3.Connection, into: sqlite3.Connection) -> None:
    """Add the items that only `former` has; items in both stay as they are in the file.

    Added items get versions above the existing ones. A run that both know by its place is one run.
    """
    with transaction(into):
        keys_by_place = _places(into)
        same = {key: keys_by_place[place] for place, key in _places(former).items() if place in keys_by_place}
        ((newest,),) = into.execute("SELECT coalesce(max(version), 0) FROM items").fetchall()
        owners = former.execute("SELECT key, format, name, path FROM owners")
        _put(into, "owners", [(same.get(key, key), *facts) for key, *facts in owners])
        places = former.execute("SELECT key, format, path FROM places")
        _put(into, "places", [(*place, same.get(key, key)) for key, *place in places])
        prints = former.execute("SELECT print, key FROM prints")
        _put(into, "prints", [(one, same.get(key, key)) for one, key in prints])
        items = former.execute(
            "SELECT kind, owner, name, value, version + ?, changed_s, person, shared FROM items", (newest,)
        )
        _put(into, "items", [(kind, same.get(key, key), *rest) for kind, key, *rest in items])


def _places(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    found = connection.execute("SELECT format, path, key FROM places")
    return {(form, path): key for form, path, key in found}


def _put(into: sqlite3.Connection, table: str, rows: list[tuple[object, ...]]) -> None:
    for row in rows:
        into.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate the schema to this version, in one transaction. Raises `TooNew`, and `sqlite3.Error` for other tables."""
    if _version(connection) == len(SCHEMAS):
        for table, columns in TABLES.items():  # fails on a file of another program
            connection.execute(f"SELECT {columns} FROM {table} LIMIT 0")
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
    """Write all or nothing, while nobody else writes."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def is_busy(error: Exception) -> bool:
    """True if another process held the file for too long."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _connected(name: str) -> sqlite3.Connection:
    """Transactions are our own; threads take turns at `State`."""
    return sqlite3.connect(name, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=True)
