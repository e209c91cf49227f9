"""The settings of a server: a record that every part of it reads and none changes."""

import re
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from rolloupe.errors import BadQuery

if TYPE_CHECKING:
    from rolloupe.server.people import Team

BASE_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
"""No segment may begin with a dot, so none is `..`, and no character has a meaning in HTML or in a header."""

HOST = re.compile(r"\*|[A-Za-z0-9_.-]{1,253}|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
ORIGIN = re.compile(r"\*|https?://([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/?")

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Settings(Struct, frozen=True, kw_only=True):
    """How a server behaves. `token` None admits everybody; an allowed host or origin may be `*`."""

    host: str = "127.0.0.1"
    base_path: str = ""
    token: str | None
    is_token_chosen: bool = True
    """True if a person chose the token: guesses are then limited. A random token cannot be guessed."""
    cookie_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Key that signs session cookies; `process/token_file.py` keeps it across restarts."""
    first_token: str | None = None
    """Valid for one login soon after the start: a browser's command line, which other users can read, contains it."""
    allow_hosts: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    state_dir: str | None = None
    """The folder for a person's own data, instead of the user's data directory."""
    state_url: str = ""
    """The database of PostgreSQL that holds a team's state instead."""
    team: "Team | None" = None
    """How a team's server knows its people; it has no token."""
    cache_memory_mb: int = 64
    cache_entries: int = 1000

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the server (and anyone who forwards a port of it)."""
        return is_loopback(self.host)

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which a browser may address the server, without port, in lower case; `*` for any.

        If every web page may read everything anyway, a list of names would protect nothing.
        """
        if self.token is None and "*" in self.cors:
            return frozenset(["*"])
        bound_host = () if self.host in ("", "0.0.0.0", "::") else (bracketed(self.host),)  # noqa: S104
        return frozenset(name.lower() for name in (*LOOPBACK, *bound_host, *map(bracketed, self.allow_hosts)))


def is_loopback(host: str) -> bool:
    """True for the names and addresses of this machine itself."""
    return host == "localhost" or bracketed(host) == "[::1]" or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def bracketed(host: str) -> str:
    """Return a host as part of an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def base_path_of(text: str, option: str = "--base-path") -> str:
    """Return the prefix of every address, without a final slash. Raises `BadQuery` unless it is a plain path."""
    path = "/" + text.strip("/") if text.strip("/") else ""
    if not BASE_PATH.fullmatch(path):
        raise BadQuery(f"{option} {text!r} is not a plain path; use letters, digits and -._~, such as /rollouts")
    return path


def hosts_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return the names of --allow-host. Raises `BadQuery` for a name that no `Host` header could match."""
    names = tuple(words)
    for name in names:
        if not HOST.fullmatch(name):
            raise BadQuery(f"--allow-host {name!r} is not a name; give it without http:// and a port, or give *")
    return names


def origins_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return the origins of --cors. Raises `BadQuery` for an origin that no `Origin` header could match."""
    origins = tuple(words)
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise BadQuery(f"--cors {origin!r} is not an origin; give one such as https://notes.example, or give *")
    return origins
