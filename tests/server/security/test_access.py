"""Who is let in: no route gives data without the token, whatever is added later."""

import json
import re
import time

import pytest

from rolloupe.index import Library
from rolloupe.server.app import App
from rolloupe.server.security import auth
from tests.server.support import BEARER, TOKEN, WRITE, ask, get, served
from tests.thoroughness import each

SHELL = "/{path:path}"


HERE = "localhost:8080"


def login(app: App, token: object, host: str = HERE, **headers: str) -> tuple[int, str]:
    answer = ask(app, "POST", "/api/login", WRITE | headers, json.dumps({"token": token}).encode(), host=host)
    return answer.status, answer.headers.get("set-cookie", "")


def session(app: App, host: str = HERE) -> dict[str, str]:
    """What the page sends after a login: the cookie, and its key."""
    answer = ask(app, "POST", "/api/login", WRITE, json.dumps({"token": TOKEN}).encode(), host=host)
    return {"cookie": answer.headers["set-cookie"].partition(";")[0], "x-rolloupe-key": answer.json["key"]}


def ticket(app: App, address: str) -> str:
    answer = ask(app, "POST", "/api/ticket", session(app) | WRITE, json.dumps({"address": address}).encode(), host=HERE)
    assert answer.status == 200
    return str(answer.json["ticket"])


def test_every_route_needs_the_token(app: App) -> None:
    walked = set()
    for route in app.routes:
        for method in route.methods or ():
            target = re.sub(r"{\w+(:path)?}", "x", route.path)
            answer = ask(app, method, target, WRITE)
            walked.add((method, route.path))
            if (method, route.path) == ("POST", "/api/login"):
                assert answer.status == 400
            elif route.path == SHELL:
                assert answer.status == 200
            else:
                assert answer.status in (401, 403), (method, target)
                assert answer.json.keys() == {"error", "next"}
    assert len(walked) > 20


def test_what_is_not_below_api_is_the_page_alone(app: App) -> None:
    assert [route.path for route in app.routes if not route.path.startswith("/api/")] == [SHELL]


@each("target", ["/api", "/api/", "/api/nothing", "/api//runs", "/%61pi/runs", "/api%2Fruns", "/api/runs/"])
def test_what_does_not_exist_needs_the_token_too(app: App, target: str) -> None:
    assert ask(app, "GET", target).status == 401


@each("target", ["//api/runs", "/API/runs", "/x/../api/runs", "/./api/runs", "/\\api/runs", "/api;/runs"])
def test_addresses_like_those_of_data_give_no_data(app: App, target: str) -> None:
    answer = ask(app, "GET", target, BEARER)
    assert b'"runs"' not in answer.body


@each(
    "header",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer \xff\xfe"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"cookie": f"rolloupe-80={TOKEN}"},
        {"cookie": "rolloupe-80="},
        {"cookie": "rolloupe-80; =; ;;"},
        {"x-token": TOKEN},
    ],
)
def test_what_is_not_the_token_is_refused(app: App, header: dict[str, str]) -> None:
    answer = ask(app, "GET", "/api/runs", header)
    assert answer.status == 401
    assert TOKEN not in answer.body.decode()


def test_the_token_in_the_address_does_not_count(app: App) -> None:
    assert ask(app, "GET", f"/api/runs?token={TOKEN}").status == 401


def test_two_authorization_headers_are_refused(app: App) -> None:
    pairs = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]
    assert ask(app, "GET", "/api/runs", pairs).status == 401


def test_the_token_becomes_a_cookie_named_after_the_port(app: App) -> None:
    status, cookie = login(app, TOKEN, host="localhost:9123")
    assert status == 200
    assert cookie.startswith("rolloupe-9123=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    pairs = session(app, host="localhost:9123")
    among = pairs | {"cookie": f"other=1; {pairs['cookie']}; more=2"}
    assert ask(app, "GET", "/api/runs", among, host="localhost:9123").status == 200
    assert ask(app, "GET", "/api/runs", pairs, host="localhost:9124").status == 401


def test_the_cookie_alone_opens_nothing(app: App) -> None:
    """Whoever listens at another port of the host gets the cookie, and can send any other header with it."""
    pairs = session(app)
    stolen = {"cookie": pairs["cookie"], "sec-fetch-site": "same-origin", "origin": f"http://{HERE}"}
    guesses = ["", "wrong", pairs["cookie"].partition("=")[2], TOKEN, "open", pairs["x-rolloupe-key"][:-1]]
    for route in app.routes:
        for method in route.methods or ():
            if route.path not in (SHELL, "/api/login"):
                target = re.sub(r"{\w+(:path)?}", "x", route.path)
                assert ask(app, method, target, stolen | WRITE, host=HERE).status == 401, target
    for guess in guesses:
        assert ask(app, "GET", "/api/runs", stolen | {"x-rolloupe-key": guess}, host=HERE).status == 401, guess
    assert ask(app, "GET", "/api/runs", {"x-rolloupe-key": pairs["x-rolloupe-key"]}, host=HERE).status == 401
    twice = [*pairs.items(), ("x-rolloupe-key", pairs["x-rolloupe-key"])]
    assert ask(app, "GET", "/api/runs", twice, host=HERE).status == 401
    login_with_it = ask(app, "POST", "/api/login", stolen | WRITE, b'{"token": ""}', host=HERE)
    assert login_with_it.status == 401 and b"key" not in login_with_it.body
    assert ask(app, "GET", "/api/runs", pairs, host=HERE).status == 200


def test_a_ticket_opens_one_address_once_and_soon(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie, address = {"cookie": session(app)["cookie"]}, "/api/runs?x=%20y"
    assert ask(app, "GET", f"{address}&ticket={ticket(app, address)}", host=HERE).status == 401, "without the cookie"
    assert ask(app, "GET", f"/api/configs?ticket={ticket(app, address)}", cookie, host=HERE).status == 401, "elsewhere"
    assert ask(app, "GET", f"/api/runs?x=z&ticket={ticket(app, address)}", cookie, host=HERE).status == 401
    one = ticket(app, address)
    assert ask(app, "HEAD", f"{address}&ticket={one}", cookie, host=HERE).status == 401
    assert ask(app, "GET", f"{address}&ticket={one}", cookie, host=HERE).status == 200
    assert ask(app, "GET", f"{address}&ticket={one}", cookie, host=HERE).status == 401, "again"
    assert ask(app, "GET", f"/api/runs?ticket={ticket(app, '/api/runs')}", cookie, host=HERE).status == 200
    change = ask(app, "POST", f"/api/cache/clear?ticket={ticket(app, '/api/cache/clear')}", cookie | WRITE, host=HERE)
    assert change.status == 401, "a ticket changes nothing"
    late, now = ticket(app, address), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + auth.TICKET_S + 1)
    assert ask(app, "GET", f"{address}&ticket={late}", cookie, host=HERE).status == 401


def test_what_asks_for_a_ticket_may_be_anything(app: App) -> None:
    for body in (b"", b"[]", b'{"address": 1}', b"\xff", b"[" * 5000):
        assert ask(app, "POST", "/api/ticket", session(app) | WRITE, body, host=HERE).status == 400
    assert len({ticket(app, "/api/runs") for _ in range(auth.MAX_TICKETS + 1)}) > auth.MAX_TICKETS
    for word in ("", "x", "x" * 5000, "\u00e9"):
        target = f"/api/runs?ticket={word}".encode().decode("latin-1")
        assert ask(app, "GET", target, {"cookie": session(app)["cookie"]}, host=HERE).status == 401


def test_behind_tls_the_cookie_is_for_tls_only(app: App) -> None:
    assert "; Secure" in login(app, TOKEN, origin="https://localhost:8080")[1]


def test_a_session_survives_a_restart_but_not_another_token_or_key(app: App, library: Library) -> None:
    pair = session(app)
    assert ask(served(library), "GET", "/api/runs", pair, host="localhost:8080").status == 200
    assert ask(served(library, token="another-token"), "GET", "/api/runs", pair, host="localhost:8080").status == 401
    assert ask(served(library, cookie_key=b"x" * 32), "GET", "/api/runs", pair, host="localhost:8080").status == 401


@each("token", ["", "wrong", TOKEN + "x", TOKEN.upper(), "\ud800", "é", "x" * 5000])
def test_a_wrong_token_gives_no_cookie(app: App, token: str) -> None:
    assert login(app, token) == ((400, "") if token == "\ud800" else (401, ""))


@each("body", [b"", b"{}", b"[]", b'{"token": 1}', b"\xff", b"[" * 5000, b'{"token": null}'])
def test_a_login_that_cannot_be_read_says_so(app: App, body: bytes) -> None:
    answer = ask(app, "POST", "/api/login", WRITE, body)
    assert answer.status == 400
    assert "token" in answer.json["next"]


def test_guessing_is_stopped(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [login(app, f"guess {n}")[0] for n in range(auth.MAX_FAILURES)] == [401] * auth.MAX_FAILURES
    assert login(app, TOKEN)[0] == 429
    answer = get(app, "/api/runs")
    assert answer.status == 429
    assert 0 < int(answer.headers["retry-after"]) <= auth.WINDOW_S + 1
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + auth.WINDOW_S + 1)
    assert login(app, TOKEN)[0] == 200


def test_guessing_does_not_end_sessions(app: App) -> None:
    pair = session(app)
    for n in range(auth.MAX_FAILURES + 1):
        login(app, f"guess {n}")
    assert ask(app, "GET", "/api/runs", pair, host="localhost:8080").status == 200


def test_guessing_from_many_addresses_is_bounded() -> None:
    attempts = auth.Attempts()
    for n in range(auth.MAX_FAILURES_ALL):
        assert attempts.wait_s(f"10.0.{n}.1") == 0
        attempts.failed(f"10.0.{n}.1")
    assert attempts.wait_s("10.1.1.1") > 0


def test_the_first_token_is_good_once_and_soon(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    app = served(library, first_token="first-token")
    assert login(app, "first-token")[0] == 200
    assert login(app, "first-token")[0] == 401
    late = served(library, first_token="first-token")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + auth.FIRST_S + 1)
    assert login(late, "first-token")[0] == 401


def test_without_a_token_everybody_is_let_in(library: Library) -> None:
    app = served(library, token=None)
    assert ask(app, "GET", "/api/runs").status == 200
    assert login(app, "anything")[0] == 200


def test_a_web_socket_is_turned_away(app: App) -> None:
    import asyncio

    sent = []

    async def send(message: object) -> None:
        sent.append(message)

    asyncio.run(app({"type": "websocket", "path": "/api/events", "headers": []}, None, send))  # type: ignore[pyrefly:bad-argument-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_random_token_is_never_locked_away_from_its_owner(library: Library) -> None:
    app = served(library, is_token_chosen=False)
    assert [login(app, f"guess {n}")[0] for n in range(50)] == [401] * 50
    assert login(app, TOKEN)[0] == 200
