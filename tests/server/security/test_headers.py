"""The headers that every reply carries, whoever made it."""

import pytest

from rolloupe.index import Library
from rolloupe.server.app import App
from rolloupe.server.security.layers import HEADERS
from rolloupe.wire import run_items
from tests.server.support import BEARER, WRITE, ask, served
from tests.thoroughness import each


@each(
    ("method", "target", "headers", "host"),
    [
        ("GET", "/", {}, "localhost"),
        ("HEAD", "/", {}, "localhost"),
        ("GET", "/assets/nothing.js", {}, "localhost"),
        ("GET", "/api/runs", {}, "localhost"),
        ("GET", "/api/runs", BEARER, "localhost"),
        ("GET", "/api/nothing", BEARER, "localhost"),
        ("GET", "/api/runs/nothing/steps?split=train", BEARER, "localhost"),
        ("HEAD", "/api/events", BEARER, "localhost"),
        ("GET", "/", {}, "evil.example"),
        ("GET", "/", {}, ""),
        ("POST", "/api/runs", BEARER | WRITE, "localhost"),
        ("POST", "/api/login", WRITE, "localhost"),
        ("TRACE", "/", {}, "localhost"),
        ("GET", "/", {"origin": "null"}, "localhost"),
    ],
)
def test_every_reply_has_them(app: App, method: str, target: str, headers: dict[str, str], host: str) -> None:
    answer = ask(app, method, target, headers, host=host)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "cache-control" in answer.headers
    assert "server" not in answer.headers


def test_a_defect_has_them_too_and_tells_nothing(
    library: Library, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:

    def broken(_: object) -> object:
        raise RuntimeError("secret \x1b[2J")

    monkeypatch.setattr(run_items, "run_items", broken)
    answer = ask(served(library), "GET", "/api/runs", BEARER)
    assert answer.status == 500
    assert b"secret" not in answer.body
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    printed = capfd.readouterr().err
    assert "RuntimeError: secret \u241b[2J" in printed
    assert "\x1b" not in printed


def test_the_policy_lets_no_script_in() -> None:
    policy = HEADERS["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "require-trusted-types-for 'script'" in policy
