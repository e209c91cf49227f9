"""A run with everything in it that makes trouble, a server over it, and a client that can send anything."""

import asyncio
import json
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from rolloupe.index import Library
from rolloupe.server.app import App
from rolloupe.server.settings import Settings

TOKEN = "a-token-for-tests"
BEARER = {"authorization": f"Bearer {TOKEN}"}
WRITE = {"content-type": "application/json", "x-rolloupe": "1"}
HUGE = 2**60

Pairs = Iterable[tuple[str, str]]


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON that has no NaN."""
        return json.loads(self.body, parse_constant=lambda word: (_ for _ in ()).throw(ValueError(word)))


def ask(
    app: App,
    method: str,
    target: str,
    headers: dict[str, str] | Pairs = (),
    body: bytes = b"",
    host: str = "localhost",
    leaves: threading.Event | None = None,
    client: str = "127.0.0.1",
) -> Answer:
    """Send one request to the application as uvicorn would, with the target and the headers exactly as given.

    The client closes the connection once `leaves` is set; an empty `client` is a peer without an address.
    """
    pairs = list[Any](headers.items() if isinstance(headers, dict) else headers)
    if host and not any(name == "host" for name, _ in pairs):
        pairs.insert(0, ("host", host))
    path, _, query = target.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
        "root_path": "", "headers": [(n.lower().encode(), v.encode("latin-1")) for n, v in pairs],
        "client": (client, 50000) if client else None, "server": ("127.0.0.1", 8080),
    }  # fmt: skip
    return asyncio.run(_send(app, scope, body, leaves))


async def _send(app: App, scope: dict[str, Any], body: bytes, leaves: threading.Event | None) -> Answer:
    sent: list[dict[str, Any]] = []
    messages = [
        {"type": "http.request", "body": body[i : i + 1000], "more_body": True} for i in range(0, len(body), 1000)
    ]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Any:
        if messages:
            return messages.pop(0)
        await (asyncio.Future() if leaves is None else asyncio.to_thread(leaves.wait))
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(m.get("body", b"") for m in sent[1:]))


def get(app: App, target: str, **headers: str) -> Answer:
    """Ask as somebody who has the token. Keywords are headers, `_` for `-`."""
    return ask(app, "GET", target, BEARER | {name.replace("_", "-"): value for name, value in headers.items()})


def settings(**changes: Any) -> Settings:
    """Settings with the token of the tests."""
    return Settings(**dict[str, Any](token=TOKEN, cookie_key=b"k" * 32) | changes)


def row(step: int, index: int, **more: Any) -> dict[str, Any]:
    """One sample in Relax's keys."""
    return {
        "rollout_id": step, "sample_index": index, "prompt": f"Question {index // 4}?", "response": f"Answer {index}",
        "reward": float(index % 2), "response_length": 10 + index, "status": "completed", "group_index": index // 4,
        **more,
    }  # fmt: skip


def lines(rows: Iterable[dict[str, Any]]) -> bytes:
    """Rows as JSON lines; Python writes NaN and Infinity as trainers do."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows)


def relax_run(folder: Path, steps: int = 3, samples: int = 8) -> Path:
    """A run of so many steps; returns its train folder."""
    train = folder / "rollout_result" / "train"
    train.mkdir(parents=True, exist_ok=True)
    for step in range(steps):
        (train / f"{step}.jsonl").write_bytes(lines(row(step, index) for index in range(samples)))
    return train


def opened(path: Path, index_dir: Path, *, follow: bool = False) -> Library:
    """A library whose index is complete."""
    library = Library([path], index_dir=index_dir, follow=follow)
    assert all(run.wait_all(30) for run in library.runs)
    return library


def served(library: Library, **changes: Any) -> App:
    """A server over a library."""
    return App(library, settings(**changes))


def run_path(app: App) -> str:
    """The address of the only run."""
    (run,) = get(app, "/api/runs").json["runs"]
    return f"/api/runs/{quote(run['id'], safe='')}"


def report_data(body: bytes) -> dict[str, Any]:
    """What a report holds, as its script puts it together."""
    (found,) = re.findall(rb'<script type="application/jsonl" id="data">\n(.*?)</script>', body, re.DOTALL)
    *parts, above = [json.loads(line) for line in found.split(b"\n")]
    samples: list[dict[str, Any]] = []
    for part in parts:
        if "reply" in part:
            samples.append(part)
        elif "more" in part:
            samples[-1]["reply"]["turns"][-1]["parts"][part["part"]][part["of"]] += part["more"]
        else:
            samples[-1]["reply"]["turns"] += part["turns"]
    return {**above, "samples": samples}


class Decoded(NamedTuple):
    """The header of an answer, and its arrays by kind and name."""

    header: dict[str, Any]
    arrays: dict[tuple[str, str], NDArray[Any]]


def decoded(body: bytes) -> Decoded:
    """Read an answer as docs/tokens-wire.md describes it."""
    assert body[:8] == b"RLTK\x02\0\0\0"
    end = 16 + int.from_bytes(body[8:16], "little")
    header = json.loads(body[16:end])
    arrays, last = {}, 0
    for one in header["arrays"]:
        assert (end + one["offset"]) % 8 == 0 and one["offset"] == last
        values = np.frombuffer(body, f"<{one['dtype']}", one["length"], end + one["offset"])
        arrays[one["kind"], one["name"]] = values
        last = -(-(one["offset"] + values.nbytes) // 8) * 8
    assert len(body) == end + last
    return Decoded(header, arrays)
