"""What one person may ask for, and the figures for Prometheus."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from rolloupe.server.access import AccessFile
from rolloupe.server.app import App
from rolloupe.server.downloads import FILES_OF_ONE, TooMany
from rolloupe.server.people import PERSON, Person, Team
from rolloupe.server.settings import Settings
from rolloupe.server.team import layers
from rolloupe.server.team.layers import Bounds
from rolloupe.server.team.senders import ProxyHeader, proxies_of
from rolloupe.server.threads import FILES
from tests.server.support import ask
from tests.server.team.conftest import Runs
from tests.server.team.support import HEADER, get_as
from tests.thoroughness import each

TOKEN = "a-token-for-metrics"


@pytest.fixture
def bounded(runs: Runs, tmp_path: Path) -> App:
    team = Team(ProxyHeader(HEADER, proxies_of(["127.0.0.1"])), AccessFile(None), rate=1.0, metrics_token=TOKEN)
    return App(runs.library, Settings(token=None, team=team, state_dir=str(tmp_path / "state")))


def test_one_person_is_refused_for_now_and_others_are_served(bounded: App) -> None:
    answers = [get_as(bounded, "ada", "/api/runs") for _ in range(10)]
    assert [answer.status for answer in answers[:6]] == [200] * 6
    refused = answers[-1]
    assert refused.status == 429 and refused.headers["retry-after"] in ("1", "2")
    assert "requests a second from ada" in refused.json["error"] and "Wait" in refused.json["next"]
    assert get_as(bounded, "bob", "/api/runs").status == 200


def test_a_person_who_waits_is_served_again(bounded: App, monkeypatch: pytest.MonkeyPatch) -> None:
    while get_as(bounded, "ada", "/api/runs").status == 200:
        pass
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 3)
    assert get_as(bounded, "ada", "/api/runs").status == 200


class Slow:
    """An app whose requests end when somebody says so."""

    def __init__(self) -> None:
        self.begun = 0
        self.end = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun += 1
        await self.end.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})


@each(("path", "most"), [("/api/runs", layers.UNDER_WAY), ("/api/events", layers.MOST_EVENT_STREAMS)])
def test_requests_under_way_and_streams_are_bounded(path: str, most: int) -> None:
    async def run() -> tuple[int, list[int], int]:
        slow = Slow()
        app = Bounds(slow, 1000.0)
        sent: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent.append(message["status"])

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        async def request(name: str) -> None:
            person = Person(name, AccessFile(None))
            scope = {"type": "http", "path": path, "method": "GET", "headers": [], PERSON: person}
            await app(scope, receive, send)

        tasks = [asyncio.create_task(request("ada")) for _ in range(most + 5)]
        tasks.append(asyncio.create_task(request("bob")))
        await asyncio.sleep(0.01)
        early, begun = list(sent), slow.begun
        slow.end.set()
        await asyncio.gather(*tasks)
        sent.clear()
        await request("ada")
        return begun, early, sent[0]

    assert asyncio.run(run()) == (most + 1, [429] * 5, 200)


def test_the_downloads_of_one_person_leave_room_for_others(app: App) -> None:
    async def begin(name: str) -> AsyncIterator[Any]:
        person = Person(name, AccessFile(None))
        request = Request({"type": "http", "method": "GET", "path": "/", "headers": [], PERSON: person})
        reply = await app.context.downloads.send(request, lambda: iter([b"a", b"b"]), "file.txt", "text/plain")
        file = aiter(reply.body_iterator)
        assert await anext(file) == b"a"
        return file

    async def run() -> None:
        of_ada = [await begin("ada") for _ in range(FILES_OF_ONE)]
        with pytest.raises(TooMany, match="2 files are already being downloaded by ada"):
            await begin("ada")
        of_bob = [await begin("bob") for _ in range(FILES - FILES_OF_ONE)]
        with pytest.raises(TooMany, match=r"4 files are already being downloaded$"):
            await begin("kim")
        await of_ada[0].aclose()  # type: ignore[pyrefly:missing-attribute]
        for file in (*of_ada[1:], *of_bob, await begin("ada")):
            assert [piece async for piece in file] == [b"b"]

    asyncio.run(run())


def values(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            yield name, float(value)


def test_prometheus_reads_figures_with_its_token(bounded: App) -> None:
    for _ in range(8):
        get_as(bounded, "ada", "/api/runs")
    ask(bounded, "GET", "/api/runs")
    answer = ask(bounded, "GET", "/metrics", {"authorization": f"Bearer {TOKEN}"}, client="10.0.0.7", host="prom:1")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = dict(values(answer.body.decode()))
    assert found['rolloupe_requests_total{status="200"}'] == 6
    assert found['rolloupe_requests_total{status="429"}'] == 2 == found["rolloupe_requests_refused_for_now"]
    assert found['rolloupe_requests_total{status="401"}'] == 1
    assert found["rolloupe_request_seconds_count"] == 9 == found['rolloupe_request_seconds_bucket{le="+Inf"}']
    assert found["rolloupe_runs"] == 2 and found["rolloupe_open_streams"] == 0
    assert b"ada" not in answer.body and b"first" not in answer.body


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {HEADER: "root"}, {"cookie": TOKEN}])
def test_figures_take_the_token(bounded: App, app: App, headers: dict[str, str]) -> None:
    assert ask(bounded, "GET", "/metrics", headers).status == 401
    assert b"rolloupe_" not in ask(app, "GET", "/metrics", headers | {"authorization": "Bearer "}).body
