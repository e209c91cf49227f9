"""The left pane in a real browser: groups with their strips, filters, the table, and lists without end."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.support import Viewer, go, viewing
from tests.server.support import lines, row

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Two steps of four groups of four samples, with a metric and a tag of hostile names."""
    folder = tmp_path_factory.mktemp("shared")
    train = folder / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    for step in range(2):
        rows = [
            row(
                step, i, reward={"score": float(i % 4 < i // 4), HOSTILE: "x" * (i % 3 + 1)},
                status="truncated" if i % 5 == 0 else "completed",
                **{f"{HOSTILE} n": i, "__proto__": i, "constructor": i},
            )
            for i in range(16)
        ]  # fmt: skip
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    with viewing(folder / "run", index_dir=folder / "index") as started:
        yield started


def open_a_cell(page: Page, viewer: Viewer) -> None:
    """A cell of a group opens its sample, and keys go on from there."""
    page.goto(viewer.link)
    groups = page.get_by_role("list", name="Groups")
    expect(groups.get_by_role("listitem")).to_have_count(4)
    expect(page.get_by_text("4 groups · 16 samples")).to_be_visible()
    groups.get_by_role("listitem").nth(2).locator("[data-member='3']").first.click()
    expect(page).to_have_url(re.compile("sample=train/1/2/11"))
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("sample=train/1/3/12"))
    page.keyboard.press("ArrowUp")
    expect(page).to_have_url(re.compile("sample=train/1/2/8"))
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile("sample=train/1/0/0"))
    page.keyboard.press("End")
    expect(page).to_have_url(re.compile("sample=train/1/3/12"))
    expect(groups.locator("[aria-current]")).to_be_focused()
    row = groups.get_by_role("listitem").nth(1)
    row.hover()
    strips, button = row.get_by_role("img").all(), row.get_by_role("button").bounding_box()
    mean = row.locator("b").bounding_box()
    boxes = [box for box in [*(strip.bounding_box() for strip in strips), mean] if box]
    assert button and len(boxes) == len(strips) + 1
    for box in boxes:
        is_beside = button["x"] + button["width"] <= box["x"] or button["x"] >= box["x"] + box["width"]
        assert is_beside or button["y"] + button["height"] <= box["y"] + 1, "it covers neither cells nor figures"
    page.get_by_label("Sort by").select_option("reward")
    expect(groups.get_by_role("listitem").first).to_contain_text("Question 3?")
    page.get_by_label("Steps of the list").select_option("run")
    expect(page.get_by_text("8 groups · 32 samples")).to_be_visible()


@pytest.mark.slow
def test_strips_that_were_chosen_are_all_there_and_the_usual_ones_come_back(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    strips = page.get_by_role("list", name="Groups").get_by_role("listitem").first.get_by_role("img")
    expect(strips).to_have_count(2)
    usual = [one.get_attribute("aria-label") for one in strips.all()]
    page.get_by_role("button", name="List options").click()
    boxes = page.get_by_role("group", name="Columns").get_by_role("checkbox")
    assert [box.is_checked() for box in boxes.all()].count(True) == len(usual)
    for name in ("Characters", "Turns", "constructor", "__proto__", "onerror"):
        page.get_by_label("Find a column").fill(name)
        boxes.first.check()
    page.keyboard.press("Escape")
    expect(strips).to_have_count(7)
    expect(page).to_have_url(re.compile("column=reward&column="))
    lines = {round(box["y"]) for one in strips.all() if (box := one.bounding_box())}
    assert len(lines) > 1, "on further lines where there is no room"
    row, below = strips.first.locator("xpath=ancestor::li"), strips.last.bounding_box()
    box = row.bounding_box()
    assert box and below and below["y"] + below["height"] <= box["y"] + box["height"]
    page.get_by_role("button", name="List options").click()
    page.get_by_role("button", name="Restore default columns").click()
    page.keyboard.press("Escape")
    expect(strips).to_have_count(2)
    assert [one.get_attribute("aria-label") for one in strips.all()] == usual
    expect(page).not_to_have_url(re.compile("column="))


IN_SIGHT = """() => {
  const pane = document.querySelector('[data-scroll=list]');
  const [row, box, head] = [pane.querySelector('[aria-current=true]'), pane, pane.firstElementChild]
    .map(element => element.getBoundingClientRect());
  return head.bottom - 1 <= row.top && row.bottom <= box.bottom + 1;
}"""
"""Whether all of the chosen row stands between the head of the list and its lower edge."""


@pytest.mark.slow
def test_a_row_that_keys_lead_to_is_seen_as_a_whole(page: Page, viewer: Viewer) -> None:
    page.set_viewport_size({"width": 1280, "height": 420})
    page.goto(viewer.link)
    for mode, rows, leads in (("Groups", "Groups", 8), ("Table", "Samples", 32)):
        page.get_by_role("button", name=mode, exact=True).click()
        page.get_by_label("Steps of the list").select_option("run")
        items = page.get_by_role("list", name=rows)
        items.get_by_role("link").first.focus()
        for key in ["ArrowDown"] * leads + ["ArrowUp"] * leads:
            page.keyboard.press(key)
            if key == "ArrowDown" and leads > 8:
                continue
            expect(items.locator("[aria-current=true]")).to_be_focused()
            page.wait_for_function(IN_SIGHT, timeout=5000)


def filter_it(page: Page, viewer: Viewer) -> None:
    """A filter is completed, counted, corrected and cleared."""
    go(page, viewer, "runs/run?split=train&step=1&mode=groups&sort=index&scope=step")
    expect(page.get_by_text("4 groups · 16 samples")).to_be_visible()
    page.keyboard.press("f")
    field = page.get_by_label("Filter", exact=True)
    expect(field).to_be_focused()
    page.keyboard.type("stat")
    offers = page.get_by_role("listbox", name="Completions")
    expect(offers.get_by_role("option").first).to_contain_text("status")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    with page.expect_response(lambda reply: "/complete?" in reply.url and "text=status+%3D+&" in f"{reply.url}&"):
        page.keyboard.type("= ")
    expect(offers.get_by_role("option")).to_have_text([re.compile("completed"), re.compile("truncated")])
    page.keyboard.press("ArrowUp")
    expect(offers.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Tab")
    expect(field).to_have_value("status = truncated ")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(page.get_by_text("4 groups · 4 of 16 samples")).to_be_visible()
    expect(page).to_have_url(re.compile(r"where=status\+%3D\+truncated"))
    read = page.get_by_role("main", name="Sample").get_by_text("truncated").first
    expect(read).to_be_visible()  # the one that was read is not of the list: its first is
    field.fill("status = truncated and rewrd > 0")
    field.press("Enter")
    wrong = page.get_by_role("alert")
    expect(wrong).to_contain_text("no column 'rewrd'", ignore_case=True)
    expect(wrong.locator("mark")).to_have_text("rewrd > 0")
    expect(read).to_be_visible()
    field.fill("reward > 7")
    field.press("Enter")
    expect(page.get_by_text("No sample matches the filter")).to_be_visible()
    expect(read).to_be_visible()
    field.fill('token "zzzz"')
    field.press("Enter")
    expect(page.get_by_text("16 of 16 samples have no tokens.")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").last.click()
    expect(page.get_by_text("4 groups · 16 samples")).to_be_visible()
    expect(read).to_be_visible()
    page.reload()
    expect(page.get_by_text("4 groups · 16 samples")).to_be_visible()


def test_a_list_leads_on_by_keys_and_is_filtered(page: Page, viewer: Viewer) -> None:
    open_a_cell(page, viewer)
    filter_it(page, viewer)


def test_a_row_shows_how_its_response_begins_or_ends(page: Page, tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    long = "I begin here. " + "word " * 400 + "so it is <b>42</b>.<|im_end|>"
    (train / "0.jsonl").write_bytes(lines([row(0, 0, response=long), row(0, 1, response="All of it.")]))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        page.get_by_role("button", name="Samples", exact=True).click()
        rows = page.get_by_role("list", name="Samples").get_by_role("listitem")
        expect(rows.first).to_contain_text("I begin here.")
        page.get_by_role("button", name="List options").click()
        page.get_by_role("group", name="Preview").get_by_role("button", name="End").click()
        page.keyboard.press("Escape")
        end, all_of_it = rows.first.get_by_text("so it is <b>42</b>."), rows.last.get_by_text("All of it.", exact=True)
        expect(rows.first).not_to_contain_text("I begin here.")
        line, shown, short = (
            rows.first.locator("a > :nth-child(2)").bounding_box(),
            end.bounding_box(),
            all_of_it.bounding_box(),
        )
        assert line and shown and short
        assert abs(shown["x"] + shown["width"] - line["x"] - line["width"]) < 2  # its very end is on the screen
        assert shown["x"] < line["x"] and abs(short["x"] - line["x"]) < 2
        page.reload()
        expect(rows.first).to_contain_text("…")
        expect(rows.first).not_to_contain_text("I begin here.")


@pytest.mark.slow
def test_any_value_can_be_filtered_by_and_excluded(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    page.get_by_role("button", name="Table").click()
    rows = page.get_by_role("list", name="Samples").get_by_role("listitem")
    expect(rows).to_have_count(16)
    rows.nth(1).get_by_text("completed").click()
    page.get_by_role("menuitem", name="Exclude status = completed").click()
    expect(page.get_by_text("4 of 16 samples")).to_be_visible()
    rows.first.locator("[data-column='reward']").click()
    expect(page.get_by_role("menuitem", name="Only reward >= 0")).to_be_visible()
    page.get_by_role("menuitem", name="Only reward = 0").press("Enter")
    expect(page.get_by_label("Filter", exact=True)).to_have_value("status != completed and reward = 0")
    expect(page.get_by_text("4 of 16 samples")).to_be_visible()


def test_the_table_has_any_column_sorts_and_gives_csv(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    page.get_by_role("button", name="Table").click()
    rows = page.get_by_role("list", name="Samples").get_by_role("listitem")
    page.get_by_role("button", name="List options").click()
    page.get_by_label("Find a column").fill("onerror")
    boxes = page.get_by_role("group", name="Columns").get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    boxes.first.check()
    boxes.last.check()
    page.get_by_label("Find a column").press("Escape")
    page.get_by_label("Sort by").focus()
    for name in ("__proto__", "constructor"):
        expect(page.get_by_label("Sort by").locator("option", has_text=re.compile(f"^{name}$"))).to_have_count(1)
    assert page.evaluate("() => { const found = []; for (const name in {}) found.push(name); return found; }") == []
    heading = page.get_by_role("button", name=f"{HOSTILE} n", exact=True)
    heading.click()
    expect(rows.first).to_contain_text("train/1/3/15")
    expect(heading).to_be_focused()  # no row takes the focus from it
    page.get_by_role("button", name=f"{HOSTILE} n", exact=True).click()
    expect(rows.first).to_contain_text("train/1/0/0")
    page.get_by_role("separator", name=f"Width of {HOSTILE} n", exact=True).press("ArrowRight")
    expect(page.get_by_role("separator", name=f"Width of {HOSTILE} n", exact=True)).to_have_attribute(
        "aria-valuenow", "128"
    )
    page.get_by_role("button", name="List options").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="All samples of the list as CSV").click()
    text = Path(download.value.path()).read_text()
    assert text.splitlines()[0].startswith("id,reward,status,response_tokens,prompt,") and len(text.splitlines()) == 17
    page.keyboard.press("Escape")
    rows.nth(3).get_by_text("train/1/0/3").click()
    expect(page.get_by_role("main", name="Sample", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("sample=train/1/0/3"))
    # what keys do to the sample is seen, also where the table covered it
    page.get_by_role("button", name="Wide", exact=True).click()
    expect(page.get_by_role("main", name="Sample", exact=True)).to_be_hidden()
    page.keyboard.press("n")
    expect(page.get_by_label("Note on this sample")).to_be_focused()
    page.keyboard.type("brv")
    expect(page.get_by_label("Note on this sample")).to_have_value("brv")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Wide", exact=True).click()
    page.keyboard.press("r")
    raw = page.get_by_role("region", name="Raw record")
    expect(raw).to_be_visible()
    page.get_by_role("button", name="Wide", exact=True).click()
    expect(raw).to_be_hidden()
    page.keyboard.press("r")  # uncovers the view that was there, and does not leave it
    expect(raw).to_be_visible()
    page.keyboard.press("r")
    expect(raw).to_be_hidden()
    page.keyboard.press("r")
    expect(page).not_to_have_title("hacked")
    # a link to a sample beside a table shows it where there is room for one of them
    page.set_viewport_size({"width": 360, "height": 740})
    page.reload()
    expect(page.get_by_role("main", name="Sample", exact=True)).to_be_visible()


MANY = 10_000_000


def test_a_list_of_ten_million_samples_scrolls_to_its_exact_end(page: Page, viewer: Viewer) -> None:
    def answer(route: Route) -> None:
        given = {name: values[0] for name, values in parse_qs(urlsplit(route.request.url).query).items()}
        around = given.get("around", "").rpartition("/")[2]
        offset = int(around) // 100 * 100 if around.isdigit() else int(given["offset"])
        sample = {
            "step": 1, "group": "0", "reward": 1, "advantage": None, "status": "completed", "turns": 1,
            "response_tokens": 5, "response_chars": 9, "prompt": "", "discarded": "", "env": "", "values": [1],
        }  # fmt: skip
        found = [
            {**sample, "id": f"train/1/0/{i}", "index": str(i), "response": f"This is {i}", "response_end": ""}
            for i in range(offset, min(MANY, offset + 100))
        ]
        reply = {
            "run": "run",
            "split": "train",
            "version": "1",
            "total": MANY,
            "of": MANY,
            "offset": offset,
            "reasons": [],
        }
        route.fulfill(json={**reply, "stamp": 0, "columns": ["reward"], "samples": found})

    page.route("**/samples?**", answer)
    page.goto(
        f"{viewer.address}runs/run?split=train&scope=run&mode=samples&sample={quote('train/1/0/0')}#token={viewer.token}"
    )
    rows = page.get_by_role("list", name="Samples")
    expect(page.get_by_text("10,000,000 samples")).to_be_visible()
    expect(rows.get_by_text("This is 0", exact=True)).to_be_visible()
    scroller = page.locator("[data-scroll='list']")
    assert scroller.evaluate("e => e.scrollHeight") < 17_000_000
    scroller.evaluate("e => e.scrollTo(0, e.scrollHeight)")
    last = rows.get_by_text(f"This is {MANY - 1}", exact=True)
    expect(last).to_be_in_viewport(ratio=1)
    box, pane = last.bounding_box(), scroller.bounding_box()
    assert box and pane and pane["y"] + pane["height"] - (box["y"] + box["height"]) < 48
    scroller.hover()
    page.mouse.wheel(0, -480)
    expect(rows.get_by_text(f"This is {MANY - 20}", exact=True)).to_be_visible()
    expect(last).not_to_be_in_viewport()
    page.mouse.wheel(0, 4800)
    expect(last).to_be_in_viewport(ratio=1)
    scroller.evaluate("e => e.scrollTo(0, (e.scrollHeight - e.clientHeight) / 2)")
    middle = rows.locator("li").filter(has_text=re.compile(r"This is (4999|5000)\d{3}$|This is (4999|5000)\d{3}"))
    expect(middle.first).to_be_visible()
    rows.locator("a").first.focus()
    page.keyboard.press("End")
    expect(page).to_have_url(re.compile(f"sample=train/1/0/{MANY - 1}"))
    page.keyboard.press("ArrowUp")
    expect(page).to_have_url(re.compile(f"sample=train/1/0/{MANY - 2}"))
    page.keyboard.press("PageUp")
    expect(page).not_to_have_url(re.compile(f"sample=train/1/0/{MANY - 2}"))
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(r"sample=train/1/0/0\b"))
    expect(rows.get_by_text("This is 0", exact=True)).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_the_list_of_a_step_is_small_on_the_wire(page: Page, tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    text = "Words of a long answer. " * 170
    rows = [row(0, i, prompt=f"{i // 8} {text}", response=text, group_index=i // 8) for i in range(512)]
    (train / "0.jsonl").write_bytes(lines(rows))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        expect(page.get_by_text("64 groups · 512 samples")).to_be_visible()
        with page.expect_response(lambda reply: "/groups?" in reply.url) as got:
            page.reload()
        assert 10_000 < len(got.value.body()) < 300_000
