"""The page of what was not trained on, in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.formats.test_telescope import RUN
from tests.page.support import go, viewing

pytestmark = pytest.mark.browser


def test_discarded_samples_have_a_page_with_reasons(page: Page, tmp_path: Path) -> None:
    with viewing(RUN, index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        expect(page).to_have_url(re.compile(r"step=10&sample="))
        go(page, viewer, "runs/run_default?split=train&step=5")
        expect(page.get_by_text("4 groups · 16 samples + 44 discarded")).to_be_visible()
        page.get_by_role("link", name="+ 44 discarded").click()
        expect(page).to_have_url(re.compile(r"/discarded\?split=train&step=5&sample="))
        expect(page.get_by_text("11 groups · 44 samples")).to_be_visible()
        expect(page.get_by_title("Not trained on: eval_drain").first).to_be_visible()
        table = page.get_by_role("region", name="Reasons").first
        assert "max_async" in table.inner_text() and "53 % of 364 samples generated" in table.inner_text()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text("cancelled before it ended: there is no answer, and no reward")).to_be_visible()
        page.get_by_label("Rollouts", exact=False).first.click()
        expect(page).to_have_url(re.compile(r"run_default\?split=train&step=5&sample="))
        go(page, viewer, "runs/run_default/discarded?split=train&step=5&mode=samples")
        expect(page.get_by_text("cancelled, no answer").first).to_be_visible()
        page.go_back()
        expect(page.get_by_text("4 groups · 16 samples + 44 discarded")).to_be_visible()
        page.go_back()
        expect(page).to_have_url(re.compile("/discarded"))
        go(page, viewer, "runs/run_default/discarded?split=eval/countdown")
        expect(page.get_by_text("Nothing was discarded", exact=True)).to_be_visible()
        # a filter that nothing that was trained on can fulfil leads to where something may
        go(page, viewer, "runs/run_default?split=train&step=5&where=discarded+%3D+max_async")
        expect(page.get_by_role("button", name="Search the whole run")).to_have_count(0)
        page.get_by_role("link", name="Search the discarded samples").click()
        expect(page).to_have_url(re.compile(r"/discarded\?split=train&step=5.*&where=discarded\+%3D\+max_async"))
        expect(page.get_by_title("Not trained on: max_async").first).to_be_visible()
