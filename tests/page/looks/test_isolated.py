"""Text of a run that turns writing around, or holds what nobody sees, does nothing to what stands beside it."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from rolloupe.text.visible import visible
from tests.page.rollouts.test_sample import choose
from tests.page.support import Viewer, go, viewing
from tests.server.support import lines, relax_run, row
from tests.thoroughness import IS_THOROUGH

pytestmark = pytest.mark.browser

HOSTILE = [
    "evil \u202e",
    "evil \u202d\u202e a",
    "evil \u2066\u2067\u2068",
    "evil \u2069\u2069\u202e",
    "evil \u200f",
    "evil \u05d0 \u0085\u202e",
    "evil \u2028\u2069\u202e",
    "evil \u2029\u05d0",
    "evil \u001c\u001e\u202e",
    "evil \r\u2067",
    "evil \x1b[31m\x1b]8;;\u2069\u202e",
]
"""Controls: overrides and isolates that nobody ends, and what ends the isolate that a browser puts around a text."""

RUN = "run \u2069\u202eevil"

DISORDER = """root => {
  const box = (node, from, to) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    return range.getBoundingClientRect();
  };
  const holder = node => {
    let up = node.parentElement;
    while (getComputedStyle(up).display === 'inline') up = up.parentElement;
    return up;
  };
  const isHostile = text => /evil|[\\u202a-\\u202e\\u2066-\\u2069]/.test(text);
  const found = [];
  let last = null;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const text = node.nodeValue;
    const first = text.search(/\\S/);
    if (first < 0 || !node.parentElement.checkVisibility() || node.parentElement.closest('.hidden')) continue;
    const begin = box(node, first, first + 1);
    const end = box(node, text.trimEnd().length - 1, text.trimEnd().length);
    const isOneLine = Math.abs(begin.top - end.top) < 3;
    const isTurned = isOneLine && end.left < begin.left - 1;
    if (!isHostile(text) && isTurned) found.push(`turned around: ${text}`);
    const block = holder(node);
    const isBeside = last !== null && last.block === block && Math.abs(last.top - begin.top) < 3;
    if (isBeside && begin.left < last.left - 1) found.push(`before what it follows: ${text}`);
    last = {block, top: begin.top, left: begin.left};
  }
  return found;
}"""
"""Texts of the page that do not stand in the order in which they are written, by their letters or as neighbours."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("hostile")
    train = relax_run(folder / RUN, steps=0)
    rows = []
    for number, text in enumerate(HOSTILE):
        call = {"id": text, "function": {"name": text, "arguments": json.dumps({"x": text})}}
        prompt = [
            {"role": "user", "name": text, "content": text},
            {"role": text, "content": f"<think>{text}</think>{text}", "tool_calls": [call]},
            {
                "role": "tool",
                "name": text,
                "tool_call_id": text,
                "content": text,
                "is_error": True,
                "logs": {text: text},
            },
        ]
        rows.append(
            row(
                0, number,
                prompt=prompt, response=f"{text} <answer>{text}</answer> the end", label=text, weight_version=text,
                dataset=text, env=text, status=text, reward={"score": 0.5, text: 0.25}, other=text, group_index=number,
            )
        )  # fmt: skip
        rows.append(row(0, 100 + number, prompt=prompt, response=f"{text} other", dataset=text, group_index=number))
    (train / "0.jsonl").write_bytes(lines(rows) + b'{"broken \xe2\x80\xae')
    with viewing(folder / RUN, index_dir=folder / "index", settled=True) as viewer:
        yield viewer


def addresses(number: int) -> dict[str, tuple[str, str]]:
    """The places in which a text can stand: address, and what is there once it is drawn."""
    sample = f"runs/{quote(RUN)}?sample=train/0/{number}/{number}"
    return {
        "sample": (f"{sample}&list=1", "article footer"),
        "list of samples": (f"{sample}&list=1&mode=samples", "ul[aria-label=Samples] a"),
        "table": (f"{sample}&list=1&mode=table", "ul[aria-label=Samples] a"),
        "group": (f"{sample}&view=group", "main section[aria-label]"),
        "group, table": (f"{sample}&view=group&as=table", "main tbody tr"),
        "raw": (f"{sample}&view=raw", "section[aria-label='Raw record'] pre"),
        "search": ("search?q=evil&all=1", "a[data-hit]"),
        "problems": (f"runs/{quote(RUN)}/problems", "main h1"),
        "run": (f"runs/{quote(RUN)}/run", "main summary"),
        "runs": ("", "main h1"),
    }


OF_ONE = ("sample", "group")
"""What shows one text; the others show all of them."""


@pytest.mark.slow
@pytest.mark.parametrize("choices", [{}, {"markdown": True, "latex": True, "code": True}])
def test_no_text_turns_its_neighbours_around(page: Page, hostile: Viewer, choices: dict[str, bool]) -> None:
    choose(page, **choices)
    page.goto(hostile.link)
    expect(page.locator("article footer")).to_be_attached()
    wrong: dict[str, list[str]] = {}
    for number, text in enumerate(HOSTILE):
        if not IS_THOROUGH and number % 4 != bool(choices):
            continue
        for name, (address, ready) in addresses(number).items():
            if number > 1 and name not in OF_ONE:
                continue
            go(page, hostile, address)
            expect(page.locator(ready).first).to_be_visible()
            if name == "sample":
                page.keyboard.press("e")
            for one in page.evaluate(f"({DISORDER})(document.body)"):
                wrong.setdefault(f"{name}, {text!a}", []).append(one)
        if "\u202e" in page.title():
            wrong["title"] = [page.title()]
    # What looks for it can fail: an isolate alone is left by a text that ends it.
    page.evaluate("""() => {
      const p = document.createElement('p');
      p.append('left ', Object.assign(document.createElement('bdi'), {textContent: 'evil \u2069\u202e'}), ' right');
      document.querySelector('main').prepend(p);
    }""")
    assert page.evaluate(f"({DISORDER})(document.body)") != []
    assert wrong == {}


@pytest.mark.slow
def test_what_nobody_sees_is_shown_when_asked_for_and_copied_as_it_is(page: Page, hostile: Viewer) -> None:
    page.goto(hostile.link)
    expect(page.locator("article footer")).to_be_attached()
    for number, text in enumerate(HOSTILE):
        page.goto(f"{hostile.address}{addresses(number)['sample'][0]}")
        golden = page.get_by_label("Golden answer").locator("div").first
        expect(golden).to_be_attached()
        assert golden.evaluate("e => e.textContent") == text
        page.get_by_role("button", name="How text is shown").click()
        page.get_by_role("checkbox", name="Newlines and special tokens").check()
        # The glyphs are those of the terminal, in brackets that no model writes.
        asked = visible(text).replace("<U+", "\u27e8U+").replace(">", "\u27e9")
        expect(golden).to_have_text(asked)
        page.get_by_role("checkbox", name="Newlines and special tokens").uncheck()
        page.keyboard.press("Escape")


@pytest.mark.slow
def test_what_is_copied_of_a_long_text_is_the_text(page: Page, tmp_path: Path) -> None:
    texts = ["x{" * 120_000, "x{" * 9000 + "y", "a line of it\n" * 20_000 + "end", "words and " * 2000 + "end"]
    train = relax_run(tmp_path / "run", steps=0)
    (train / "0.jsonl").write_bytes(lines([row(0, n, response=text) for n, text in enumerate(texts)]))
    with viewing(tmp_path / "run", index_dir=tmp_path / "index") as viewer:
        page.goto(viewer.link)
        for number, text in enumerate(texts):
            go(page, viewer, f"runs/run?sample=train/0/0/{number}")
            page.wait_for_function(
                "start => document.querySelector('article')?.textContent.includes(start)", arg=text[-50:]
            )
            copied = page.evaluate("""() => {
              const all = [...document.querySelectorAll('[role=group][aria-label=Assistant]')].at(-1);
              const text = all.querySelector('[class*=flow]');
              getSelection().selectAllChildren(text);
              return getSelection().toString();
            }""")
            assert copied == text
