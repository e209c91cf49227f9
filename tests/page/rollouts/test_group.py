"""A group side by side, in a real browser."""

import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.rollouts.test_sample import HACK, HOSTILE
from tests.page.support import Viewer, go, viewing
from tests.page.tasks import quick
from tests.server.support import lines, relax_run, row

pytestmark = pytest.mark.browser

HEAD = "<think>First of all, "
TEXTS = [
    f"{HEAD}I add.</think>\n\nIt is **4**.",
    f"{HEAD}I multiply.</think>\n\nIt is **5**.",
    f"{HEAD}I add.</think>\n\nIt is **4**.",
    "",
]
LONG = "The same sentence. " * 400

STRANGE = """() => [...document.querySelectorAll('main *')].flatMap(e => [
  .../^(img|script|iframe|style|form|object|embed|link|meta|base)$/i.test(e.tagName) ? [e.tagName] : [],
  ...[...e.attributes].filter(a => /^on|^srcdoc$/i.test(a.name)).map(a => a.name),
])"""


def group(step: int, number: int, texts: list[str], prompt: str) -> list[dict[str, Any]]:
    return [
        row(step, 100 * number + n, group_index=f"{number}-{step}", prompt=prompt, response=text, reward=float(n == 0))
        for n, text in enumerate(texts)
    ]


def made(folder: Path, steps: int) -> None:
    train = relax_run(folder, steps=0)
    for step in range(steps):
        rows = group(step, 1, TEXTS, "How much?") + group(step, 2, [f"{LONG}A", f"{LONG}B"], f"Question {step}")
        rows += group(step, 3, [f"Same {text}" for text in HOSTILE], f"{HOSTILE[0]} {step}")
        (train / f"{step}.jsonl").write_bytes(lines(rows))


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Two runs, of three steps and of one."""
    folder = tmp_path_factory.mktemp("group")
    made(folder / "runs/alpha", 3)
    made(folder / "runs/beta", 1)
    with viewing(folder / "runs", index_dir=folder / "index", settled=True) as started:
        yield started


def column(page: Page, number: int) -> Locator:
    return page.get_by_role("region", name=f"Sample {number}", exact=True)


def test_a_group_stands_side_by_side(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.to("runs/alpha?sample=train/1/1-1/100"))
    expect(page.get_by_role("heading", name="Sample 1 of 4")).to_be_visible()
    page.keyboard.press("v")
    expect(page).to_have_url(re.compile("view=group"))
    main = page.get_by_role("main", name="Group")
    expect(main.get_by_role("heading", name="Group of 4")).to_be_visible()

    # where they part, from the best by reward
    expect(column(page, 1)).to_contain_text("the one the others are compared with")
    expect(column(page, 2).locator("mark")).to_have_text("multiply.")
    expect(column(page, 2)).to_contain_text("differs from Sample 1 after 16 characters")
    expect(column(page, 3)).to_contain_text("is identical to Sample 1")
    expect(column(page, 4)).to_contain_text("No answer.")
    assert "It is **5**." in column(page, 2).inner_text(), "verbatim"

    # the keyboard goes from column to column, and Back to where it began
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("sample=train/1/1-1/101"))
    expect(column(page, 2)).to_have_attribute("aria-current", "true")
    page.go_back()
    expect(page).to_have_url(re.compile("sample=train/1/1-1/100.*view=group"))
    page.go_back()
    expect(page.get_by_role("heading", name="Sample 1 of 4")).to_be_visible()
    page.go_forward()

    # word by word, with another one, and the same from the link alone
    page.get_by_label("Compared with").select_option(label="Sample 3 · reward 0.00")
    page.keyboard.press("ArrowRight")
    page.locator("header h1").click()
    page.keyboard.press("d")
    expect(page.get_by_text("Marked words are not in the other one")).to_be_visible()
    expect(page).to_have_url(re.compile("against=train/1/1-1/102&diff=1"))
    expect(column(page, 2).locator("mark")).to_have_text(["multiply", "5"])
    expect(column(page, 3).locator("mark")).to_have_text(["add", "4"])
    page.reload()
    expect(column(page, 2).locator("mark")).to_have_count(2)

    # chosen in the table
    page.get_by_role("button", name="Table").last.click()
    page.get_by_label("Sample 2: side by side").check()
    page.get_by_label("Sample 4: side by side").check()
    page.get_by_role("button", name="Show 2 side by side").click()
    page.get_by_role("button", name="Columns").click()
    expect(column(page, 2)).to_be_visible()
    expect(column(page, 1)).to_have_count(0)
    assert page.url.count("only=") == 2
    page.get_by_role("button", name="2 chosen: show all 4").click()
    expect(column(page, 1)).to_be_visible()

    # the same prompt elsewhere
    page.get_by_text("Same prompt").click()
    strip = page.get_by_role("list", name="This prompt in train, by step")
    expect(strip.first.get_by_role("link")).to_have_count(3)
    expect(page.get_by_role("region", name="In run beta").get_by_role("link")).to_have_count(1)
    with page.expect_response(re.compile("runs/beta/prompt")):  # what was found before is gone by then
        strip.first.get_by_role("link", name="step 2").click()
    expect(page).to_have_url(re.compile("runs/alpha.*sample=train/2/1-2/100.*view=group"))
    page.get_by_role("region", name="In run beta").get_by_role("link").click()
    expect(page).to_have_url(re.compile("runs/beta.*sample=train/0/1-0/100.*view=group"))
    expect(column(page, 2)).to_be_visible()

    # from the row of a group
    go(page, viewer, "runs/alpha?sample=train/0/1-0/100")
    page.get_by_role("button", name="Side by side").nth(1).click()
    expect(page).to_have_url(re.compile("sample=train/0/2-0/200.*view=group"))

    # what all begin with is folded where it is long
    go(page, viewer, "runs/alpha?sample=train/0/2-0/200&view=group")
    expect(column(page, 2).locator("mark")).to_have_text("B")
    page.get_by_role("button", name="7,000 characters before this").first.click()
    expect(column(page, 1)).to_contain_text(LONG)


@pytest.mark.slow
def test_a_table_fades_at_the_edge_where_it_has_more(page: Page, tmp_path: Path) -> None:
    made(tmp_path / "runs" / "alpha", 1)
    page.set_viewport_size({"width": 390, "height": 780})
    with viewing(tmp_path / "runs", index_dir=tmp_path / "index", settled=True) as viewer:
        page.goto(viewer.to("runs/alpha?sample=train/0/1-0/100&view=group&as=table"))
        table = page.get_by_role("region", name="Samples of this group")
        expect(table.get_by_role("row")).to_have_count(5)
        mask = "element => getComputedStyle(element).maskImage"
        expect(table).to_have_attribute("data-edges", "right")
        assert "linear-gradient" in table.evaluate(mask)
        table.evaluate("element => element.scrollTo(40, 0)")
        expect(table).to_have_attribute("data-edges", "left right")
        table.evaluate("element => element.scrollTo(10_000, 0)")
        expect(table).to_have_attribute("data-edges", "left")
        page.set_viewport_size({"width": 1720, "height": 780})
        expect(table).to_have_attribute("data-edges", "")
        assert table.evaluate(mask) == "none"


def test_hostile_answers_stay_text_side_by_side(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 360, "height": 780})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(viewer.to("runs/alpha?sample=train/0/3-0/301"))
    for more in ("", "&as=table", "&diff=1"):
        go(page, viewer, f"runs/alpha?sample=train/0/3-0/301&view=group{more}")
        expect(page.get_by_role("heading", name=f"Group of {len(HOSTILE)}")).to_be_visible()
        if not more:
            expect(column(page, 2)).to_contain_text(HACK)
            visible = [one.is_visible() for one in page.locator("main section[aria-label]").all()]
            assert visible.count(True) == 1, "one column, on a narrow screen"
            page.get_by_role("button", name="Next sample").click()
            expect(column(page, 3)).to_be_visible()
            page.get_by_role("main").get_by_text("Prompt", exact=True).click()
        elif "table" in more:
            expect(page.get_by_role("row")).to_have_count(1 + len(HOSTILE))
        else:
            expect(page.get_by_text("Marked words are not in the other one")).to_be_visible()
        assert page.evaluate(STRANGE) == [] and "hacked" not in page.title()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert all(url.startswith(viewer.address) for url in asked)


@pytest.mark.slow
def test_however_long_answers_are_no_task_is(page: Page, tmp_path: Path) -> None:
    words = [random.Random(n).choice(["sum", "law", "root", "of", "angle"]) for n in range(20_000)]
    changed = [f"other{n}" if n % 25 == 0 else word for n, word in enumerate(words)]
    strange = [f"w{n}" for n in range(20_000)]
    texts = [" ".join(words), " ".join(changed), " ".join(strange), "x" * 5_000_000, "y" * 5_000_000]
    train = relax_run(tmp_path / "run", steps=0)
    (train / "0.jsonl").write_bytes(lines(group(0, 1, texts, "Long?")))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        expect(page.get_by_role("heading", name="Sample 1 of 5")).to_be_visible()

        def look(number: int, more: str, until: str) -> None:
            page.goto(f"{viewer.address}runs/run?sample=train/0/1-0/{number}&view=group{more}")
            expect(page.get_by_text(until).first).to_be_visible(timeout=120_000)

        for what, number, more, until in [
            ("columns", 101, "", "differs from Sample 1"),
            ("words", 101, "&diff=1", "Marked words are not"),
            ("sentences", 102, "&diff=1", "marked sentences are not"),
            ("one line", 104, "&diff=1&against=train/0/1-0/103", "9,200,000 characters at the end are left out"),
        ]:
            quick(page, what, partial(look, number, more, until))
