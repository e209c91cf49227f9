"""Samples are judged one after another and saved, and the reward is checked on ten, in few presses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.support import Viewer, let_in, viewing
from tests.server.support import relax_run

pytestmark = pytest.mark.browser


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Viewer]:
    relax_run(tmp_path / "one", steps=6)
    with viewing(
        tmp_path / "one", index_dir=tmp_path / "index", state_dir=str(tmp_path / "state"), settled=True
    ) as viewer:
        yield viewer


class Presses:
    """The presses of a person, who waits until the next sample is there."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def button(self, name: str) -> None:
        """Press a button or a link."""
        self.page.get_by_role("button", name=name, exact=True).or_(
            self.page.get_by_text(name, exact=True)
        ).first.click()
        self.count += 1

    def judge_by_number(self) -> None:
        """Judge odd answers good and even ones bad, which is what the reward pays."""
        # A key says nothing of a sample that is not on the screen yet.
        self.page.wait_for_function(
            "() => document.querySelector('main header button')?.innerText"
            " === new URL(location.href).searchParams.get('sample')"
        )
        article = self.page.get_by_role("main").locator("article")
        # Not `inner_text`: of turns that the browser has not laid out yet it says nothing.
        number = int(re.findall(r"Answer (\d+)", article.text_content() or "")[0])
        before = self.page.locator("main header button").first.inner_text()
        self.page.keyboard.press("1" if number % 2 else "2")
        self.count += 1
        self.page.wait_for_function(
            "before => document.querySelector('dialog[open]') !== null"
            " || document.querySelector('main header button')?.innerText !== before", arg=before,
        )  # fmt: skip


@pytest.fixture
def person(page: Page, viewer: Viewer) -> Presses:
    """Somebody who has begun to judge."""
    let_in(page, viewer)
    page.goto(viewer.link)
    expect(page.get_by_role("heading", name="Sample")).to_be_visible()
    person = Presses(page)
    person.button("Judge")
    return person


def test_twenty_are_judged_and_saved(page: Page, person: Presses) -> None:
    expect(page.get_by_role("region", name="Judging")).to_contain_text("48 left to judge")
    for _ in range(20):
        person.judge_by_number()
    expect(page.get_by_role("region", name="Judging")).to_contain_text("20 judged, 28 left to judge")
    person.button("Export")
    with page.expect_download() as download:
        person.button("Download")
    judged = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert len(judged) == 20 and person.count <= 25
    assert all(one["judgement"] == ("good" if one["reward"] else "bad") for one in judged)
    page.get_by_role("button", name="Agreement").click()
    card = page.get_by_role("dialog", name="Does the reward agree with you?")
    expect(card).to_contain_text("20 of 20 samples")
    good = sum(one["judgement"] == "good" for one in judged)
    card.get_by_role("link", name=f"{good} agrees").first.click()
    expect(page.get_by_role("complementary", name="Samples")).to_contain_text(f"{good} of 48 samples")


def test_the_reward_is_hidden_until_ten_are_judged(page: Page, person: Presses) -> None:
    person.button("Check the reward")
    expect(page.get_by_role("region", name="Judging")).to_contain_text("Check 1 of 10")
    for number in range(10):
        expect(page.get_by_role("region", name="Judging")).to_contain_text(f"Check {number + 1} of 10")
        assert "reward" not in page.get_by_role("main").inner_text().lower()
        expect(page.get_by_role("link", name="Charts of this step")).to_have_count(0)
        expect(page.get_by_role("complementary")).to_have_count(0)
        person.judge_by_number()
    assert person.count <= 12
    card = page.get_by_role("dialog", name="Does the reward agree with you?")
    expect(card).to_contain_text("10 of 10 samples")
    expect(card).to_contain_text("≥ 0.5")
