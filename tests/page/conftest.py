"""A viewer over all kinds of runs for all tests, and a page of the usual width that is let in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.page.everywhere import all_runs, everything
from tests.page.support import Viewer, let_in


@pytest.fixture(scope="session")
def every_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all kinds of runs; they are indexed once."""
    folder = tmp_path_factory.mktemp("everything")
    all_runs(folder / "runs")
    return folder


@pytest.fixture(scope="session")
def viewer(every_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    with everything(every_run, tmp_path_factory.mktemp("state")) as viewer:
        yield viewer


@pytest.fixture
def wide(page: Page, viewer: Viewer) -> Page:
    """As wide as a screen, where nothing moves, what is copied can be read, and the viewer lets the page in."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    let_in(page, viewer)
    return page
