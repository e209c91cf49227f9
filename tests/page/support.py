"""A real server for a browser to look at."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rolloupe.server.routes.static_app import PLACES
from tests.index.support import eventually
from tests.server.server_process import Process


class Viewer(NamedTuple):
    """A running server: its address, and the token that the link carries."""

    address: str
    token: str

    @property
    def link(self) -> str:
        """What `rolloupe view` prints."""
        return f"{self.address}#token={self.token}"


@contextmanager
def viewing(path: Path, *, index_dir: Path, settled: bool = False, **options: Any) -> Iterator[Viewer]:
    """Serve a path until the block ends; `settled`: once all is indexed, so that nothing more changes by itself."""
    if not any((place / "index.html").is_file() for place in PLACES):
        if os.environ.get("ROLLOUPE_BROWSER") == "required":
            pytest.fail("the browser app is not built. Next: make web")
        pytest.skip("the browser app is not built: make web")
    with Process([path], index_dir, **options) as process:
        assert process.token is not None, process.line
        if settled:
            eventually(lambda: {run["progress"]["phase"] for run in process.json("/api/runs")["runs"]} == {"ready"})
        yield Viewer(f"http://127.0.0.1:{process.port}/", process.token)
