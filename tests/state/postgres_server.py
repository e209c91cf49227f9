"""A real PostgreSQL for the tests: Debian's, in a folder of its own, on a Unix socket that nothing else can reach."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
QUICK = ("fsync=off", "full_page_writes=off", "listen_addresses=", "shared_buffers=16MB", "max_connections=20")


def programs() -> Path | None:
    """Where PostgreSQL is; None without one."""
    return next((place for place in PLACES if (place / "initdb").exists()), None)


class Postgres:
    """A server. `url` is the address of a database of it."""

    def __init__(self, place: Path, folder: Path, user: dict[str, Any]) -> None:
        self._place, self._user, self.folder = place, user, folder
        self.url = f"postgresql://tester@/postgres?host={folder}"

    def run(self, name: str, *words: str) -> None:
        """Run one of its programs."""
        line = [str(self._place / name), *words]
        done = subprocess.run(
            line, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder, **self._user
        )
        assert done.returncode == 0, done.stdout.decode()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = " ".join(f"-c {one}" for one in (*QUICK, f"unix_socket_directories={self.folder}"))
        log = str(self.folder / "log")
        self.run("pg_ctl", "start", "-w", "-D", str(self.folder / "data"), "-l", log, "-o", options)

    def stop(self) -> None:
        """Stop it at once."""
        self.run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self.folder / "data"))

    def database(self, name: str) -> str:
        """Make a database of its own, and return its address."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as line:
            line.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql://tester@/{name}?host={self.folder}"


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a server, as another user if root runs the tests: it refuses root. Skips without one, unless required."""
    place = programs()
    if place is None:
        if os.environ.get("ROLLOUPE_POSTGRES") == "required":
            pytest.fail("PostgreSQL is missing: make test-scale installs it")
        pytest.skip("PostgreSQL is missing: make test-scale installs it")
    pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="rolloupe-pg"))
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        entry = pwd.getpwnam("postgres")
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    server = Postgres(place, folder, user)
    try:
        server.run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "tester", "-N")
        server.start()
        yield server
    finally:
        with contextlib.suppress(AssertionError):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
