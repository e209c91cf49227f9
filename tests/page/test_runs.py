"""The table of runs in a real browser: sorted, gone through by keys, opened up, and honest about which runs go on."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rolloupe import Recorder
from tests.page.support import Viewer, go, viewing
from tests.server.support import lines, relax_run, row

pytestmark = pytest.mark.browser

NAMES = "[data-row] a[href]:not(dd a, dt a, p a)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight runs: recorded ones with their own rewards and learning rates, a copied one, one without rewards."""
    folder = tmp_path_factory.mktemp("runs")
    for number in range(6):
        config = {"optim": {"lr": 10.0 ** -(number + 3)}, "log_path": f"/logs/{number}"}
        with Recorder(folder / f"recorded-{number}", config=config, code=None) as run:
            for step in range(number + 2):
                for index in range(4):
                    reward = (number + step) / 10
                    run.sample(step=step, group="0", index=index, prompt="?", response="!" * number, reward=reward)
    relax_run(folder / "copied", steps=4)
    train = relax_run(folder / "unrated", steps=1)
    (train / "0.jsonl").write_bytes(lines({**row(0, n), "reward": None} for n in range(4)))
    os.utime(train / "0.jsonl", (time.time() - 7200,) * 2)
    return folder


@pytest.fixture(scope="module")
def viewer(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    state = str(tmp_path_factory.mktemp("state"))
    with viewing(folder, index_dir=tmp_path_factory.mktemp("index"), state_dir=state, settled=True) as viewer:
        yield viewer


def test_runs_are_a_table_that_sorts_and_is_gone_through_by_keys(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(viewer.link)
    names = page.locator(NAMES)
    expect(names).to_have_count(8)
    expect(page.get_by_role("columnheader", name="lr")).to_be_visible()
    expect(page.get_by_role("columnheader", name="log_path")).to_have_count(0)
    row = page.get_by_role("row").filter(has_text="recorded-3")
    expect(row).to_contain_text("0.700")
    expect(row.get_by_role("cell").nth(1).get_by_role("img")).to_have_attribute(
        "aria-label", "From 0.300 at step 0 to 0.700 at step 4"
    )

    heading = page.get_by_role("columnheader", name="Last reward")
    expect(heading).to_have_attribute("aria-sort", "none")
    heading.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(names).to_have_text(
        [*(f"recorded-{n}" for n in (5, 4, 3)), "copied", *(f"recorded-{n}" for n in (2, 1, 0)), "unrated"]
    )
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(names.first).to_have_text("recorded-0")
    expect(names.last).to_have_text("unrated")  # no value: last either way

    metric = page.get_by_role("button", name="Column of a metric")
    metric.click()
    page.get_by_role("combobox", name="Find a metric").fill("characters samples")
    page.keyboard.press("Enter")
    expect(names.first).to_have_text("copied")
    page.get_by_role("combobox", name="Which value of Characters").select_option("lowest")
    expect(names.first).to_have_text("recorded-0")
    page.reload()  # as a link would open it
    expect(page.get_by_role("combobox", name="Which value of Characters")).to_have_value("lowest")
    expect(names.first).to_have_text("recorded-0")
    metric.click()
    page.get_by_role("button", name="No metric").click()
    expect(page).not_to_have_url(re.compile("curve="))

    field = page.get_by_role("searchbox", name="Find a run")
    field.fill("recorded")
    expect(names).to_have_count(6)
    page.keyboard.press("ArrowDown")
    expect(names.first).to_be_focused()
    page.keyboard.press("End")
    expect(names.last).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(names.nth(4)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("runs/recorded-4"))
    page.go_back()
    expect(names).to_have_count(6)  # as it was left
    field.fill("")


def show_more_of_a_run(page: Page, viewer: Viewer) -> None:
    """More of a run is shown on demand, and a value opens it."""
    page.set_viewport_size({"width": 1440, "height": 900})
    go(page, viewer, "")
    expect(page.get_by_text("rolloupe.json says so")).to_have_count(0)
    page.get_by_role("button", name="Details of recorded-2").click()
    expect(page.get_by_text("rolloupe.json says so")).to_be_visible()
    expect(page.get_by_text("optim.lr")).to_be_visible()
    below = page.get_by_role("link", name="recorded-3", exact=True).bounding_box()
    links = page.get_by_role("link", name="Configuration, checkpoints, files").bounding_box()
    assert below and links and links["y"] + links["height"] < below["y"]  # rows make room
    page.get_by_role("button", name="Name, colour and note of recorded-2").click()
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("button", name="Name, colour and note of recorded-2")).to_be_focused()

    cell = page.get_by_role("row").filter(has_text="recorded-3").locator('[data-column="config:optim.lr"]')
    expect(cell).to_be_visible()
    title = """(cell) => {
      const box = cell.firstElementChild.getBoundingClientRect();
      const under = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      return under.closest('[title]')?.title;
    }"""
    assert cell.evaluate(title) == "1e-06"
    cell.locator("[title]").click()
    expect(page).to_have_url(re.compile("runs/recorded-3"))


@pytest.mark.slow
def test_a_run_that_was_copied_here_is_not_said_to_run_until_it_grows(page: Page, viewer: Viewer, folder: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(viewer.link)
    row_of = page.get_by_role("row").filter(has=page.get_by_role("link", name="copied", exact=True))
    expect(row_of).to_contain_text("ago")
    expect(row_of).not_to_contain_text("running")
    expect(page.get_by_role("row").filter(has_text="recorded-1")).to_contain_text("ended")
    page.set_viewport_size({"width": 390, "height": 800})
    expect(row_of).to_contain_text(re.compile("changed .* ago"))
    page.set_viewport_size({"width": 1440, "height": 900})
    (folder / "copied/rollout_result/train/4.jsonl").write_bytes(lines(row(4, n) for n in range(8)))
    expect(row_of).to_contain_text("running")


def test_the_table_on_a_telephone_and_then_more_of_a_run(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(viewer.link)
    expect(page.locator(NAMES)).to_have_count(8)
    assert page.evaluate("[...document.querySelectorAll('main, body')].every(e => e.scrollWidth <= e.clientWidth)")
    page.get_by_role("combobox", name="Order of the runs").select_option("steps")
    expect(page.locator(NAMES).first).to_have_text("recorded-5")
    page.get_by_role("button", name="Sorted descending: reverse the order").click()
    expect(page.locator(NAMES).first).to_have_text("unrated")
    show_more_of_a_run(page, viewer)


def test_runs_stand_side_by_side_with_configurations_and_answers(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(viewer.to("runs/recorded-1/compare?step=1"))
    page.get_by_role("button", name="Add a run").click()
    page.get_by_role("combobox", name="Find a run to add").fill("recorded-3")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("over=recorded-3"))
    configs = page.get_by_role("region", name="Configurations side by side")
    expect(configs.get_by_role("columnheader")).to_have_text(["Key", "recorded-1", "recorded-3"])
    cells = configs.get_by_role("row").filter(has_text="optim.lr").get_by_role("cell")
    expect(cells).to_have_text(["0.0001", "1e-06"])
    expect(page.get_by_role("region", name="Code")).to_contain_text("Neither run has a code.diff")
    field = page.get_by_role("searchbox", name="Find in the configurations")
    field.fill("LOGS/3")
    expect(configs.get_by_role("row")).to_have_count(2)
    expect(page).to_have_url(re.compile("key=LOGS"))

    prompts = page.get_by_role("region", name="Prompts by run")
    row = prompts.get_by_role("row").nth(1)
    expect(row.get_by_role("cell")).to_have_text(["0.200 4 samples", "0.400 4 samples"])
    row.get_by_role("button").press("Enter")
    answers = prompts.get_by_role("region", name="Samples of recorded-3")
    expect(answers).to_contain_text("!!!")
    answers.get_by_role("button").nth(2).click()
    answers.get_by_role("link", name="Open train/1/0/2 in its run").click()
    expect(page).to_have_url(re.compile(r"runs/recorded-3\?.*sample=train/1/0/2.*over=recorded-1"))
    page.keyboard.press("c")
    page.get_by_role("button", name="Remove recorded-1").click()
    expect(page.get_by_role("heading", name="Choose a run to compare with")).to_be_visible()
