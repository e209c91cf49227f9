"""The people of a team: who sends a request, what that person may do, and which runs that person may see.

All other runs seem not to exist. Without a team, nobody has a name, and everybody sees everything.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from starlette.requests import Request
from starlette.types import Scope

from rolloupe.errors import NotFound, RolloupeError
from rolloupe.formats import Note
from rolloupe.index import Library, OpenRun, plain_id
from rolloupe.lru import Lru
from rolloupe.server.access import ROLES, AccessFile, Role, composed, has_unseen
from rolloupe.storage import both_places

PERSON = "rolloupe.person"
"""Key in the scope of a request for the person of a team who sends it."""

MAX_NAME_CHARS = 200

MAX_PLACES = 100_000
PLACES_S = 30.0
"""A list looks up the places of a run again after this time; opening a run looks them up each time."""

_places: Lru[tuple[str, ...], tuple[float, tuple[str, ...]]] = Lru(MAX_PLACES)


class Forbidden(RolloupeError):
    """Raised for a request that the role of its sender does not allow."""


class Person(NamedTuple):
    """Somebody of a team."""

    name: str
    access: AccessFile
    logout: str = ""
    """The address that ends the login; empty if a different program identifies people."""

    @property
    def role(self) -> Role:
        """What the person may do now."""
        return self.access.now.role(self.name)

    @property
    def is_admin(self) -> bool:
        """True for an admin."""
        return self.role is Role.ADMIN

    def require(self, role: str) -> None:
        """Raise `Forbidden` without this role."""
        if self.role < ROLES[role]:
            raise Forbidden(f"this needs the role {role}; {self.name} is {self.role.name.lower()}")

    def may_see(self, paths: Iterable[str]) -> bool:
        """True if the person may see what lies at these places."""
        return self.access.now.may_see(self.name, paths)


class Refused(Exception):
    """Raised for a request that does not properly name its sender."""

    def __init__(self, status: int, error: str, what_next: str) -> None:
        super().__init__(error)
        self.status, self.what_next = status, what_next


class Senders(Protocol):
    """Names the senders of requests."""

    logout: str
    """See `Person`."""

    def name(self, scope: Scope) -> str:
        """Return the name of the sender of a request. Raises `Refused` if the request does not properly name it."""


class Team(NamedTuple):
    """The people of a server, and what each of them may do."""

    senders: Senders
    access: AccessFile
    rate: float
    """Requests a second that one person may send."""
    metrics_token: str = ""
    """The token that Prometheus sends for /metrics; without one, there is no such address."""

    def person(self, scope: Scope) -> Person:
        """Return who sends a request. Raises `Refused`."""
        return Person(self.senders.name(scope), self.access, self.senders.logout)


def checked_name(value: bytes) -> str:
    """Return a person's name. Raises `Refused` if it could look like another name, or be several."""
    name = ""
    with contextlib.suppress(UnicodeDecodeError):
        name = value.decode()
    if not name or len(name) > MAX_NAME_CHARS or has_unseen(name) or set(name) & set(',;"'):
        what_next = f"Names have up to {MAX_NAME_CHARS} letters, no commas, and no space that cannot be seen."
        raise Refused(400, "the name of the sender cannot be used", what_next)
    return composed(name)


class VisibleRuns:
    """The part of a library that a person may see."""

    def __init__(self, library: Library, person: Person) -> None:
        self._library, self._person = library, person

    @cached_property
    def runs(self) -> list[OpenRun]:
        """The runs that the person may see."""
        return [run for run in self._library.runs if may_see(self._person, run)]

    @property
    def notes(self) -> list[Note]:
        """Notes about places that the person may see."""
        return [note for note in self._library.notes if self._person.may_see(both_places(str(note.path)))]

    @property
    def is_searching(self) -> bool:
        """True until the first search for runs has ended."""
        return self._library.is_searching

    @property
    def index_dir(self) -> Path:
        """The folder of the index."""
        return self._library.index_dir

    def run(self, run_id: str) -> OpenRun:
        """The run with this id. Raises `NotFound`, which lists the visible runs, for a hidden one too."""
        run = self.find(run_id, is_fresh=True)
        if run is None:
            visible = (run.id for run in self._library.runs if may_see(self._person, run))
            raise NotFound(f"no run {run_id!r} is open; open runs: {', '.join(islice(visible, 10)) or 'none'}")
        run.note_question()
        return run

    def find(self, run_id: str, *, is_fresh: bool = False) -> OpenRun | None:
        """The run with this id, if it is open and visible by the last look at its places, or by a new look with
        `is_fresh`.

        The name of a run is enough if the person sees no other run of that name.
        """
        run = self._library.find(run_id)
        if run is not None and may_see(self._person, run, is_fresh=is_fresh):
            return run
        alike = (run for run in self._library.runs if plain_id(run.info) == run_id)
        of_name = [run for run in alike if may_see(self._person, run, is_fresh=is_fresh)]
        return of_name[0] if len(of_name) == 1 else None

    def index_bytes(self) -> int:
        """The size of the index on disk, of the visible runs."""
        return self._library.index_bytes(self.runs)


Runs: TypeAlias = Library | VisibleRuns


def may_see(person: Person, run: OpenRun, *, is_fresh: bool = False) -> bool:
    """True if a person may see a run: every place where it lies, by its name and behind links."""
    if not person.access.now.rules:
        return True
    named = (run.info.root, *(part.path for part in run.info.parts))
    now = time.monotonic()
    looked_s, places = _places.get(named) or (0.0, ())
    if is_fresh or not places or now - looked_s > PLACES_S:
        places = tuple(place for path in named for place in both_places(path))
        _places.put(named, (now, places))
    return person.may_see(places)


def still_sees(person: Person | None, runs: Sequence[OpenRun]) -> Callable[[], bool]:
    """Return a check that a person still may see some runs: it is quick until roles or rules change."""
    access = None if person is None else person.access.now

    def check() -> bool:
        nonlocal access
        if person is None or person.access.now is access:
            return True
        access = person.access.now
        return bool(person.role) and all(may_see(person, run) for run in runs)

    return check


NOT_KEPT = "bookmarks and notes cannot be kept now; an administrator of this server sees here why"


def reason_for(person: Person | None, reason: str) -> str:
    """Return why the state cannot be used: to a team's admins alone, as it names folders, hosts and users."""
    return reason if not reason or person is None or person.is_admin else NOT_KEPT


def name_of(request: Request) -> str:
    """Return the name of the sender of a request; empty without a team."""
    person = request.scope.get(PERSON)
    return "" if person is None else str(person.name)
