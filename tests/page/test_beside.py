"""What lies beside the samples, in a real browser: a configuration that folds, and steps without a report."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from rolloupe.record import Recorder
from tests.page.support import Viewer, go, viewing
from tests.server.support import lines

pytestmark = pytest.mark.browser

KEYS = 5_000
CONFIG = {
    "optim": {"lr": 0.5, "betas": [0.9, 0.95], "schedule": {"kind": "cosine", "<b>hot</b>": True}},
    "envs": [{"name": "math"}, {"name": "code"}],
    "many": {f"key{n}": n for n in range(KEYS)},
}


def reports_alone(run: Path) -> None:
    """A run with reports of two steps, and without samples."""
    run.mkdir()
    for step in (1, 4):
        write_report(run, step)
    (run / "metrics.jsonl").write_bytes(lines([{"step": 1, "loss": 0.5}]))
    (run / "config.json").write_text("{}")


def write_report(run: Path, step: int) -> None:
    tree = {"title": f"Iteration {step}", "root": {"tag": "body", "attrs": {}, "children": ["Done"]}}
    (run / f"train_iteration_00000{step}_logtree.json").write_text(json.dumps(tree))


def metrics_alone(run: Path) -> None:
    """A run whose trainer logged metrics, and that has no samples."""
    with Recorder(run, code=None) as record:
        for step in range(5):
            record.metrics(step, {"time/step": 2.0, "actor/grad_norm": step / 4, "env/reward/mean": step / 8})


def environments(run: Path) -> None:
    """A run of two environments, with a metric."""
    with Recorder(run, code=None) as record:
        for step in range(12):
            for number in range(4):
                record.sample(
                    step=step, group="g", index=number, prompt="P", response="a", reward=float(number),
                    metrics={"speed": 10.0 * number + step}, env="math" if number else "code",
                )  # fmt: skip


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """A run of six steps whose trainer logged reports of two, one without reports, and the runs below."""
    folder = tmp_path_factory.mktemp("runs")
    reports_alone(folder / "reports")
    metrics_alone(folder / "metrics")
    environments(folder / "environments")
    for name, reports in (("reported", (1, 4)), ("silent", ())):
        run = folder / name
        run.mkdir()
        for step in range(6):
            record: dict[str, Any] = {
                "iteration": step,
                "group_idx": 0,
                "traj_idx": 0,
                "total_reward": 1.0,
                "steps": [],
            }
            (run / f"train_iteration_00000{step}_rollout_summaries.jsonl").write_bytes(lines([record]))
        for step in reports:
            write_report(run, step)
        (run / "config.json").write_text(json.dumps(CONFIG if reports else {}))
    with viewing(folder, index_dir=tmp_path_factory.mktemp("index"), settled=True) as viewer:
        yield viewer


def test_a_configuration_folds_and_a_search_opens_what_matches(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.to("runs/reported/run"))
    main = page.get_by_role("main", name="Run")
    expect(main.get_by_text("5,006 values")).to_be_visible()
    optim = main.locator("summary").filter(has_text=re.compile("^optim"))
    expect(main.get_by_text("cosine")).to_have_count(0)  # so large a tree begins folded
    optim.click()
    expect(main.get_by_text("[0.9, 0.95]")).to_be_visible()
    main.locator("summary").filter(has_text=re.compile("^many")).click()
    expect(main.get_by_text("key99", exact=True)).to_be_visible()
    assert main.get_by_text(re.compile(r"^key\d+$")).count() == 100
    main.get_by_role("button", name="4,900 more: show").click()
    expect(main.get_by_text("key1099", exact=True)).to_be_visible()

    field = main.get_by_role("searchbox", name="Find in the configuration")
    field.fill("optim kind")
    expect(main.get_by_text("cosine")).to_be_visible()  # what holds it is open
    expect(main.get_by_text("1 of 5,006 values")).to_be_visible()
    expect(main.get_by_text("[0.9, 0.95]")).to_have_count(0)
    field.fill("hot")
    expect(main.get_by_text("<b>hot</b>")).to_be_visible()
    field.fill("key")
    expect(main.get_by_text("5,000 of 5,006 values")).to_be_visible()
    expect(main.get_by_role("button", name="4,800 more: show")).to_be_visible()
    field.fill("nowhere")
    expect(main.get_by_text("No key or value matches.")).to_be_visible()


def open_a_step_without_a_report(page: Page, viewer: Viewer) -> None:
    """A step without a report leads to those that have one."""
    go(page, viewer, "runs/reported/report?split=train&step=2")
    expect(page.get_by_role("heading", name="No report for step 2 of train")).to_be_visible()
    expect(page.get_by_text("for some steps only: 2 of 6 steps")).to_be_visible()
    expect(page.get_by_role("link", name="Step 1, the report before")).to_be_visible()
    page.get_by_role("link", name="Step 4, the report after").click()
    expect(page.get_by_role("heading", name="Iteration 4")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="train, step 1").click()
    expect(page.get_by_role("heading", name="Iteration 1")).to_be_visible()

    go(page, viewer, "runs/silent/report?split=train&step=2")
    expect(page.get_by_role("heading", name="This run has no reports")).to_be_visible()
    expect(page.get_by_text("rolloupe.record.logtree")).to_be_visible()  # what writes them
    page.get_by_role("link", name="The samples of step 2").click()
    expect(page).to_have_url(re.compile("runs/silent.*sample=train/2/"))


def open_words_for_a_step(page: Page, viewer: Viewer) -> None:
    """An address with words for a step says which step is shown."""
    page.goto(viewer.to("runs/reported?split=train&step=abc"))
    notice = page.get_by_role("alert").filter(has_text="is not a step")
    expect(notice).to_contain_text(re.compile(r"“abc” is not a step: steps are whole numbers. This is step \d+;"))
    expect(page).to_have_url(re.compile(r"sample="))
    expect(notice).to_be_visible()  # what the page chose by itself has not taken it away
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)
    go(page, viewer, "runs/reported?split=train&step=1e3")
    expect(notice).to_contain_text("“1e3” is not a step")
    go(page, viewer, "runs/reported?split=train&step=1")
    expect(notice).to_have_count(0)


def open_what_is_not_there(page: Page, viewer: Viewer) -> None:
    """An address that names what is not there says so, and shows nothing else."""
    go(page, viewer, "runs/reported/report?split=eval/none&step=1")
    expect(page.get_by_role("heading", name="No report for step 1 of eval/none")).to_be_visible()
    expect(page.get_by_text("and the run has no samples of it")).to_be_visible()
    expect(page).to_have_url(re.compile(r"report\?split=eval/none&step=1$"))
    for beside in ("", "/metrics", "/tokens"):
        go(page, viewer, f"runs/reported{beside}?split=eval/none&step=1")
        expect(page.get_by_role("heading", name="This run has no such split")).to_be_visible()
        expect(page.get_by_text("It has no samples of eval/none at any step")).to_be_visible()
        expect(page).to_have_url(re.compile(r"split=eval/none&step=1$"))
    page.get_by_role("link", name="train", exact=True).click()
    expect(page).to_have_url(re.compile("split=train"))
    go(page, viewer, "runs/reported?split=train&step=77")
    expect(page.get_by_text("No samples at step 77")).to_be_visible()
    expect(page).to_have_url(re.compile(r"split=train&step=77$"))
    go(page, viewer, "runs/reported?split=train&step=1&sample=train/1/none/0")
    expect(page.get_by_text(re.compile("No sample train/1/none/0"))).to_be_visible()


def open_runs_without_samples(page: Page, viewer: Viewer) -> None:
    """Runs without samples open what their trainer logged."""
    go(page, viewer, "runs/reports/report?step=1")
    expect(page.get_by_role("heading", name="Iteration 1")).to_be_visible()
    go(page, viewer, "runs/reports/report?split=train")
    expect(page.get_by_role("heading", name="Iteration 4")).to_be_visible()
    go(page, viewer, "runs/reports/report?step=3")
    expect(page.get_by_role("heading", name="No report for step 3 of train")).to_be_visible()

    go(page, viewer, "")
    page.get_by_role("link", name="metrics", exact=True).first.click()
    expect(page).to_have_url(re.compile("runs/metrics/metrics"))
    expect(page.get_by_role("region", name="Gradient norm by step").get_by_role("img")).to_be_visible()
    page.get_by_role("link", name="Rollouts").click()
    expect(page.get_by_text("No samples yet")).to_be_visible()
    charts = page.get_by_role("complementary", name="Charts")
    for name in ("env/reward/mean", "actor/grad_norm", "time/step"):
        expect(charts.get_by_role("region", name=f"{name} by step").locator("canvas")).to_be_visible()
    expect(page.get_by_text(re.compile("^Its trainer logged 4 metrics; the charts show some"))).to_be_visible()


def test_an_address_shows_what_it_names_or_says_what_is_not_there(page: Page, viewer: Viewer) -> None:
    open_words_for_a_step(page, viewer)
    open_a_step_without_a_report(page, viewer)
    open_what_is_not_there(page, viewer)
    open_runs_without_samples(page, viewer)


@pytest.mark.slow
def test_report_is_dimmed_where_a_run_has_none(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.to("runs/silent"))
    expect(page.get_by_role("link", name="Report: none")).to_be_visible()
    page.goto(f"{viewer.address}runs/reported")
    expect(page.get_by_role("link", name="Report: what the trainer logged for the step")).to_be_visible()


def test_each_chart_beside_the_rollouts_draws_its_own_record(page: Page, viewer: Viewer) -> None:
    """Of one metric: a filter, another figure, a distribution, and a second curve."""
    looks = ("", "&where=env+%3D+code", "&figure=max&ema=4", "&figure=map", "&with=reward&zero=1")
    charts = "".join(f"&chart={quote(f'?kind=sample&name=speed{look}')}" for look in looks)
    page.set_viewport_size({"width": 1440, "height": 2400})
    page.goto(viewer.to(f"runs/environments?split=train&step=11{charts}"))
    own = page.get_by_role("complementary", name="Charts").get_by_role("region", name="speed by step")
    expect(own).to_have_count(5)
    for nth, (value, words) in enumerate((
        ("26.0", "mean ± std"), ("11.0", "only env = code"), ("41.0", "greatest"),
        ("", "samples by value"), ("", "Reward"),
    )):  # fmt: skip
        expect(own.nth(nth)).to_contain_text(words)
        expect(own.nth(nth).locator("h3 b")).to_have_text(value)
    expect(own.nth(1).get_by_role("img")).to_have_attribute("aria-label", re.compile(r"from 0\b.* to 11\.0"))
    expect(own.nth(3).locator("canvas, svg").first).to_be_visible()
    expect(page.get_by_role("button", name="EMA off")).to_be_visible()  # of twelve steps nothing is smoothed
