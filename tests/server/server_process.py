"""A real server in a process of its own."""

import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rolloupe.errors import RolloupeError
from rolloupe.model import Reading
from rolloupe.server.settings import RunPaths, ViewerOptions
from tests import forks

FIRST = "ROLLOUPE_TESTS_FIRST"
"""The variable with lines that a server runs before all else."""


def run(options: str) -> None:
    """Be such a server."""
    exec(os.environ.get(FIRST, ""), {})
    from rolloupe.server.process.serve import serve

    forks.patch_workers()
    given = json.loads(options)
    try:
        reading, over_ssh = Reading(**given.pop("reading", {})), given.pop("over_ssh", False)
        place = RunPaths(tuple(given.pop("paths")), given.pop("index_dir"), reading, given.pop("only", None))
        serve(place, ViewerOptions(**given), over_ssh=over_ssh)
    except RolloupeError as error:
        sys.exit(f"{type(error).__name__}: {error}")


class Process:
    """A running `serve`. `address` and `token` are what it printed."""

    def __init__(self, paths: list[Path], index_dir: Path, **options: Any) -> None:
        given = {"paths": [str(path) for path in paths], "index_dir": str(index_dir), "no_browser": True, **options}
        self.started = time.monotonic()
        self._process = forks.Fork("tests.server.server_process:run", json.dumps(given))
        assert self._process.stdout is not None
        self.line = self._process.stdout.readline().decode()
        match = re.search(r"http://([^/]+):(\d+)(/\S*?)(?:#token=(\S+))?(?:\s|$)", self.line)
        self.port = int(match[2]) if match else 0
        self.base = match[3] if match else ""
        self.token = match[4] if match else None

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate(timeout=10)

    def interrupt(self, signal_number: int = signal.SIGINT) -> tuple[float, int, str]:
        """End it as Ctrl-C does: seconds taken, exit code, what it printed to standard error."""
        began = time.monotonic()
        self._process.send_signal(signal_number)
        return self.ended(began)

    def ended(self, began: float | None = None) -> tuple[float, int, str]:
        """Wait for its end."""
        _, errors = self._process.communicate(timeout=60)
        return time.monotonic() - (began or self.started), self._process.wait(), errors.decode()

    def send(self, target: str, *headers: str, method: str = "GET") -> bytes:
        """Send one request, byte by byte as given, and read all of the answer."""
        with self.connected() as line:
            line.sendall(self.request(target, *headers, method=method))
            return b"".join(iter(lambda: line.recv(65536), b""))

    def request(self, target: str, *headers: str, method: str = "GET") -> bytes:
        """A request with the token."""
        bearer = [f"Authorization: Bearer {self.token}"] if self.token else []
        lines = [f"{method} {target} HTTP/1.1", f"Host: localhost:{self.port}", "Connection: close", *bearer, *headers]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def json(self, target: str) -> Any:
        """The JSON of an answer."""
        return json.loads(self.send(target).partition(b"\r\n\r\n")[2])

    def post(self, target: str, body: Any) -> Any:
        """Send JSON, and return that of the answer."""
        content = json.dumps(body).encode()
        headers = ("Content-Type: application/json", f"Content-Length: {len(content)}")
        with self.connected() as line:
            line.sendall(self.request(target, *headers, method="POST") + content)
            return json.loads(b"".join(iter(lambda: line.recv(65536), b"")).partition(b"\r\n\r\n")[2])

    def connected(self) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    @contextmanager
    def events(self) -> Iterator[Iterator[Any]]:
        """The stream of events, read as it comes."""
        with self.connected() as line:
            line.sendall(self.request("/api/events"))
            yield _events(line)


def _events(line: socket.socket) -> Iterator[Any]:
    buffer = b""
    while block := line.recv(65536):
        buffer += block
        while b"\n\n" in buffer:
            one, _, buffer = buffer.partition(b"\n\n")
            _, found, data = one.rpartition(b"data: ")
            if found:
                yield json.loads(data)
