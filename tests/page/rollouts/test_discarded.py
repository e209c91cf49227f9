"""The page of what was not trained on, in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.support import Viewer, go

pytestmark = pytest.mark.browser


def test_discarded_samples_have_a_page_with_reasons(wide: Page, viewer: Viewer) -> None:
    wide.goto(f"{viewer.address}runs/tele")
    expect(wide).to_have_url(re.compile(r"step=10&sample="))
    go(wide, viewer, "runs/tele?split=train&step=5")
    expect(wide.get_by_text("4 groups · 16 samples + 44 discarded")).to_be_visible()
    wide.get_by_role("link", name="+ 44 discarded").click()
    expect(wide).to_have_url(re.compile(r"/discarded\?split=train&step=5&sample="))
    expect(wide.get_by_text("11 groups · 44 samples")).to_be_visible()
    expect(wide.get_by_title("Not trained on: eval_drain").first).to_be_visible()
    table = wide.get_by_role("region", name="Reasons").first
    assert "max_async" in table.inner_text() and "53% of 364 samples generated" in table.inner_text()
    wide.keyboard.press("ArrowRight")
    expect(wide.get_by_text("cancelled before it ended: there is no answer, and no reward")).to_be_visible()
    wide.get_by_label("Rollouts", exact=False).first.click()
    expect(wide).to_have_url(re.compile(r"tele\?split=train&step=5&sample="))
    go(wide, viewer, "runs/tele/discarded?split=train&step=5&mode=samples")
    expect(wide.get_by_text("cancelled, no answer").first).to_be_visible()
    wide.go_back()
    expect(wide.get_by_text("4 groups · 16 samples + 44 discarded")).to_be_visible()
    wide.go_back()
    expect(wide).to_have_url(re.compile("/discarded"))
    go(wide, viewer, "runs/tele/discarded?split=eval/countdown")
    expect(wide.get_by_text("Nothing was discarded", exact=True)).to_be_visible()
    # a filter that nothing that was trained on can fulfil leads to where something may
    go(wide, viewer, "runs/tele?split=train&step=5&where=discarded+%3D+max_async")
    expect(wide.get_by_role("button", name="Search the whole run")).to_have_count(0)
    wide.get_by_role("link", name="Search the discarded samples").click()
    expect(wide).to_have_url(re.compile(r"/discarded\?split=train&step=5.*&where=discarded\+%3D\+max_async"))
    expect(wide.get_by_title("Not trained on: max_async").first).to_be_visible()
