"""The runs of the page of metrics: their list beside the charts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from rolloupe import Recorder
from rolloupe.record.folder import own_launches
from tests.page.support import Viewer, go, viewing

pytestmark = pytest.mark.browser

RATES = {"first": 0.5, "second": 0.1, "third": 0.1}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Runs whose rewards are their number by step, with configurations that differ in the rate."""
    folder = tmp_path_factory.mktemp("three")
    for number, (name, rate) in enumerate(RATES.items(), 1):
        own_launches.clear()  # as another process would
        with Recorder(folder / name, code=None, config={"optim": {"lr": rate}, "task": "sums"}) as run:
            for step in range(6):
                run.sample(step=step, group="0", index=0, prompt="?", response="!", reward=number / 4)
                run.metrics(step, {"kl": 0.1 * number, "loss": 0.5})
    with viewing(folder, index_dir=tmp_path_factory.mktemp("index"), settled=True) as viewer:
        yield viewer


def list_and_choose(page: Page, three: Viewer) -> None:
    """The runs in the charts are listed, added, hidden and taken out."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(three.to("runs/first/metrics"))
    listed = page.get_by_role("list", name="Runs in the charts").get_by_role("listitem")
    expect(listed).to_have_text(["first0.250"])
    page.get_by_role("button", name="Compare with another run").press("Enter")
    find = page.get_by_role("combobox", name="Find a run to add")
    expect(find).to_be_focused()
    find.fill("sec")
    find.press("Enter")
    expect(listed).to_have_text(["first0.250lr 0.5", re.compile(r"^second0\.500lr 0\.1")])
    page.get_by_role("combobox", name="Find a run to add").fill("third")
    page.get_by_role("option", name="third").click()
    expect(page).to_have_url(re.compile("over=second&over=third"))
    expect(page.get_by_role("button", name="Add a run")).to_have_count(0)  # the library has no other

    kl = page.get_by_role("region", name="KL by step")
    expect(kl.get_by_role("link", name="open its")).to_have_text("0.100")
    expect(kl.get_by_text("last", exact=True)).to_be_visible()
    expect(kl.get_by_text("second: 0.200")).to_be_attached()
    listed.nth(1).get_by_role("button", pressed=True).click()
    expect(kl.get_by_text("second: 0.200")).to_have_count(0)
    expect(kl.get_by_text("third: 0.300")).to_be_attached()
    page.reload()
    listed.nth(1).get_by_role("button", pressed=False).first.click()
    expect(kl.get_by_text("second: 0.200")).to_be_attached()
    page.get_by_role("button", name="Remove third from the charts").press("Enter")
    expect(listed).to_have_count(2)
    expect(page.get_by_role("button", name="Add a run")).to_be_visible()


def measure_a_row(page: Page, three: Viewer) -> None:
    """The charts of a row are of one height, whatever the pointer says."""
    go(page, three, "runs/first/metrics?over=second&over=third")
    charts = page.get_by_role("region", name="by step").get_by_role("img")
    expect(charts.first).to_be_visible()
    expect(page.get_by_role("region", name="KL by step").get_by_text("third: 0.300")).to_be_attached()

    def places() -> list[tuple[float, float]]:
        boxes = [chart.bounding_box() for chart in charts.all()]
        return [(box["y"], box["height"]) for box in boxes if box is not None]

    before = places()
    assert len(before) > 2 and {height for _, height in before} == {128}
    charts.first.hover(position={"x": 60, "y": 40})
    expect(page.get_by_text("step 0", exact=True).first).to_be_visible()
    assert places() == before


def test_the_runs_of_the_charts(page: Page, three: Viewer) -> None:
    list_and_choose(page, three)
    measure_a_row(page, three)


def test_a_narrow_screen_shows_a_chart_above_its_menu_and_a_slow_page_says_so(page: Page, three: Viewer) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.set_viewport_size({"width": 390, "height": 844})
    page.route(re.compile("/catalogue"), hold)
    page.goto(three.to("runs/first/metrics"))
    loading = page.get_by_role("main").get_by_text("Loading", exact=True)
    expect(loading).to_have_css("clip-path", "none")
    expect(loading).to_have_css("opacity", "1")
    for route in held:
        route.continue_()
    page.unroute_all()

    kl = page.get_by_role("region", name="KL by step")
    kl.get_by_role("button", name="Menu of KL").click()
    menu = page.get_by_role("dialog", name="Menu of KL").bounding_box()
    drawn = kl.get_by_role("img").first.bounding_box()
    assert menu is not None and drawn is not None
    bar = page.get_by_role("banner").bounding_box()
    assert bar is not None and bar["y"] == 0 and drawn["y"] >= bar["height"]
    assert drawn["y"] + drawn["height"] <= menu["y"]
    assert menu["height"] >= 200 and menu["y"] + menu["height"] <= 844 - 48


def test_many_runs_are_added_at_a_press(page: Page, tmp_path: Path) -> None:
    for number in range(15):
        own_launches.clear()  # as another process would
        with Recorder(tmp_path / "runs" / f"run{number:02}", code=None) as run:
            for step in range(3):
                run.metrics(step, {"train/kl": 0.1 * (number + 1), "eval/kl": 9.0})
    page.set_viewport_size({"width": 1440, "height": 900})
    with viewing(tmp_path / "runs", index_dir=tmp_path / "index", settled=True) as viewer:
        page.goto(viewer.to("runs/run00/metrics"))
        page.get_by_role("button", name="Add all 14 others").click()
        expect(page.get_by_role("list", name="Runs in the charts").get_by_role("listitem")).to_have_count(15)
        kl = page.get_by_role("region", name="KL by step", exact=True)
        kl.get_by_role("img").hover(position={"x": 60, "y": 40})
        expect(kl.get_by_role("list", name="Values")).to_have_text("KL0.100 to 1.50 in 15 runs")


def test_with_several_runs_an_alarm_names_its_run_and_a_distribution_is_of_a_chosen_one(
    page: Page, tmp_path: Path
) -> None:
    for name in RATES:
        own_launches.clear()  # as another process would
        with Recorder(tmp_path / "runs" / name, code=None) as run:
            for step in range(12):
                for index in range(4):
                    run.sample(step=step, group="0", index=index, prompt="?", response="!", reward=index / 4)
                run.metrics(step, {"loss": float("nan") if (name, step) == ("second", 4) else 0.5})
    with viewing(tmp_path / "runs", index_dir=tmp_path / "index", settled=True) as viewer:
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(viewer.to("runs/first/metrics?over=second&over=third"))
        alarms = page.get_by_role("list", name="Alarms").get_by_role("listitem")
        expect(alarms).to_have_count(1)
        expect(alarms).to_contain_text("second: ")
        expect(page.get_by_role("heading", name="Worth a look")).to_contain_text("checked, 3 runs")

        mixed = page.get_by_role("region", name="Groups by step").get_by_role("list", name="Curves")
        expect(mixed.get_by_role("button", pressed=True)).to_have_text(["Mixed"])
        mixed.get_by_role("button", name="All wrong", pressed=False).first.click()
        expect(mixed.get_by_role("button", pressed=True)).to_have_text(["Mixed", "All wrong"])

        map_of = page.get_by_role("combobox", name="Run of Reward distribution")
        expect(map_of).to_have_value("first")
        map_of.select_option("third")
        expect(page).to_have_url(re.compile("map=third"))
        cells = page.get_by_role("slider", name="Distribution of Reward distribution by step")
        cells.focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("runs/third[?].*over=first&over=second"))
        page.go_back()

        alarms.get_by_role("link", name="Samples of step 4").click()
        expect(page).to_have_url(re.compile("runs/second[?].*step=4.*over=first&over=third"))
