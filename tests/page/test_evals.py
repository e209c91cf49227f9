"""The page of evaluations, in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.formats.test_telescope import RUN
from tests.page.support import Viewer, choose_chart, go, viewing
from tests.query.evals.test_evals import Drawn, write
from tests.server.support import lines

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_an_evaluation_is_drawn_beside_the_samples(page: Page, tmp_path: Path) -> None:
    with viewing(RUN, index_dir=tmp_path / "index") as viewer:
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(viewer.link)
        choose_chart(page, "countdown")
        drawn = page.get_by_role("region", name="score of eval/countdown by step")
        expect(drawn.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"over 3 steps: from 0\.167"))


def test_every_cell_opens_its_samples_by_mouse_and_by_keys(wide: Page, viewer: Viewer) -> None:
    wide.goto(f"{viewer.address}runs/tele")
    wide.get_by_role("link", name=re.compile("^Evals")).click()
    expect(wide).to_have_url(re.compile("/runs/tele/evals"))
    scores = wide.get_by_role("region", name="eval/countdown by step")
    expect(scores.get_by_role("columnheader", name="pass@2", exact=True)).to_be_visible()
    why = "correct if _equation_reward ≥ 1.00: the best value that the run declares"
    expect(wide.get_by_role("region", name="eval/countdown", exact=True)).to_contain_text(why)
    grid = wide.get_by_role("grid", name="Prompts by step")
    expect(grid.get_by_role("rowheader")).to_have_count(6)
    assert grid.get_attribute("aria-colcount") == "4"
    cell = grid.get_by_role("gridcell", name=re.compile("step 5:")).first
    says = cell.get_attribute("aria-label") or ""
    correct, drawn = map(int, re.findall(r"(\d+) of (\d+) correct", says)[0])
    cell.click()
    answers = wide.get_by_label("Samples of the cell")
    expect(answers.get_by_role("listitem")).to_have_count(drawn)
    expect(answers.get_by_text("correct", exact=False).locator("b")).to_have_count(correct)
    expect(wide).to_have_url(re.compile("step=5.*prompt="))
    wide.reload()
    expect(answers.get_by_role("listitem")).to_have_count(drawn)
    grid.locator('[role="gridcell"][tabindex="0"]').focus()
    wide.keyboard.press("ArrowDown")
    wide.keyboard.press("Home")
    wide.keyboard.press("Enter")
    expect(wide).to_have_url(re.compile("step=0.*prompt="))
    expect(answers.get_by_text("Step 0")).to_be_visible()
    wide.get_by_role("textbox", name="First step").fill("5")
    wide.get_by_role("textbox", name="First step").press("Enter")
    expect(wide).to_have_url(re.compile("from=5"))
    expect(grid.get_by_role("columnheader", name="step 0", exact=True)).to_have_count(0)
    expect(grid.get_by_role("columnheader", name="step 5", exact=True)).to_be_visible()
    wide.go_back()
    expect(answers.get_by_text("Step 0")).to_be_visible()
    answers.get_by_role("link").first.click()
    expect(wide).to_have_url(re.compile("split=eval/countdown&step=0&sample=eval/countdown/0/1/"))
    wide.go_back()
    expect(answers.get_by_text("Step 0")).to_be_visible()


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Two runs: one of two prompts with references, and one of many prompts and steps."""
    folder = tmp_path_factory.mktemp("evaluated")
    drawn = ((0, 0.01, 0.0), (0, 0.17, 0.9), (1, 0.0, 0.0), (1, 0.17, 0.9))
    rows = [
        {"prompt": f"Poem {p}", "response": "a", "ref_response": "b", "reward": own, "ref_reward": ref, "step": n % 2}
        for n, (p, own, ref) in enumerate(drawn)
    ]
    (folder / "runs/paired").mkdir(parents=True)
    (folder / "runs/paired/data.jsonl").write_bytes(lines(rows))
    many: Drawn = [(step, p, float(p % 3)) for step in range(60) for p in range(150)]
    write(folder / "runs/many", many)
    with viewing(folder / "runs", index_dir=folder / "index", settled=True) as viewer:
        yield viewer


def test_each_answer_is_compared_with_its_own_reference(page: Page, evaluated: Viewer) -> None:
    """P1's best reward is that of P0, and so is its best reference; but none of its answers beats the one beside it."""
    page.goto(evaluated.to("runs/paired/evals"))
    why = "correct if reward ≥ 0.0875: no answer reaches 1, so the bar is the mean of all values"
    expect(page.get_by_text(why)).to_be_visible()
    page.get_by_role("button", name="never beat the reference 1").click()
    row = page.get_by_role("grid", name="Prompts by step").get_by_role("row").nth(1)
    expect(row).to_contain_text("never beat the reference")
    expect(row.get_by_role("gridcell", name="step 1: 1 of 1 correct")).to_be_visible()
    expect(page.get_by_role("grid", name="Prompts by step")).to_have_attribute("aria-rowcount", "2")


@pytest.mark.slow
def test_scores_and_grid_fade_at_the_edge_where_they_have_more(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 780})
    with viewing(RUN, index_dir=tmp_path / "index", settled=True) as viewer:
        page.goto(viewer.to("runs/run_default/evals"))
        scores = page.get_by_role("region", name="eval/countdown by step")
        expect(scores).to_be_visible()
        several = page.locator("[data-edges]").filter(has=scores)
        expect(several).to_have_attribute("data-edges", "right")
        several.evaluate("element => element.scrollTo(10_000, 0)")
        expect(several).to_have_attribute("data-edges", "left")
        grid = page.locator("[data-edges]").filter(has=page.get_by_role("grid"))
        expect(grid).to_have_attribute("data-edges", "")


def test_what_is_correct_is_settable_and_in_the_address(page: Page, evaluated: Viewer) -> None:
    page.goto(evaluated.to("runs/many/evals"))
    expect(page.get_by_role("button", name="9,000 samples")).to_be_visible()
    expect(page.get_by_text("indexed")).to_have_count(0)
    expect(page.get_by_role("button", name="held 100")).to_be_visible()
    page.get_by_role("textbox", name="from").fill("2")
    page.get_by_role("textbox", name="from").press("Enter")
    expect(page).to_have_url(re.compile("bar=2"))
    expect(page.get_by_role("button", name="held 50")).to_be_visible()
    grid = page.get_by_role("grid", name="Prompts by step")
    expect(grid.get_by_role("columnheader", name="step 59")).to_be_visible()
    expect(grid.get_by_role("columnheader", name="step 10", exact=True)).to_have_count(0)
    grid.locator('[role="gridcell"][tabindex="0"]').focus()
    for key in ("Home", *["PageDown"] * 14):
        page.keyboard.press(key)
    last = grid.get_by_role("row").filter(has_text="Problem 140")
    expect(last.get_by_role("gridcell", name="step 0: 1 of 1 correct")).to_be_focused()
    page.get_by_role("button", name="never correct 100").click()
    expect(page).to_have_url(re.compile("bar=2.*only=never|only=never.*bar=2"))
    expect(grid).to_have_attribute("aria-rowcount", "101")
    go(page, evaluated, "runs/many/evals?bar=odd")
    expect(page.get_by_role("alert").first).to_contain_text("the threshold of a correct answer")
