"""Foreign pages: what they can make a browser send is refused, unless --cors names them."""

from rolloupe.index import Library
from rolloupe.server.app import App
from tests.server.support import BEARER, WRITE, ask, served
from tests.thoroughness import each

FOREIGN = [
    "https://evil.example",
    "http://localhost:3000",
    "http://127.0.0.1:8080",
    "null",
    "",
    "http://localhost:8080.evil.example",
    "file://",
    "http://localhost:8080/",
    "ftp://localhost:8080",
    "http://user@localhost:8080",
    "\xe9",
]


@each("origin", FOREIGN)
@each("target", ["/api/runs", "/api/events", "/api/login", "/api/cache/clear", "/"])
def test_a_foreign_origin_is_refused(app: App, origin: str, target: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        answer = ask(app, method, target, BEARER | WRITE | {"origin": origin}, host="localhost:8080")
        assert answer.status == 403, method
        assert "access-control-allow-origin" not in answer.headers


@each("origin", ["http://localhost:8080", "https://localhost:8080", "HTTP://localhost:8080".lower()])
def test_the_own_origin_passes(app: App, origin: str) -> None:
    headers = BEARER | {"origin": origin, "sec-fetch-site": "same-origin"}
    assert ask(app, "GET", "/api/runs", headers, host="localhost:8080").status == 200


@each("site", ["cross-site", "same-site", "strange", ""])
def test_what_the_browser_says_comes_from_elsewhere_is_refused(app: App, site: str) -> None:
    assert ask(app, "GET", "/api/runs", BEARER | {"sec-fetch-site": site}).status == 403
    image = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    assert ask(app, "GET", "/", image).status == 403
    frame = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    assert ask(app, "GET", "/", frame).status == 403


@each("site", ["same-origin", "none"])
def test_what_comes_from_the_page_or_the_person_passes(app: App, site: str) -> None:
    assert ask(app, "GET", "/api/runs", BEARER | {"sec-fetch-site": site}).status == 200


def test_a_link_elsewhere_may_lead_to_the_page_but_not_to_data(app: App) -> None:
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert ask(app, "GET", "/runs/x", followed).status == 200
    assert ask(app, "GET", "/api/runs", BEARER | followed).status == 403
    assert ask(app, "POST", "/api/cache/clear", BEARER | WRITE | followed).status == 403


@each(
    "headers",
    [
        {},
        {"content-type": "application/json"},
        {"x-rolloupe": "1"},
        {"content-type": "text/plain", "x-rolloupe": "1"},
        {"content-type": "application/x-www-form-urlencoded", "x-rolloupe": "1"},
        {"content-type": "application/json", "x-rolloupe": "0"},
    ],
)
@each("target", ["/api/cache/clear", "/api/login"])
def test_a_write_that_a_form_could_send_is_refused(library: Library, headers: dict[str, str], target: str) -> None:
    assert ask(served(library, token=None), "POST", target, headers, b"{}").status == 403


def test_a_write_on_purpose_passes(app: App, library: Library) -> None:
    assert ask(app, "POST", "/api/cache/clear", BEARER).status == 200
    json = {"content-type": "Application/JSON; charset=utf-8", "x-rolloupe": "1"}
    assert ask(served(library, token=None), "POST", "/api/cache/clear", json).status == 200


@each("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS", "PROPFIND", "get", "X" * 50])
@each("target", ["/", "/api/runs", "/api/cache/clear"])
def test_methods_are_a_list(app: App, method: str, target: str) -> None:
    answer = ask(app, method, target, BEARER | WRITE)
    assert answer.status == 405
    assert answer.headers["allow"] == "GET, HEAD, POST"


def test_a_known_method_in_the_wrong_place(app: App) -> None:
    assert ask(app, "POST", "/api/runs", BEARER | WRITE).status == 405
    assert ask(app, "GET", "/api/cache/clear", BEARER).status == 404
    assert ask(app, "POST", "/", BEARER | WRITE).status == 405


def test_a_preflight_is_answered_for_named_origins_alone(library: Library) -> None:
    app = served(library, cors=("https://notes.lab",))
    asking = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    answer = ask(app, "OPTIONS", "/api/cache/clear", asking | {"origin": "https://notes.lab"})
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://notes.lab"
    assert "authorization" in answer.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in answer.headers
    assert ask(app, "OPTIONS", "/api/cache/clear", asking | {"origin": "https://evil.example"}).status == 403


def test_a_named_origin_needs_the_token_all_the_same(library: Library) -> None:
    app = served(library, cors=("https://notes.lab/",))
    shared = {"origin": "https://notes.lab", "sec-fetch-site": "cross-site"}
    refused = ask(app, "GET", "/api/runs", shared)
    assert refused.status == 401
    answer = ask(app, "GET", "/api/runs", shared | BEARER)
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "https://notes.lab"
    assert "origin" in answer.headers["vary"].lower()


def test_the_open_posture_lets_every_page_read(library: Library) -> None:
    app = served(library, host="0.0.0.0", token=None, cors=("*",))
    answer = ask(
        app,
        "GET",
        "/api/runs",
        {"origin": "https://anything.example", "sec-fetch-site": "cross-site"},
        host="box.lab:8080",
    )
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "*"


def test_cors_opens_no_pictures_and_frames(library: Library) -> None:
    app = served(library, token=None, cors=("*",))
    assert ask(app, "GET", "/api/runs", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}).status == 403
