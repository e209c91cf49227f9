"""Where a team's server listens: an address, or a Unix socket that only a proxy may open."""

import contextlib
import os
import re
import socket
import stat
from typing import NamedTuple

from rolloupe.errors import BadQuery
from rolloupe.server.process.socket import listening

ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(?P<port>\d{1,5})")
UNIX = "unix:"
MODE = 0o660
"""Who may open a Unix socket: its owner and its group, which the proxy belongs to."""


class Listening(NamedTuple):
    """A socket that listens, and what to call it."""

    socket: socket.socket
    host: str
    """Empty for a Unix socket."""
    name: str


def listening_at(place: str) -> Listening:
    """Listen at `HOST:PORT` or `unix:PATH`. Raises `BadQuery`."""
    if place.startswith(UNIX):
        return Listening(_unix(place.removeprefix(UNIX)), "", place)
    found = ADDRESS.fullmatch(place)
    if found is None:
        raise BadQuery(f"--listen {place!r} is neither HOST:PORT nor unix:PATH, such as 127.0.0.1:8080")
    host = found["host"].strip("[]")
    listener = listening(host, int(found["port"]))
    return Listening(listener, host, f"http://{found['host']}:{listener.getsockname()[1]}")


def _unix(path: str) -> socket.socket:
    """Listen on a Unix socket; a socket there that nobody listens on is replaced."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.lstat(path).st_mode) and not _is_used(path):
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


def _is_used(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        try:
            client.connect(path)
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
        return True
