"""`State`: reads and changes what a person added.

A change names the version of the item that the person saw. If that is no longer the newest, nothing is written and
the result is the item as another tab or viewer left it. A change that cannot be written to the file raises, so
whatever is returned is stored.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import platformdirs

from rolloupe import text
from rolloupe.errors import BadQuery, NotWritable
from rolloupe.index import OpenRun
from rolloupe.state import database
from rolloupe.state.records import KINDS, MAX_SETTING_CHARS, Change, Mark, Owner, Value, Written, check
from rolloupe.state.run_identity import Identity, identity_of
from rolloupe.state.run_keys import Owners

NAME = "state.sqlite"
MAX_ITEMS = 100_000

ROW_CHARS = 200
"""Approximate size of an item besides its value."""

ITEM = "kind, owner, name, value, version, changed_s"

FAILURES = (OSError, sqlite3.Error, database.TooNew)
"""Errors of a file that cannot be used."""

DECODERS = {kind: msgspec.json.Decoder(value) for kind, value in KINDS.items()}

T = TypeVar("T")


def default_folder() -> Path:
    """The user's folder for data that programs must not lose."""
    return Path(platformdirs.user_data_dir("rolloupe", appauthor=False))


class ItemPage(NamedTuple):
    """Items, and the version up to which, or down to which, they are complete; `more` if others may follow."""

    version: int
    items: list[Mark]
    more: bool = False


class State:
    """The state in a folder, by default the user's data directory. Safe to use from several threads.

    `trouble` says why the file cannot be used, and is otherwise empty. Readable contents are still served, if necessary
    from a copy in memory, which never changes; each change tries the file again.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self.path = (Path(folder).expanduser() if folder else default_folder()) / NAME
        self.trouble = ""
        self._lock = threading.Lock()
        self._owners = Owners()
        self._is_copy = False
        try:
            self._connection = database.open_file(self.path)
        except FAILURES as error:
            self._connection = self._copied(error)
        self._seen = self._read(self._data_version)
        self._places = database.places_of(self.path)

    @classmethod
    def is_there(cls, folder: Path | str | None = None) -> bool:
        """True if the folder has ever stored anything."""
        return ((Path(folder).expanduser() if folder else default_folder()) / NAME).is_file()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()

    # Reading

    def items(self, since: int = 0, limit_chars: int | None = None) -> ItemPage:
        """All items; with `since`, those changed after that version, removed ones included.

        A limit bounds the characters, but at least one item comes; the rest follows the returned version.
        """
        removed = "" if since else "AND value IS NOT NULL"
        sql = f"SELECT {ITEM} FROM items WHERE version > ? {removed} ORDER BY version"

        def read() -> ItemPage:
            rows, room = [], limit_chars
            with contextlib.closing(self._connection.execute(sql, (since,))) as found:
                for row in found:
                    rows.append(row)
                    room = None if room is None else room - ROW_CHARS - len(row[3] or "")
                    if room is not None and room < 0:
                        return ItemPage(row[4], _items(rows), more=True)
            (newest,) = self._all("SELECT coalesce(max(version), 0) FROM items")
            return ItemPage(newest[0], _items(rows))

        return self._read(read)

    def of(self, owner: str, kind: str = "sample") -> list[Mark]:
        """The marks on a run's samples, the newest last."""
        sql = f"SELECT {ITEM} FROM items WHERE owner = ? AND kind = ? AND value IS NOT NULL ORDER BY version"

        def read() -> list[Mark]:
            with contextlib.closing(self._connection.execute(sql, (owner, kind))) as found:
                return _items(found)  # row by row: no list of all rows beside the list of items

        return self._read(read)

    def before(self, owner: str, version: int, limit: int) -> ItemPage:
        """Some marks on a run's samples that are older than a version, the newest first.

        If there may be more, they are older than the returned version.
        """
        # `+` makes SQLite use the index of versions: the one of owners would sort all of them for each part
        sql = f"""
            SELECT {ITEM} FROM items WHERE +owner = ? AND +kind = 'sample' AND value IS NOT NULL AND version < ?
            ORDER BY version DESC LIMIT ?
        """
        rows = self._read(lambda: self._all(sql, owner, version, limit))
        return ItemPage(rows[-1][4] if rows else version, _items(rows), more=len(rows) == limit)

    def owners(self) -> list[Owner]:
        """Every run that has marks."""
        return self._read(lambda: self._owners.all(self._connection))

    def changed_elsewhere(self) -> bool:
        """True if another process changed the file since the last call, or since it was opened."""
        former, self._seen = self._seen, self._read(self._data_version)
        return former != self._seen

    def _data_version(self) -> int:
        return int(self._all("PRAGMA data_version")[0][0])

    def owner(self, run: OpenRun) -> str | None:
        """The key of a run, None if it has no marks."""
        identity = identity_of(run, look=False)
        return self._read(lambda: self._owners.find(self._connection, identity, lambda: identity_of(run)))

    # Writing

    def write(self, change: Change, run: OpenRun | None = None, owner: str = "") -> Written:
        """Change the marks of a run (open, or named by its key), the layout of one of its pages, or a setting.

        Raises `BadQuery` for an invalid change, and `NotWritable` if the file cannot be written or another process
        holds it for long. Nothing changes then, and the caller may try again.
        """
        check(change)
        value = None if change.value is None else _encoded(change.value)
        if isinstance(change.value, dict) and value is not None and len(value) > MAX_SETTING_CHARS:
            raise BadQuery(f"a {change.kind} may have {MAX_SETTING_CHARS:,} characters: keep less in it")
        identity = identity_of(run) if run else None

        with self._lock:
            try:
                self._return()
                with database.transaction(self._connection):
                    return self._put(change, self._key(change, identity, owner), value)
            except FAILURES as error:
                self._check_busy(error)
                self.trouble = f"{self.path}: {error}"
                raise NotWritable(f"this is not kept, for the file cannot be written: {self.trouble}") from None

    def _put(self, change: Change, key: str, value: str | None) -> Written:
        place = (change.kind, key, change.name)
        rows = self._all(f"SELECT {ITEM} FROM items WHERE kind = ? AND owner = ? AND name = ?", *place)
        current = _item(rows[0]) if rows else None
        if current is not None and rows[0][3] == value:
            return Written(current, is_conflict=False)
        version = 0 if current is None or (current.value is None and not change.seen) else current.version
        if current is not None and version != change.seen:
            return Written(current, is_conflict=True)
        ((count, newest),) = self._all("SELECT count(*), coalesce(max(version), 0) FROM items")
        if count >= MAX_ITEMS and not rows:
            raise BadQuery(f"{MAX_ITEMS:,} things are kept already: remove some first")
        row = (*place, value, newest + 1, time.time())
        self._all(f"INSERT OR REPLACE INTO items ({ITEM}) VALUES (?, ?, ?, ?, ?, ?)", *row)
        item = _item(row)
        assert item is not None
        return Written(item, is_conflict=False)

    def _key(self, change: Change, identity: Identity | None, owner: str) -> str:
        """The key of the run to change, created for the first mark."""
        if change.kind == "setting":
            return ""
        if identity is not None:
            return self._owners.find_or_make(self._connection, identity)
        if not self._owners.has(self._connection, owner):
            raise BadQuery(f"nothing is kept of a run {owner[:40]!r}")
        return owner

    # The file

    def _all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def _read(self, work: Callable[[], T]) -> T:
        """Read, one thread at a time; if the file fails, read from a copy in memory."""
        with self._lock:
            try:
                return work()
            except (sqlite3.DatabaseError, OSError) as error:
                self._check_busy(error)
                if self._is_copy:
                    raise
                broken, self._connection = self._connection, self._copied(error)
                broken.close()
                return work()

    def _check_busy(self, error: Exception) -> None:
        if database.is_busy(error):
            raise NotWritable(f"{self.path} is held by another process: try again in a moment") from None

    def _return(self) -> None:
        """Open the file again after trouble; a new file there gets the held items.

        Raises the errors of `database.open_file`; held items stay then.
        """
        is_same = database.places_of(self.path)[0] == self._places[0]
        if is_same and not self.trouble:
            return
        former = self._connection
        self._connection = (
            database.open_file(self.path, check=True) if is_same else database.reopened(self.path, former, self._places)
        )
        former.close()
        self.trouble, self._is_copy = "", False
        self._places, self._owners, self._seen = database.places_of(self.path), Owners(), -1

    def _copied(self, error: Exception) -> sqlite3.Connection:
        """The readable contents of the file, in memory."""
        self.trouble, self._is_copy = f"{self.path}: {error}", True
        return database.in_memory(self.path)


def _encoded(value: Value) -> str:
    """A value as JSON, its lone surrogates replaced: neither JSON nor SQLite can hold them."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(msgspec.to_builtins(value))).decode()


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return text.clean(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _items(rows: Iterable[Sequence[Any]]) -> list[Mark]:
    return [item for row in rows if (item := _item(row)) is not None]


def _item(row: Sequence[Any]) -> Mark | None:
    """A row as an item; None for an invalid row from a damaged file or another program."""
    kind, owner, name, value, version, changed_s = row
    try:
        content = None if value is None else DECODERS[kind].decode(value)
        return Mark(
            kind=kind, owner=str(owner), name=str(name), value=content, version=int(version), changed_s=float(changed_s)
        )
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return None
