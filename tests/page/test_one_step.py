"""How samples are distributed, at one step and over all steps, on the page of metrics in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.looks.test_everywhere import AXE, axe
from tests.page.support import viewing

pytestmark = pytest.mark.browser


def look_at_all_steps(page: Page) -> None:
    """Draw the distribution of the reward by step, open the samples of a cell by keys, and draw a quantile instead."""
    page.get_by_role("group", name="Steps").get_by_role("button", name="All steps").click()
    chart = page.get_by_role("region", name=re.compile("^Reward by"))
    chart.get_by_role("button", name="Menu of").click()
    drawn = chart.get_by_role("combobox", name="Statistic of each step")
    drawn.select_option("distribution")
    cells = chart.get_by_role("slider", name="Distribution of Reward by step")
    cells.focus()
    page.keyboard.press("ArrowLeft")
    expect(cells).to_have_attribute("aria-valuetext", "step 2 · 0.00 to 0.0500 · 1 of 16 samples")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"step=2.*where=reward\+%3E%3D\+0\+and\+reward\+%3C\+0\.05"))
    page.go_back()
    with page.expect_download() as download:
        chart.get_by_role("button", name="Menu of").click()
        chart.get_by_text("Picture as SVG").click()
    assert "Reward" in download.value.path().read_text()
    with page.expect_download() as download:
        chart.get_by_role("button", name="Menu of").click()
        chart.get_by_text("Data as CSV").click()
    assert download.value.path().read_text().startswith("first_step,last_step,from,to,samples\n0,0,")
    page.get_by_role("combobox", name="Across all charts").select_option("tokens so far")
    expect(chart.get_by_text("by step: a distribution has no other x")).to_be_visible()
    page.get_by_role("combobox", name="Across all charts").select_option("step")
    chart.get_by_role("button", name="Menu of").click()
    drawn.select_option("median")
    page.keyboard.press("Escape")
    expect(cells).to_have_count(0)
    expect(chart.get_by_text("ref_reward")).to_be_visible()  # beside the reward


def test_the_samples_of_one_step_by_value_and_one_by_one(page: Page, demo_runs: Path, tmp_path: Path) -> None:
    with viewing(demo_runs / "other_formats/rl_logging_board", index_dir=tmp_path, settled=True) as viewer:
        page.goto(viewer.to("runs/gen_train_toy/metrics"))
        page.get_by_role("button", name="One step").click()
        expect(page).to_have_url(re.compile("view=step"))
        expect(page.get_by_role("heading", name="Step 2: 16 samples")).to_be_visible()
        expect(page.get_by_role("combobox", name="compared with")).to_have_value("ref_reward")
        expect(page.get_by_role("listitem").filter(has_text="Response tokens")).to_contain_text("+0.188 since step 1")
        lengths = page.get_by_role("listitem").filter(has_text="ref_response_chars")
        expect(lengths).to_contain_text(" since step 1")
        expect(page.get_by_role("figure", name="Difference by sample").get_by_role("link")).to_have_count(16)
        page.evaluate(AXE.read_text())
        assert axe(page, ("light", "dark")) == []
        first = page.get_by_role("figure", name="Histogram").get_by_role("link").first
        first.focus()
        page.keyboard.press("End")
        other = page.get_by_role("link", name=re.compile("with ref_reward from 1.50 to 1.55"))
        expect(other).to_be_focused()
        expect(other).to_have_attribute("href", re.compile(r"where=ref_reward\+%3E%3D\+1\.5\+and\+ref_reward"))
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_role("link", name="3 samples with Reward from 1.50 to 1.55")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"where=reward\+%3E%3D\+1\.5\+and\+reward\+%3C\+1\.55"))
        expect(page.get_by_role("article")).to_contain_text("+1.25")
        page.go_back()
        look_at_all_steps(page)
        page.set_viewport_size({"width": 1024, "height": 768})  # two charts in a row, beside both panes
        names = ("Reward by", "Reward distribution by")
        boxes = [page.get_by_role("region", name=name).bounding_box() for name in names]
        assert all(boxes) and len({box["y"] for box in boxes if box}) == 1
        page.set_viewport_size({"width": 390, "height": 844})
        controls = page.get_by_text("Smoothing, axes and points")
        expect(page.get_by_role("slider", name="Smoothing")).to_be_hidden()
        head = page.get_by_role("main").locator("header").bounding_box()
        assert head is not None and head["height"] < 100
        controls.click()
        expect(page.get_by_role("slider", name="Smoothing")).to_be_visible()
        page.set_viewport_size({"width": 1440, "height": 900})
        page.get_by_role("button", name="One step").click()
        page.get_by_role("combobox", name="Metric", exact=True).select_option("response_tokens")
        expect(page.get_by_role("figure", name="Difference by sample")).to_have_count(0)
        bars = page.get_by_role("figure", name="By sample").get_by_role("link")
        expect(bars).to_have_count(16)
        bars.nth(3).click()
        expect(page).to_have_url(re.compile(r"gen_train_toy\?.*sample="))
