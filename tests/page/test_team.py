"""The page of a team's server: who one is, whose a note is, and what a reader does not see."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from rolloupe.wire.app_files import built
from tests.server.support import relax_run
from tests.server.team.proxy import proxy
from tests.server.team.server_process import TeamProcess

pytestmark = pytest.mark.browser

ACCESS = """
[people]
ada = "writer"
"<b>bob</b>" = "writer"
rita = "reader"
root = "admin"
"""


@pytest.fixture
def team(tmp_path: Path) -> Iterator[TeamProcess]:
    if built() is None:
        pytest.skip("the browser app is not built: make web")
    relax_run(tmp_path / "runs" / "first", steps=1)
    (tmp_path / "access.toml").write_text(ACCESS)
    with TeamProcess(tmp_path / "runs", tmp_path, access=str(tmp_path / "access.toml")) as server:
        yield server


class People:
    """Pages of several people, each behind a proxy that names its person, and so each of an origin of its own."""

    def __init__(self, context: BrowserContext, team: TeamProcess, stack: ExitStack) -> None:
        self._context, self._team, self._stack = context, team, stack
        self._ports: dict[str, int] = {}

    def open(self, name: str) -> Page:
        """A page of somebody, on the first sample."""
        self._ports[name] = self._stack.enter_context(proxy(self._team.port, name))
        page = self._context.new_page()
        page.set_viewport_size({"width": 1440, "height": 900})
        page.emulate_media(reduced_motion="reduce")
        self._stack.callback(page.close)
        page.goto(self.address(name, "runs/first?split=train&step=0&sample=train/0/0/0"))
        expect(page.get_by_role("button", name="Copy link to this sample")).to_be_visible()
        return page

    def address(self, name: str, where: str) -> str:
        """The address of a page for somebody."""
        return f"http://127.0.0.1:{self._ports[name]}/{where}"


@pytest.fixture
def people(context: BrowserContext, page: Page, team: TeamProcess) -> Iterator[People]:
    """They leave nothing in the browser, as `page` takes everything away."""
    with ExitStack() as stack:
        yield People(context, team, stack)


def test_notes_are_private_until_they_are_shared(people: People) -> None:
    ada, bob = (people.open(name) for name in ("ada", "<b>bob</b>"))
    expect(ada.locator("header").first).to_contain_text("ada")
    expect(bob.locator("header").first).to_contain_text("<b>bob</b>")
    bob.get_by_role("button", name="Write a note").click()
    bob.get_by_label("Note on this sample").fill("look at <i>this</i>")
    bob.get_by_role("button", name="Save").click()
    share = bob.get_by_role("button", name="Share with the team")
    expect(share).to_be_visible()
    expect(ada.get_by_text("look at")).to_have_count(0)
    share.click()
    notes = ada.get_by_role("list", name="Shared by others")
    expect(notes).to_contain_text("<b>bob</b> look at <i>this</i>")
    expect(notes.get_by_role("button")).to_have_count(0)

    ada.get_by_role("button", name="Write a note").click()
    ada.get_by_label("Note on this sample").fill("seen")
    ada.get_by_role("button", name="Save").click()
    expect(ada.get_by_role("button", name="Share with the team")).to_be_visible()
    ada.goto(people.address("ada", "bookmarks"))
    expect(ada.get_by_role("main")).to_contain_text("look at <i>this</i>")
    expect(ada.get_by_role("button", name="Remove the bookmark")).to_have_count(1)

    rita = people.open("rita")
    expect(rita.get_by_role("list", name="Shared by others")).to_contain_text("look at")
    expect(rita.get_by_role("button", name="Bookmark", exact=True)).to_have_count(0)
    expect(rita.get_by_role("button", name="Write a note")).to_have_count(0)
    rita.keyboard.press("n")
    expect(rita.get_by_text("Your role on this server is reader")).to_be_visible()
    rita.goto(people.address("rita", "settings"))
    expect(rita.get_by_role("main")).to_contain_text("You are rita, with the role reader")
    expect(rita.get_by_role("button", name="Clear")).to_have_count(0)

    root = people.open("root")
    root.get_by_role("button", name="Remove what").click()
    ada.go_back()
    expect(ada.get_by_role("button", name="Copy link to this sample")).to_be_visible()
    expect(notes).to_have_count(0)
    expect(bob.get_by_role("button", name="Share with the team")).to_have_count(0)


def test_the_key_of_a_viewer_that_was_here_before_hinders_no_download(people: People) -> None:
    ada = people.open("ada")
    ada.evaluate("localStorage.setItem('rolloupe.key/', 'of a viewer')")
    ada.reload()
    ada.get_by_role("button", name="Share", exact=True).click()
    with ada.expect_download() as taken:
        ada.get_by_role("link", name="Download").click()
    assert "train/0/0/0" in taken.value.path().read_text() and "ticket=" not in taken.value.url
