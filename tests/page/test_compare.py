"""Runs side by side that have different splits, in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.support import Viewer

pytestmark = pytest.mark.browser


def test_a_run_without_the_split_is_named_with_its_own_and_with_those_of_all(wide: Page, viewer: Viewer) -> None:
    wide.goto(viewer.address + "runs/tinker/compare?over=rich&split=eval/test&step=0")
    reward = wide.get_by_role("region", name="Reward of")
    expect(reward).to_contain_text("rich has no eval/test split; it has train.")
    reward.get_by_role("link", name="train").click()
    expect(wide).to_have_url(re.compile("split=train"))
    expect(reward).to_contain_text("Too few common steps to compare tinker and rich over steps 0 to 3")
