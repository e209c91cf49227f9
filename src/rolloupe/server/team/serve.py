"""`rolloupe serve`: a server for a team, behind a proxy that knows its people, or with a login."""

import contextlib
import errno
import os
import re
import socket
import stat
from pathlib import Path
from typing import NamedTuple

import msgspec

from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.server.access import AccessFile
from rolloupe.server.people import Senders, Team
from rolloupe.server.process.console import say, tell
from rolloupe.server.process.serve import check_places, listening, run
from rolloupe.server.process.token_file import MIN_CHARS
from rolloupe.server.settings import RunPaths, Settings, TeamOptions, base_path_of, hosts_of, is_loopback
from rolloupe.server.team.senders import UNIX, OidcLogin, ProxyHeader, client_of, header_of, proxies_of
from rolloupe.state import State
from rolloupe.storage import open_named

ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(?P<port>\d{1,5})")
MODE = 0o660
"""The mode of a Unix socket: its owner and its group may open it, and the proxy belongs to the group."""


class Listening(NamedTuple):
    """A socket that listens, its host (empty for a Unix socket), and its name for people."""

    socket: socket.socket
    host: str
    name: str


def listening_at(place: str) -> Listening:
    """Listen at `HOST:PORT` or `unix:PATH`. Raises `BadQuery`."""
    if place.startswith(f"{UNIX}:"):
        return Listening(_unix(place.removeprefix(f"{UNIX}:")), "", place)
    found = ADDRESS.fullmatch(place)
    if found is None:
        raise BadQuery(f"--listen {place!r} is neither HOST:PORT nor unix:PATH, such as 127.0.0.1:8080")
    host = found["host"].strip("[]")
    listener = listening(host, int(found["port"]))
    return Listening(listener, host, f"http://{found['host']}:{listener.getsockname()[1]}")


def _unix(path: str) -> socket.socket:
    """Listen on a Unix socket, in place of one that nobody listens on."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.lstat(path).st_mode) and _is_left_behind(path):
                os.unlink(path)
        before = os.umask(0o777 & ~MODE)  # nobody else may connect, from the first moment on
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise BadQuery(f"cannot listen on {path}: {error.strerror or error}; choose another --listen") from None
    return listener


def _is_left_behind(path: str) -> bool:
    """True if nobody listens on a socket."""
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
        client.settimeout(1)
        return client.connect_ex(path) == errno.ECONNREFUSED
    return False


PUBLIC_URL = re.compile(r"https?://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:\d{1,5})?(?P<path>/(?!/).*)?")


def serve_team(place: RunPaths, options: TeamOptions) -> None:
    """Serve the runs at some paths to a team until interrupted.

    Raises `UnreadablePath` for a missing path or file, `BadQuery` for invalid options.
    """
    check_places(place)
    host, base_path = public_place(options.public_url)
    people = AccessFile(options.access)
    senders, source = senders_of(options)
    listener = listening_at(options.listen)
    settings = Settings(
        host=listener.host or "127.0.0.1",
        base_path=base_path,
        token=None,
        allow_hosts=hosts_of([host] if host else []),
        state_dir=options.state_dir,
        state_url=checked_database(options.state_url),
        cache_memory_mb=options.cache_memory_mb,
        cache_entries=options.cache_entries,
        team=Team(senders, people, rate=options.rate, metrics_token=secret_in(options.metrics_token_file, MIN_CHARS)),
    )
    if options.access is not None:
        place = place._replace(reading=msgspec.structs.replace(place.reading, links_stay_in_run=True))
    allow_many_files()
    announce(listener, source, options.access)
    with listener.socket:
        from rolloupe.index import NO_WORK

        run(
            settings, listener.socket, place, state_dir=options.state_dir, budget_bytes=options.budget_bytes,
            own_work=NO_WORK, hides_runs=options.access is not None,
        )  # fmt: skip


def senders_of(options: TeamOptions) -> tuple[Senders, str]:
    """Return the record that names senders, and a sentence about it. Raises `BadQuery`."""
    if options.users_from.startswith("oidc:"):
        if options.access is None:
            raise BadQuery("name roles in a file with --access: anybody may have an account at a provider")
        client = client_of(options, secret_in(options.oidc_secret_file))
        return OidcLogin(client), f"People log in at {client.issuer}."
    header, proxies = header_of(options.users_from), proxies_of(options.trusted_proxies)
    if options.listen.startswith(f"{UNIX}:"):
        proxies = (*proxies, UNIX)
    if not proxies:
        raise BadQuery("name the proxy with --trusted-proxy ADDRESS: no one else may say who sends a request")
    peers = ", ".join(options.trusted_proxies) or "whoever may open that socket"
    return ProxyHeader(header, proxies), f"People come from the header {header}, which {peers} may set."


def checked_database(state_url: str) -> str:
    """Return the address of the database. Raises `BadQuery` if it is not one, `NotWritable` if it does not answer."""
    if not state_url:
        return ""
    if not state_url.startswith(("postgresql://", "postgres://")):
        raise BadQuery("--state-url is not an address such as postgresql://rolloupe@db.example.org/rolloupe")
    with contextlib.closing(State.at(state_url)):
        return state_url


MAX_SECRET_BYTES = 2**16


def secret_in(place: Path | None, min_chars: int = 1) -> str:
    """Return the secret in a file; empty without a file. Raises `UnreadablePath`, and `BadQuery` for a short secret."""
    if place is None:
        return ""
    try:
        with open_named(place) as file:
            secret = file.read(MAX_SECRET_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadablePath(f"{place} cannot be read: {error}") from None
    if not secret:
        raise BadQuery(f"{place} is empty; it must hold a secret")
    if len(secret) < min_chars:
        raise BadQuery(f"the token in {place} must have at least {min_chars} characters")
    return secret


def allow_many_files() -> None:
    """Raise the number of files that this process may open to what the system allows."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def public_place(public_url: str) -> tuple[str, str]:
    """Return the host and the base path of `--public-url`. Raises `BadQuery`."""
    if not public_url:
        return "", ""
    found = PUBLIC_URL.fullmatch(public_url)
    if found is None:
        raise BadQuery(f"--public-url {public_url!r} is not an address, such as https://rollouts.example.org")
    return found["host"], base_path_of(found["path"] or "", "the path of --public-url")


def announce(place: Listening, source: str, access: Path | None) -> None:
    """Print where the server listens, and how it knows people."""
    tell(f"Rolloupe serves a team at {place.name}  (Ctrl-C ends it)")
    say(source)
    if access is None:
        say("Everybody whom the proxy names may read every run. Name roles in a file with --access.")
    if place.host and not is_loopback(place.host):
        say("Warning: this address is not of this machine alone, and the server itself speaks no TLS.")
