"""The file of the state, open: threads take turns, trouble is noticed, and a file that is well again is used again."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rolloupe.errors import NotWritable
from rolloupe.state import database
from rolloupe.state.run_identity import Owners

FAILURES = (OSError, sqlite3.Error, database.TooNew)
"""Errors of a file that cannot be used."""

T = TypeVar("T")


class StateFile:
    """An open file. `trouble` says why it cannot be used, and is otherwise empty.

    Readable contents are still served, if necessary from a copy in memory, which never changes; each change tries the
    file again.
    """

    unindexed = "+"
    """Before the name of a column: its index is not used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        self.owners = Owners()
        self._lock = threading.Lock()
        self._is_copy = False
        try:
            self.connection = database.open_file(self.path)
        except FAILURES as error:
            self.connection = self._copied(error)
        self._seen = self.read(self._data_version)
        self._places = database.places_of(self.path)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self.connection.close()

    def __del__(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()

    def all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a statement; for use in `read` and `change`."""
        return self.connection.execute(sql, values).fetchall()

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
                with database.transaction(self.connection):
                    return work()
            except FAILURES as error:
                self._check_busy(error)
                self.trouble = f"{self.path}: {error}"
                raise NotWritable(f"this is not kept, for the file cannot be written: {self.trouble}") from None

    def changed_elsewhere(self) -> bool:
        """True if another process changed the file since the last call, or since it was opened."""
        former, self._seen = self._seen, self.read(self._data_version)
        return former != self._seen

    def _data_version(self) -> int:
        return int(self.all("PRAGMA data_version")[0][0])

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
        former = self.connection
        self.connection = (
            database.open_file(self.path, check=True) if is_same else database.reopened(self.path, former, self._places)
        )
        former.close()
        self.trouble, self._is_copy = "", False
        self._places, self.owners, self._seen = database.places_of(self.path), Owners(), -1

    def _copied(self, error: Exception) -> sqlite3.Connection:
        """The readable contents of the file, in memory."""
        self.trouble, self._is_copy = f"{self.path}: {error}", True
        return database.in_memory(self.path)
