"""What listens first, and when it keeps silent."""

import asyncio
from typing import Any

import pytest

from rolloupe.server.access import AccessFile
from rolloupe.server.people import Team
from rolloupe.server.process.front import Front
from rolloupe.server.settings import Settings
from rolloupe.server.team.senders import ProxyHeader, proxies_of
from tests.server.support import settings


def sent_before_and_after_the_end(asked: Settings, path: str, method: str = "GET") -> tuple[list[Any], list[Any]]:
    """Ask before the application is there: what is sent, and what more once the server ends."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def asking() -> list[Any]:
        front = Front(asked)
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "root_path": "", "scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2), "headers": [(b"host", b"localhost"), (b"x-rolloupe", b"1")],
        }  # fmt: skip
        request = asyncio.create_task(front(scope, receive, send))
        await asyncio.wait([request], timeout=0.2)
        before = [*sent]
        front.close()
        await request
        return before

    before = asyncio.run(asking())
    return before, sent[len(before) :]


@pytest.mark.parametrize(("method", "path"), [("GET", "/api/runs"), ("POST", "/api/login"), ("POST", "/")])
def test_all_but_the_page_waits_and_is_refused_at_the_end(method: str, path: str) -> None:
    before, after = sent_before_and_after_the_end(settings(), path, method)
    assert before == [] and after[0]["status"] == 503
    assert b"content-security-policy" in dict(after[0]["headers"])


def test_the_page_is_sent_at_once() -> None:
    before, after = sent_before_and_after_the_end(settings(), "/runs/some/place")
    assert before[0]["status"] == 200 and b"content-security-policy" in dict(before[0]["headers"]) and after == []


def test_a_team_waits_for_the_page_too() -> None:
    team = Team(ProxyHeader("x-user", proxies_of(["127.0.0.1"])), AccessFile(None), rate=50.0)
    before, after = sent_before_and_after_the_end(Settings(token=None, team=team), "/")
    assert before == [] and after[0]["status"] == 503
