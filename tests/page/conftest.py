"""A viewer over all kinds of runs for a module of tests, and a page of the usual width that is let in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.everywhere import all_runs, everything
from tests.page.support import Viewer


@pytest.fixture(scope="session")
def every_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all kinds of runs; they are indexed once."""
    folder = tmp_path_factory.mktemp("everything")
    all_runs(folder / "runs")
    return folder


@pytest.fixture(scope="module")
def viewer(every_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    with everything(every_run, tmp_path_factory.mktemp("state")) as viewer:
        yield viewer


@pytest.fixture
def wide(browser: Browser, viewer: Viewer) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(viewer.link)
    expect(page.get_by_role("heading", level=1).first).to_be_attached()
    yield page
    context.close()
