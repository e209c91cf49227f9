"""The search in a real browser: typed, counted, narrowed, gone through by keys, opened at its places, and back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.index.support import eventually
from tests.page.support import Viewer, go, viewing
from tests.query.search.test_reports import logged
from tests.server.support import lines, row

pytestmark = pytest.mark.browser

MARKED = """() => [...(CSS.highlights.get('search') ?? [])].map(range => range.toString())"""


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Two runs: three steps of 80 samples, half of which hold a needle among what is hostile; and one without."""
    folder = tmp_path_factory.mktemp("runs")
    for name, steps in (("first", 3), ("second", 1)):
        train = folder / name / "rollout_result" / "train"
        train.mkdir(parents=True)
        for step in range(steps):
            rows = [row(step, n, response=text_of(name, n)) for n in range(80)]
            (train / f"{step}.jsonl").write_bytes(lines(rows))
    with viewing(folder, index_dir=tmp_path_factory.mktemp("index"), settled=True) as viewer:
        yield viewer


def text_of(name: str, n: int) -> str:
    if name == "second" or n % 2:
        return f"Only hay {n} here, and a second haystack."
    more = "filler 😀 " * 400 + "another Needle at the end" if n == 4 else ""
    return f"<img src=x onerror=alert(1)> \u202e😀 the Needle {n} (1+1)+$ stands here. {more}"


def test_a_search_from_the_key_to_the_sample_and_back(viewer: Viewer, page: Page) -> None:
    page.goto(viewer.link)
    page.get_by_role("link", name="first").first.click()
    expect(page.locator("article").first).to_be_visible()
    page.keyboard.press("/")
    field = page.get_by_role("searchbox")
    expect(field).to_be_focused()
    field.press_sequentially("needle")
    said = page.locator("search ~ div").get_by_role("status")
    expect(said).to_contain_text("120 samplesof 240 samples")
    page.get_by_role("group", name="Where").get_by_role("button", name="Step 2").click()
    expect(said).to_contain_text("40 samplesof 80 samples")
    page.get_by_role("group", name="Where").get_by_role("button", name="first").click()
    expect(said).to_contain_text("120 samplesof 240 samples")
    hits = page.locator("a[data-hit]")
    expect(hits).to_have_count(100)
    expect(page.locator("main ol h2").first).to_have_text("train · step 2")
    expect(hits.first.locator("mark")).to_have_text("Needle")
    assert page.locator("main img").count() == 0
    page.get_by_role("button", name="Show more").dispatch_event("click")  # to scroll there asks for more, too
    expect(hits).to_have_count(120)
    expect(page.locator("main ol h2")).to_have_text(["train · step 2", "train · step 1", "train · step 0"])

    # by keys to a hit, and into the sample, whose places are marked
    field.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expect(hits.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    bar = page.get_by_role("group", name="Search")
    expect(bar).to_contain_text("1 of 2 places")
    eventually(lambda: len(page.evaluate(MARKED)) == 2)
    assert page.evaluate(MARKED) == ["Needle", "Needle"]
    assert "sample=train/2/1/4" in page.url and "q=needle" in page.url
    bar.get_by_role("button", name="Next place").click()
    expect(bar).to_contain_text("2 of 2 places")
    expect(page.get_by_text("another Needle at the end")).to_be_in_viewport()
    bar.get_by_role("link", name="Next hit").click()
    expect(bar).to_contain_text("1 of 1 place")
    page.wait_for_url("**sample=train/2/1/6**")

    # a link holds it; Back leads to the results, which stand where they were
    link = page.url
    page.go_back()
    page.go_back()
    expect(hits).to_have_count(120)
    expect(hits.nth(2)).to_be_focused()
    page.goto(link)
    eventually(lambda: len(page.evaluate(MARKED)) == 1)
    page.get_by_role("button", name="Unmark").click()
    eventually(lambda: len(page.evaluate(MARKED)) == 0)


def choose_options_and_scopes(viewer: Viewer, page: Page) -> None:
    """Options and scopes, and what cannot be read."""
    page.goto(viewer.to("search?q=needle&all=1"))
    said = page.locator("search ~ div").get_by_role("status")
    expect(said).to_contain_text("120 samplesof 320 samples")
    expect(page.locator("main ol h2").first).to_have_text("firsttrain · step 2")
    page.get_by_role("button", name="Match case").click()
    expect(said).to_contain_text("Nothing found")
    page.get_by_role("button", name="Match case").click()
    field = page.get_by_role("searchbox")
    field.fill("Need(le")
    expect(said).to_contain_text("Nothing found")
    page.get_by_role("button", name="Regular expression").click()
    expect(page.get_by_role("alert")).to_contain_text("at character 5: missing )")
    field.fill("(a+)+$|Need(le)")
    expect(said).to_contain_text("120 samples")
    field.fill("needle")
    page.get_by_role("combobox", name="in").select_option("user")
    expect(said).to_contain_text("Nothing found")
    page.get_by_role("combobox", name="in").select_option("assistant")
    expect(said).to_contain_text("120 samples")
    expect(page.locator("a[data-hit]").first).to_contain_text("assistant")
    page.reload()
    expect(said).to_contain_text("120 samples")
    expect(page.get_by_role("combobox", name="in")).to_have_value("assistant")
    page.get_by_role("combobox", name="in").select_option("")
    page.get_by_role("button", name="Regular expression").click()
    field.fill("needl")
    expect(said).to_contain_text("120 samples")
    page.get_by_role("button", name="Whole words").click()
    expect(said).to_contain_text("Nothing found")
    field.fill("needle")
    expect(said).to_contain_text("120 samples")
    go(page, viewer, "search?run=first&split=train&step=1&q=needle")
    expect(said).to_contain_text("40 samplesof 80 samples")
    where = page.get_by_role("group", name="Where")
    where.get_by_role("button", name="All runs").click()
    expect(said).to_contain_text("120 samplesof 320 samples")
    where.get_by_role("button", name="Step 1").click()
    expect(said).to_contain_text("40 samplesof 80 samples")
    go(page, viewer, "search?run=first&split=train&step=1&q=nowhere")
    page.get_by_role("button", name="Search the whole run").click()
    expect(said).to_contain_text("Nothing foundof 240 samples")


def count_and_order(viewer: Viewer, page: Page) -> None:
    """Hits are counted by step and run, and the oldest may come first."""
    page.set_viewport_size({"width": 1440, "height": 900})
    go(page, viewer, "search?run=first&split=train&step=1&scope=run&q=needle")
    bars = page.get_by_role("region", name="Found in train, by step").get_by_role("link")
    expect(bars).to_have_count(3)
    expect(bars.nth(1)).to_have_accessible_name("Step 1: 40 samples")
    headings = page.locator("main ol h2")
    expect(headings.first).to_have_text("train · step 2")
    page.get_by_role("button", name="Oldest first").click()
    expect(headings.first).to_have_text("train · step 0")
    expect(page).to_have_url(re.compile("order=oldest"))
    bars.last.focus()
    page.keyboard.press("ArrowLeft")
    expect(bars.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    said = page.locator("search ~ div").get_by_role("status")
    expect(said).to_contain_text("40 samplesof 80 samples")
    expect(page.get_by_role("group", name="Where").get_by_role("button", name="Steps 1–1")).to_be_visible()

    go(page, viewer, "search?q=h&all=1")  # the hay of one run and the other
    runs = page.get_by_role("region", name="Found by run").get_by_role("link")
    expect(runs).to_have_text(["first240", "second80"])
    form, aside = page.get_by_role("search").bounding_box(), page.get_by_role("complementary").bounding_box()
    assert form and aside and aside["x"] > 900  # beside the results
    runs.last.click()
    expect(said).to_contain_text("80 samplesof 80 samples")
    go(page, viewer, "search")
    page.get_by_role("link", name="Excuses").click()
    expect(page.get_by_role("searchbox")).to_have_value(re.compile("sorry"))


def test_a_search_has_options_scopes_counts_and_an_order(viewer: Viewer, page: Page) -> None:
    choose_options_and_scopes(viewer, page)
    count_and_order(viewer, page)


@pytest.mark.slow
def test_the_page_of_360_pixels_does_not_scroll_sideways(viewer: Viewer, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(viewer.to("search?q=needle&all=1"))
    expect(page.locator("a[data-hit]")).to_have_count(100)
    assert page.evaluate("[...document.querySelectorAll('main, body')].every(e => e.scrollWidth <= e.clientWidth)")


@pytest.mark.slow
def test_a_logged_conversation_leads_into_the_report(page: Page, tmp_path: Path) -> None:
    with viewing(logged(tmp_path / "run"), index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        expect(page.get_by_text("1 of 1").first).to_be_visible()
        page.keyboard.press("/")
        page.get_by_role("searchbox").press_sequentially("verdict")
        found = page.get_by_role("region", name="Logged conversations without a sample")
        expect(found.locator("a[data-hit]")).to_have_count(3)
        expect(page.locator("a[data-hit]")).to_have_count(6)
        expect(found.locator("mark").first).to_have_text("verdict")
        page.locator("a[data-hit]").nth(3).focus()
        page.keyboard.press("ArrowDown")
        expect(found.locator("a[data-hit]").nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        place = page.locator("main[aria-label=Report] :focus")
        expect(place).to_contain_text("A verdict: no, it is not.")
        expect(place).to_be_in_viewport()
        assert "/report?" in page.url and "step=1" in page.url and "at=1.1" in page.url
        page.go_back()
        expect(found.locator("a[data-hit]").nth(1)).to_be_focused()
        page.go_forward()
        page.reload()
        expect(place).to_contain_text("A verdict: no, it is not.")
