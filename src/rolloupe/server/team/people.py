"""The people of a team: who sends a request, and what that person may do."""

import ipaddress
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from starlette.types import Scope

from rolloupe.errors import BadQuery
from rolloupe.server.context import Forbidden
from rolloupe.server.team.access import ROLES, AccessFile, Role

HEADER = re.compile(r"header:([A-Za-z0-9-]{1,100})")
MAX_NAME_CHARS = 200
RATE = 50.0
UNIX = "unix"
"""Stands for the peers of a Unix socket, which its permissions choose."""

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class Person(NamedTuple):
    """Somebody of a team."""

    name: str
    access: AccessFile

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


class Team:
    """How a team's server knows its people: by a header that trusted proxies set."""

    def __init__(
        self,
        header: str,
        proxies: Sequence[Network | str],
        access: AccessFile,
        *,
        rate: float = RATE,
        metrics_token: str = "",
    ) -> None:
        self._header = header.lower().encode()
        self._proxies = proxies
        self.access = access
        self.rate = rate
        """Requests a second that one person may send."""
        self.metrics_token = metrics_token
        """What Prometheus sends for /metrics; empty: there is no such address."""

    def person(self, scope: Scope) -> Person:
        """Return who sends a request. Raises `Refused`; what cannot be trusted is refused, never ignored."""
        values = [value for name, value in scope["headers"] if name.lower() == self._header]
        likes = [name for name, _ in scope["headers"] if _plain(name) == _plain(self._header)]
        if not self._trusts(scope):
            if likes:
                raise Refused(
                    403, "only a trusted proxy may say who sends a request", "Use the address that your team was given."
                )
            raise Refused(401, "this address needs a login", "Use the address that your team was given, which has one.")
        if len(likes) > max(1, len(values)) or len(values) > 1 or len(likes) != len(values):
            raise Refused(
                400, "the request says more than once who sends it", "The proxy must replace that header, not add one."
            )
        if not values or not values[0].strip():
            raise Refused(401, "the proxy does not say who sends this request", "Log in at the proxy.")
        return Person(_name(values[0]), self.access)

    def _trusts(self, scope: Scope) -> bool:
        client = scope.get("client")
        if not client or not client[0]:
            return UNIX in self._proxies
        try:
            address: Any = ipaddress.ip_address(client[0])
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in proxy for proxy in self._proxies if not isinstance(proxy, str))


def _plain(name: bytes) -> bytes:
    """A header name as servers spell it that do not tell `_` from `-`."""
    return name.lower().replace(b"_", b"-")


def _name(value: bytes) -> str:
    """Return a name from a header. Raises `Refused` if it could be another in disguise, or several."""
    try:
        name = unicodedata.normalize("NFC", value.decode().strip())
    except UnicodeDecodeError:
        name = ""
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable() or set(name) & set(',;"'):
        raise Refused(
            400,
            "the proxy's name for the sender cannot be used",
            f"Names have up to {MAX_NAME_CHARS} letters, no commas.",
        )
    return name


def header_of(users_from: str) -> str:
    """Return the header of `--users-from header:NAME`. Raises `BadQuery`."""
    found = HEADER.fullmatch(users_from)
    if found is None:
        raise BadQuery(
            f"--users-from {users_from!r} is not understood; give header:NAME, such as header:X-Forwarded-User"
        )
    return found[1]


def proxies_of(words: Iterable[str]) -> tuple[Network | str, ...]:
    """Return the peers of `--trusted-proxy`: addresses, networks, or `unix`. Raises `BadQuery`."""
    proxies: list[Network | str] = []
    for word in words:
        if word == UNIX:
            proxies.append(UNIX)
            continue
        try:
            proxies.append(ipaddress.ip_network(word))
        except ValueError as error:
            raise BadQuery(f"--trusted-proxy {word!r} is no address or network: {error}") from None
    return tuple(proxies)
