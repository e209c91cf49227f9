"""The page: one shell for every address, assets by name alone, the base path."""

import gzip
import os
import re
from pathlib import Path

import pytest

from rolloupe.errors import BadQuery
from rolloupe.index import Library
from rolloupe.server import static_app
from rolloupe.server.app import App
from rolloupe.server.settings import base_path_of
from rolloupe.wire.app_files import PLACES
from tests.server.support import BEARER, ask, settings
from tests.thoroughness import each

PAGE = (
    '<!doctype html><html><head><script type="module" src="./assets/app-1a2b.js"></script></head><body></body></html>'
)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A built app, beside something that is none of its files."""
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text(PAGE)
    (dist / "assets/app-1a2b.js").write_text("let app;" * 1000)
    (dist / "assets/app-1a2b.js.map").write_text("{}")
    (dist / "assets/font-1a2b.woff2").write_bytes(b"wOF2")
    (dist / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    return dist


def with_app(library: Library, dist: Path, base_path: str = "") -> App:
    return App(library, settings(base_path=base_path), static_app.Shell(base_path, (dist,)))


@each("target", ["/", "/runs/x/train/3", "/anything/at/all", "/runs/a%2Fb?split=eval%2Fx", "/index.html"])
def test_every_page_is_the_shell(library: Library, built: Path, target: str) -> None:
    answer = ask(with_app(library, built), "GET", target)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert b'<head><base href="/"><script' in answer.body


def test_assets_are_kept_by_the_browser(library: Library, built: Path) -> None:
    app = with_app(library, built)
    answer = ask(app, "GET", "/assets/app-1a2b.js")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    packed = ask(app, "GET", "/assets/app-1a2b.js", {"accept-encoding": "gzip"})
    assert gzip.decompress(packed.body) == answer.body
    assert ask(app, "GET", "/assets/font-1a2b.woff2").headers["content-type"] == "font/woff2"
    assert ask(app, "GET", "/favicon.svg").headers["content-type"] == "image/svg+xml; charset=utf-8"


@each("target", ["/", "/favicon.svg", "/assets/app-1a2b.js"])
def test_what_the_browser_has_is_not_sent_again(library: Library, built: Path, target: str) -> None:
    app = with_app(library, built)
    tag = ask(app, "GET", target).headers["etag"]
    again = ask(app, "GET", target, {"if-none-match": tag})
    assert (again.status, again.body) == (304, b"")


@each(
    "path",
    [
        "assets/../../secret.txt",
        "assets/..%2f..%2fsecret.txt",
        "assets/gone.js",
        "assets/",
        "assets/app-1a2b.js.map",
        "assets/app-1a2b.js%00",
    ],
)
def test_what_is_no_asset_is_not_found(library: Library, built: Path, path: str) -> None:
    answer = ask(with_app(library, built), "GET", f"/{path}")
    assert answer.status == 404
    assert b"secret" not in answer.body


def test_links_out_of_the_app_are_not_followed(library: Library, built: Path) -> None:
    (built / "assets" / "link.txt").symlink_to(built.parent / "secret.txt")
    assert ask(with_app(library, built), "GET", "/assets/link.txt").status == 404


def test_the_base_path_is_named_once_and_understood_either_way(library: Library, built: Path) -> None:
    app = with_app(library, built, "/proxy/8080")
    assert b'<base href="/proxy/8080/">' in ask(app, "GET", "/proxy/8080/runs/x").body
    for target in ("/proxy/8080/api/runs", "/api/runs"):
        assert ask(app, "GET", target, BEARER).status == 200
        assert ask(app, "GET", target).status == 401
    assert ask(app, "GET", "/proxy/8080/assets/app-1a2b.js").status == 200
    assert ask(app, "GET", "/proxy/8080").status == 200


@each(("given", "path"), [("", ""), ("/", ""), ("x", "/x"), ("/a/b-c/", "/a/b-c"), ("//x", "/x")])
def test_base_paths(given: str, path: str) -> None:
    assert base_path_of(given) == path


@each("given", ["/..", "/a/../b", "a b", '"><script>', "/a//b", "/a?b", "/é", "/a\r\nx: y", "/.x", "http://x"])
def test_base_paths_that_are_none(given: str) -> None:
    with pytest.raises(BadQuery, match="--base-path"):
        base_path_of(given)


def test_without_a_built_app_the_page_says_how_to_build_it(library: Library, tmp_path: Path) -> None:
    answer = ask(with_app(library, tmp_path / "nothing"), "GET", "/")
    assert answer.status == 200
    assert b"make web" in answer.body


def test_a_new_build_shows_at_the_next_load(library: Library, built: Path) -> None:
    app = with_app(library, built)
    ask(app, "GET", "/")
    (built / "assets/app-new.js").write_text("new")
    (built / "index.html").write_text(PAGE.replace("1a2b", "new"))
    os.utime(built / "index.html", ns=(1, 1))
    assert b"app-new.js" in ask(app, "GET", "/").body
    assert ask(app, "GET", "/assets/app-new.js").body == b"new"


def test_the_real_shell_has_no_inline_script_or_style() -> None:
    page = next((place / "index.html" for place in PLACES if (place / "index.html").is_file()), None)
    if page is None:
        pytest.skip("the browser app is not built: make web")
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"<style|\bstyle=|\son\w+=", text)
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert text.count("<head>") == 1
