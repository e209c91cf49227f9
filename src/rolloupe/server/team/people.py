"""The people of a team: who sends a request, and what that person may do."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from starlette.types import Scope

from rolloupe.server.context import Forbidden
from rolloupe.server.team.access import ROLES, AccessFile, Role, composed, has_unseen

MAX_NAME_CHARS = 200
RATE = 50.0


class Person(NamedTuple):
    """Somebody of a team."""

    name: str
    access: AccessFile
    logout: str = ""
    """The address that ends the login; empty where another program knows who people are."""

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
            raise Forbidden(f"this takes the role {role}; {self.name} is {self.role.name.lower()}")

    def may_see(self, paths: Iterable[str]) -> bool:
        """True if the person may see what lies at these places."""
        return self.access.now.may_see(self.name, paths)


class Refused(Exception):
    """Raised for a request that does not say, in the agreed way, who sends it."""

    def __init__(self, status: int, error: str, what_next: str) -> None:
        super().__init__(error)
        self.status, self.what_next = status, what_next


class Senders(Protocol):
    """Knows who sends requests."""

    logout: str
    """See `Person`."""

    def name(self, scope: Scope) -> str:
        """Return the name of whoever sends a request. Raises `Refused` if it does not say so in the agreed way."""


class Team:
    """The people of a server, and what each of them may do."""

    def __init__(self, senders: Senders, access: AccessFile, *, rate: float = RATE, metrics_token: str = "") -> None:
        self.senders = senders
        self.access = access
        self.rate = rate
        """Requests a second that one person may send."""
        self.metrics_token = metrics_token
        """What Prometheus sends for /metrics; empty: there is no such address."""

    def person(self, scope: Scope) -> Person:
        """Return who sends a request. Raises `Refused`."""
        return Person(self.senders.name(scope), self.access, self.senders.logout)


def checked_name(value: bytes) -> str:
    """Return a person's name. Raises `Refused` if it could be another in disguise, or several."""
    try:
        name = value.decode()
    except UnicodeDecodeError:
        name = ""
    if not name or len(name) > MAX_NAME_CHARS or has_unseen(name) or set(name) & set(',;"'):
        raise Refused(
            400,
            "the name of the sender cannot be used",
            f"Names have up to {MAX_NAME_CHARS} letters, no commas, and no space that cannot be seen.",
        )
    return composed(name)
