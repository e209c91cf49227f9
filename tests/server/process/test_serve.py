"""The server as a person starts it: address, port, warnings, the end."""

import contextlib
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.server.process.console import printable
from rolloupe.server.process.serve import access_of, address, announce, listening, say_what_is_missing, serve
from rolloupe.server.settings import RunPaths, Settings, ViewerOptions, hosts_of, origins_of
from tests.index.support import eventually
from tests.server.server_process import FIRST, Process
from tests.server.support import relax_run
from tests.thoroughness import each

Patch = Callable[[str], None]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "rolloupe"


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> Patch:
    """Have processes run some lines before all else."""
    return lambda code: monkeypatch.setenv(FIRST, code)


def test_one_line_with_the_link_and_a_private_token(folder: Path, tmp_path: Path, state: Path) -> None:
    relax_run(folder)
    with Process([folder], tmp_path / "index", port=0) as server:
        assert server.line.startswith(f"Rolloupe is at http://127.0.0.1:{server.port}/#token=")
        assert server.token is not None
        assert stat.S_IMODE((state / "token.json").stat().st_mode) == 0o600
        assert server.token in (state / "token.json").read_text()
        assert [run["name"] for run in server.json("/api/runs")["runs"]] == ["run"]
        took_s, code, errors = server.interrupt()
    assert (code, errors) == (0, "")
    assert took_s < 5.0
    with Process([folder], tmp_path / "index", port=0) as again:
        assert again.token == server.token
    with Process([folder], tmp_path / "index", port=0, rotate_token=True) as rotated:
        assert rotated.token not in (None, server.token)


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_soon_with_open_pages_and_streams(
    folder: Path, tmp_path: Path, state: Path, signal_number: int
) -> None:
    relax_run(folder)
    with Process([folder], tmp_path / "index", port=0) as server:
        idle = server.connected()
        half = server.connected()
        half.sendall(b"GET /api/runs HTTP/1.1\r\nHost: loc")
        with server.events() as one, server.events() as other:
            assert next(one) == next(other)
            took_s, code, errors = server.interrupt(signal_number)
            assert list(one)[-1:] != [None]
        idle.close()
        half.close()
    assert (code, errors) == (0, "")
    assert took_s < 5.0


def test_it_ends_well_while_a_stream_is_being_told_something(
    folder: Path, tmp_path: Path, state: Path, patch: Patch
) -> None:
    relax_run(folder)
    begun = tmp_path / "begun"
    patch(
        "import pathlib, time\nimport rolloupe.wire.run_items as views\n"
        f"begun = pathlib.Path({str(begun)!r})\n"
        "views.run_item = lambda run, **_: begun.touch() or time.sleep(20)\n"
    )
    with Process([folder], tmp_path / "index", port=0) as server, server.events() as stream:
        assert next(stream)
        eventually(begun.exists)
        took_s, code, errors = server.interrupt()
        assert not list(stream)
    assert (code, errors) == (0, "")
    assert took_s < 5.0


def test_the_next_free_port_unless_one_was_given(folder: Path, tmp_path: Path, state: Path) -> None:
    relax_run(folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with Process([folder], tmp_path / "index", port=port) as server:
            _, code, errors = server.ended()
    assert code == 1
    assert f"port {port} is taken" in errors
    assert "Traceback" not in errors


def test_ports_are_tried_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    from rolloupe.server.process import serve as module

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(module, "PORT", taken.getsockname()[1])
        with listening("127.0.0.1", None) as found:
            assert found.getsockname()[1] in range(module.PORT + 1, module.PORT + module.PORTS_TRIED)
        monkeypatch.setattr(module, "PORTS_TRIED", 1)
        with pytest.raises(BadQuery, match="all taken"):
            listening("127.0.0.1", None)


@each(("host", "port"), [("no.such.host.invalid", 0), ("192.0.2.1", 0), ("127.0.0.1", 70000), ("127.0.0.1", -1)])
def test_what_cannot_be_listened_on_says_so(host: str, port: int) -> None:
    with pytest.raises(BadQuery, match="cannot listen"):
        listening(host, port)


def test_the_open_posture_works_and_warns(folder: Path, tmp_path: Path, state: Path) -> None:
    relax_run(folder)
    with Process([folder], tmp_path / "index", port=0, host="0.0.0.0", no_token=True, cors=["*"]) as server:
        assert server.token is None
        answer = server.send("/api/runs", "Origin: https://anything.example", "Sec-Fetch-Site: cross-site")
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"access-control-allow-origin: *" in answer.lower()
        _, code, errors = server.interrupt()
    assert code == 0
    assert errors.count("Warning") == 2
    assert not state.exists()


def test_beyond_loopback_the_token_is_needed(folder: Path, tmp_path: Path, state: Path) -> None:
    relax_run(folder)
    with Process([folder], tmp_path / "index", port=0, host="0.0.0.0") as server:
        token, server.token = server.token, None
        assert token
        assert server.send("/api/runs").startswith(b"HTTP/1.1 401")


def test_a_path_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UnreadablePath, match="does not exist"):
        serve(RunPaths((str(tmp_path / "nothing"),)), ViewerOptions(no_browser=True))


def test_what_keeps_the_library_from_opening_ends_the_server(folder: Path, tmp_path: Path, state: Path) -> None:
    relax_run(folder)
    with Process([folder], tmp_path / "index", port=0, reading={"format": "no_such_format"}) as server:
        took_s, code, errors = server.ended()
    assert code == 1
    assert "NotRecognised: " in errors
    assert "Traceback" not in errors
    assert took_s < 10


@each("token", ["short", "with space in it", "ümläute!", "x\r\nSet-Cookie: a=b"])
def test_a_token_that_would_not_do(token: str) -> None:
    with pytest.raises(BadQuery, match="--token"):
        access_of(token, no_token=False, rotate=False)


def test_a_token_and_none_at_once() -> None:
    with pytest.raises(BadQuery, match="exclude"):
        access_of("long-enough", no_token=True, rotate=False)


@each("name", ["*", "box", "box.lab", "10.0.0.1", "fd00::1", "[fd00::1]", "::1"])
def test_names_that_can_be_admitted(name: str) -> None:
    assert hosts_of([name]) == (name,)


@each("name", ["", "http://box", "box:8080", "box/", "box lab", "bóx", "*.lab", "x\r\n"])
def test_names_that_no_browser_would_send(name: str) -> None:
    with pytest.raises(BadQuery, match="--allow-host"):
        hosts_of([name])


@each("origin", ["*", "https://notes.lab", "http://localhost:5173", "http://[::1]:3000/"])
def test_origins_that_can_be_let_in(origin: str) -> None:
    assert origins_of([origin]) == (origin,)


@each("origin", ["", "notes.lab", "https://", "https://notes.lab/page", "null", "file://x", "https://*.lab"])
def test_origins_that_no_browser_would_send(origin: str) -> None:
    with pytest.raises(BadQuery, match="--cors"):
        origins_of([origin])


@each(
    ("changes", "expected"),
    [
        ({}, "http://127.0.0.1:8080/#token=a%2Bb"),
        ({"host": "0.0.0.0"}, "http://127.0.0.1:8080/#token=a%2Bb"),
        ({"host": "0.0.0.0", "allow_hosts": ("*", "box.lab")}, "http://box.lab:8080/#token=a%2Bb"),
        ({"host": "::1"}, "http://[::1]:8080/#token=a%2Bb"),
        ({"host": "10.0.0.1", "base_path": "/x"}, "http://10.0.0.1:8080/x/#token=a%2Bb"),
    ],
)
def test_the_address_to_open(changes: dict[str, object], expected: str) -> None:
    given = Settings(**{"token": "a+b", **changes})  # type: ignore[pyrefly:bad-argument-type]
    assert address(given, 8080, given.token) == expected


def test_the_address_holds_the_lasting_token_only_where_it_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    announce(Settings(token="lasting-token", first_token="first-token"), 8080)
    printed = capfd.readouterr()
    assert "lasting-token" in printed.out
    assert "first-token" not in printed.out + printed.err


def test_hostile_requests_print_nothing_and_break_nothing(folder: Path, tmp_path: Path, state: Path) -> None:
    relax_run(folder)
    with Process([folder], tmp_path / "index", port=0) as server:
        for block in (
            b"\x16\x03\x01\x02\x00garbage\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /\x1b[2J HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
            b"GET / HTTP/1.0\r\n\r\n",
            b"GET /%ff%00%1b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            b"GET http://evil.example/api/runs HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        ):
            with server.connected() as line:
                line.settimeout(2)
                line.sendall(block)
                line.shutdown(socket.SHUT_WR)
                answer = b""
                try:
                    while more := line.recv(65536):
                        answer += more
                except OSError:
                    pass
                assert b'"runs"' not in answer
        assert server.json("/api/runs")["runs"]
        _, code, errors = server.interrupt()
    assert code == 0
    assert "\x1b" not in errors
    assert "Traceback" not in errors


def test_traversal_by_raw_request_lines(folder: Path, tmp_path: Path, state: Path) -> None:
    relax_run(folder)
    with Process([folder], tmp_path / "index", port=0) as server:
        for target in (
            "/../../../../etc/passwd",
            "/..%2f..%2fetc%2fpasswd",
            "//etc/passwd",
            "/assets/%2e%2e/%2e%2e/etc/passwd",
        ):
            answer = server.send(target)
            assert answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 404"))
            assert b"root:" not in answer


def test_pages_are_answered_while_runs_are_still_looked_for(
    folder: Path, tmp_path: Path, state: Path, patch: Patch
) -> None:
    relax_run(folder)
    answered = tmp_path / "answered"
    patch(
        "import pathlib, time\n"
        "import rolloupe.index as index\n"
        f"answered = pathlib.Path({str(answered)!r})\n"
        "opened = index.Library.__init__\n"
        "def late(self, *given, **named):\n"
        "    until = time.monotonic() + 60\n"
        "    while not answered.exists() and time.monotonic() < until:\n        time.sleep(0.05)\n"
        "    assert answered.exists()\n"
        "    opened(self, *given, **named)\n"
        "index.Library.__init__ = late\n"
    )
    with Process([folder], tmp_path / "index", port=0) as server:
        assert server.send("/").startswith(b"HTTP/1.1 200")
        answered.touch()
        assert [run["name"] for run in server.json("/api/runs")["runs"]] == ["run"]


@pytest.mark.parametrize("base_path", ["", "/loupe"])
def test_the_page_is_sent_while_the_rest_is_imported(
    folder: Path, tmp_path: Path, state: Path, patch: Patch, base_path: str
) -> None:
    relax_run(folder)
    answered = tmp_path / "answered"
    patch(import_waits(answered))
    with Process([folder], tmp_path / "index", port=0, base_path=base_path) as server:
        page = server.send(f"{base_path}/")
        assert page.startswith(b"HTTP/1.1 200") and b"content-security-policy: default-src 'none'" in page
        script = re.search(rb'src="\.?/?(assets/[^"]+\.js)"', page)
        assert script and server.send(f"{base_path}/{script[1].decode()}").startswith(b"HTTP/1.1 200")
        assert server.send(f"{base_path}/assets/missing.js").startswith(b"HTTP/1.1 404")
        with server.connected() as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
            assert stranger.recv(65536).startswith(b"HTTP/1.1 403")
        with server.connected() as waiting:
            waiting.sendall(server.request(f"{base_path}/api/runs"))
            waiting.settimeout(0.3)
            with pytest.raises(TimeoutError):
                waiting.recv(1)
            answered.touch()
            waiting.settimeout(60)
            assert waiting.recv(65536).startswith(b"HTTP/1.1 200")
        assert server.send(f"{base_path}/").split(b"\r\n\r\n")[1] == page.split(b"\r\n\r\n")[1]


def test_ending_while_the_rest_is_imported(folder: Path, tmp_path: Path, state: Path, patch: Patch) -> None:
    relax_run(folder)
    patch(import_waits(tmp_path / "never"))
    with Process([folder], tmp_path / "index", port=0) as server, server.connected() as waiting:
        waiting.sendall(server.request("/api/runs"))
        assert server.send("/").startswith(b"HTTP/1.1 200")
        took_s, code, errors = server.interrupt()
        assert waiting.recv(65536).startswith(b"HTTP/1.1 503")
    assert (code, errors) == (0, "")
    assert took_s < 5.0


def import_waits(until: Path) -> str:
    """Have a server import its application only once a file is there."""
    return (
        "import pathlib, sys, time\n"
        f"until = pathlib.Path({str(until)!r})\n"
        "class Late:\n"
        "    def find_spec(self, name, *_):\n"
        "        while name == 'rolloupe.server.app' and not until.exists():\n            time.sleep(0.05)\n"
        "sys.meta_path.insert(0, Late())\n"
        "sys.modules.pop('rolloupe.server.app', None)\n"
    )


def test_ending_while_runs_are_still_looked_for(folder: Path, tmp_path: Path, state: Path, patch: Patch) -> None:
    relax_run(folder)
    begun = tmp_path / "begun"
    patch(
        "import pathlib, time\nimport rolloupe.index as index\n"
        f"begun = pathlib.Path({str(begun)!r})\n"
        "def init(self, *given, **named):\n"
        "    begun.touch()\n"
        "    time.sleep(600)\n"
        "index.Library.__init__ = init\n"
    )
    with Process([folder], tmp_path / "index", port=0) as server:

        def ask() -> None:
            with contextlib.suppress(OSError):  # it may end before it listens
                server.send("/api/runs")

        waiting = threading.Thread(target=ask, daemon=True)
        waiting.start()
        eventually(begun.exists)
        _, code, errors = server.interrupt()  # waits for less than the sleep
        waiting.join(5)
    assert (code, errors) == (0, "")


def test_what_is_printed_shows_control_characters() -> None:
    assert printable("a\x1b[31m\u202e\udcff\tb\nc") == "a\u241b[31m<U+202E>\ufffd\tb\nc"
    assert len(printable("x" * 10**6)) < 3000


def test_saying_where_the_page_is_waits_for_nothing_heavy() -> None:
    heavy = ("anyio", "duckdb", "numpy", "pyarrow", "starlette", "uvicorn")
    code = f"import sys, rolloupe.server.process.serve; print(*(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("ends_first", [True, False])
def test_a_search_that_finds_nothing_is_told_once_whenever_it_ends(
    ends_first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[Callable[[], None]] = []
    library: Any = SimpleNamespace(is_searching=True, runs=[], notes=[])

    def subscribe(look: Callable[[], None]) -> Callable[[], None]:
        heard.append(look)
        library.is_searching = not ends_first
        return lambda: None

    library.subscribe = subscribe
    say_what_is_missing(library)
    library.is_searching = False
    if not ends_first:
        heard[0]()
    assert capsys.readouterr().err.count("No run has been found yet") == 1
