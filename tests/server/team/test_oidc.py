"""Logins at an OpenID provider, against one in a process of its own."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from itsdangerous import URLSafeTimedSerializer

from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.server.people import Refused
from rolloupe.server.settings import TeamOptions
from rolloupe.server.team import senders
from rolloupe.server.team.senders import OidcClient, OidcLogin, client_of, local_place
from rolloupe.server.team.serve import secret_in
from tests.forks import program
from tests.server.support import relax_run
from tests.server.team.provider import LoginBrowser, free_port, providing
from tests.server.team.server_process import TeamProcess
from tests.thoroughness import each

ACCESS = """
[people]
"ada@example.org" = "writer"
"root@example.org" = "admin"
"""


class Place:
    """A server with logins, and its provider."""

    def __init__(self, server: TeamProcess, issuer: str) -> None:
        self.server, self.issuer = server, issuer
        self.address = f"http://127.0.0.1:{server.port}"
        self.browsers: list[LoginBrowser] = []

    def browser(self) -> LoginBrowser:
        self.browsers.append(LoginBrowser(self.address))
        return self.browsers[-1]


@pytest.fixture
def place(running: Place) -> Iterator[Place]:
    yield running
    for browser in running.browsers:
        browser.client.close()
    running.browsers.clear()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("oidc")
    relax_run(folder / "runs" / "first", steps=1)
    (folder / "access.toml").write_text(ACCESS)
    (folder / "secret").write_text("a secret of this client\n")
    port = free_port()
    with providing() as issuer:
        options: dict[str, Any] = {
            "users_from": f"oidc:{issuer}", "oidc_client": "rolloupe", "oidc_secret_file": str(folder / "secret"),
            "public_url": f"http://127.0.0.1:{port}", "listen": f"127.0.0.1:{port}", "trusted_proxies": [],
        }  # fmt: skip
        with TeamProcess(folder / "runs", folder, access=str(folder / "access.toml"), **options) as server:
            yield Place(server, issuer)


def test_a_page_leads_to_the_provider_and_back(place: Place) -> None:
    browser = place.browser()
    assert browser.api("/api/runs").status_code == 401
    form = browser.page("/runs/first?step=0")
    assert str(form.url).startswith(f"{place.issuer}/oauth2/authorize") and "code_challenge=" in str(form.url)
    page = browser.log_in(form, sub="ada")
    assert (page.status_code, str(page.url)) == (200, f"{place.address}/runs/first?step=0")
    assert [run["name"] for run in browser.api("/api/runs").json()["runs"]] == ["first"]
    state = browser.api("/api/state").json()
    assert (state["user"], state["role"]) == ("ada@example.org", "writer")
    assert browser.page("/runs/first").url.path == "/runs/first", "the login lasts"
    assert browser.page("/auth/logout").status_code == 200
    assert browser.api("/api/runs").status_code == 401


def test_scripts_and_other_methods_are_refused_and_led_nowhere(place: Place) -> None:
    browser = place.browser()
    for answer in (
        browser.api("/api/state"),
        browser.client.get(place.address + "/api/runs", headers={"accept": "text/html"}),
        browser.client.post(place.address + "/api/state", json={}),
        browser.client.get(place.address + "/runs/first", headers={"x-forwarded-user": "root@example.org"}),
    ):
        assert answer.status_code in (401, 403) and "location" not in answer.headers
    assert browser.client.get(place.address + "/healthz").status_code == 200


@each(
    ("sub", "status", "words"),
    [
        ("zed", 403, "has no role"),
        ("new", 403, "The address root@example.org is not verified"),
        ("odd", 400, "cannot be used"),
        ("nobody", 403, "does not give email"),
    ],
)
def test_who_may_not_come_in_is_told_why(place: Place, sub: str, status: int, words: str) -> None:
    browser = place.browser()
    answer = browser.log_in(browser.page("/"), sub=sub)
    assert answer.status_code == status and words in answer.text
    assert answer.headers["content-type"].startswith("text/plain"), "a person reads it"
    assert "has no role" not in words or f"open {place.address}/auth/logout" in answer.text
    assert browser.api("/api/runs").status_code in (401, 403)


def test_a_refusal_at_the_provider_is_said(place: Place) -> None:
    browser = place.browser()
    answer = browser.log_in(browser.page("/"), action="deny")
    assert answer.status_code == 401 and "The login failed" in answer.text and "Open the page again" in answer.text


def test_an_answer_that_nobody_asked_for_logs_nobody_in(place: Place) -> None:
    ada, victim = place.browser(), place.browser()
    form = ada.page("/")
    answer = ada.client.post(form.url, data={"sub": "ada"})
    stolen = answer.headers["location"].removeprefix(place.address)
    for target in (stolen, "/auth/callback", "/auth/callback?code=x&state=y"):
        assert victim.page(target).status_code == 401
        assert victim.api("/api/runs").status_code == 401
    assert ada.page(stolen).status_code == 200
    again = ada.client.get(place.address + stolen)
    assert again.status_code == 401, "once only"


@each("asked", ["//evil.example", "/\\evil.example", "https://evil.example", "/auth/logout", "x"])
def test_no_link_leads_to_another_server(place: Place, asked: str) -> None:
    browser = place.browser()
    form = browser._followed(browser.client.get(f"{place.address}/auth/login", params={"next": asked}))
    assert str(browser.log_in(form, sub="ada").url) == f"{place.address}/"
    assert local_place(asked) == "/"


def test_no_link_writes_on_the_page_of_a_failed_login(place: Place) -> None:
    browser = place.browser()
    for code in ("access_denied", "Mail your password to evil.example"):
        sent = {"error": code, "error_description": "Mail your password to evil.example", "state": "x"}
        answer = browser.client.get(f"{place.address}/auth/callback", params=sent)
        assert answer.status_code == 401 and "evil" not in answer.text, answer.text
        assert (code in answer.text) == (code == "access_denied")


def test_cookies_that_were_made_up_are_refused(place: Place) -> None:
    cookies = [
        '"ada@example.org"',
        URLSafeTimedSerializer(b"guess", salt=senders.SESSION_COOKIE).dumps("ada@example.org"),
        "x" * 5000,
    ]
    for cookie in cookies:
        answer = place.server.get("/api/runs", f"Cookie: {senders.SESSION_COOKIE}={cookie}")
        assert b" 401 " in answer.split(b"\r\n")[0]


def test_a_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    login = OidcLogin(OidcClient("https://login.example.org", "id", "secret", "https://rollouts.example.org"))
    value = login.sessions.dumps("ada")
    scope = {"headers": [(b"cookie", f"{senders.SESSION_COOKIE}={value}".encode())]}
    assert login.name(scope) == "ada"
    twice = {"headers": scope["headers"] * 2}
    monkeypatch.setattr(senders, "SESSION_S", -1)
    for one in (scope, twice):
        with pytest.raises(Refused):
            login.name(one)


@each(("verified", "is_let_in"), [(True, 1), ("true", 1), (None, 1), (False, 0), ("false", 0)])
def test_an_address_that_the_provider_does_not_trust_is_no_name(verified: object, is_let_in: int) -> None:
    login = OidcLogin(OidcClient("https://login.example.org", "id", "secret", "https://rollouts.example.org"))
    facts = {"email": "ada@example.org", "email_verified": verified}
    if is_let_in:
        assert login.name_in(facts) == "ada@example.org"
    else:
        with pytest.raises(Refused, match="not verified"):
            login.name_in(facts)


@each("name", ["\u00a0ada", "ada\u3000", "ada ", "a\u3164da", "a\u200bda", "\u212aim", "\ud800"])
def test_a_name_with_what_nobody_sees_is_nobodys(name: str) -> None:
    login = OidcLogin(OidcClient("https://login.example.org", "id", "secret", "https://r.example.org", "nick"))
    with pytest.raises(Refused, match="cannot be used"):
        login.name_in({"nick": name})


def test_a_provider_that_is_away_is_named(tmp_path: Path) -> None:
    relax_run(tmp_path / "runs" / "first", steps=1)
    (tmp_path / "secret").write_text("secret")
    issuer = f"http://127.0.0.1:{free_port()}"
    options: dict[str, Any] = {
        "users_from": f"oidc:{issuer}", "oidc_client": "rolloupe", "oidc_secret_file": str(tmp_path / "secret"),
        "public_url": "http://127.0.0.1", "trusted_proxies": [],
    }  # fmt: skip
    with TeamProcess(tmp_path / "runs", tmp_path, **options) as server:
        code, errors = server.ended()
        assert code == 1 and "--access" in errors, "anybody may have an account there"
    options["access"] = str(tmp_path / "access.toml")
    (tmp_path / "access.toml").write_text(ACCESS)
    with TeamProcess(tmp_path / "runs", tmp_path, **options) as server:
        browser = LoginBrowser(f"http://127.0.0.1:{server.port}")
        with browser.client:
            answer = browser.page("/")
            assert browser.visited == [f"{browser.server}/auth/login?next=%2F"]
            assert answer.status_code == 502 and issuer in answer.text


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    url = "https://rollouts.example.org"
    options = TeamOptions(users_from="oidc:https://a.example/", oidc_client="id", public_url=url + "/")
    assert client_of(options, "s") == OidcClient("https://a.example", "id", "s", url)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"users_from": "oidc:"}, "s"),
        ({"users_from": "oidc:http://a.example"}, "s"),
        ({"oidc_client": ""}, "s"),
        ({}, ""),
        ({"public_url": ""}, "s"),
    ]
    for changes, secret in wrong:
        with pytest.raises(BadQuery):
            client_of(replace(options, **changes), secret)
    (tmp_path / "secret").write_text(" \n")
    with pytest.raises(BadQuery):
        secret_in(tmp_path / "secret")
    with pytest.raises(UnreadablePath):
        secret_in(tmp_path / "none")


def test_a_start_with_a_login_prints_no_warnings_of_its_packages() -> None:
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from rolloupe.server.team.senders import OidcClient, OidcLogin\n"
        "OidcLogin(OidcClient('https://login.example', 'id', 'secret', 'https://rollouts.example'))"
    )
    process = program(code)
    assert process.communicate() == (b"", b"") and process.returncode == 0
