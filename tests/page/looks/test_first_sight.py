"""What somebody sees who opens the page for the first time: all that the model wrote, whole words, rows that differ."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.degenerate import write_in
from tests.page.support import Viewer, go, viewing
from tests.server.support import lines, row
from tests.thoroughness import slow_unless

pytestmark = pytest.mark.browser

ANSWER_CHARS = 4_000
STEPS, GROUPS, SAMPLES = 6, 8, 8
WIDTHS = (390, 1440, 1720)
FAMILIES = ("", "Inter", "Noto Sans CJK SC", "DejaVu Sans")

PAGES = (
    "runs/run?split=train&step=5", "runs/run?split=train&step=5&view=group", "runs/run?split=train&step=5&mode=table",
    "runs/run?split=train&step=5&mode=samples", "runs/run/discarded?split=train", "runs/run/evals", "search", "",
    "runs/run/report", "runs/run/run", "runs/run/problems", "bookmarks", "settings",
)  # fmt: skip

SETTLED = """() => document.querySelector('h1') !== null && document.querySelector('[aria-busy=true]') === null
  && !/Loading|Opening/.test(document.body.innerText)"""

HIDDEN = """() => {
  const found = [];
  for (const turn of document.querySelectorAll('article [role=group][aria-label^="Assistant"]')) {
    const text = turn.lastElementChild;
    for (const one of [text, ...text.querySelectorAll('*')]) {
      const style = getComputedStyle(one);
      const isCut = style.overflowY !== 'visible' && one.scrollHeight > one.clientHeight + 1 && one.clientHeight > 0;
      const isGone = one.hidden || style.display === 'none' || style.visibility === 'hidden';
      if (isGone || isCut) found.push(one.outerHTML.slice(0, 200));
    }
  }
  return found;
}"""

BROKEN = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const box = node.parentElement.getBoundingClientRect();
    if (box.bottom < 0 || box.top > innerHeight || box.width === 0) continue;
    for (const word of node.data.matchAll(/[\\p{L}\\p{N}_]+/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = [...range.getClientRects()].filter(({ width }) => width > 0);
      if (new Set(lines.map(({ top }) => Math.round(top))).size > 1) found.push(word[0]);
    }
  }
  return found;
}"""


def answer(number: int) -> str:
    """Reasoning of some thousand characters, and an answer in a few words."""
    thought = f"I try the numbers of problem {number}. "
    while len(thought) < ANSWER_CHARS:
        thought += f"What about {number} and {len(thought)}? That gives {number + len(thought)}, which is too much. "
    return f"<think>{thought}</think>\n<answer>{number} + 1</answer>"


def sample(step: int, number: int) -> dict[str, Any]:
    """One of a template that all share, as a trainer logs it."""
    asked = f"Show your work in <think> tags, and the final answer in <answer> tags. Reach {step * 64 + number // 8}"
    return row(
        step, number, group_index=number // SAMPLES, response=answer(number), response_length=1_200 + number,
        prompt=f"<|im_start|>user\n{asked} with as few steps as you can.<|im_end|>\n<|im_start|>assistant\n",
        reward={"score": number % 3 / 2, "format_reward": number % 2, "equation_reward": number % 3 / 2}, label="7",
    )  # fmt: skip


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("sight")
    train = folder / "run/rollout_result/train"
    train.mkdir(parents=True)
    for step in range(STEPS):
        rows = [sample(step, number) for number in range(GROUPS * SAMPLES)]
        (train / f"{step}.jsonl").write_bytes(lines(rows))
    evaluation = train.parent / "eval"
    evaluation.mkdir()
    for step in (0, STEPS - 1):
        rows = [{**sample(0, number), "rollout_id": step, "dataset": "held"} for number in range(4 * SAMPLES)]
        (evaluation / f"{step}.jsonl").write_bytes(lines(rows))
    with viewing(folder / "run", index_dir=folder / "index", state_dir=str(folder / "state"), settled=True) as started:
        yield started


def opened(page: Page, viewer: Viewer, where: str) -> None:
    go(page, viewer, where)
    page.wait_for_function(SETTLED)
    page.wait_for_timeout(200)


@pytest.mark.parametrize(
    ("width", "family"),
    [
        slow_unless(widths + families == 0, width, family)
        for widths, width in enumerate(WIDTHS)
        for families, family in enumerate(FAMILIES)
    ],
)
def test_nothing_that_the_model_wrote_is_hidden_and_no_word_is_broken(
    page: Page, viewer: Viewer, width: int, family: str
) -> None:
    write_in(page, family)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(viewer.link)
    expect(page.locator("article footer")).to_be_attached()
    for where in PAGES:
        opened(page, viewer, where)
        assert page.evaluate(BROKEN) == [], where
    opened(page, viewer, PAGES[0])
    expect(page.locator("article")).to_contain_text(f"That gives {ANSWER_CHARS - 10}"[:11])
    assert page.evaluate(HIDDEN) == []
    assert len(page.locator('article [role=group][aria-label^="Assistant"]').inner_text()) > ANSWER_CHARS


@pytest.mark.slow
def test_of_prompts_of_one_template_only_what_differs_is_shown(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    opened(page, viewer, PAGES[0])
    rows = page.get_by_role("list", name="Groups").get_by_role("listitem").all_inner_texts()
    assert [row.split("\n")[0] for row in rows] == [f"… {5 * 64 + number}" for number in range(GROUPS)]
    opened(page, viewer, "runs/run/evals")
    problems = page.get_by_role("grid", name="Prompts by step").get_by_role("rowheader").all_inner_texts()
    assert [problem.split("\n")[0] for problem in problems] == [f"… {number}" for number in range(4)]


@pytest.mark.slow
def test_the_answer_stands_beside_the_golden_one(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    opened(page, viewer, "runs/run?sample=train/5/0/3")
    golden = page.get_by_role("region", name="Golden answer")
    expect(golden).to_contain_text("7")
    expect(golden).to_contain_text("3 + 1")


def strips(page: Page) -> list[list[tuple[str, int]]]:
    """By row: what each strip is called, and where it begins."""
    told: list[list[tuple[str, int]]] = page.get_by_role("list", name="Groups").evaluate(
        """list => [...list.querySelectorAll('li')].map(row => [...row.querySelectorAll('[role=img]')].map(
          one => [one.ariaLabel.split(':')[0], Math.round(one.getBoundingClientRect().left)]))"""
    )
    return told


@pytest.mark.slow
def test_groups_have_a_strip_of_each_number_that_says_most(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/groups?" in request.url else None)
    opened(page, viewer, PAGES[0])
    rows = strips(page)
    assert len(rows) == GROUPS and all(row == rows[0] for row in rows), "they stand under one another"
    names = ["Reward", "Response tokens", "reward.format_reward", "reward.equation_reward"]
    assert [name for name, _ in rows[0]] == names[: len(rows[0])] and len(rows[0]) >= 3
    first, *others = page.get_by_role("list", name="Groups").get_by_role("img").all()[: len(rows[0])]
    cells = [one.locator("[data-member]").first.bounding_box() for one in (first, *others)]
    widths = [box["width"] for box in cells if box]
    assert len(widths) == len(cells) and widths[0] > max(widths[1:]), "reward is the largest"
    expect(first).to_have_attribute("aria-label", re.compile(r"^Reward: [\d., ]+$"))
    heads = page.locator("[data-scroll=list] > [aria-hidden]")
    expect(heads).to_contain_text(re.compile(r"Reward.*0.*1.*Tokens.*format_reward.*Mean ± std"))
    mine = [url for url in asked if "step=5" in url]
    assert len(mine) == 1 and "usual=1" in mine[0], "the list is asked for once"

    # a wide list has them all, a narrow one has reward alone
    edge = page.get_by_role("separator", name="Width of the list")
    for _ in range(12):
        edge.press("ArrowRight")
    assert [name for name, _ in strips(page)[0]] == names
    for _ in range(20):
        edge.press("ArrowLeft")
    assert [name for name, _ in strips(page)[0]] == names[:1]
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, viewer, f"{PAGES[0]}&list=1")
    assert [name for name, _ in strips(page)[0]] == names[:1]


@pytest.mark.slow
def test_the_charts_that_say_most_are_there_without_a_choice(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    opened(page, viewer, PAGES[0])
    charts = page.get_by_role("complementary", name="Charts")
    for name in ("Reward", "Response tokens", "reward.format_reward"):
        expect(charts.get_by_role("region", name=f"{name} by step", exact=True)).to_be_visible()
    expect(charts.locator("canvas").first).to_be_visible()
    charts.get_by_role("button", name="Remove Response tokens", exact=True).press("Enter")
    expect(charts.get_by_role("region", name="Response tokens by step")).to_have_count(0)
    charts.get_by_role("button", name="Choose charts").click()
    charts.get_by_role("button", name="Restore default charts").click()
    expect(charts.get_by_role("region", name="Response tokens by step")).to_be_visible()


@pytest.mark.slow
def test_a_number_stands_once_and_names_stand_without_what_all_begin_with(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    opened(page, viewer, PAGES[0])
    labels = page.locator("main dl dt").all_inner_texts()
    assert "Reward" in labels and "format_reward" in labels
    assert not {"reward.score", "score", "reward.format_reward"} & set(labels)
    expect(page.locator("main dl > div", has_text="format_reward")).to_have_attribute(
        "title", "reward.format_reward: 0"
    )


@pytest.mark.slow
def test_the_rail_has_words_and_can_be_folded_for_good(page: Page, viewer: Viewer) -> None:
    page.goto(viewer.link)
    opened(page, viewer, PAGES[0])
    rail = page.get_by_role("navigation", name="Pages")
    expect(rail.get_by_text("Rollouts", exact=True)).to_be_visible()
    rail.get_by_role("button", name="Hide the labels").click()
    expect(rail.get_by_text("Rollouts", exact=True)).to_be_hidden()
    page.reload()
    expect(rail.get_by_role("link", name="Rollouts")).to_be_visible()
    expect(rail.get_by_text("Rollouts", exact=True)).to_be_hidden()


@pytest.mark.slow
def test_a_run_of_one_step_has_no_empty_chart(page: Page, tmp_path: Path) -> None:
    train = tmp_path / "run/rollout_result/train"
    train.mkdir(parents=True)
    (train / "0.jsonl").write_bytes(lines([sample(0, number) for number in range(16)]))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index", settled=True) as one:
        page.goto(one.link)
        charts = page.get_by_role("complementary", name="Charts")
        expect(charts.get_by_role("region", name="Reward by step", exact=True)).to_contain_text("mean, one step")
        expect(charts.get_by_role("region", name="Response tokens by step")).to_be_visible()
        expect(charts.locator("canvas")).to_have_count(0)
