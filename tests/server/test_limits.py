"""How large a request may be."""

import pytest

from rolloupe.server.app import App
from rolloupe.server.security.limits import MAX_BODY_BYTES
from tests.server.support import BEARER, WRITE, ask, get


def test_a_large_body_is_refused_by_what_it_says_and_by_what_it_is(app: App) -> None:
    said = WRITE | {"content-length": str(MAX_BODY_BYTES + 1)}
    assert ask(app, "POST", "/api/login", said, b"{}").status == 413
    assert ask(app, "POST", "/api/login", WRITE, b'{"token": "' + b"x" * MAX_BODY_BYTES).status == 413


@pytest.mark.parametrize("length", ["-1", "x", "", "9" * 5000, "1, 2"])
def test_a_length_that_is_none_is_refused(app: App, length: str) -> None:
    assert ask(app, "POST", "/api/login", WRITE | {"content-length": length}, b"{}").status == 413


def test_a_long_address_is_refused(app: App) -> None:
    assert get(app, f"/api/runs?x={'y' * 9000}").status == 414
    assert ask(app, "GET", "/" + "x" * 9000).status == 414


def test_a_refused_body_tells_what_is_too_large(app: App) -> None:
    answer = ask(app, "POST", "/api/login", WRITE | BEARER, b" " * (MAX_BODY_BYTES + 1))
    assert str(MAX_BODY_BYTES) in answer.json["error"]
