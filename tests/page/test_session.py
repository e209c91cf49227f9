"""The session of a browser: what opens the viewer, and what whoever listens at another port of this machine gets."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.page.support import Viewer, viewing
from tests.server.server_process import Process
from tests.server.support import lines, relax_run, row
from tests.server.team.provider import free_port
from tests.server.team.proxy import proxy
from tests.text.test_images import png, uri

pytestmark = pytest.mark.browser

RUN = "runs/one?split=train&step=0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("session")
    relax_run(folder / "one", steps=2)
    return folder


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder, index_dir=folder / "index", state_dir=str(folder / "state"), settled=True) as viewer:
        yield viewer


@contextmanager
def listener(answer: bytes = b"<p>hello") -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Somebody who listens at another port of this machine, and the headers that browsers send there."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", heard
        server.shutdown()


def status(address: str, headers: dict[str, str], body: Any = None) -> int:
    """What the server answers a program."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=30) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code


def is_open(page: Page) -> None:
    expect(page.get_by_role("heading", name="This server asks for its token")).to_have_count(0)
    expect(page.get_by_text("Answer 0").first).to_be_visible()


def is_shut(page: Page) -> None:
    expect(page.get_by_role("heading", name="This server asks for its token")).to_be_visible()


def test_a_stranger_at_another_port_gets_a_cookie_that_opens_nothing_and_a_tunnel_asks_for_the_token(
    page: Page, viewer: Viewer
) -> None:
    page.goto(viewer.to(RUN))
    is_open(page)
    with listener() as (stranger, heard):
        page.goto(stranger)
        cookie = heard[0]["cookie"]
        assert cookie.startswith("rolloupe-"), "browsers send cookies to every port"
        host = viewer.address.split("/")[2]
        forged = {
            "Cookie": cookie, "Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin",
            "X-Rolloupe": "1", "Content-Type": "application/json", "X-Rolloupe-Key": cookie.partition("=")[2],
        }  # fmt: skip
        for where in ("runs", "state", "events", "runs/one/samples.csv?split=train&step=0", "cache/stats"):
            assert status(f"{viewer.address}api/{where}", forged) == 401
        for where in ("ticket", "search", "state", "cache/clear", "login"):
            assert status(f"{viewer.address}api/{where}", forged, {"address": "/api/runs", "token": "x"}) == 401
        reading = """async (address) =>
            [localStorage.length, await fetch(`${address}api/runs`, {credentials: 'include'}).catch(() => null)]"""
        assert page.evaluate(reading, viewer.address) == [0, None], "its page reads neither the key nor the runs"
    page.goto(f"{viewer.address}{RUN}")
    is_open(page)
    use_a_tunnel(page, viewer)


def test_links_bookmarks_reloads_and_tabs_open_as_ever(page: Page, context: BrowserContext, viewer: Viewer) -> None:
    page.goto(viewer.address + RUN)
    is_shut(page)
    page.goto("about:blank")
    page.goto(viewer.to(RUN))
    is_open(page)
    assert "token" not in page.url
    page.reload()
    is_open(page)
    tab = context.new_page()
    tab.goto(viewer.address + RUN)
    is_open(tab)
    tab.goto("about:blank")
    tab.goto(viewer.to(RUN))
    is_open(tab)
    other = viewer.address.replace("127.0.0.1", "localhost") + RUN
    tab.goto(other)
    is_shut(tab)
    tab.get_by_label("Link or token").fill(viewer.link)
    tab.get_by_role("button", name="Open").click()
    is_open(tab)


def test_a_browser_that_stores_nothing_is_let_in_until_it_leaves(page: Page, viewer: Viewer) -> None:
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('closed'); }})")
    page.goto(viewer.to(RUN))
    is_open(page)
    page.reload()
    is_shut(page)


def use_a_tunnel(page: Page, viewer: Viewer) -> None:
    """A tunnel at another port has a session of its own."""
    with proxy(int(viewer.address.split(":")[2].strip("/")), "anybody") as port:  # as `ssh -L` makes one
        page.goto(f"http://127.0.0.1:{port}/{RUN}")
        is_shut(page)
        page.goto("about:blank")
        page.goto(f"http://127.0.0.1:{port}/{RUN}#token={viewer.token}")
        is_open(page)
        page.reload()
        is_open(page)
        page.goto("about:blank")


def test_a_restart_ends_no_session_and_another_token_ends_it_until_any_tab_logs_in(
    page: Page, context: BrowserContext, folder: Path
) -> None:
    port, index = free_port(), folder / "index"
    with Process([folder], index, port=port) as process:
        page.goto(f"http://127.0.0.1:{port}/{RUN}#token={process.token}")
        is_open(page)
    with Process([folder], index, port=port) as process:
        page.reload()
        is_open(page)
    with Process([folder], index, port=port, token="another-token") as process:
        asked = page.get_by_text("This server asks for its token")  # in a notice, or instead of the page
        expect(asked.first).to_be_visible(timeout=30_000)
        tab = context.new_page()
        tab.goto(f"http://127.0.0.1:{port}/{RUN}#token={process.token}")
        is_open(tab)
        expect(asked).to_have_count(0, timeout=30_000)
        train = folder / "one" / "rollout_result" / "train"
        (train / "2.jsonl").write_bytes(lines([row(2, 0, response="written later")]))
        page.goto(f"http://127.0.0.1:{port}/runs/one?split=train&step=2")
        expect(page.get_by_text("written later").first).to_be_visible(timeout=30_000)


@pytest.mark.parametrize("options", [{"base_path": "/x/y"}, {"no_token": True}])
def test_files_and_images_are_fetched_once_by_each_ticket(page: Page, tmp_path: Path, options: dict[str, Any]) -> None:
    content = [{"type": "image_url", "image_url": {"url": uri(png(30, 20) + bytes(60))}}]
    train = relax_run(tmp_path / "one", steps=0)
    (train / "0.jsonl").write_bytes(lines([row(0, 0, prompt=[{"role": "user", "content": content}])]) + b"{broken\n")
    with Process([tmp_path / "one"], tmp_path / "index", **options) as process:
        address = f"http://127.0.0.1:{process.port}{process.base}"
        page.goto(f"{address}{f'#token={process.token}' if process.token else ''}")
        page.wait_for_function("() => document.querySelector('article img')?.naturalWidth === 30")
        assert (page.locator("article img").get_attribute("src") or "").startswith("blob:http://127.0.0.1")
        page.get_by_role("link", name="Unreadable").first.click()
        link = page.get_by_role("link", name="Download")
        for button in ("left", "middle"):
            with page.expect_download() as taken:
                link.click(button=button)
            assert Path(taken.value.path()).read_bytes() == b"{broken"
        if process.token:
            used = taken.value.url
            assert "ticket=" in used and page.request.get(used).status == 401, "with the cookie"
            link.dispatch_event("contextmenu")
            page.wait_for_function("() => [...document.links].some((one) => one.href.includes('ticket='))")
            saved = link.get_attribute("href") or ""
            assert page.request.get(saved).body() == b"{broken", "what Save link as asks for"
