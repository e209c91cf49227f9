"""The page in a real browser, served by a real process over real files."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.page.support import Viewer, go, viewing
from tests.server.support import lines, relax_run, row

pytestmark = pytest.mark.browser

HOSTILE = [
    "<img src=x onerror=\"document.title='hacked'\">",
    "<script>document.title='hacked'</script>",
    "[click](javascript:document.title='hacked')",
    "<svg/onload=document.title='hacked'>",
    "\u202egnp.exe \u2066 \x1b[31m \x00 end",
    "[/INST] </s> $$\\def\\x{\\x\\x}\\x$$",
]


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """A server over three steps of eight samples in two groups, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("shared")
    relax_run(folder / "run")
    with viewing(folder / "run", index_dir=folder / "index") as started:
        yield started


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The same run, for a test that changes it."""
    relax_run(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def own(run: Path, tmp_path: Path) -> Iterator[Viewer]:
    """A server over that one."""
    with viewing(run, index_dir=tmp_path / "index") as started:
        yield started


def at(page: Page, step: int, sample: int) -> None:
    """Wait until the page shows that sample."""
    expect(page).to_have_url(re.compile(rf"sample=train/{step}/\d+/{sample}\b"))
    expect(page.get_by_text(f"Answer {sample}", exact=True).last).to_be_visible()


def test_without_the_token_the_page_asks_for_it(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.address)
    field = page.get_by_label(re.compile("token", re.IGNORECASE)).first
    expect(field).to_be_visible()
    expect(page.get_by_text("Answer 0")).to_have_count(0)
    field.fill(viewer.token)
    field.press("Enter")
    at(page, 2, 0)


def test_the_link_opens_the_newest_step_of_an_open_page_and_keys_lead_on(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.address)
    expect(page.get_by_label(re.compile("token", re.IGNORECASE)).first).to_be_visible()
    page.evaluate("hash => { location.hash = hash }", f"token={viewer.token}")
    at(page, 2, 0)
    assert "token" not in page.url
    page.keyboard.press("ArrowRight")
    at(page, 2, 1)
    page.keyboard.press("ArrowLeft")
    at(page, 2, 0)
    page.keyboard.press("[")
    at(page, 1, 0)
    page.keyboard.press("Shift+G")
    at(page, 2, 0)
    page.keyboard.press("g")
    at(page, 0, 0)
    page.keyboard.press("]")
    at(page, 1, 0)


@pytest.mark.slow
def test_the_address_brings_back_what_was_shown(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    at(page, 2, 0)
    page.keyboard.press("[")
    at(page, 1, 0)
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    at(page, 1, 5)
    page.reload()
    at(page, 1, 5)
    other = page.context.new_page()
    other.goto(page.url)
    at(other, 1, 5)


@pytest.mark.slow
def test_raw_shows_the_line_with_its_file_and_bytes(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    at(page, 2, 0)
    page.keyboard.press("r")
    expect(page.get_by_text('"rollout_id"').first).to_be_visible()
    expect(page.get_by_text(re.compile(r"train/2\.jsonl")).first).to_be_visible()


@pytest.mark.slow
def test_a_new_step_shows_within_a_second_in_an_open_page(page: Page, own: Viewer, run: Path) -> None:
    page.goto(own.link)
    at(page, 2, 0)
    page.wait_for_timeout(500)
    (run / "rollout_result" / "train" / "3.jsonl").write_bytes(lines([row(3, 0), row(3, 1)]))
    expect(page.locator("body")).to_contain_text(re.compile(r"/ ?3\b|3 new|1 new|new step"))


@pytest.mark.slow
def test_a_followed_run_moves_to_the_new_step(page: Page, own: Viewer, run: Path) -> None:
    page.goto(own.link)
    at(page, 2, 0)
    page.keyboard.press("l")
    page.wait_for_timeout(500)
    (run / "rollout_result" / "train" / "3.jsonl").write_bytes(lines([row(3, 0), row(3, 1)]))
    expect(page).to_have_url(re.compile(r"sample=train/3/"))


@pytest.mark.slow
def test_hostile_text_stays_text(page: Page, tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    rows = [
        row(0, i, prompt=t, response=t, label=t, reward={"score": 1, t: 2, "note": t}, more={t: [t]}, dataset=t)
        for i, t in enumerate(HOSTILE)
    ]
    (train / "0.jsonl").write_bytes(lines(rows))
    left: list[str] = []
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:

        def note(request: Request) -> None:
            if not request.url.startswith((viewer.address, "data:", "blob:")):
                left.append(request.url)

        page.on("request", note)
        page.goto(viewer.link)
        for number, hostile in enumerate(HOSTILE):
            visible = re.sub(r"[\x00-\x1f\u202e\u2066]", "", hostile.split("\x1b")[0])[:24].strip()
            expect(page.get_by_text(visible).locator("visible=true").last).to_be_visible()
            page.keyboard.press("r")
            expect(page.get_by_text('"rollout_id"').first).to_be_visible()
            page.keyboard.press("r")
            if number + 1 < len(HOSTILE):
                page.keyboard.press("ArrowRight")
        assert page.title() != "hacked"
    assert left == []


@pytest.mark.slow
def test_numbers_that_json_cannot_carry_are_shown_as_they_are(page: Page, tmp_path: Path) -> None:
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    (train / "0.jsonl").write_bytes(lines([row(0, 0, reward=float("nan"), big=2**60, low=float("-inf"))]))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        expect(page.get_by_text("NaN", exact=True).first).to_be_visible()


@pytest.mark.slow
def test_problems_are_listed_with_file_bytes_and_reason(page: Page, own: Viewer, run: Path) -> None:
    with (run / "rollout_result" / "train" / "2.jsonl").open("ab") as file:
        file.write(b'{"broken": \n')
    page.goto(own.link)
    at(page, 2, 0)
    page.get_by_role("link", name="Unreadable: 1 record").click()
    expect(page.get_by_text('{"broken":').first).to_be_visible()
    expect(page.get_by_text(re.compile("not JSON")).first).to_be_visible()


@pytest.mark.slow
def test_no_width_makes_the_page_scroll_sideways(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    for width in (360, 520, 900, 1440, 3840):
        page.set_viewport_size({"width": width, "height": 900})
        go(page, viewer, "runs/run?split=train&step=2")
        at(page, 2, 0)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="find anything by name").click()
        page.keyboard.type("run")
        expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")


@pytest.mark.slow
def test_every_bundled_run_opens(page: Page, demo_runs: Path, tmp_path: Path) -> None:
    with viewing(demo_runs, index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        expect(page.get_by_text("verl_math").first).to_be_visible()
        expect(page.get_by_text("Its answers are short.")).to_be_visible()
        reply = page.request.get(f"{viewer.address}api/runs", headers={"authorization": f"Bearer {viewer.token}"})
        names = [run["id"] for run in reply.json()["runs"]]
        assert len(names) >= 3
        for name in names:
            go(page, viewer, f"runs/{name}")
            expect(page.get_by_text(re.compile("assistant", re.IGNORECASE)).first).to_be_visible()


@pytest.mark.slow
def test_roles_out_of_files_touch_nothing(page: Page, tmp_path: Path) -> None:
    roles = ["__proto__", "constructor", "valueof", "isprototypeof"]
    prompt = [{"role": role, "content": f"I am {role}"} for role in roles]
    train = relax_run(tmp_path / "run", steps=1)
    (train / "1.jsonl").write_bytes(lines([row(1, 0, prompt=prompt), row(1, 1, prompt=prompt)]))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        at(page, 1, 0)
        page.keyboard.press("ArrowRight")
        at(page, 1, 1)
        expect(page.get_by_text("I am __proto__").last).to_be_visible()
        for role in roles:
            expect(page.get_by_text(role, exact=True).first).to_be_visible()
        assert page.evaluate("Object.getOwnPropertyNames(Object.prototype).length") == 12


@pytest.mark.slow
def test_a_record_with_very_many_figures_or_messages_can_be_read(page: Page, tmp_path: Path) -> None:
    figures = {f"figure {n}": n for n in range(30_000)}
    messages = [{"role": "user" if n % 2 else "assistant", "content": f"message {n}"} for n in range(30_000)]
    train = relax_run(tmp_path / "run", steps=1)
    (train / "1.jsonl").write_bytes(lines([row(1, 0, **figures), row(1, 1, prompt=messages)]))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        at(page, 1, 0)
        page.get_by_role("button", name=re.compile("^Show all")).click()
        expect(page.get_by_text("figure 500", exact=True)).to_be_attached()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.querySelector('main article footer') !== null", timeout=90_000)
        expect(page.get_by_text("Turns 1–2,000 of 30,001").first).to_be_visible()
        assert page.evaluate("document.querySelectorAll('*').length") < 60_000


@pytest.mark.slow
def test_an_idle_page_asks_and_hears_nothing(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    at(page, 2, 0)
    page.wait_for_timeout(1500)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    version = page.evaluate("performance.getEntriesByType('resource').length")
    page.wait_for_timeout(3000)
    assert asked == []
    assert page.evaluate("performance.getEntriesByType('resource').length") == version


@pytest.mark.slow
def test_the_page_comes_back_when_the_index_was_deleted(page: Page, own: Viewer, tmp_path: Path) -> None:
    page.goto(own.link)
    at(page, 2, 0)
    shutil.rmtree(tmp_path / "index")
    page.keyboard.press("[")
    at(page, 1, 0)


@pytest.mark.slow
def test_each_split_opens_at_its_own_newest_step(page: Page, tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=4)
    evaluation = tmp_path / "run/rollout_result/eval"
    evaluation.mkdir()
    (evaluation / "0.jsonl").write_bytes(lines([row(0, i, dataset="toy") for i in range(4)]))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        at(page, 3, 0)
        for _ in range(2):
            page.get_by_text("eval/toy").first.click()
            expect(page).to_have_url(re.compile("step=0&sample=eval/toy/0/"))
            page.get_by_text("train", exact=True).first.click()
            at(page, 3, 0)


@pytest.mark.slow
def test_all_evaluations_of_a_step_are_one_list(page: Page, tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1)
    evaluation = tmp_path / "run/rollout_result/eval"
    evaluation.mkdir()
    for step in range(2):
        rows = [row(step, i, dataset=name, group_index=0) for name in ("aime", "toy") for i in range(2)]
        (evaluation / f"{step}.jsonl").write_bytes(lines(rows))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index", settled=True) as viewer:
        page.goto(viewer.link)
        at(page, 0, 0)
        page.get_by_label("Split").first.select_option(label="eval (all)")
        expect(page).to_have_url(re.compile(r"split=eval&step=1&sample=eval/aime/1/0/0\b"))
        expect(page.get_by_text("1 / 2", exact=True)).to_be_visible()
        for name, number in (("aime", 1), ("toy", 0), ("toy", 1)):
            page.get_by_role("button", name="Next sample").last.click()
            expect(page).to_have_url(re.compile(rf"split=eval&step=1&sample=eval/{name}/1/0/{number}\b"))
        page.keyboard.press("[")
        expect(page).to_have_url(re.compile(r"split=eval&step=0&sample=eval/aime/0/0/0\b"))
        page.reload()
        expect(page).to_have_url(re.compile(r"split=eval&step=0&sample=eval/aime/0/0/0\b"))
        expect(page.get_by_label("Split").first).to_have_value("eval")


def test_a_step_that_was_written_again_is_told(page: Page, own: Viewer, run: Path) -> None:
    page.goto(own.link)
    at(page, 2, 0)
    file = run / "rollout_result/train/2.jsonl"
    file.write_bytes(lines([row(2, i, response=f"Another {i}") for i in range(8)]))
    expect(page.get_by_role("button", name="Step changed")).to_be_visible()
    expect(page.get_by_text("Answer 0", exact=True).last).to_be_visible()
    page.get_by_role("button", name="Step changed").click()
    expect(page.get_by_text("Another 0", exact=True).last).to_be_visible()
    expect(page.get_by_role("button", name="Step changed")).to_have_count(0)


def test_the_end_of_a_long_list_comes_back_after_clearing(page: Page, tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1, samples=260)
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        at(page, 0, 0)
        page.get_by_role("button", name="Samples", exact=True).click()
        for _ in range(2):
            for _ in range(40):  # the list brings the chosen sample into view by itself when it has loaded
                page.get_by_role("list", name="Samples").evaluate("list => list.parentElement.scrollTo(0, 1e9)")
                page.wait_for_timeout(100)
                if page.get_by_text("Answer 259").count():
                    break
            expect(page.get_by_text("Answer 259")).to_be_visible()
            page.get_by_role("link", name="Settings").click()
            figures = page.get_by_role("region", name="Cache")
            for name in ("Replies in memory", "Memory", "Index on disk"):
                expect(figures.locator("div", has=page.get_by_text(name, exact=True))).to_contain_text(
                    re.compile(r"\d")
                )
            expect(figures).to_contain_text(str(tmp_path / "index"))
            page.get_by_role("button", name=re.compile("Clear")).click()
            page.go_back()
            at(page, 0, 0)


@pytest.mark.slow
def test_a_reward_has_one_colour_wherever_one_came_from(page: Page, tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=0)
    for step in range(3):
        rows = [row(step, i, reward=0.5 if step or i else 4.0) for i in range(4)]
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        at(page, 2, 0)
        colour = "getComputedStyle(document.querySelector('main dl dd')).color"
        expect(page.get_by_role("heading", name="Sample 1 of 4")).to_be_visible()
        page.wait_for_timeout(300)  # colours fade in
        before = page.evaluate(colour)
        page.keyboard.press("g")
        at(page, 0, 0)
        page.keyboard.press("Shift+G")
        at(page, 2, 0)
        expect(page.get_by_role("heading", name="Sample 1 of 4")).to_be_visible()
        page.wait_for_timeout(300)  # colours fade in
        assert page.evaluate(colour) == before


@pytest.mark.slow
def test_a_click_in_the_chart_goes_to_its_step(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    at(page, 2, 0)
    plot = page.get_by_role("region", name="Reward by step").locator(".u-over")
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": 3, "y": box["height"] / 2})
    at(page, 0, 0)
    plot.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    at(page, 1, 0)


@pytest.mark.slow
def test_the_raw_record_is_of_the_run_that_is_looked_at(page: Page, tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        train = relax_run(tmp_path / name, steps=0)
        (train / "0.jsonl").write_bytes(lines([row(0, 0, response=f"answer of {name}")]))
    with viewing(tmp_path, index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        page.get_by_text("alpha", exact=True).first.click()
        expect(page.get_by_text("answer of alpha").last).to_be_visible()
        page.keyboard.press("r")
        expect(page.get_by_label("Raw record").get_by_text("answer of alpha")).to_be_visible()
        page.goto(viewer.address + "runs/beta?view=raw")
        expect(page.get_by_label("Raw record").get_by_text("answer of beta")).to_be_visible()
        page.go_back()
        expect(page.get_by_label("Raw record").get_by_text("answer of alpha")).to_be_visible()


@pytest.mark.slow
def test_leafing_is_one_way_back(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    at(page, 2, 0)
    before = page.evaluate("history.length")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    at(page, 2, 6)
    assert page.evaluate("history.length") <= before + 1


@pytest.mark.slow
def test_a_run_that_begins_later_shows(page: Page, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with viewing(tmp_path / "root", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        relax_run(tmp_path / "root/late")
        at(page, 2, 0)


@pytest.mark.slow
def test_the_report_of_a_step_is_an_outline_of_text(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for step in (0, 1):
        evil = "&lt;img src=x onerror=&quot;document.title='hacked'&quot;&gt; <script>document.title='hacked'</script>"
        talk = {"type": "conversation", "messages": [{"role": "user", "content": HOSTILE[0]}]}
        heading = {"tag": "h2", "attrs": {}, "children": [f"Group {step} {evil}"]}
        body = {"tag": "div", "attrs": {}, "children": [], "data": talk}
        section = {"tag": "section", "attrs": {"data-group": "3"}, "children": [heading, body]}
        tree = {"title": f"Iteration {step}", "root": {"tag": "body", "attrs": {}, "children": [section]}}
        (folder / f"train_iteration_00000{step}_logtree.json").write_text(json.dumps(tree))
        record: dict[str, Any] = {"iteration": step, "group_idx": 0, "traj_idx": 0, "total_reward": 1.0, "steps": []}
        (folder / f"train_iteration_00000{step}_rollout_summaries.jsonl").write_bytes(lines([record]))
    (folder / "config.json").write_text(json.dumps({"optim": {"lr": 0.5, "name": HOSTILE[1]}, "seed": 3}))
    (folder / "code.diff").write_text("### repo\n+ a line\n")
    with viewing(folder, index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        expect(page.get_by_text("1 of 1").first).to_be_visible()
        page.get_by_role("link", name=re.compile("^Report")).click()
        expect(page.get_by_role("heading", name="Iteration 1")).to_be_visible()
        expect(page.get_by_text(HOSTILE[0]).first).to_be_visible()
        page.keyboard.press("[")
        expect(page.get_by_role("heading", name="Iteration 0")).to_be_visible()
        page.get_by_role("link", name=re.compile("^Run:")).click()
        expect(page.get_by_text("lr", exact=True)).to_be_visible()
        page.get_by_role("searchbox").fill("seed")
        expect(page.get_by_text("lr", exact=True)).to_have_count(0)
        expect(page.get_by_text("+ a line")).to_be_visible()
        expect(page.get_by_text("code.diff", exact=True)).to_be_visible()
        assert "hacked" not in page.title()


@pytest.mark.slow
def test_a_run_without_a_report_says_what_one_is(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    at(page, 2, 0)
    page.get_by_role("link", name=re.compile("^Report")).click()
    expect(page.get_by_text("This run has no reports")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Run:")).click()
    expect(page.get_by_text("train/0.jsonl")).to_be_visible()
