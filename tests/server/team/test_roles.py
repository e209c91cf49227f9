"""Who is let in, and what each role may do: no route answers anybody without one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.server.access import AccessFile
from rolloupe.server.app import POST, App
from tests.server.support import WRITE, ask
from tests.server.team.support import HEADER, ask_as, get_as, note_as
from tests.thoroughness import each

CHANGES = {path: role for path, _, role in POST if role != "reader"}


def walk(app: App) -> Iterator[tuple[str, str, str]]:
    """Every route: method, pattern and an address for it."""
    for route in app.routes:
        for method in sorted(route.methods or ()):
            yield method, route.path, re.sub(r"{\w+(:path)?}", "x", route.path)


def test_every_route_is_refused_without_a_role(app: App) -> None:
    walked = 0
    for method, _, target in walk(app):
        assert ask(app, method, target, WRITE).status == 401, (method, target)
        for nobody in ("zed", "stranger"):
            answer = ask_as(app, nobody, method, target)
            assert answer.status == 403, (method, target)
            assert method == "HEAD" or answer.json.keys() == {"error", "next"}
        walked += 1
    assert walked > 100


def test_every_route_is_refused_to_another_peer_whatever_it_says(app: App) -> None:
    for method, _, target in walk(app):
        answer = ask(app, method, target, WRITE | {HEADER: "root"}, client="10.0.0.7")
        assert answer.status == 403, (method, target)


def test_a_reader_changes_nothing(app: App) -> None:
    refused = set()
    for method, path, target in walk(app):
        if method == "POST":
            answer = ask_as(app, "rita", method, target, {})
            if path in CHANGES:
                assert answer.status == 403 and "rita is reader" in answer.json["error"]
                refused.add(path)
            else:
                assert answer.status != 403, target
    assert refused == {"/api/state", "/api/cache/clear"}
    assert note_as(app, "rita", "no").status == 403
    assert get_as(app, "rita", "/api/runs").status == 200


def test_only_an_admin_clears_the_cache(app: App) -> None:
    assert ask_as(app, "ada", "POST", "/api/cache/clear").status == 403
    assert ask_as(app, "root", "POST", "/api/cache/clear").status == 200


def test_only_an_admin_sees_the_figures_of_the_server(app: App) -> None:
    for name in ("rita", "ada"):
        answer = get_as(app, name, "/api/cache/stats")
        assert answer.status == 403 and answer.json.keys() == {"error", "next"}
    assert {"index_bytes", "index_dir", "hits"} <= get_as(app, "root", "/api/cache/stats").json.keys()


@each(("name", "role"), [("rita", "reader"), ("ada", "writer"), ("root", "admin")])
def test_the_page_learns_who_one_is(app: App, name: str, role: str) -> None:
    state = get_as(app, name, "/api/state").json
    assert (state["user"], state["role"]) == (name, role)


def test_nobody_is_let_in_by_a_token_or_a_login(app: App) -> None:
    assert ask(app, "GET", "/api/runs", {"authorization": "Bearer open"}).status == 401
    assert ask_as(app, "rita", "POST", "/api/login", {"token": "x"}).status in (404, 405)


@each("target", ["/", "/assets/x.js", "/index.html", "/favicon.svg", "/r/first"])
def test_not_even_the_page_is_public(app: App, target: str) -> None:
    assert ask(app, "GET", target).status == 401


@each("target", ["/healthz", "/readyz"])
def test_health_checks_need_no_role_and_no_name(app: App, target: str) -> None:
    answer = ask(app, "GET", target, host="10.1.2.3:9000", client="10.0.0.7")
    assert (answer.status, answer.body) == (200, b"ok\n")
    assert ask(app, "POST", target, WRITE).status in (401, 403)
    assert ask(app, "GET", f"{target}/x").status == 401


def test_a_server_that_ends_is_alive_but_not_ready(app: App) -> None:
    app.context.close()
    assert ask(app, "GET", "/healthz").status == 200
    assert ask(app, "GET", "/readyz").status == 503


def test_people_of_a_rule_without_a_role_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "access.toml"
    rule = '[[runs]]\npath = "/data/x"\npeople = ["ada", "kim"]\n'
    file.write_text(f'[people]\nada = "reader"\n{rule}')
    AccessFile(file)
    assert f"{file} names kim for runs, but gives no role, so they see nothing." in capsys.readouterr().err
    file.write_text(f'everyone = "reader"\n{rule}')
    AccessFile(file)
    assert capsys.readouterr().err == ""


def test_another_name_of_the_server_names_the_option(app: App) -> None:
    answer = ask(app, "GET", "/api/runs", {HEADER: "ada"}, host="other.example")
    assert answer.status == 403
    assert answer.json["next"].endswith("start the server with --public-url https://other.example")
