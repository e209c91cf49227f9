"""A real server for a browser to look at."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page

from rolloupe.wire.app_files import built
from tests.index.support import eventually
from tests.server.server_process import Process

GO = """async ([elsewhere, address]) => {
  const drawn = async () => {
    const was = document.querySelector('main');
    dispatchEvent(new PopStateEvent('popstate', {state: null}));
    for (let frame = 0; was?.isConnected; frame += 1) {
      if (frame > 1000) throw new Error(`nothing else is shown at ${location}`);
      await new Promise(requestAnimationFrame);
    }
  };
  history.pushState(null, '', elsewhere);
  await drawn();
  history.replaceState(null, '', address);
  await drawn();
}"""


class Viewer(NamedTuple):
    """A running server: its address, and the token that the link carries."""

    address: str
    token: str

    @property
    def link(self) -> str:
        """What `rolloupe view` prints."""
        return self.to("")

    def to(self, where: str) -> str:
        """The same for a place below the address."""
        return f"{self.address}{where}#token={self.token}"


def let_in(page: Page, viewer: Viewer) -> None:
    """Let the page in as its link does, before it is there."""
    reply = page.request.post(f"{viewer.address}api/login", data={"token": viewer.token}, headers={"X-Rolloupe": "1"})
    assert reply.ok
    key = json.dumps(reply.json()["key"])
    page.add_init_script(
        f"location.href.startsWith('{viewer.address}') && localStorage.setItem('rolloupe.key/', {key})"
    )


def go(page: Page, viewer: Viewer, where: str) -> None:
    """Go to a place as Back and Forward do, by way of another: nothing of what was there is left.

    It takes a fifth of a load, which is for tests of what a load does.
    """
    here = page.url.removeprefix(viewer.address)
    elsewhere = next(name for name in ("bookmarks", "settings", "search") if not f"{where} {here}".count(name))
    page.evaluate(GO, [viewer.address + elsewhere, viewer.address + where])


def choose_chart(page: Page, name: str) -> None:
    """Draw one more chart beside the rollouts: the first whose name, or section and title, ends like this."""
    page.get_by_role("button", name="Choose charts").click()
    card = page.get_by_role("dialog", name="Choose charts")
    card.get_by_role("searchbox").fill(f"{name}$")
    card.get_by_role("checkbox").first.check()
    card.get_by_role("searchbox").fill("")
    page.keyboard.press("Escape")


@contextmanager
def viewing(path: Path, *, index_dir: Path, settled: bool = False, **options: Any) -> Iterator[Viewer]:
    """Serve a path until the block ends; `settled`: once all is indexed, so that nothing more changes by itself."""
    if built() is None:
        if os.environ.get("ROLLOUPE_BROWSER") == "required":
            pytest.fail("the browser app is not built. Next: make web")
        pytest.skip("the browser app is not built: make web")
    with Process([path], index_dir, **options) as process:
        assert process.token is not None, process.line
        if settled:
            eventually(lambda: {run["progress"]["phase"] for run in process.json("/api/runs")["runs"]} == {"ready"})
        yield Viewer(f"http://127.0.0.1:{process.port}/", process.token)
