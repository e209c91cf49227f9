"""Roles of people and access to runs, from one TOML file that is read again when it changes.

A file that cannot be read or understood changes nothing: its last valid contents still apply, and the server says why.
"""

import enum
import os
import re
import time
import tomllib
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.server.process.console import say
from rolloupe.storage import both_places, open_named, place_of

MAX_BYTES = 2**20
NAMED = 5
"""The most names in a message."""

LOOK_S = 1.0
"""The shortest time between two looks at the file."""


class Role(enum.IntEnum):
    """What a person may do. Each role includes those below."""

    NONE = 0
    READER = 1
    """Reads the runs, and what others share."""
    WRITER = 2
    """Adds bookmarks, notes, names and layouts, private and shared ones."""
    ADMIN = 3
    """Sees every run, removes what others share, and clears the cache."""


ROLES = {role.name.lower(): role for role in Role}


class RunRule(Struct, forbid_unknown_fields=True):
    """Who may see the runs below a folder."""

    path: str
    people: list[str]


class AccessText(Struct, forbid_unknown_fields=True):
    """The contents of the file."""

    everyone: str = "none"
    people: dict[str, str] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    runs: list[RunRule] = field(default_factory=list)


class Access(Struct, frozen=True):
    """The roles of people, and who may see which runs."""

    everyone: Role
    people: dict[str, Role] = {}
    rules: dict[str, frozenset[str]] = {}
    """Who may see the runs at a place, for places that are not for everybody."""

    def role(self, name: str) -> Role:
        """Return the role of a person."""
        return self.people.get(name, self.everyone)

    def may_see(self, name: str, paths: Iterable[str]) -> bool:
        """True if a person may see all of these places: for each place, the nearest rule above it decides."""
        role = self.role(name)
        if role in (Role.NONE, Role.ADMIN):
            return role is Role.ADMIN
        for path in map(os.path.normpath, paths):
            place = path
            while place not in self.rules and place != os.path.dirname(place):
                place = os.path.dirname(place)
            if name not in self.rules.get(place, (name,)):
                return False
        return True


def parsed(text: bytes) -> Access:
    """Return what a file says. Raises `BadQuery` if it cannot be understood."""
    try:
        content = msgspec.convert(tomllib.loads(text.decode()), AccessText)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise BadQuery(str(error)) from None
    people = {_known_name(name): _role(role, f"people.{name}") for name, role in content.people.items()}
    if len(people) < len(content.people):
        raise BadQuery("people has two spellings of one name; leave one of them out")
    rules: dict[str, frozenset[str]] = {}
    for rule in content.runs:
        if not os.path.isabs(place_of(rule.path)) or "\0" in rule.path:
            raise BadQuery(
                f"runs.path {rule.path!r} must be a whole path, from the root of the file system, or an address such "
                "as s3://bucket/runs"
            )
        groups = {f"@{name}": people for name, people in content.groups.items()}
        for word in rule.people:
            if word.startswith("@") and word not in groups:
                raise BadQuery(f"runs.people names the group {word}, which is not among the groups")
        names = frozenset(_known_name(name) for word in rule.people for name in groups.get(word, [word]))
        for place in set(both_places(rule.path)):
            if place in rules:
                raise BadQuery(f"two rules of runs name {place}; name its people in one")
            rules[place] = names
    return Access(_role(content.everyone, "everyone"), people, rules)


def composed(name: str) -> str:
    """Return a name for comparison: an accent and its letter are one character."""
    return unicodedata.normalize("NFC", name)


def has_unseen(name: str) -> bool:
    """True for a name that may look like another.

    It has an invisible character, a space other than single ones between words, or a duplicate of another character,
    such as the sign of Kelvin for a K.
    """
    return (
        not name.isprintable()
        or name.split(" ") != name.split()
        or _SHOWS_NOTHING.search(name) is not None
        or any(len(one := composed(char)) == 1 and one != char for char in name)
    )


_SHOWS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
    "\U000132fa\U00016fe4\U0001d159]"
)
"""Characters that Unicode counts as printable and fonts leave blank: fillers, joiners, selectors of variants.

Source: `Default_Ignorable_Code_Point` of Unicode, without the characters of format.
"""


def _known_name(name: str) -> str:
    """Return the name of a person in the file. Raises `BadQuery` for a name that no sender can have."""
    if has_unseen(name):
        raise BadQuery(f"the name {name!r} contains a space or an invisible character; type it again")
    return composed(name)


def _role(word: str, place: str) -> Role:
    if word not in ROLES:
        raise BadQuery(f"{place} = {word!r} is not a role; there are {', '.join(ROLES)}")
    return ROLES[word]


class AccessFile:
    """The file, with its last valid contents. Without a file, everybody whom the proxy names is a reader."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._access = Access(Role.READER)
        self._seen: Any = None
        self._looked_s = 0.0
        if path is not None:
            self._access, self._seen = self._read(path)
            self._looked_s = time.monotonic()

    @property
    def now(self) -> Access:
        """What the file says now."""
        moment = time.monotonic()
        if self._path is not None and moment - self._looked_s >= LOOK_S:
            self._looked_s = moment
            self._look(self._path)
        return self._access

    def _look(self, path: Path) -> None:
        before = self._seen
        try:
            self._seen = _state_of(os.stat(path))
        except OSError as error:
            self._seen = str(error)
        if self._seen == before:
            return
        try:
            self._access, self._seen = self._read(path)
        except (BadQuery, UnreadablePath) as error:
            say(f"The file of --access is not used: {error}. Roles and runs stay as they were.")
        else:
            say(f"Roles and runs are now as {path} says.")

    @staticmethod
    def _read(path: Path) -> tuple[Access, Any]:
        try:
            with open_named(path) as file:
                seen, text = _state_of(os.fstat(file.fileno())), file.read(MAX_BYTES + 1)
        except OSError as error:
            raise UnreadablePath(f"{path} cannot be read: {error.strerror or error}") from None
        if len(text) > MAX_BYTES:
            raise BadQuery(f"{path} is larger than {MAX_BYTES} bytes")
        try:
            access = parsed(text)
        except BadQuery as error:
            raise BadQuery(f"{path}: {error}") from None
        named = frozenset().union(*access.rules.values())
        if names := sorted(name for name in named if access.role(name) is Role.NONE):
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            say(f"{path} names {', '.join(names[:NAMED])}{more} for runs, but gives no role, so they see nothing.")
        return access, seen


def _state_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
