"""A team's server over runs of which some are not for everybody, and people who ask it."""

import json
from pathlib import Path
from typing import Any

from rolloupe.index import Library
from rolloupe.server.access import AccessFile
from rolloupe.server.app import App
from rolloupe.server.people import Team
from rolloupe.server.settings import Settings
from rolloupe.server.team.senders import ProxyHeader, proxies_of
from tests.server.support import WRITE, Answer, ask, relax_run

HEADER = "x-forwarded-user"

ACCESS = """
everyone = "none"

[people]
root = "admin"
ada = "writer"
bob = "writer"
rita = "reader"
zed = "none"

[groups]
insiders = ["ada"]

[[runs]]
path = "{secret}"
people = ["@insiders"]
"""


def two_runs(folder: Path) -> tuple[Path, Path]:
    """An open run and one that only ada (and an admin) may see."""
    relax_run(folder / "open" / "first")
    relax_run(folder / "secret" / "second")
    return folder / "open" / "first", folder / "secret"


def access_file(folder: Path, secret: Path) -> Path:
    """The file of the roles."""
    place = folder / "access.toml"
    place.write_text(ACCESS.format(secret=secret))
    return place


def team_app(library: Library, access: Path | None, rate: float = 50.0, **changes: Any) -> App:
    """A server for the team, whose proxy is 127.0.0.1."""
    team = Team(ProxyHeader(HEADER, proxies_of(["127.0.0.1"])), AccessFile(access), rate=rate)
    return App(library, Settings(token=None, team=team, **changes))


def ask_as(app: App, name: str, method: str, target: str, body: Any = None) -> Answer:
    """Ask as somebody, through the proxy."""
    headers = {HEADER: name, **(WRITE if method == "POST" else {})}
    return ask(app, method, target, headers, b"" if body is None else json.dumps(body).encode())


def get_as(app: App, name: str, target: str) -> Answer:
    """Get something as somebody."""
    return ask_as(app, name, "GET", target)


def note_as(app: App, name: str, text: str, run: str = "first", **more: Any) -> Answer:
    """Write a note on the first sample of a run."""
    change = {
        "kind": "sample", "run": run, "name": "train/0/0/0", "seen": 0,
        "sample_mark": {"bookmarked": True, "note": text}, **more,
    }  # fmt: skip
    return ask_as(app, name, "POST", "/api/state", change)


def notes_of(app: App, name: str) -> set[tuple[str, str, bool]]:
    """The notes that somebody sees: by whom, what, and whether it is shared."""
    state = get_as(app, name, "/api/state").json
    return {
        (item["by"], item["sample_mark"]["note"], shared)
        for items, shared in ((state["items"], False), (state["shared"], True))
        for item in items
        if item["sample_mark"]
    }
