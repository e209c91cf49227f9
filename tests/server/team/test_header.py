"""Attacks on the header that names the sender."""

import pytest

from rolloupe.errors import BadQuery
from rolloupe.index import Library
from rolloupe.server.access import AccessFile
from rolloupe.server.app import App
from rolloupe.server.people import Team
from rolloupe.server.settings import Settings
from rolloupe.server.team.senders import ProxyHeader, header_of, proxies_of
from tests.server.support import ask
from tests.server.team.conftest import Runs
from tests.server.team.support import HEADER
from tests.thoroughness import each

UNSEEN = (
    "\u00a0\u1680\u2000\u2007\u2009\u200a\u202f\u205f\u3000"  # spaces
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e"  # of no width
    "\u200e\u200f\u061c\u202a\u202d\u202e\u2066\u2069"  # marks of direction
    "\x01\x0b\x0c\x1c\x7f\x85\x9b\u2028\u2029\U000e0041"  # control characters, separators, tags
    "\u034f\u115f\u1160\u17b4\u180b\u2800\u3164\ufe0f\uffa0\U000e0100"  # fillers, joiners, variants
)
"""Characters that leave a name looking like another."""


def status(app: App, *pairs: tuple[str, str], client: str = "127.0.0.1") -> int:
    return ask(app, "GET", "/api/runs", pairs, client=client).status


def test_the_proxy_names_the_sender(app: App) -> None:
    assert status(app, (HEADER, "ada")) == 200
    assert status(app, ("X-Forwarded-User", " ada ")) == 200


@each("client", ["10.0.0.7", "127.0.0.2", "::1", "", "not an address", "::ffff:10.0.0.7"])
def test_from_any_other_peer_the_header_is_refused(app: App, client: str) -> None:
    assert status(app, (HEADER, "ada"), client=client) == 403
    assert status(app, ("X_Forwarded_User", "ada"), client=client) == 403
    assert status(app, (HEADER, ""), client=client) == 403
    assert status(app, client=client) == 401


def test_an_address_of_the_proxy_may_come_as_ipv6(app: App) -> None:
    assert status(app, (HEADER, "ada"), client="::ffff:127.0.0.1") == 200


@each(
    "pairs",
    [
        [(HEADER, "rita"), (HEADER, "root")],
        [(HEADER, "root"), (HEADER, "root")],
        [(HEADER, "rita"), ("X_Forwarded_User", "root")],
        [("x_forwarded-user", "root"), (HEADER, "rita")],
        [("x_forwarded_user", "root")],
    ],
)
def test_two_names_for_the_sender_are_refused(app: App, pairs: list[tuple[str, str]]) -> None:
    assert status(app, *pairs) == 400


@each(
    "name",
    [
        "root, rita",
        "rita,root",
        "root;x",
        '"root"',
        "ro\tot",
        "root\x00",
        "\xff",
        "x" * 201,
        "ro\u200bot",
        "ro\u202eot",
        *(f"{space}root" for space in UNSEEN),
        *(f"root{space}" for space in UNSEEN),
        *(f"ro{space}ot" for space in UNSEEN),
        "ro  ot",
        "\u212aim",
        "\u1fefroot",
    ],
)
def test_a_name_that_could_be_another_is_refused(app: App, name: str) -> None:
    sent = name if name == "\xff" else name.encode().decode("latin-1")
    assert status(app, (HEADER, sent)) == 400


@each("name", ["ROOT", "Root", "root@", "r\u043e\u043et", "../root", "root/", "%72oot", "*", "none"])
def test_a_name_like_that_of_somebody_is_somebody_else(app: App, name: str) -> None:
    assert status(app, (HEADER, name.encode().decode("latin-1"))) == 403


@each("name", ["Zo\u00eb", "Zoe\u0308", "\u0958", "O\u00b4Brien", "Ada Lovelace", "\u4f50\u85e4"])
def test_names_of_people_are_taken(app: App, name: str) -> None:
    assert status(app, (HEADER, name.encode().decode("latin-1"))) == 403, "known, but without a role"


@each("value", ["", " ", "\t"])
def test_a_proxy_that_names_nobody_lets_nobody_in(app: App, value: str) -> None:
    assert status(app, (HEADER, value)) == 401
    assert status(app) == 401


@each("name", ["x-user", "remote-user", "x-remote-user", "x-forwarded-email", "forwarded", "x-forwarded-for", "cookie"])
def test_no_other_header_names_the_sender(app: App, name: str) -> None:
    assert status(app, (name, "root")) == 401
    assert status(app, (HEADER, "stranger"), (name, "root")) == 403


def test_forwarding_headers_make_no_peer_a_proxy(app: App) -> None:
    forged = [("x-forwarded-for", "127.0.0.1"), ("x-real-ip", "127.0.0.1"), ("forwarded", "for=127.0.0.1")]
    assert status(app, (HEADER, "root"), *forged, client="10.0.0.7") == 403


def test_a_unix_socket_is_trusted_only_where_the_server_listens_on_one(runs: Runs) -> None:
    def served(*proxies: str) -> App:
        return App(
            runs.library,
            Settings(token=None, team=Team(ProxyHeader(HEADER, proxies_of(proxies)), AccessFile(None), rate=50.0)),
        )

    assert status(served("unix"), (HEADER, "ada"), client="") == 200
    assert status(served("127.0.0.1"), (HEADER, "ada"), client="") == 403
    assert status(served("unix"), (HEADER, "ada"), client="127.0.0.1") == 403
    assert status(served("10.0.0.0/8", "fd00::/8"), (HEADER, "ada"), client="10.9.8.7") == 200
    assert status(served("10.0.0.0/8", "fd00::/8"), (HEADER, "ada"), client="fd00::1") == 200


@each("word", ["", "header:", "header:X Y", "X-Forwarded-User", "header:X\r\nY", "cookie:x"])
def test_a_source_of_people_that_is_not_understood_is_refused(word: str) -> None:
    with pytest.raises(BadQuery):
        header_of(word)


@each("word", ["", "localhost", "10.0.0.1/8", "*", "0.0.0.0/33"])
def test_a_proxy_that_is_no_address_is_refused(word: str) -> None:
    with pytest.raises(BadQuery):
        proxies_of([word])


@each(
    ("headers", "refused"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "https://localhost"}, 200),
    ],
)
def test_another_site_reads_nothing_in_a_persons_name(app: App, headers: dict[str, str], refused: int) -> None:
    assert ask(app, "GET", "/api/runs", {HEADER: "ada", **headers}).status == refused


@each(
    "headers",
    [
        {"content-type": "application/x-www-form-urlencoded", "x-rolloupe": "1"},
        {"content-type": "text/plain"},
        {"content-type": "application/json"},
        {"content-type": "application/json", "x-rolloupe": "1", "origin": "https://evil.example"},
        {"content-type": "application/json", "x-rolloupe": "1", "sec-fetch-site": "cross-site"},
    ],
)
def test_another_site_changes_nothing_in_a_persons_name(app: App, headers: dict[str, str]) -> None:
    assert ask(app, "POST", "/api/state", {HEADER: "ada", **headers}, b"{}").status == 403


def test_another_name_of_the_server_is_refused(app: App) -> None:
    assert ask(app, "GET", "/api/runs", {HEADER: "ada"}, host="evil.example").status == 403


def test_a_large_body_is_refused(app: App) -> None:
    headers = {HEADER: "ada", "content-type": "application/json", "x-rolloupe": "1"}
    assert ask(app, "POST", "/api/state", headers, b" " * (256 * 1024 + 1)).status == 413
    assert ask(app, "POST", "/api/state", headers | {"content-length": "99999999999"}, b"{}").status == 413


def test_the_layers_leave_a_viewer_alone(runs: Runs) -> None:
    viewer = App(runs.library, Settings(token=None))
    assert ask(viewer, "GET", "/api/runs", {HEADER: "x"}).status == 200
    assert isinstance(runs.library, Library)
    assert b"<" in ask(viewer, "GET", "/healthz").body, "the page, as ever"
