"""A run that grows while it is read: nothing moves but what was asked to, and the dot says how it stands."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.support import Viewer, viewing
from tests.server.support import lines, relax_run, row

pytestmark = pytest.mark.browser

QUIET_S = 3600

STANDS = "pane => [pane.scrollTop, pane.scrollHeight]"


@pytest.fixture
def train(tmp_path: Path) -> Path:
    """Three steps that were written an hour ago, of forty samples."""
    train = relax_run(tmp_path / "run", samples=40)
    for file in train.iterdir():
        os.utime(file, (time.time() - QUIET_S, time.time() - QUIET_S))
    return train


@pytest.fixture
def viewer(train: Path, tmp_path: Path) -> Iterator[Viewer]:
    """A server over that run."""
    with viewing(tmp_path / "run", index_dir=tmp_path / "index", state_dir=str(tmp_path / "state")) as started:
        yield started


def append(train: Path, step: int, *indexes: int) -> None:
    """Write samples as a trainer does."""
    with (train / f"{step}.jsonl").open("ab") as file:
        file.write(lines(row(step, index) for index in indexes))


def at(page: Page, step: int, sample: int) -> None:
    """Wait until the page shows that sample."""
    expect(page).to_have_url(re.compile(rf"sample=train/{step}/\d+/{sample}\b"))
    expect(page.get_by_text(f"Answer {sample}", exact=True).last).to_be_visible()


def test_what_comes_waits_to_be_asked_for_unless_the_reader_follows(page: Page, viewer: Viewer, train: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 420})  # too low for the list, which scrolls
    page.goto(viewer.link)
    at(page, 2, 0)
    dot = page.get_by_role("banner").get_by_role("button", name=re.compile("last write|running|[Ff]ollow"))
    expect(dot).to_contain_text(re.compile(r"last write 1 h ago"))
    pane = page.locator("[data-scroll='list']")
    page.keyboard.press("ArrowRight")
    at(page, 2, 1)
    pane.evaluate("pane => pane.scrollTo(0, 100)")
    before = pane.evaluate(STANDS)
    assert before[0] == 100

    append(train, 2, 40, 41)
    expect(page.get_by_role("button", name="2 new samples")).to_be_visible()
    expect(dot).to_contain_text(re.compile(r"running · \d+ s ago"))
    expect(dot).to_contain_text("Follow")
    append(train, 3, *range(8))
    expect(page.get_by_role("button", name="1 new step")).to_be_visible()
    expect(page.get_by_role("button", name="All steps")).to_contain_text("/ 3")
    at(page, 2, 1)
    assert pane.evaluate(STANDS) == before

    page.get_by_role("button", name="2 new samples").click()
    expect(page.get_by_role("button", name="2 new samples")).to_be_hidden()
    expect(page.get_by_text("11 groups · 42 samples")).to_be_visible()
    at(page, 2, 1)
    page.get_by_role("button", name="1 new step").click()
    at(page, 3, 0)

    # following goes along until the reader goes elsewhere
    page.keyboard.press("l")
    expect(dot).to_contain_text("Following")
    append(train, 4, 0, 1)
    at(page, 4, 0)
    append(train, 4, 2)
    expect(page.get_by_text("1 group · 3")).to_be_visible()
    append(train, 5, 0)
    at(page, 5, 0)
    page.keyboard.press("[")
    at(page, 4, 0)
    expect(dot).to_contain_text("paused")
    append(train, 6, 0)
    expect(page.get_by_role("button", name="1 new step")).to_be_visible()
    at(page, 4, 0)
    dot.click()
    at(page, 6, 0)
    expect(dot).to_contain_text("Following")


@pytest.mark.slow
def test_a_viewer_that_is_killed_comes_back_by_itself_or_asks_for_its_token(
    page: Page, train: Path, tmp_path: Path
) -> None:
    place: dict[str, Any] = {"index_dir": tmp_path / "index", "state_dir": str(tmp_path / "state")}
    banner, notice = page.get_by_role("banner"), page.get_by_role("alert")
    with viewing(train.parents[1], token="the-first-token", **place) as first:
        page.goto(first.link)
        at(page, 2, 0)
        expect(banner).to_contain_text("last write")
    expect(banner).to_contain_text("connection lost")
    at(page, 2, 0)
    page.keyboard.press("b")
    expect(notice).to_contain_text("could not be saved")

    port = int(first.address.rstrip("/").rpartition(":")[2])
    with viewing(train.parents[1], token="the-first-token", port=port, **place):
        expect(banner).not_to_contain_text("connection lost")
        expect(notice).to_be_hidden()
        expect(page.get_by_role("button", name="Bookmark", exact=True, pressed=True)).to_be_visible()
    expect(banner).to_contain_text("connection lost")

    with viewing(train.parents[1], token="another-token", port=port, **place) as other:
        expect(notice.filter(has_text="This server asks for its token")).to_be_visible()
        at(page, 2, 0)
        notice.filter(has_text="This server asks for its token").get_by_role("button").click()
        page.get_by_label("Link or token").fill(other.link)
        page.keyboard.press("Enter")
        at(page, 2, 0)
        expect(banner).to_contain_text("last write")
        expect(notice).to_be_hidden()


@pytest.mark.slow
def test_a_recorded_run_says_when_it_has_ended(page: Page, tmp_path: Path) -> None:
    from rolloupe import Recorder

    recorder = Recorder(tmp_path / "recorded", code=None)
    recorder.sample(step=0, group="g", index=0, prompt="Question?", response="Answer 0", reward=1.0)
    recorder.flush()
    with viewing(tmp_path / "recorded", index_dir=tmp_path / "index2", state_dir=str(tmp_path / "state")) as viewer:
        page.goto(viewer.link)
        expect(page.get_by_role("banner")).to_contain_text("running")
        recorder.close()
        expect(page.get_by_role("banner")).to_contain_text("ended")
