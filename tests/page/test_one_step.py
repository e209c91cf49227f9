"""How samples are distributed, at one step and over all steps, on the page of metrics in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.looks.test_everywhere import AXE, axe
from tests.page.support import Viewer

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


def test_the_samples_of_one_step_by_value_and_one_by_one(wide: Page, viewer: Viewer) -> None:
    wide.goto(f"{viewer.address}runs/toy/metrics")
    wide.get_by_role("button", name="One step").click()
    expect(wide).to_have_url(re.compile("view=step"))
    expect(wide.get_by_role("heading", name="Step 2: 16 samples")).to_be_visible()
    expect(wide.get_by_role("combobox", name="compared with")).to_have_value("ref_reward")
    expect(wide.get_by_role("listitem").filter(has_text="Response tokens")).to_contain_text("+0.188 since step 1")
    lengths = wide.get_by_role("listitem").filter(has_text="ref_response_chars")
    expect(lengths).to_contain_text(" since step 1")
    expect(wide.get_by_role("figure", name="Difference by sample").get_by_role("link")).to_have_count(16)
    wide.evaluate(AXE.read_text())
    assert axe(wide, ("light", "dark")) == []
    first = wide.get_by_role("figure", name="Histogram").get_by_role("link").first
    first.focus()
    wide.keyboard.press("End")
    other = wide.get_by_role("link", name=re.compile("with ref_reward from 1.50 to 1.55"))
    expect(other).to_be_focused()
    expect(other).to_have_attribute("href", re.compile(r"where=ref_reward\+%3E%3D\+1\.5\+and\+ref_reward"))
    wide.keyboard.press("ArrowLeft")
    expect(wide.get_by_role("link", name="3 samples with Reward from 1.50 to 1.55")).to_be_focused()
    wide.keyboard.press("Enter")
    expect(wide).to_have_url(re.compile(r"where=reward\+%3E%3D\+1\.5\+and\+reward\+%3C\+1\.55"))
    expect(wide.get_by_role("article")).to_contain_text("+1.25")
    wide.go_back()
    look_at_all_steps(wide)
    wide.set_viewport_size({"width": 1024, "height": 768})  # two charts in a row, beside both panes
    names = ("Reward by", "Reward distribution by")
    boxes = [wide.get_by_role("region", name=name).bounding_box() for name in names]
    assert all(boxes) and len({box["y"] for box in boxes if box}) == 1
    wide.set_viewport_size({"width": 390, "height": 844})
    controls = wide.get_by_text("Smoothing, axes and points")
    expect(wide.get_by_role("slider", name="Smoothing")).to_be_hidden()
    head = wide.get_by_role("main").locator("header").bounding_box()
    assert head is not None and head["height"] < 100
    controls.click()
    expect(wide.get_by_role("slider", name="Smoothing")).to_be_visible()
    wide.set_viewport_size({"width": 1440, "height": 900})
    wide.get_by_role("button", name="One step").click()
    wide.get_by_role("combobox", name="Metric", exact=True).select_option("response_tokens")
    expect(wide.get_by_role("figure", name="Difference by sample")).to_have_count(0)
    bars = wide.get_by_role("figure", name="By sample").get_by_role("link")
    expect(bars).to_have_count(16)
    zero, foot = wide.get_by_role("figure", name="By sample").get_by_text("0.00", exact=True), bars.first.bounding_box()
    label = zero.bounding_box()
    assert label is not None and foot is not None
    assert abs(label["y"] + label["height"] / 2 - foot["y"] - foot["height"]) <= 2, "labels stand at their values"
    bars.nth(3).click()
    expect(wide).to_have_url(re.compile(r"toy\?.*sample="))
