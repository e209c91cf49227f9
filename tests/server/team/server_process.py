"""A team's server in a process of its own, reached byte by byte."""

import json
import re
import signal
import socket
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rolloupe.errors import RolloupeError
from rolloupe.server.settings import RunPaths, TeamOptions
from tests import forks


def run(options: str) -> None:
    """Be such a server."""
    from rolloupe.server.team.serve import serve_team

    forks.patch_workers()
    given = json.loads(options)
    for name in ("access", "oidc_secret_file"):
        given[name] = Path(given[name]) if given.get(name) else None
    try:
        place = RunPaths(tuple(given.pop("paths")), given.pop("index_dir"))
        serve_team(place, TeamOptions(**given))
    except RolloupeError as error:
        sys.exit(f"{type(error).__name__}: {error}")


class TeamProcess:
    """A running `rolloupe serve`. `line` is what it printed."""

    def __init__(self, root: Path, folder: Path, **options: Any) -> None:
        given = {
            "paths": [str(root)], "index_dir": str(folder / "index"), "state_dir": str(folder / "state"),
            "listen": "127.0.0.1:0", "users_from": "header:X-Forwarded-User", "trusted_proxies": ["127.0.0.1"],
            **options,
        }  # fmt: skip
        self._process = forks.Fork("tests.server.team.server_process:run", json.dumps(given))
        assert self._process.stdout is not None
        self.line = self._process.stdout.readline().decode()
        match = re.search(r"http://127\.0\.0\.1:(\d+)", self.line)
        self.port = int(match[1]) if match else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate(timeout=10)

    def end(self) -> tuple[int, str]:
        """End it as a service manager does: its exit code, and what it printed to standard error."""
        self._process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for its end."""
        _, errors = self._process.communicate(timeout=60)
        return self._process.wait(), errors.decode()

    def connected(self) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def send(self, content: bytes) -> bytes:
        """Send bytes, and read all of the answer."""
        with self.connected() as line:
            line.sendall(content)
            return b"".join(iter(lambda: line.recv(65536), b""))

    def get(self, target: str, *headers: str, user: str = "") -> bytes:
        """Send a request as the proxy would."""
        return self.send(request("GET", target, *([f"X-Forwarded-User: {user}"] if user else []), *headers))


def request(method: str, target: str, *headers: str, body: bytes = b"") -> bytes:
    """A request, in bytes."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
