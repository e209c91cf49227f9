"""How large a request may be."""

import http.client
import json
import socket
import threading
from urllib.parse import quote

import pytest

from rolloupe.query.filter.parser import MAX_CHARS
from rolloupe.server.app import App
from rolloupe.server.process import uvicorn_server
from rolloupe.server.security.layers import MAX_ADDRESS_BYTES, MAX_BODY_BYTES
from rolloupe.state.records import MAX_NOTE_CHARS
from tests.server.support import BEARER, WRITE, ask, get, run_path
from tests.thoroughness import each

HALF = b"""POST /api/login HTTP/1.1\r
Host: localhost\r
Content-Type: application/json\r
X-Rolloupe: 1\r
Content-Length: 99\r
\r
{"""
"""A request whose body does not end."""


def test_a_large_body_is_refused_by_what_it_says_and_by_what_it_is(app: App) -> None:
    said = WRITE | {"content-length": str(MAX_BODY_BYTES + 1)}
    assert ask(app, "POST", "/api/login", said, b"{}").status == 413
    assert ask(app, "POST", "/api/login", WRITE, b'{"token": "' + b"x" * MAX_BODY_BYTES).status == 413


@each("length", ["-1", "x", "", "9" * 5000, "1, 2"])
def test_a_length_that_is_none_is_refused(app: App, length: str) -> None:
    assert ask(app, "POST", "/api/login", WRITE | {"content-length": length}, b"{}").status == 413


def test_a_long_address_is_refused(app: App) -> None:
    assert get(app, f"/api/runs?x={'y' * MAX_ADDRESS_BYTES}").status == 414
    assert ask(app, "GET", "/" + "x" * MAX_ADDRESS_BYTES).status == 414


def test_the_longest_that_may_be_asked_fits(app: App) -> None:
    """A filter, and a note, of as many characters as are allowed, whatever they are."""
    where = quote("env = " + "漢" * (MAX_CHARS - 6))
    assert get(app, f"{run_path(app)}/samples?split=train&where={where}").status == 200
    run = get(app, "/api/runs").json["runs"][0]["id"]
    mark = {"kind": "sample", "run": run, "name": "train/0/0/0", "seen": 0, "owner": "",
            "sample_mark": {"note": "\x01" * MAX_NOTE_CHARS, "uid": "u", "excerpt": ""}}  # fmt: skip
    assert ask(app, "POST", "/api/state", WRITE | BEARER, json.dumps(mark).encode()).status == 200


def test_headers_may_be_as_long_as_the_cookies_of_a_machine_are(app: App) -> None:
    server, listener = uvicorn_server.Server(app), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=30)
        cookies = {f"Cookie{number}": "x" * 4000 for number in range(10)}
        connection.request("GET", f"/?x={'y' * (MAX_ADDRESS_BYTES - 10)}", headers=cookies)
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        server.stop()
        thread.join(timeout=10)


def test_a_refused_body_tells_what_is_too_large(app: App) -> None:
    answer = ask(app, "POST", "/api/login", WRITE | BEARER, b" " * (MAX_BODY_BYTES + 1))
    assert str(MAX_BODY_BYTES) in answer.json["error"]


def test_a_connection_that_never_asks_is_closed_and_is_no_defect(
    app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(uvicorn_server, "KEEP_ALIVE_S", 0.2)
    server, listener = uvicorn_server.Server(app), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        for sent in (b"", b"GET / HT", HALF):
            with socket.create_connection(listener.getsockname(), timeout=5) as client:
                client.sendall(sent)
                while client.recv(4096):
                    pass
    finally:
        server.stop()
        thread.join(timeout=10)
    assert not capsys.readouterr().err
