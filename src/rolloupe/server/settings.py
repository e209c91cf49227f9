"""The settings of a server, which never change, and the options that they follow from."""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from rolloupe.errors import BadQuery
from rolloupe.model import AS_FOUND, Reading
from rolloupe.questions import option

if TYPE_CHECKING:
    from rolloupe.server.people import Team

BASE_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
"""No segment begins with a dot, so none is `..`; no character has a meaning in HTML or in a header."""

HOST = re.compile(r"\*|[A-Za-z0-9_.-]{1,253}|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
ORIGIN = re.compile(r"\*|https?://([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/?")

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class RunPaths(NamedTuple):
    """The runs of a command, and how to read them."""

    paths: tuple[str, ...]
    index_dir: str | None = None
    reading: Reading = AS_FOUND
    run_id: str | None = None
    """The one run to open, if `--run` names one."""


CACHE_MEMORY: dict[str, Any] = {
    "about": "Memory for cached answers.", "metavar": "MB", "ge": 0, "le": 2**31, "flags": ("--cache-memory",),
    "show_default": True,
}  # fmt: skip
CACHE_ENTRIES: dict[str, Any] = {
    "about": "Maximum number of cached answers.", "metavar": "N", "ge": 0, "le": 2**31, "show_default": True
}  # fmt: skip
INDEX_BUDGET: dict[str, Any] = {
    "about": "Maximum index size, such as 20GB; the texts of the oldest steps go first. Default: no limit.",
    "metavar": "SIZE", "flags": ("--index-budget",), "convert": "size",
}  # fmt: skip
STATE_DIR: dict[str, Any] = {
    "about": "Folder for bookmarks, notes, judgements, names and colours. Default: the user's data directory.",
    "metavar": "DIR", "envvar": "ROLLOUPE_STATE_DIR", "show_envvar": True,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ViewerOptions:
    """How a person starts a server."""

    host: str = option("127.0.0.1", "The address to listen on.", "ADDRESS", show_default=True)
    port: int | None = option(None, "Default: 8080, or the next free one.", "PORT", 0, 65535)
    base_path: str = option("", "Prefix of all addresses, for a proxy: /rollouts.", "PREFIX")
    cache_memory_mb: int = option(64, **CACHE_MEMORY)
    cache_entries: int = option(1000, **CACHE_ENTRIES)
    budget_bytes: int | None = option(None, **INDEX_BUDGET)
    state_dir: str | None = option(None, **STATE_DIR)
    no_browser: bool = option(False, "Do not open a browser.")
    token: str | None = option(None, "Require this token. Default: a random one, kept across restarts.", "VALUE")
    no_token: bool = option(False, "Require no token: anyone who can reach the port can read the runs.")
    rotate_token: bool = option(False, "Generate a new random token, which ends all sessions.")
    allow_hosts: tuple[str, ...] = option(
        (), "A name by which browsers may address this machine. Repeatable.", flags=("--allow-host",)
    )
    cors: tuple[str, ...] = option(
        (), "An origin whose pages may read the server's answers; * for any. Repeatable.", "ORIGIN"
    )


@dataclass(frozen=True, kw_only=True)
class TeamOptions:
    """How a person starts a server for a team."""

    listen: str = option(
        "127.0.0.1:8080",
        "HOST:PORT, or unix:PATH for a socket that its owner and its group may open.",
        "PLACE",
        show_default=True,
    )
    users_from: str = option(
        ...,
        "Who sends a request: header:NAME, a header that the proxy replaces on each request; or oidc:ISSUER, an "
        "OpenID provider where people log in, such as oidc:https://accounts.google.com.",
        "SOURCE",
    )
    oidc_client: str = option("", "The id of this server as a client of the provider.", "ID")
    oidc_secret_file: Path | None = option(None, "A file with the client's secret.", "FILE")
    oidc_claim: str = option(
        "email",
        "Which of the provider's facts about a person is the name, such as preferred_username.",
        show_default=True,
    )
    trusted_proxies: tuple[str, ...] = option(
        (),
        "An address or a network whose requests may carry that header; it is refused from all others. Repeatable.",
        "ADDRESS",
        flags=("--trusted-proxy",),
    )
    access: Path | None = option(
        None,
        "A TOML file of roles, and of runs that not everybody sees; read again when it changes. Without one, "
        "everybody whom the proxy names reads everything.",
        "FILE",
    )
    public_url: str = option(
        "",
        "The address in people's browsers, such as https://rollouts.example.org or https://example.org/rollouts.",
        "URL",
    )
    rate: float = option(
        50.0,
        "Requests a second that one person may send; more are refused with 429, and when to try again.",
        "N",
        1,
        100_000,
        show_default=True,
    )
    metrics_token_file: Path | None = option(
        None, "A file with the token that Prometheus sends for /metrics. Without one, there is no such address.", "FILE"
    )
    cache_memory_mb: int = option(256, **CACHE_MEMORY)
    cache_entries: int = option(10_000, **CACHE_ENTRIES)
    budget_bytes: int | None = option(None, **INDEX_BUDGET)
    state_dir: str | None = option(None, **STATE_DIR)
    state_url: str = option(
        "",
        "Keep bookmarks and notes in this database of PostgreSQL instead: postgresql://USER@HOST/NAME. Other "
        "users can read command lines: put a password into the variable, or into ~/.pgpass.",
        "URL",
        envvar="ROLLOUPE_STATE_URL",
        show_envvar=True,
    )


class Settings(Struct, frozen=True, kw_only=True):
    """How a server behaves. `token` None admits everybody; an allowed host or origin may be `*`."""

    host: str = "127.0.0.1"
    base_path: str = ""
    view: str = ""
    """The view in which samples open; empty for the usual one."""
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
    opens_on: str = ""
    """The run that the start page leads to; empty: the list of runs."""
    team: "Team | None" = None
    """How a team's server knows its people; it has no token."""
    cache_memory_mb: int = 64
    cache_entries: int = 1000
    mask_str: str = ""
    """An expression whose matches in the texts of samples are shown as `*`."""

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
    return _checked(words, HOST, "--allow-host {!r} is not a name; give it without http:// and a port, or give *")


def origins_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return the origins of --cors. Raises `BadQuery` for an origin that no `Origin` header could match."""
    return _checked(words, ORIGIN, "--cors {!r} is not an origin; give one such as https://notes.example, or give *")


def _checked(words: Iterable[str], pattern: re.Pattern[str], error: str) -> tuple[str, ...]:
    checked = tuple(words)
    for word in checked:
        if not pattern.fullmatch(word):
            raise BadQuery(error.format(word))
    return checked
