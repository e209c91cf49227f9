"""The real server on a socket: what only bytes on a wire can attack, streams, signals and sockets."""

import contextlib
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rolloupe.errors import BadQuery
from rolloupe.index import NO_WORK
from rolloupe.server.settings import RunPaths, TeamOptions
from rolloupe.server.team import serve
from rolloupe.server.team.serve import public_place
from tests.server.support import relax_run
from tests.server.team.conftest import Runs
from tests.server.team.server_process import TeamProcess, request
from tests.server.team.support import access_file
from tests.thoroughness import each

JSON = ("Content-Type: application/json", "X-Rolloupe: 1")


@pytest.fixture(scope="module")
def server(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamProcess]:
    folder = tmp_path_factory.mktemp("server")
    with TeamProcess(runs.folder, folder, access=str(access_file(folder, runs.secret))) as server:
        yield server


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_it_answers_people_and_refuses_others(server: TeamProcess) -> None:
    assert b"second" in server.get("/api/runs", user="ada")
    assert b"second" not in server.get("/api/runs", user="bob")
    assert status(server.get("/api/runs")) == 401
    assert status(server.get("/api/runs", user="stranger")) == 403
    assert status(server.get("/healthz")) == 200


@each(
    "smuggled",
    [
        b"X-Forwarded-User: rita\r\nX-Forwarded-User: root",
        b"X-Forwarded-User: rita\r\nx-forwarded-user: root",
        b"X-Forwarded-User: rita\r\nX_Forwarded_User: root",
        b"X-Forwarded-User: rita\r\n root",
        b"X-Forwarded-User : root",
        b"X-Forwarded-User\t: root",
        b"X-Forwarded-User: ro\x00ot",
        b"X-Forwarded-User: rita, root",
    ],
)
def test_a_smuggled_name_is_refused(server: TeamProcess, smuggled: bytes) -> None:
    head = b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    assert status(server.send(head + smuggled + b"\r\n\r\n")) in (400, 403)


@each(
    "framing",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked",
        b"Content-Length: 4\r\nContent-Length: 40",
        b"Transfer-Encoding: chunked, identity",
        b"Transfer-Encoding: xchunked",
        b"Content-Length: +4",
        b"Content-Length: 0x4",
    ],
)
def test_a_request_within_a_request_is_never_answered(server: TeamProcess, framing: bytes) -> None:
    within = b"GET /api/state HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-User: root\r\n\r\n"
    head = b"POST /api/state HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-User: rita\r\nX-Rolloupe: 1\r\n"
    answer = server.send(head + b"Content-Type: application/json\r\n" + framing + b"\r\n\r\n0\r\n\r\n" + within)
    assert answer.count(b"HTTP/1.1 ") == 1 and status(answer) >= 400


def test_a_web_socket_is_no_way_in(server: TeamProcess) -> None:
    upgrade = ("Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13")
    lines = ["GET /api/events HTTP/1.1", "Host: localhost", "Connection: Upgrade, close", *upgrade, "", ""]
    answer = server.send("\r\n".join(lines).encode())
    assert status(answer) == 401


@each(
    "target",
    ["/../../etc/passwd", "/assets/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/..%2f..%2fetc/passwd",
     "//etc/passwd", "/api/runs/..%2f..%2fsecret/steps?split=train", "/api/runs/%2e%2e/second/steps?split=train",
     "/api/runs/first/problems/raw?file=../../../secret/second/rollout_result/train/0.jsonl&start=0&stop=99"],
)  # fmt: skip
def test_no_address_is_a_path(server: TeamProcess, target: str) -> None:
    answer = server.get(target, user="bob")
    assert b"root:x" not in answer and b"Answer" not in answer
    assert status(server.get(target)) == 401


def events(server: TeamProcess, user: str) -> socket.socket:
    line = server.connected()
    line.sendall(request("GET", "/api/events", *([f"X-Forwarded-User: {user}"] if user else [])))
    line.settimeout(0.2)
    return line


def read(line: socket.socket, until: bytes, wait_s: float = 10.0) -> bytes:
    """What comes, until a word or the end."""
    found, deadline = b"", time.monotonic() + wait_s
    while until not in found and time.monotonic() < deadline:
        with contextlib.suppress(TimeoutError):
            block = line.recv(65536)
            if not block:
                break
            found += block
    return found


def test_a_stream_tells_each_only_of_visible_runs(server: TeamProcess) -> None:
    with events(server, "") as line:
        assert status(read(line, b"\r\n\r\n")) == 401
    with events(server, "stranger") as line:
        assert status(read(line, b"\r\n\r\n")) == 403
    with events(server, "ada") as ada, events(server, "bob") as bob:
        assert b'"second"' in read(ada, b'"second"')
        assert b"second" not in read(bob, b'"first"')


def test_a_stream_ends_with_the_role_of_its_reader(runs: Runs, tmp_path: Path) -> None:
    access = access_file(tmp_path, runs.secret)
    root = tmp_path / "runs"
    train = relax_run(root / "first", steps=1)
    with TeamProcess(root, tmp_path, access=str(access)) as server, events(server, "bob") as bob:
        assert b'"first"' in read(bob, b'"first"')
        access.write_text(access.read_text().replace('bob = "writer"', 'bob = "none"'))
        time.sleep(1.1)
        before = read(bob, b"\0", 0.3)  # what came before the server looked at the file again
        (train / "1.jsonl").write_bytes(
            (train / "0.jsonl").read_bytes().replace(b'"rollout_id": 0', b'"rollout_id": 1')
        )
        rest = read(bob, b"\0")
        assert (before + rest).endswith(b"0\r\n\r\n"), "the stream ends"
        assert b'"kind"' not in rest
        code, errors = server.end()
    assert code == 0 and "Roles and runs are now as" in errors


def test_a_unix_socket_is_for_its_owner_and_group(runs: Runs, tmp_path: Path) -> None:
    place = tmp_path / "socket"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(place))  # left by a server that was killed
    left.close()
    options = {"listen": f"unix:{place}", "trusted_proxies": []}
    with TeamProcess(runs.folder, tmp_path, **options) as server:
        assert str(place) in server.line
        assert stat.S_IMODE(os.stat(place).st_mode) == 0o660
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(place))
            line.sendall(request("GET", "/api/runs", "X-Forwarded-User: ada"))
            answer = b"".join(iter(lambda: line.recv(65536), b""))
        assert status(answer) == 200
        with TeamProcess(runs.folder, tmp_path, **options) as second:
            code, errors = second.ended()
            assert code != 0 and "in use" in errors


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trusted_proxies": []}, "--trusted-proxy"),
        ({"users_from": "cookie:x"}, "header:NAME"),
        ({"listen": "8080"}, "HOST:PORT"),
        ({"public_url": "example.org"}, "--public-url"),
        ({"access": "/nowhere/access.toml"}, "cannot be read"),
        ({"paths": ["/nowhere"]}, "does not exist"),
    ],
)
def test_options_that_do_not_go_together_are_explained(
    runs: Runs, tmp_path: Path, options: dict[str, object], said: str
) -> None:
    with TeamProcess(runs.folder, tmp_path, **options) as server:
        code, errors = server.ended()
    assert code != 0 and said in errors and "Traceback" not in errors


def test_the_server_leaves_the_index_to_workers(monkeypatch: pytest.MonkeyPatch, runs: Runs) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(serve, "run", lambda *_, **options: given.update(options))
    monkeypatch.setattr(serve, "allow_many_files", lambda: None)
    options = TeamOptions(listen="127.0.0.1:0", users_from="header:X-Forwarded-User", trusted_proxies=("127.0.0.1",))
    serve.serve_team(RunPaths((str(runs.folder),)), options)
    assert given["own_work"] == NO_WORK


@each("path", ["//evil.example", "/a/../b", "/%2e%2e", "/x?y", "/x#y", "/.x", "/x;y", "/x\r\ny"])
def test_a_public_url_has_a_plain_path(path: str) -> None:
    assert public_place("https://example.org/rollouts/") == ("example.org", "/rollouts")
    with pytest.raises(BadQuery, match="--public-url"):
        public_place(f"https://example.org{path}")
