"""Which run is which: keys of runs, found by the place of a run or, where it was moved, by how its files begin.

Everything here is called with the database to itself.
"""

import os
import secrets
import sqlite3
from collections.abc import Callable

from rolloupe.state.records import Owner
from rolloupe.state.run_identity import Identity

MAX_PRINTS = 64
"""Fingerprints that are kept of a run."""

Place = tuple[str, str]
"""A format, and the path of a run that is read as it."""


class Owners:
    """The runs that anything was said of."""

    def __init__(self) -> None:
        self._checked: set[tuple[Place, str]] = set()
        """Places whose files were looked at by this process, and the run that they hold."""
        self._unknown: dict[Place, int] = {}
        """Places of runs that nothing was said of, as long as there are so many owners."""

    def all(self, db: sqlite3.Connection) -> list[Owner]:
        """Every run, as it was last seen."""
        return [Owner(*row) for row in db.execute("SELECT key, format, name, path FROM owners")]

    def has(self, db: sqlite3.Connection, key: str) -> bool:
        """True for a key that was given out."""
        return db.execute("SELECT 1 FROM owners WHERE key = ?", (key,)).fetchone() is not None

    def find(self, db: sqlite3.Connection, identity: Identity, look: Callable[[], Identity]) -> str | None:
        """The key of a run, None where nothing was said of it. `look` reads its files, once where that will do."""
        key = self._at_place(db, identity, look)
        if key is not None:
            return key
        place = identity[0], identity[2]
        ((count,),) = db.execute("SELECT count(*) FROM owners").fetchall()
        if count == self._unknown.get(place, 0):
            return None
        found = look()
        key = self._moved(db, found)
        if found.prints and key is None:
            self._unknown[place] = count
        return key

    def find_or_make(self, db: sqlite3.Connection, identity: Identity) -> str:
        """The key of a run, made where there is none; where and how it was seen is noted."""
        key = self._at_place(db, identity, lambda: identity) or self._moved(db, identity) or secrets.token_hex(8)
        self._remember(db, key, identity)
        return key

    def _at_place(self, db: sqlite3.Connection, identity: Identity, look: Callable[[], Identity]) -> str | None:
        """The run that was seen at this place, unless all its files begin otherwise by now."""
        place = identity[0], identity[2]
        row = db.execute("SELECT key FROM places WHERE format = ? AND path = ?", place).fetchone()
        if row is None:
            return None
        key = str(row[0])
        if (place, key) in self._checked:
            return key
        prints, known = identity.prints or look().prints, _prints(db, key)
        if prints and known and prints.isdisjoint(known):
            return None
        if prints:
            self._checked.add((place, key))
        return key

    def _moved(self, db: sqlite3.Connection, identity: Identity) -> str | None:
        """The run whose files begin like these, and which lies nowhere any more where it was seen."""
        marks = ", ".join("?" * len(identity.prints))
        rows = db.execute(f"SELECT DISTINCT key FROM prints WHERE print IN ({marks})", sorted(identity.prints))
        for (key,) in rows.fetchall():
            if not _is_somewhere(db, str(key)):
                self._remember(db, str(key), identity)
                return str(key)
        return None

    def _remember(self, db: sqlite3.Connection, key: str, identity: Identity) -> None:
        db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?)", (key, *identity[:3]))
        db.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", (identity.format, identity.path, key))
        known = _prints(db, key)
        for one in sorted(identity.prints - known)[: max(0, MAX_PRINTS - len(known))]:
            db.execute("INSERT OR IGNORE INTO prints VALUES (?, ?)", (one, key))


def _prints(db: sqlite3.Connection, key: str) -> set[str]:
    return {str(one) for (one,) in db.execute("SELECT print FROM prints WHERE key = ?", (key,))}


def _is_somewhere(db: sqlite3.Connection, key: str) -> bool:
    return any(os.path.exists(path) for (path,) in db.execute("SELECT path FROM places WHERE key = ?", (key,)))
