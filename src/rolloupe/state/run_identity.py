"""What identifies a run, so that marks find it again after it has moved."""

import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rolloupe.formats import all_formats
from rolloupe.index import OpenRun
from rolloupe.model import Location
from rolloupe.storage import is_remote, open_file

FILES = 8
"""The number of files, the first by name, that identify a run."""
HEAD_BYTES = 4096
LEAST_BYTES = 32
"""A shorter first line says too little."""


class Identity(NamedTuple):
    """A run on disk: its format, name and resolved path, and the fingerprints of its files' beginnings.

    If a file holds several runs, the path ends with the name of the run in the file.
    """

    format: str
    name: str
    path: str
    prints: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()
    """The fingerprints that the same beginnings have in other formats."""

    @property
    def known_as(self) -> frozenset[str]:
        """All fingerprints by which the run may be known."""
        return self.prints | self.former


def identity_of(run: OpenRun, *, look: bool = True) -> Identity:
    """The identity of an open run; without `look` its files are left alone, and the prints are empty."""
    info = run.info
    heads: list[bytes] = []
    if look and not info.within:
        names = [file.name for file in run.sources.files() if file.what == "samples"][:FILES]
        sources = [source for name in names if (source := run.sources.get(name)) is not None]
        heads = [head for source in sources if (head := _head(source.location))]
    return Identity(
        info.format,
        info.name,
        os.path.realpath(info.root) + (f"#{info.within}" if info.within else ""),
        frozenset(_print(info.format, head) for head in heads),
        frozenset(_print(form.name, head) for form in all_formats() for head in heads if form.name != info.format),
    )


def _head(location: Location) -> bytes:
    """Return the first line of a file, or its first bytes if the line is long; empty while the line may still grow."""
    try:
        with open_file(location) as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return b""
    line, newline, _ = head.partition(b"\n")
    is_fixed = bool(newline) or len(head) == HEAD_BYTES
    return line if is_fixed and len(line) >= LEAST_BYTES else b""


def _print(format_name: str, head: bytes) -> str:
    return hashlib.blake2b(format_name.encode() + b"\0" + head, digest_size=12).hexdigest()


MAX_PRINTS = 64
"""How many fingerprints a run keeps."""

PUT_OWNER = """
    INSERT INTO owners (key, format, name, path) VALUES (?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET format = excluded.format, name = excluded.name, path = excluded.path
"""
PUT_PLACE = """
    INSERT INTO places (format, path, key) VALUES (?, ?, ?)
    ON CONFLICT (format, path) DO UPDATE SET key = excluded.key
"""

Place = tuple[str, str]
"""A format, and the path of a run in it."""


class Owners(ABC):
    """The runs that have marks in a database: SQLite, or PostgreSQL with the same placeholders."""

    def __init__(self) -> None:
        self.forget_places()

    @abstractmethod
    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """Run a statement with `?` for each value; for use in `read` and `change`."""

    def all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a statement; for use in `read` and `change`."""
        rows = self.execute(sql, values)
        return list(rows.fetchall()) if rows.description else []

    def forget_places(self) -> None:
        """Look at the files of all runs again."""
        self._checked: set[tuple[Place, str]] = set()
        """Places whose files this process has read, and the key of the run there."""
        self._unknown: dict[Place, int] = {}
        """The places of runs without marks, and the number of owners for which this list is valid."""

    def find_owner(self, identity: Identity, look: Callable[[], Identity]) -> str | None:
        """The key of a run, None if it has no marks. `look` reads its files."""
        key = self._at_place(identity, look)
        if key is not None:
            return key
        place = identity[0], identity[2]
        ((count,),) = self.execute("SELECT count(*) FROM owners").fetchall()
        if count == self._unknown.get(place, 0):
            return None
        looked_at = look()
        key = self._moved(looked_at)
        if looked_at.prints and key is None:
            self._unknown[place] = count
        return key

    def find_or_make_owner(self, identity: Identity) -> str:
        """The key of a run, created if necessary; notes its place and its beginnings."""
        key = self._at_place(identity, lambda: identity) or self._moved(identity) or secrets.token_hex(8)
        self._remember(key, identity)
        return key

    def _at_place(self, identity: Identity, look: Callable[[], Identity]) -> str | None:
        """The run last seen at this place, unless all its files begin differently now."""
        place = identity[0], identity[2]
        row = self.execute("SELECT key FROM places WHERE format = ? AND path = ?", place).fetchone()
        row = row or self.execute("SELECT key FROM places WHERE path = ?", place[1:]).fetchone()
        if row is None:
            return None
        key = str(row[0])
        if (place, key) in self._checked:
            return key
        prints, stored_prints = identity.known_as or look().known_as, self._prints(key)
        if prints and stored_prints and prints.isdisjoint(stored_prints):
            return None
        if prints:
            self._checked.add((place, key))
        return key

    def _moved(self, identity: Identity) -> str | None:
        """The run whose files begin like these, if it is gone from every place where it was seen."""
        if not identity.known_as:
            return None
        marks = ", ".join("?" * len(identity.known_as))
        rows = self.execute(f"SELECT DISTINCT key FROM prints WHERE print IN ({marks})", sorted(identity.known_as))
        for (key,) in rows.fetchall():
            places = self.execute("SELECT path FROM places WHERE key = ?", (key,))
            if not any(is_remote(path) or os.path.exists(path) for (path,) in places):
                self._remember(str(key), identity)
                return str(key)
        return None

    def _remember(self, key: str, identity: Identity) -> None:
        self.execute(PUT_OWNER, (key, *identity[:3]))
        self.execute(PUT_PLACE, (identity.format, identity.path, key))
        stored_prints = self._prints(key)
        for fingerprint in sorted(identity.prints - stored_prints)[: max(0, MAX_PRINTS - len(stored_prints))]:
            self.execute("INSERT INTO prints VALUES (?, ?) ON CONFLICT DO NOTHING", (fingerprint, key))

    def _prints(self, key: str) -> set[str]:
        rows = self.execute("SELECT print FROM prints WHERE key = ?", (key,))
        return {str(fingerprint) for (fingerprint,) in rows}
