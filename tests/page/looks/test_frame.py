"""The frame in a real browser: palette, run picker, marks, other tabs and other viewers, where one was."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.support import Viewer, go, viewing
from tests.server.support import lines, relax_run, row

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, of three steps and of six."""
    folder = tmp_path_factory.mktemp("frame")
    relax_run(folder / "runs/first")
    relax_run(folder / "runs/second", steps=6)
    return folder / "runs"


@pytest.fixture(scope="module")
def index_dir(runs: Path) -> Path:
    """Where their index is, which is made once."""
    return runs.parent / "index"


@pytest.fixture
def viewer(runs: Path, index_dir: Path, tmp_path: Path) -> Iterator[Viewer]:
    """A server over both, with a state of its own."""
    with viewing(runs, index_dir=index_dir, state_dir=str(tmp_path / "state"), settled=True) as started:
        yield started


@pytest.fixture(scope="module")
def reading(runs: Path, index_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """The same, for tests that add nothing."""
    state_dir = str(tmp_path_factory.mktemp("state"))
    with viewing(runs, index_dir=index_dir, state_dir=state_dir, settled=True) as started:
        yield started


def opened(page: Page, viewer: Viewer, where: str) -> None:
    """Open an address, logged in."""
    page.goto(viewer.to(where))


def at(page: Page, sample: str) -> None:
    """Wait until the page shows that sample."""
    expect(page).to_have_url(re.compile(rf"sample={sample}\b"))
    expect(page.get_by_role("heading", name=re.compile(r"Sample \d"))).to_be_visible()


@contextmanager
def kept(page: Page) -> Iterator[None]:
    """Wait, at the end of the block, until the server has kept what is changed in it."""
    with page.expect_response(lambda reply: reply.request.method == "POST" and "/api/state" in reply.url):
        yield


def until(page: Page, check: str, given: object = None) -> None:
    """Wait until a function of the page says yes. The page's policy forbids Playwright's own way."""
    for _ in range(600):
        if page.evaluate(check, given):
            return
        page.wait_for_timeout(50)
    raise AssertionError(check)


def test_the_palette_finds_pages_runs_steps_samples_and_deeds(page: Page, reading: Viewer) -> None:
    opened(page, reading, "runs/first")
    at(page, "train/2/0/0")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name=re.compile("Find a page"))
    field.fill("next sam")
    expect(page.locator("#found [aria-selected=true]")).to_contain_text("Next sample")
    field.press("Enter")
    at(page, "train/2/0/1")
    for words, address in (
        ("1", "sample=train/1/"), ("train/0/1/5", "sample=train/0/1/5"), ("sec", "runs/second"), ("setti", "settings"),
    ):  # fmt: skip
        page.keyboard.press("Control+k")
        field.fill(words)
        field.press("Enter")
        expect(page).to_have_url(re.compile(address))
        expect(field).to_be_hidden()
    page.keyboard.press("Control+k")
    field.fill("zzzz")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()


def name_and_overlay(page: Page, viewer: Viewer) -> None:
    """A run gets a name, a colour and company in the chart."""
    opened(page, viewer, "runs/first")
    at(page, "train/2/0/0")
    page.get_by_role("button", name=re.compile("^Run")).click()
    page.get_by_role("button", name="Overlay the curves of second").click()
    expect(page).to_have_url(re.compile("over=second"))
    expect(page.get_by_role("list", name="Runs in the chart")).to_contain_text("second")
    page.get_by_role("button", name="Name, colour and note of second").click()
    page.get_by_label("Name", exact=True).fill("with a longer prompt")
    page.get_by_role("button", name="violet").click()
    expect(page.get_by_role("button", name="violet")).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Note", exact=True).fill("seed 2")
    with page.expect_response(lambda reply: "seed 2" in (reply.request.post_data or "")):
        page.keyboard.press("Escape")
    legend = page.get_by_role("list", name="Runs in the chart")
    expect(legend).to_contain_text("with a longer prompt")
    page.reload()
    expect(legend).to_contain_text("with a longer prompt")
    page.get_by_role("button", name=re.compile("^Run")).click()
    page.get_by_label("Find a run").fill("seed")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"runs/second"))
    expect(page.get_by_role("banner")).to_contain_text("with a longer prompt")
    page.get_by_role("button", name=re.compile("^Run")).click()
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-row='0'] a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"runs/first"))


def mark_and_note(page: Page, viewer: Viewer) -> None:
    """Bookmarks and notes are kept, listed and taken away."""
    go(page, viewer, "runs/first?sample=train/1/0/2")
    at(page, "train/1/0/2")
    page.keyboard.press("b")
    expect(page.get_by_role("button", name="Bookmark", exact=True)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("n")
    page.keyboard.type("<b>odd</b> & long")
    expect(page.get_by_text("Ctrl Enter saves, Esc cancels")).to_be_visible()
    field = page.get_by_role("textbox", name="Note on this sample")
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    page.keyboard.press("n")
    expect(field).to_have_value("<b>odd</b> & long")  # what was written
    expect(page.get_by_text("restored draft")).to_be_visible()
    page.keyboard.press("ArrowRight")  # moves in the note, not to the next sample
    with kept(page):
        page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Note: <b>odd</b> & long")).to_be_visible()
    page.keyboard.press("ArrowRight")
    at(page, "train/1/0/3")
    with kept(page):
        page.keyboard.press("b")
    page.reload()
    expect(page.get_by_role("button", name="Bookmark", exact=True)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name=re.compile("^Bookmarks")).click()
    rows = page.locator("main ol > li")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Answer 3")
    expect(rows.last).to_contain_text("Answer 2")
    page.get_by_label("Find in bookmarks and notes").fill("odd")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile("find=odd"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    taken = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert [(one["id"], one["note"]) for one in taken] == [("train/1/0/2", "<b>odd</b> & long"), ("train/1/0/3", "")]
    page.get_by_role("link", name="train/1/0/2").click()
    at(page, "train/1/0/2")
    page.go_back()
    page.get_by_role("button", name="Remove the bookmark and the note of train/1/0/2").click()
    expect(rows).to_have_count(0)


GOES_TO = """async ({key, ctrlKey, press}) => {
  const at = document.activeElement;
  if (press) document.querySelector(press).click();
  else at.dispatchEvent(new KeyboardEvent('keydown', {key, ctrlKey, bubbles: true, cancelable: true}));
  for (let n = 0; n < 9; n += 1) await null;
  return document.activeElement.getAttribute('aria-label') ?? document.activeElement.closest('label')?.innerText;
}"""
"""Where the focus is before the browser can take another key: a frame later letters would be lost on a slow machine."""


def test_what_is_typed_right_after_a_key_lands_in_the_field_that_it_opens(page: Page, reading: Viewer) -> None:
    opened(page, reading, "runs/first?sample=train/1/0/2")
    at(page, "train/1/0/2")
    runs = "[aria-haspopup=dialog]:has(small)"

    def typed(label: str, *escapes: str, **act: object) -> None:
        """The field of this name has the focus at once, and the letters typed into it."""
        assert page.evaluate(GOES_TO, act) == label
        page.keyboard.type("12")
        assert page.evaluate("document.activeElement.value") == "12"
        for key in escapes:
            page.keyboard.press(key)

    typed("Filter", "Escape", "Escape", key="f")
    page.get_by_role("button", name="Hide the list").click()
    typed("Filter", "Escape", "Escape", key="f")
    typed("Find in this sample", "Escape", key="F")
    typed("Note on this sample", "Escape", key="n")
    typed(
        "Find a page, a run, a step, a sample, a metric, a bookmark, or something to do",
        "Escape",
        key="k",
        ctrlKey=True,
    )
    typed("Find a step", "Escape", press="[role=group][aria-label=Step] [aria-haspopup=dialog]")
    typed("Find a run", "Escape", press=runs)
    assert page.evaluate(GOES_TO, {"press": runs}) == "Find a run"
    typed("Name", "Control+a", "Delete", press="[aria-label='Name, colour and note of first']")
    page.keyboard.press("Escape")

    # What is chosen in the palette may open a field, too.
    page.keyboard.press("Control+k")
    page.keyboard.type("filter the")
    assert page.evaluate(GOES_TO, {"key": "Enter"}) == "Filter"
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    typed("Search for a text", key="/")
    expect(page).to_have_url(re.compile("q=12"))


def test_what_is_added_is_kept_and_two_viewers_see_each_other_and_lose_nothing(
    page: Page, other: Page, viewer: Viewer, runs: Path, index_dir: Path, tmp_path: Path
) -> None:
    name_and_overlay(page, viewer)
    mark_and_note(page, viewer)
    go(page, viewer, "runs/first?sample=train/1/0/2")
    at(page, "train/1/0/2")
    with viewing(runs, index_dir=index_dir, state_dir=str(tmp_path / "state")) as second:
        opened(other, second, "runs/first?sample=train/1/0/2")
        at(other, "train/1/0/2")
        page.keyboard.press("b")
        marked = other.get_by_role("button", name="Bookmark", exact=True)
        expect(marked).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("n")
        page.keyboard.type("what I wrote")
        other.keyboard.press("n")
        other.keyboard.type("what the other wrote")
        other.keyboard.press("Control+Enter")
        expect(other.get_by_role("button", name="Note: what the other wrote")).to_be_visible()
        expect(page.get_by_label("Note on this sample")).to_have_value("what I wrote")
        key = "{'x-rolloupe-key': localStorage.getItem('rolloupe.key/')}"
        items = f"fetch('api/state', {{headers: {key}}}).then(r => r.json()).then(r => r.items)"
        until(page, f"() => {items}.then(all => all.some(one => one.sample_mark?.note === 'what the other wrote'))")
        page.keyboard.press("Control+Enter")
        card = page.get_by_role("dialog", name="Changed in two places")
        expect(card).to_contain_text("what the other wrote")
        expect(card).to_contain_text("what I wrote")
        card.get_by_role("button", name="Keep mine").click()
        expect(other.get_by_role("button", name="Note: what I wrote")).to_be_visible()


def test_a_link_can_be_copied_by_hand_where_the_clipboard_is_closed(page: Page, reading: Viewer) -> None:
    page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined}); document.execCommand = () => false"
    )
    opened(page, reading, "runs/first?sample=train/1/0/2")
    at(page, "train/1/0/2")
    page.keyboard.press("y")
    field = page.get_by_role("dialog").get_by_label("Link")
    expect(field).to_have_value(page.url)
    assert page.evaluate("document.getSelection().toString() || document.activeElement.value") == page.url
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()


@pytest.mark.slow
def test_back_and_reload_bring_back_how_far_one_had_read(page: Page, tmp_path: Path) -> None:
    train = tmp_path / "long/rollout_result/train"
    train.mkdir(parents=True)
    text = "\n\n".join(f"Paragraph {n} of an answer." for n in range(30))
    chat = [{"role": "user" if n % 2 else "assistant", "content": f"Turn {n}\n{text}"} for n in range(12)]
    (train / "0.jsonl").write_bytes(lines(row(0, n, prompt=chat) for n in range(200)))
    with viewing(tmp_path / "long", index_dir=tmp_path / "index2", state_dir=str(tmp_path / "state")) as viewer:
        page.goto(viewer.link)
        at(page, "train/0/0/0")
        pane, rows = page.locator("[data-scroll='sample']"), page.locator("[data-scroll='list']")
        until(page, "() => document.querySelector('[data-scroll=sample]').scrollHeight > 3000")
        pane.evaluate("pane => pane.scrollTop = 1500")
        rows.evaluate("pane => pane.scrollTop = 900")
        until(page, "() => history.state?.scroll?.sample > 1000 && history.state?.scroll?.list > 500")
        read = """([sample, list]) => Math.abs(document.querySelector('[data-scroll=sample]')?.scrollTop - sample) < 40
                  && Math.abs(document.querySelector('[data-scroll=list]')?.scrollTop - list) < 40"""
        held = page.evaluate("[history.state.scroll.sample, history.state.scroll.list]")
        page.reload()
        at(page, "train/0/0/0")
        until(page, read, held)
        page.get_by_role("link", name=re.compile("^Run:")).click()
        expect(pane).to_be_hidden()
        page.go_back()
        at(page, "train/0/0/0")
        until(page, read, held)
        page.keyboard.press("ArrowRight")
        at(page, "train/0/0/1")
        read_to_the_end = """() => {
            const pane = document.querySelector('[data-scroll=sample]');
            if (pane === null || pane.scrollTop < 2000) return false;
            return pane.scrollHeight - pane.scrollTop - pane.clientHeight < 300;
        }"""
        until(page, read_to_the_end)  # where the model stopped, and not at the place of the sample before


@pytest.mark.slow
def test_settings_use_the_width_of_the_window(page: Page, viewer: Viewer) -> None:
    opened(page, viewer, "settings")
    for width, columns in ((1720, 3), (1000, 2), (390, 1)):
        page.set_viewport_size({"width": width, "height": 900})
        expect(page.get_by_role("region", name="Cache")).to_contain_text("Index on disk")
        lefts = page.locator("main section").evaluate_all(
            "all => [...new Set(all.map(e => e.getBoundingClientRect().x))]"
        )
        assert len(lefts) == columns, (width, lefts)


@pytest.mark.slow
def test_settings_follow_the_person_to_another_browser(page: Page, other: Page, viewer: Viewer) -> None:
    opened(page, viewer, "settings")
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Colour-blind safe").click()
    opened(other, viewer, "settings")
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    expect(other.locator("html")).to_have_attribute("data-reward", "safe")
    other.get_by_role("button", name="Light", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    expect(page.locator("html")).to_have_attribute("data-reward", "safe")
    # A choice that is made before the page has heard what was kept counts, too.
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    other.route("**/api/state?*", hold)
    other.reload()
    other.get_by_role("button", name="Dark", exact=True).click()
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    for route in held:
        route.continue_()
    other.unroute("**/api/state?*")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_bookmark_that_cannot_be_kept_is_told_and_kept_by_another_try(
    page: Page, runs: Path, index_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("where the folder would be")
    with viewing(runs, index_dir=index_dir, state_dir=str(tmp_path / "file"), settled=True) as viewer:
        page.add_init_script("delete window.SharedWorker")
        page.route("**/api/events*", lambda route: route.abort())  # a stream that comes up would try again by itself
        opened(page, viewer, "runs/first?sample=train/1/0/2")
        at(page, "train/1/0/2")
        page.keyboard.press("b")
        expect(page.get_by_role("button", name="Bookmark", exact=True)).to_have_attribute("aria-pressed", "true")
        expect(page.get_by_text(re.compile("could not be saved"))).to_be_visible()
        page.get_by_role("link", name=re.compile("^Bookmarks")).click()
        expect(page.get_by_text(re.compile("^Changes cannot be saved"))).to_be_visible()
        expect(page.locator("main ol > li")).to_have_count(0)
        (tmp_path / "file").unlink()
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("main ol > li")).to_have_count(1)
        expect(page.get_by_text(re.compile("could not be saved"))).to_have_count(0)
        page.reload()
        expect(page.locator("main ol > li")).to_have_count(1)
