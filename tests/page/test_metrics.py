"""The page of a run's metrics, in a real browser."""

import csv
import re
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, Request, Response, Route, expect

from rolloupe import Recorder
from rolloupe.record.folder import own_launches
from tests.page.support import Viewer, viewing

pytestmark = pytest.mark.browser


def recorded(folder: Path) -> None:
    """A run whose reward rises, with a loss that is not finite at step 4, which was resumed at step 11."""
    with Recorder(folder, code=None) as run:
        for step in range(12):
            for index in range(4):
                reward = float(index <= step // 4)
                run.sample(step=step, group="0", index=index, prompt="?", response="!" * (step + 1), reward=reward)
            wait = 90.0 if step == 3 else 1 + step % 3
            loss = float("nan") if step == 4 else 0.5
            run.metrics(step, {"actor/loss": loss, "actor/kl": 0.01 * (step + 1), "actor/wait": wait})
        run.checkpoint("half", step=6, paths={})
    own_launches.clear()  # as another process would
    with Recorder(folder, code=None) as run:
        for index in range(4):
            run.sample(step=11, group="0", index=index, prompt="?", response="!" * 12, reward=float(index <= 2))


def saved_as(page: Page, chart: Locator, kind: str) -> Path:
    """What the menu of a chart saves."""
    chart.get_by_role("button", name="Menu of").click()
    with page.expect_download() as download:
        chart.get_by_text(kind).click()
    expect(chart.get_by_role("dialog")).to_have_count(0)
    return download.value.path()


def look_across(page: Page, asked: list[dict[str, Any]]) -> None:
    """Put the time across all charts, a metric across one and limits on its axis; zoom, and take it all back."""
    across = page.get_by_role("combobox", name="Across all charts")
    expect(across.get_by_role("option", name="tokens so far: no sample has tokens")).to_be_disabled()
    across.select_option("elapsed time")
    expect(page).to_have_url(re.compile(r"x=%3Fkind%3Delapsed"))
    chart = page.get_by_role("region", name=re.compile("^kl by"))
    expect(chart).to_have_accessible_name("kl by elapsed time")
    chart.get_by_role("button", name="Menu of").press("Enter")
    menu = page.get_by_role("dialog", name="Menu of kl")
    menu.get_by_role("combobox", name="Across").focus()
    menu.get_by_role("combobox", name="Across").select_option("loss")
    expect(chart).to_have_accessible_name("kl by loss")
    expect(chart.get_by_text("1 step without loss left out")).to_be_visible()
    low, high = (
        menu.get_by_role("textbox", name=name) for name in ("Lowest value of the axis", "Highest value of the axis")
    )
    low.fill("5")
    high.fill("1")
    high.press("Tab")
    expect(menu.get_by_role("alert")).to_have_text("The first must be less than the second")
    low.fill("-1")
    high.press("Tab")
    expect(menu.get_by_role("alert")).to_be_empty()
    expect(page).to_have_url(re.compile(r"x%3Dtrainer\.actor%252Floss%26low%3D-1%26high%3D1"))
    page.keyboard.press("Escape")
    table = list(csv.DictReader(saved_as(page, chart, "Data as CSV").read_text().splitlines()))
    assert list(table[0]) == ["step", "actor/loss", "value"] and len(table) == 11

    reward = page.get_by_role("region", name="Reward by elapsed time").get_by_role("img")
    reward.hover(position={"x": 48, "y": 40})
    expect(page.get_by_role("region", name=" by ").get_by_text("step 0", exact=True)).to_have_count(6)
    expect(chart.get_by_role("link", name="open its")).to_have_text("0.0100")
    box = reward.bounding_box()
    assert box is not None
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 60, steps=3)
    page.mouse.up()
    back = page.get_by_role("button", name="Show the whole range")
    expect(back).to_be_visible()
    page.wait_for_function("() => document.querySelectorAll('main [role=img]').length === 6")
    ends = {one["options"]["x_max"] is None for one in asked[-1]["curves"]}
    assert ends == {True, False}, "the chart across another metric has its whole range"
    reward.dblclick(position={"x": 90, "y": 40})
    expect(back).to_have_count(0)
    expect(page).to_have_url(re.compile("/metrics"))

    chart.get_by_role("button", name="Menu of").click()
    menu.get_by_role("combobox", name="Across").select_option("as on the page: Elapsed time")
    low.fill("")
    high.fill("")
    high.press("Tab")
    page.keyboard.press("Escape")
    across.select_option("step")
    expect(chart).to_have_accessible_name("kl by step")


def arrange(page: Page) -> None:
    """Draw two curves in one chart, the second chart of a curve with settings of its own, and order the sections."""
    chart = page.get_by_role("region", name="kl by step")
    opener = chart.get_by_role("button", name="Menu of")
    opener.first.press("Enter")
    page.get_by_role("button", name="Add a curve").press("Enter")
    words = page.get_by_role("combobox", name="Add a curve to this chart")
    words.fill("loss")
    expect(page.get_by_role("option", name="loss trainer · actor/loss")).to_be_visible()
    page.keyboard.press("Enter")
    expect(words).to_have_value("")
    expect(words).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener.first).to_be_focused()
    legend = chart.get_by_role("list", name="Curves").get_by_role("listitem")
    expect(legend).to_have_text([re.compile("^kl"), re.compile("^loss")])
    chart.get_by_role("img").hover(position={"x": 48, "y": 40})
    values = chart.get_by_role("list", name="Values").get_by_role("listitem")
    expect(values).to_have_text([re.compile(r"^kl0\.0100"), re.compile(r"^loss0\.500")])
    hide = legend.nth(0).get_by_role("button", pressed=True)
    hide.click()
    expect(hide).to_have_count(0)
    table = list(csv.DictReader(saved_as(page, chart, "Data as CSV").read_text().splitlines()))
    assert list(table[0]) == ["step", "actor/kl", "actor/loss"] and len(table) == 12
    legend.nth(1).get_by_role("button", name="Remove loss from the chart").click()
    expect(legend).to_have_count(0)

    opener.first.press("Enter")
    page.get_by_role("button", name="Duplicate").press("Enter")
    expect(chart).to_have_count(2)
    opener.nth(1).press("Enter")
    page.get_by_text("Settings of this chart").click()
    own = page.get_by_role("dialog", name="Menu of kl")
    own.get_by_role("checkbox", name="log").check()
    own.get_by_role("spinbutton", name="Smoothing").fill("0")
    own.get_by_role("spinbutton", name="Smoothing").press("Tab")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("copy%3D2.*ema%3D0%26log%3D1"))
    expect(chart.nth(1).get_by_text("own settings")).to_be_visible()
    expect(chart.nth(0).get_by_text("own settings")).to_have_count(0)
    expect(page.get_by_role("checkbox", name="log", exact=True)).not_to_be_checked()

    page.get_by_role("button", name="Rename section actor").click()
    page.get_by_role("textbox", name="Title of actor").fill("Policy")
    page.keyboard.press("Enter")
    up = page.get_by_role("button", name="Move section Policy up", exact=True)
    sections = page.get_by_role("button", name="Rename section")
    expect(sections).to_have_text([re.compile(name) for name in ("Reward", "Groups", "Length", "Policy")])
    up.press("Enter")
    expect(sections).to_have_text([re.compile(name) for name in ("Reward", "Groups", "Policy", "Length")])
    expect(up).to_be_focused()


def look_at_marks(page: Page) -> None:
    """At the foot of a chart a checkpoint and a resume; above that of its curve an alarm with its samples."""
    kl = page.get_by_role("group", name="Marks of kl").get_by_role("link")
    expect(kl).to_have_count(2)  # the alarm is about the loss
    page.get_by_role("button", name="Show curve").first.click()
    marks = page.get_by_role("group", name="Marks of loss").get_by_role("link")
    expect(marks).to_have_count(3)
    alarm, checkpoint, resume = (marks.nth(at) for at in range(3))
    expect(alarm).to_have_accessible_name("NaN or infinite at 1 step, first at 4 · step 4")
    plot = page.get_by_role("region", name="loss by step").locator("canvas").bounding_box()
    places = [mark.bounding_box() for mark in (alarm, checkpoint)]
    assert plot and places[0] and places[1]
    assert places[0]["y"] < plot["y"] < plot["y"] + plot["height"] - 24 <= places[1]["y"]
    checkpoint.hover()
    expect(page.get_by_text("Checkpoint half, step 6")).to_be_visible()
    alarm.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("Resumed at step 11, launch 2: 1 step recorded again")).to_be_visible()
    expect(resume).to_be_focused()
    toggle = page.get_by_role("checkbox", name="marks", exact=True)
    toggle.uncheck()
    expect(page).to_have_url(re.compile("marks=0"))
    expect(page.get_by_role("group", name="Marks of")).to_have_count(0)
    toggle.check()
    expect(alarm).to_have_attribute("href", re.compile("split=train&step=4&.*mode=samples"))
    page.get_by_role("button", name="Remove loss", exact=True).press("Enter")


def filter_a_chart(page: Page, asked: list[dict[str, Any]]) -> None:
    """Count only some samples in one chart, which completes the filter, says so, and opens such samples; its band."""
    chart = page.get_by_role("region", name="Reward by step")
    kl = page.get_by_role("region", name="kl by step")
    kl.get_by_role("button", name="Menu of").click()
    expect(page.get_by_text("The trainer logs whole steps: they have no filter.")).to_be_visible()
    page.keyboard.press("Escape")
    chart.get_by_role("button", name="Menu of").click()
    menu = page.get_by_role("dialog", name="Menu of Reward")
    field = menu.get_by_role("combobox", name="Filter of this chart")
    field.press_sequentially("response_c")
    offers = menu.get_by_role("listbox", name="Completions").get_by_role("option")
    expect(offers.first).to_contain_text("response_chars")
    field.press("ArrowDown")
    field.press("Tab")
    field.press_sequentially("> 4 and reward = 1")
    field.press("Enter")
    expect(page).to_have_url(re.compile("where%3Dresponse_chars"))
    page.keyboard.press("Escape")
    only = chart.get_by_text("only response_chars > 4 and reward = 1")
    expect(only).to_be_visible()
    expect(chart.get_by_role("link", name="open its")).to_have_text("1.00")
    assert [one["options"]["where"] for one in asked[-1]["curves"]].count("response_chars > 4 and reward = 1") == 1
    table = list(csv.DictReader(saved_as(page, chart, "Data as CSV").read_text().splitlines()))
    assert [int(row["step"]) for row in table] == list(range(4, 12)), "earlier responses are shorter"
    href = chart.get_by_role("link", name="open its").get_attribute("href")
    assert href is not None and "where=response_chars" in href and "step=11" in href

    chart.get_by_role("button", name="Menu of").click()
    field.fill("reward =")
    field.press("Enter")
    page.keyboard.press("Escape")
    expect(chart.get_by_text("cannot read the filter: at character 9")).to_be_visible()
    chart.get_by_role("button", name="Menu of").click()
    field.fill("reward = 99")
    field.press("Enter")
    expect(chart.get_by_text("No sample that matches the filter has this number: reward = 99")).to_be_attached()
    field.fill("")
    field.press("Enter")
    menu.get_by_text("Settings of this chart").click()
    band = menu.get_by_role("combobox", name="Band")
    band.select_option("p5 to p95")
    page.keyboard.press("Escape")
    expect(only).to_have_count(0)
    expect(chart.get_by_text("mean, p5 to p95")).to_be_visible()
    table = list(csv.DictReader(saved_as(page, chart, "Data as CSV").read_text().splitlines()))
    assert list(table[0]) == ["step", "value", "std", "p5", "p95"]
    assert float(table[0]["p95"]) == pytest.approx(0.85), "of one reward 1 and three of 0"
    chart.get_by_role("button", name="Menu of").click()
    menu.get_by_text("Settings of this chart").click()
    band.select_option("± … std")
    menu.get_by_role("textbox", name="Number of standard deviations").fill("1.5")
    menu.get_by_role("textbox", name="Number of standard deviations").press("Tab")
    expect(chart.get_by_text("mean ± 1.5 std")).to_be_visible()
    menu.get_by_role("button", name="As on the page").click()
    page.keyboard.press("Escape")
    expect(chart.get_by_text("mean ± std")).to_be_visible()


def see_what_is_beyond(page: Page, viewer: Viewer) -> None:
    """A spike does not press a chart flat: the axis fits the rest, says so, and shows all at a press."""
    page.goto(viewer.to("runs/run/metrics?chart=trainer.actor/wait"))
    chart = page.get_by_role("region", name="wait by step")
    beyond = chart.get_by_role("button", name="▲ 1 point above: 90.0")

    def labels() -> set[str | None]:
        svg = ET.parse(saved_as(page, chart, "Picture as SVG")).getroot()
        return {one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")}

    expect(beyond).to_be_visible()
    assert "3" in labels() and "train · 1 point above: 90.0" in labels()
    beyond.click()
    expect(chart.get_by_role("button", name="Fit to the other points")).to_be_visible()
    assert "100" in labels() and "train" in labels()
    table = list(csv.DictReader(saved_as(page, chart, "Data as CSV").read_text().splitlines()))
    assert float(table[3]["value"]) == 90.0


@pytest.mark.slow
def test_runs_with_one_value_of_a_configuration_are_one_line(page: Page, tmp_path: Path) -> None:
    for number, rate in enumerate((0.1, 0.1, 0.5)):
        own_launches.clear()  # as another process would
        with Recorder(tmp_path / "runs" / f"run{number}", code=None, config={"lr": rate, "seed": number}) as run:
            for step in range(4):
                run.metrics(step, {"loss": float(number + step)})
                run.sample(step=step, group="0", index=0, prompt="?", response="!", reward=number)
    with viewing(tmp_path / "runs", index_dir=tmp_path / "index", settled=True) as viewer:
        page.goto(viewer.to("runs/run0/compare?over=run1&over=run2"))
        row = page.get_by_role("row").filter(has_text="lr")
        row.get_by_role("link", name="Group curves").click()
        expect(page).to_have_url(re.compile("/metrics.*by=lr"))
        chart = page.get_by_role("region", name="loss by step")
        expect(chart.get_by_text("lr 0.1 · 2 runs: 3.50")).to_be_visible()
        expect(chart.get_by_text("lr 0.5 · 1 run: 5.00")).to_be_visible()
        expect(chart.get_by_text("mean of runs ± std")).to_be_visible()
        page.get_by_role("combobox", name="Band").select_option("min to max")
        table = list(csv.DictReader(saved_as(page, chart, "Data as CSV").read_text().splitlines()))
        assert [row["lr"] for row in table] == ["0.1"] * 4 + ["0.5"] * 4
        assert [float(row["value"]) for row in table] == [0.5, 1.5, 2.5, 3.5, 2, 3, 4, 5]
        assert [float(row["std"]) for row in table] == [0.5] * 4 + [0] * 4
        page.get_by_role("combobox", name="group by").select_option("seed")
        expect(chart.get_by_text("seed 1 · 1 run: 4.00")).to_be_visible()
        page.get_by_role("combobox", name="group by").select_option("run")
        expect(chart.get_by_text("· 1 run")).to_have_count(0)
        page.goto(viewer.to("runs/run0/metrics?over=run1&by=nothing"))
        expect(page.get_by_text("None of the runs has 'nothing' in its configuration.")).to_be_visible()
        expect(chart.get_by_text("Not loaded.")).to_be_visible()


CHARTS = [
    "reward", *(f"?kind=group&name={name}" for name in ("all_best", "all_worst", "without_spread")), "response_chars",
    "trainer.actor/kl",
]  # fmt: skip


def keep_charts(page: Page, viewer: Viewer) -> None:
    """Follow a link to `CHARTS`, and keep them."""
    page.goto(viewer.to(f"runs/run/metrics?{urlencode({'chart': CHARTS}, doseq=True)}"))
    page.get_by_role("button", name="Layout of the charts").click()
    page.get_by_role("button", name="Save as my layout").click()


def menu_button(page: Page) -> Locator:
    """The button of the menu of points."""
    return page.get_by_role("button", name="Points of the charts")


def look_closer(page: Page, chart: Locator, asked: list[dict[str, Any]]) -> None:
    """Smooth and zoom curves of which the page has five points: what it draws alone is what the server answers."""
    slider = page.get_by_role("slider", name="Smoothing")

    def few(route: Route) -> None:
        body = route.request.post_data_json
        assert body is not None
        route.continue_(post_data=body | {"points": 5 if body["points"] == 2000 else body["points"]})

    def picture() -> str:
        """The chart once it has stopped changing: points may come, and the mark of the mouse may go."""
        expect(chart.get_by_role("img")).to_be_visible()
        drawn: str = chart.locator("canvas").evaluate(DRAWN)
        return drawn

    page.route("**/api/curves", few)
    page.reload()
    before = picture()
    asked.clear()
    with page.expect_response(lambda answer: answer.url.endswith("/api/curves") and "20000" in asked_of(answer)):
        slider.focus()
    assert {one["options"]["smooth"] for one in asked[0]["curves"]} == {0}
    slider.press("End")
    expect(page).to_have_url(re.compile("ema=50"))
    smooth = picture()
    assert smooth != before
    page.unroute("**/api/curves")
    box = chart.get_by_role("img").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 60, steps=3)
    page.mouse.up()
    back = page.get_by_role("button", name="Show the whole range")
    expect(back).to_be_visible()
    page.mouse.move(box["x"], box["y"] - 100)
    zoomed = picture()
    assert zoomed != smooth and len(asked) == 1, "the page asks for all points once, when a person comes"
    page.reload()
    expect(back).to_be_visible()
    assert picture() == zoomed
    back.click()
    expect(back).to_have_count(0)


DRAWN = """async canvas => {
  const later = () => new Promise(give => setTimeout(() => requestAnimationFrame(give), 150))
  await later()
  for (let before = ""; before !== canvas.toDataURL(); await later()) before = canvas.toDataURL()
  return canvas.toDataURL()
}"""


def asked_of(answer: Response) -> str:
    """The body of the request that was answered."""
    return answer.request.post_data or ""


def curves_asked(page: Page) -> list[dict[str, Any]]:
    """The list of what the page asks of curves from now on; it grows."""
    asked: list[dict[str, Any]] = []

    def note(request: Request) -> None:
        if request.url.endswith("/api/curves") and (body := request.post_data_json) is not None:
            asked.append(body)

    page.on("request", note)
    return asked


def test_the_curves_of_a_run_and_what_stands_out(page: Page, tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    with viewing(tmp_path / "run", index_dir=tmp_path / "index", settled=True) as viewer:
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(viewer.to("runs/run"))
        expect(page.locator("article footer")).to_be_visible()
        asked = curves_asked(page)
        page.keyboard.press("m")
        expect(page).to_have_title(re.compile("^run · Metrics"))
        expect(page.get_by_text("rolloupe view RUN OTHER_RUN")).to_be_visible()  # a run alone
        expect(page.get_by_role("button", name="Compare with another run")).to_have_count(0)
        usual = page.get_by_role("region", name="by step").get_by_role("button", name="Rename")
        expect(usual).to_have_text(
            [f"Rename {name}" for name in ("Reward", "Reward distribution", "Groups", "KL", "Characters")]
        )
        expect(page.get_by_role("list", name="Curves").get_by_role("button", pressed=True)).to_have_text(
            ["Mixed", "All right", "All wrong"]
        )
        asked.clear()
        keep_charts(page, viewer)
        charts = page.get_by_role("region", name="by step")
        expect(charts.get_by_role("img")).to_have_count(6)
        kl = page.get_by_role("region", name="kl by step")
        expect(kl.get_by_role("link", name="open its")).to_have_text("0.120")
        flat = page.get_by_role("region", name="Without spread by step")
        expect(flat.get_by_role("link", name="open its")).to_have_text("0%")
        assert len(asked) == 1 and len(asked[0]["curves"]) == 6, "one request has all curves"
        assert {one["options"]["smooth"] for one in asked[0]["curves"]} == {-1}

        kl.get_by_role("img").hover(position={"x": 48, "y": 40})
        expect(charts.get_by_text("step 0", exact=True)).to_have_count(6)
        expect(kl.get_by_role("link", name="open its")).to_have_text("0.0100")

        save = partial(saved_as, page, kl)
        table = list(csv.DictReader(save("Data as CSV").read_text().splitlines()))
        assert list(table[0]) == ["step", "value"] and [float(row["value"]) for row in table] == [
            pytest.approx(0.01 * (step + 1)) for step in range(12)
        ]
        svg = ET.parse(save("Picture as SVG")).getroot()
        words = [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")]
        assert {"kl", "step", "0", "11", "run"} <= set(words)
        assert "train · as the trainer computed it" in words
        assert save("Picture as PNG").read_bytes().startswith(b"\x89PNG")

        look_at_marks(page)

        menu_button(page).click()
        menu = page.get_by_role("dialog", name="Points of the charts")
        menu.get_by_role("checkbox", name="Ignore outliers").check()
        menu.get_by_role("spinbutton").fill("0.1")
        menu.get_by_role("checkbox", name="Ignore the first step").check()
        menu.get_by_role("textbox", name="Last step").fill("9")
        page.keyboard.press("Escape")
        expect(kl.get_by_text("2 outliers left out")).to_be_visible()
        expect(page).to_have_url(re.compile(r"outliers=0\.1&first=0&last=9"))
        assert "without outliers, without the first step, up to step 9" in menu_button(page).inner_text()
        rows = list(csv.DictReader(save("Data as CSV").read_text().splitlines()))
        assert [int(row["step"]) for row in rows] == list(range(1, 8)), "the file has what is drawn"
        page.reload()
        expect(kl.get_by_text("2 outliers left out")).to_be_visible()
        menu_button(page).click()
        menu.get_by_role("checkbox", name="Ignore outliers").uncheck()
        menu.get_by_role("checkbox", name="Ignore the first step").uncheck()
        menu.get_by_role("textbox", name="Last step").fill("")
        page.keyboard.press("Escape")
        expect(kl.get_by_role("link", name="open its")).to_have_text("0.120")

        find = page.get_by_role("searchbox", name="Find a metric")
        find.fill("loss(")
        expect(page.get_by_text("Not a regular expression")).to_be_visible()
        find.fill("^actor/.*loss$")
        expect(page.get_by_text("1 of ")).to_be_visible()
        entry = page.get_by_role("checkbox", name="loss")
        entry.check()
        expect(page.get_by_role("region", name="loss by step").get_by_role("img")).to_be_visible()
        address = page.url
        page.get_by_role("button", name="Remove Reward", exact=True).press("Enter")
        expect(page.get_by_role("region", name="Reward by step")).to_have_count(0)
        page.get_by_role("status").get_by_role("button", name="Undo").click()
        expect(page.get_by_role("region", name="Reward by step").get_by_role("img")).to_be_visible()
        assert page.url == address
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        page.get_by_role("button", name="Remove Reward", exact=True).press("Enter")
        look_closer(page, kl, asked)
        slider = page.get_by_role("slider", name="Smoothing")
        slider.press("Home")
        expect(slider).to_have_attribute("aria-valuetext", "auto")
        slider.press("ArrowRight")
        expect(slider).to_have_attribute("aria-valuetext", "off")
        expect(page).to_have_url(re.compile(r"chart=trainer\.actor/loss.*ema=0"))
        page.wait_for_function("() => document.querySelectorAll('main [role=img]').length === 6")

        titles = charts.get_by_role("button", name="Rename")
        rename = ["Rename All right", "Rename All wrong", "Rename Without spread"]
        expect(titles).to_have_text([*rename, "Rename Characters", "Rename kl", "Rename loss"])
        handle = page.get_by_role("button", name="Move loss", exact=True)
        handle.focus()
        page.keyboard.press("Alt+ArrowLeft")
        expect(titles.nth(4)).to_have_text("Rename loss")
        expect(handle).to_be_focused()
        handle.hover()
        page.mouse.down()
        page.get_by_role("region", name="All wrong by step").hover()
        page.mouse.up()
        groups = page.get_by_role("region", name="Groups", exact=True).get_by_role("button", name="Rename")
        expect(groups).to_have_text(["Rename section Groups", rename[0], "Rename loss", *rename[1:]])
        page.get_by_role("button", name="Rename kl").click()
        page.get_by_role("textbox", name="Title of kl").fill("Distance to the reference")
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Distance to the reference by step").get_by_role("img")).to_be_visible()
        page.get_by_role("button", name="Layout of the charts").click()
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save as a file").click()
        saved.value.save_as(tmp_path / "layout.json")
        assert saved.value.suggested_filename == "run-layout.json"
        across = page.get_by_role("combobox", name="Across all charts")
        across.select_option("elapsed time")
        page.goto(f"{viewer.address}runs/run/metrics")  # the choice of charts is remembered, and what is across them
        expect(across).to_have_value("?kind=elapsed")
        across.select_option("step")
        expect(page.get_by_role("region", name="loss by step").get_by_role("img")).to_be_visible()
        expect(page.get_by_role("region", name="Reward by step")).to_have_count(0)
        expect(page.get_by_role("region", name="Distance to the reference by step")).to_be_visible()
        menu = page.get_by_role("button", name="Layout of the charts")
        expect(menu).to_have_text("Layout of the charts Layout: mine ▾")
        menu.click()
        page.get_by_role("button", name="Restore default charts").click()
        expect(page.get_by_role("region", name="Reward by step").get_by_role("img")).to_be_visible()
        menu.click()
        page.get_by_label("A file with a layout").set_input_files(tmp_path / "layout.json")
        expect(titles.nth(1)).to_have_text("Rename loss")
        expect(page.get_by_role("region", name="Distance to the reference by step")).to_be_visible()
        menu.click()
        page.get_by_role("button", name="Restore default charts").click()
        expect(page.get_by_role("region", name="Reward by step").get_by_role("img")).to_be_visible()

        alarms = page.get_by_role("list", name="Alarms").get_by_role("listitem")
        before = alarms.count()
        alarms.first.get_by_role("button", name="Menu of").click()
        alarms.first.get_by_role("textbox", name="Why").fill("a known step")
        page.keyboard.press("Enter")
        off = page.get_by_role("list", name="Rules that are switched off").get_by_role("listitem")
        expect(off).to_contain_text("not_finite: a known step")
        expect(alarms).to_have_count(before - 1)
        off.get_by_role("button", name="Switch on").click()
        expect(alarms).to_have_count(before)
        alarm = alarms.first
        alarm.get_by_role("button", name="Show curve").click()
        expect(page.get_by_role("region", name="loss by step").get_by_role("img")).to_be_in_viewport()
        expect(alarm.get_by_role("heading")).to_have_attribute("title", re.compile("^Error. Rule: "))
        alarm.get_by_role("link", name="Samples of step 4").click()
        expect(page).to_have_url(re.compile("runs/run.split=train&step=4&sample=train/4.*mode=samples"))
        see_what_is_beyond(page, viewer)
        page.goto(viewer.to("runs/run/metrics"))
        page.get_by_role("region", name="Reward by step").get_by_role("img").click(position={"x": 48, "y": 40})
        expect(page).to_have_url(re.compile("runs/run.split=train&step=0&sample=train/0"))


@pytest.mark.slow
def test_a_chart_has_an_axis_a_filter_a_band_and_several_curves_of_its_own(page: Page, tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    with viewing(tmp_path / "run", index_dir=tmp_path / "index", settled=True) as viewer:
        page.set_viewport_size({"width": 1440, "height": 900})
        asked = curves_asked(page)
        keep_charts(page, viewer)
        expect(page.get_by_role("region", name="by step").get_by_role("img")).to_have_count(6)
        look_across(page, asked)  # a metric across a chart, the ends of its axis, and a range that is dragged
        filter_a_chart(page, asked)  # of the samples that match, their band by percentiles or standard deviations
        arrange(page)  # several curves in a chart, a legend at the pointer; a second chart; sections renamed and moved


def test_charts_are_drawn_when_they_come_near_the_screen_and_all_of_them_to_be_printed(
    page: Page, tmp_path: Path
) -> None:
    names = [f"m/{at:02}" for at in range(24)]
    with Recorder(tmp_path / "run", code=None) as run:
        for step in range(40):
            run.metrics(step, dict.fromkeys(names, float(step * 7 % 5)))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index", settled=True) as viewer:
        page.set_viewport_size({"width": 1440, "height": 600})
        page.goto(viewer.to(f"runs/run/metrics?{urlencode([('chart', f'trainer.{name}') for name in names])}"))
        charts = page.get_by_role("region", name="by step").get_by_role("img")
        expect(charts).to_have_count(len(names))
        first, last = charts.first.locator("canvas"), charts.last.locator("canvas")
        expect(first).to_be_visible()
        expect(last).to_have_count(0)
        charts.last.scroll_into_view_if_needed()
        expect(last).to_be_visible()
        first_rough, last_rough = [one.evaluate(DRAWN) for one in (first, last)]
        page.get_by_role("slider", name="Smoothing").press("End")
        expect(page).to_have_url(re.compile("ema="))
        assert last.evaluate(DRAWN) != last_rough
        assert first.evaluate(DRAWN) == first_rough
        charts.first.scroll_into_view_if_needed()
        page.wait_for_function(
            "([canvas, before]) => canvas.toDataURL() !== before", arg=[first.element_handle(), first_rough]
        )
        count = "window.printed = document.querySelectorAll('section [role=img] canvas').length"
        page.evaluate(f"addEventListener('afterprint', () => {{ {count} }})")
        page.pdf()
        assert page.evaluate("window.printed") == len(names)
