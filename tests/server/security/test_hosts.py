"""DNS rebinding: the name in `Host` must be one that leads here on purpose."""

import pytest

from rolloupe.index import Library
from rolloupe.server.app import App
from tests.server.support import BEARER, TOKEN, WRITE, ask, served
from tests.thoroughness import each


@each("host", ["localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:9"])
def test_this_machine_by_any_port(app: App, host: str) -> None:
    assert ask(app, "GET", "/api/runs", BEARER, host=host).status == 200


@each(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "127.0.0.2",
        "127.1",
        "0.0.0.0",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "localhost:8080@evil.example",
        "evil.example/localhost",
        "localhost:",
        "localhost:x",
        "localhost:123456",
        " localhost",
        "localhost,evil.example",
        "localhost evil",
        "*",
        "[::1",
        "evil.example\x1b[2J",
        "\xe9vil.example",
    ],
)
@each("target", ["/", "/api/runs", "/api/events", "/api/login", "/assets/x.js"])
def test_every_other_name_is_refused_everywhere(app: App, host: str, target: str) -> None:
    for method in ("GET", "HEAD", "POST", "OPTIONS", "TRACE"):
        answer = ask(app, method, target, BEARER | WRITE, host=host)
        assert answer.status in (400, 403), (method, host)
        assert "set-cookie" not in answer.headers


def test_a_missing_host_and_two_hosts_are_refused(app: App) -> None:
    assert ask(app, "GET", "/", host="").status == 400
    assert ask(app, "GET", "/", [("host", "localhost"), ("host", "evil.example")]).status == 400


def test_a_refusal_names_the_option_here_and_there(app: App, capfd: pytest.CaptureFixture[str]) -> None:
    answer = ask(app, "GET", "/", host="gpu-box.lab:8080")
    assert "--allow-host gpu-box.lab" in answer.json["next"]
    ask(app, "GET", "/", host="gpu-box.lab:8081")
    assert capfd.readouterr().err.count("--allow-host gpu-box.lab") == 1


def test_names_without_end_do_not_fill_the_terminal(app: App, capfd: pytest.CaptureFixture[str]) -> None:
    for n in range(100):
        ask(app, "GET", "/", host=f"evil{n}.example")
    assert len(capfd.readouterr().err.splitlines()) == 10


@each(
    ("changes", "host"),
    [
        ({"allow_hosts": ("gpu-box.lab",)}, "GPU-box.lab:8080"),
        ({"allow_hosts": ("*",)}, "anything.example"),
        ({"allow_hosts": ("fd00::1",)}, "[fd00::1]:8080"),
        ({"host": "10.1.2.3"}, "10.1.2.3:8080"),
        ({"host": "0.0.0.0", "token": None, "cors": ("*",)}, "anything.example"),
    ],
)
def test_what_was_asked_for_is_admitted(library: Library, changes: dict[str, object], host: str) -> None:
    assert ask(served(library, **changes), "GET", "/api/runs", BEARER, host=host).status == 200


def test_listening_everywhere_alone_admits_no_name(library: Library) -> None:
    assert ask(served(library, host="0.0.0.0"), "GET", "/api/runs", BEARER, host="10.1.2.3").status == 403
    assert ask(served(library, host="0.0.0.0", token=None), "GET", "/api/runs", host="evil.example").status == 403


def test_the_token_is_not_part_of_a_refusal(app: App) -> None:
    assert TOKEN not in str(ask(app, "GET", "/", BEARER, host="evil.example"))
