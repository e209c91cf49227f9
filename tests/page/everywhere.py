"""Every state of the page: runs that have something for each of its parts, and how to come to each state.

`STATES` is what the tests of access walk through, and what is looked at in pictures.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from rolloupe.demo import RUNS
from tests.formats.test_telescope import RUN as TELESCOPE
from tests.page.support import Viewer, go, viewing
from tests.query.search.test_reports import logged
from tests.server.support import lines, row
from tests.text.test_images import png, uri
from tests.thoroughness import amount, slow_unless

TINKER = Path(__file__).parents[1] / "data/tinker"
PRIME = Path(__file__).parents[1] / "data/prime_rl/exports/v6_pr3189"

SYSTEM = "You are a careful assistant. Answer in one line, and put the number in a box."
THOUGHT = (
    "<think>Twelve times eleven. Ten times eleven is 110, and two times eleven is 22, so 132 in all.\n\nLet me check "
    "that by a division: 132 / 12 = 11. Good.</think>"
)
DRAWN = (
    "# Twelve times eleven\n\nIt is **132**, since $12 \\cdot 11 = 132$ and $$\\sum_{i=1}^{11} 12 = 132.$$\n\n"
    "| a | b |\n|---|---|\n| 12 | 11 |\n\n```python\ndef product(a: int, b: int) -> int:\n    return a * b  # so\n```"
    "\n\n> So it is. See [the table](https://example.org/table).\n\n- one\n- two <|im_end|>"
)
CALLS = [{"id": "call_1", "function": {"name": "calculator", "arguments": json.dumps({"a": 12, "b": [11, "eleven"]})}}]
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": "What is 12 times 11?"},
    {"role": "assistant", "content": THOUGHT, "tool_calls": CALLS, "stop_reason": "tool_calls"},
    {"role": "tool", "tool_call_id": "call_1", "content": "132", "logs": {"seconds": 0.01}},
    {"role": "assistant", "content": "Once more.", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "call_1", "content": "Traceback: out of memory", "is_error": True},
]
LONG = "\n\n".join(
    f"Paragraph {n}: what a model writes when nothing stops it from going on and on." for n in range(120)
)
TEXTS = [f"{THOUGHT}\n\n{DRAWN}", f"{THOUGHT}\n\nIt is 133.", "<think>It never ends, and so it never", LONG]
TEMPLATED = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"


def rich(folder: Path) -> None:
    """A run with some of everything that a sample can hold, and a line that cannot be read."""
    train = folder / "rollout_result" / "train"
    train.mkdir(parents=True)
    for step in range(6):
        rows = [
            row(
                step, n,
                prompt=[CHAT, TEMPLATED][n // 4] if n < 8 else f"Question {n // 4} of step {step}: " + "so " * 40,
                response=TEXTS[n % 4],
                label="132",
                status="truncated" if n % 4 > 1 else "completed",
                reward={"score": (n * 7 + step) % 11 / 10, "format": float(n % 2), "length penalty": -0.1 * (n % 4)},
                weight_version=str(step - n % 2),
                dataset="arithmetic",
                picture=uri(png()) if n == 0 else None,
            )
            for n in range(24)
        ]  # fmt: skip
        broken = b'{"prompt": "half a li\n' if step == 2 else b""
        (train / f"{step}.jsonl").write_bytes(lines(rows) + broken)


def all_runs(runs: Path) -> None:
    """Write all of the runs."""
    rich(runs / "rich")
    shutil.copytree(TELESCOPE, runs / "tele")
    shutil.copytree(TINKER / "flat_run", runs / "tinker")
    shutil.copytree(TINKER / "sync_run", runs / "loop")
    logged(runs / "logged")
    shutil.copytree(RUNS / "other_formats/rl_logging_board/gen_train_toy", runs / "toy")
    shutil.copytree(PRIME, runs / "prime")
    (runs / "empty/samples").mkdir(parents=True)
    (runs / "empty/rolloupe.json").write_text(json.dumps({"layout": "rolloupe", "version": 1}))


@contextmanager
def everything(folder: Path, state_dir: Path) -> Iterator[Viewer]:
    """A viewer over all of the runs in a folder, whose index stays there for the next."""
    index_dir = folder / "index"
    with viewing(folder / "runs", index_dir=index_dir, state_dir=str(state_dir), settled=True) as viewer:
        yield viewer


class State(NamedTuple):
    """What the page shows: its address below the viewer's, what must be there, and what is done then."""

    name: str
    address: str
    ready: str
    act: Callable[[Page], None] | None = None
    back: Callable[[Page], None] | None = None
    """Takes back what would be kept."""
    closes: str | None = None
    """What has the focus once Escape has closed what lies over the page."""


def press(*keys: str, then: str) -> Callable[[Page], None]:
    """Press keys, and wait for what they bring."""

    def act(page: Page) -> None:
        for key in keys:
            page.keyboard.press(key)
        expect(page.locator(then).first).to_be_visible()

    return act


def click(role: Any, name: str, then: str) -> Callable[[Page], None]:
    """Press a button by its key, and wait for what it brings."""

    def act(page: Page) -> None:
        page.get_by_role(role, name=name).first.press("Enter")
        expect(page.locator(then).first).to_be_visible()

    return act


def filtered(page: Page) -> None:
    """Type what a filter completes."""
    field = page.get_by_role("combobox", name="Filter")
    field.fill("rew")
    expect(page.locator("#filter-offers [role=option]").first).to_be_visible()


def edited(page: Page) -> None:
    """Open what is said of a run."""
    click("button", "Run ", "ul[aria-label=Runs] a")(page)
    click("button", "Name, colour and note of rich", "textarea")(page)


def compared(page: Page) -> None:
    """Compare two rules, with their shares in view."""
    page.get_by_label("compare with").select_option("dppo")
    below = page.locator("summary", has_text="Shares of the update")
    if below.is_visible():
        below.click()
    expect(page.locator("[aria-labelledby=update-by-sample] a").first).to_be_visible()


def rendered(page: Page) -> None:
    """Have everything drawn."""
    page.get_by_role("button", name="How text is shown").first.click()
    for name in ("Markdown", "LaTeX", "Code highlighting"):
        page.get_by_role("checkbox", name=name).check()
    page.keyboard.press("Escape")
    page.locator("article footer").scroll_into_view_if_needed()
    expect(page.locator("article math").first).to_be_visible()


def undrawn(page: Page) -> None:
    """What `rendered` chose, taken back."""
    page.get_by_role("button", name="How text is shown").first.click()
    for name in ("Markdown", "LaTeX", "Code highlighting"):
        page.get_by_role("checkbox", name=name).uncheck()
    page.keyboard.press("Escape")


def charted(page: Page) -> None:
    """Open the menu of a chart of two curves, and its settings."""
    click("button", "Menu of Reward", "[role=dialog] summary")(page)
    page.locator("summary", has_text="Settings of this chart").press("Enter")
    expect(page.get_by_role("list", name="Curves")).to_be_visible()


def noted(page: Page) -> None:
    """Mark a sample, and write a note on it."""
    page.keyboard.press("n")
    field = page.get_by_role("textbox", name="Note on this sample")
    field.fill("Where does the 133 come from?")
    field.press("Control+Enter")
    expect(page.get_by_role("button", name="Note: Where")).to_be_visible()


SAMPLE = "article footer"
RICH = "runs/rich?sample=train/4/0/0"
EVALS = "runs/tele/evals"

STATES: tuple[State, ...] = (
    State("sample", RICH, SAMPLE),
    State("sample, all open", RICH, SAMPLE, press("e", then=SAMPLE)),
    State("sample, cut off", "runs/rich?sample=train/4/0/2", SAMPLE),
    State("sample, long", "runs/rich?sample=train/4/0/3", SAMPLE),
    State("sample, templated", "runs/rich?sample=train/4/1/4", SAMPLE),
    State("sample with a reference", "runs/toy", SAMPLE),
    State("sample drawn", RICH, SAMPLE, rendered, back=undrawn),
    State("sample with a note", "runs/rich?sample=train/4/0/1", SAMPLE, noted),
    State("sample that was searched", "runs/rich?sample=train/4/0/0&q=eleven", SAMPLE),
    State("text of a sample", f"{RICH}&view=text", "section[aria-label='Raw text'] pre"),
    State("tokens", "runs/toy?view=tokens", "main [data-at]"),
    State("table of tokens", "runs/toy?view=tokens&as=table", "main [data-token]"),
    State(
        "tokens of two samples",
        "runs/prime?sample=train/1/c57a591ea1bb/0-0&view=tokens&beside=train/1/c57a591ea1bb/0-1",
        "section[aria-label='The other sample'] [data-at]",
    ),
    State("update of a group", "runs/prime?view=tokens&as=update&of=group", "main [data-at]", compared),
    State("raw record", f"{RICH}&view=raw", "section[aria-label='Raw record'] pre"),
    State("find", RICH, SAMPLE, press("F", then="[role=search] input")),
    State("no such sample", "runs/rich?sample=train/4/0/99", "[role=alert]"),
    State("list of groups", f"{RICH}&list=1", "ul[aria-label=Groups] a"),
    State("list of samples", f"{RICH}&list=1&mode=samples&sort=-reward", "ul[aria-label=Samples] a"),
    State("list of a range", f"{RICH}&list=1&mode=samples&scope=1:3", "ul[aria-label=Samples] a"),
    State("list, filtered", f"{RICH}&list=1&where=reward+%3C+0.5", "ul[aria-label=Groups] a"),
    State("list, nothing left", f"{RICH}&list=1&where=reward+%3C+-5", "[role=status] h2:visible"),
    State(
        "list, filter that cannot be read",
        f"{RICH}&list=1&where=reward+%3C%3C",
        "#filter-error, [role=status] h2",
    ),
    State("list of what was trained on", "runs/tele?split=train&step=5&list=1", "a[href*=discarded]:visible"),
    State("completion", f"{RICH}&list=1", "ul[aria-label=Groups] a", filtered, closes="Filter"),
    State("table", f"{RICH}&list=1&mode=table", "ul[aria-label=Samples] a"),
    State(
        "gear",
        f"{RICH}&list=1",
        "ul[aria-label=Groups] a",
        click("button", "List options", "[role=dialog]"),
        closes="List options",
    ),
    State("run to edit", RICH, SAMPLE, edited, closes="Run"),
    State("runs to choose", RICH, SAMPLE, click("button", "Run ", "ul[aria-label=Runs] a"), closes="Run"),
    State("steps", RICH, SAMPLE, click("button", "All steps", "#steps [role=option]"), closes="All steps"),
    State(
        "render menu",
        RICH,
        SAMPLE,
        click("button", "How text is shown", "[role=dialog] input"),
        closes="How text is shown",
    ),
    State("menu of a value", RICH, SAMPLE, click("button", "completed", "[role=menu]"), closes="completed"),
    State("group", f"{RICH}&view=group", "main section mark, main section[aria-label]"),
    State("group, difference", f"{RICH}&view=group&diff=1", "main section[aria-label]:visible"),
    State("group, table", f"{RICH}&view=group&as=table", "main table a, main [role=table] a, main [role=row]"),
    State("discarded", "runs/tele/discarded?split=train&step=5", "main h1"),
    State("nothing discarded", "runs/tele/discarded?split=eval/countdown", "[role=status] h2:visible"),
    State("evals", EVALS, "[role=grid] [role=gridcell]"),
    State("findings", "runs/tele/findings", "main > dl, main [role=status] h2"),
    State("no evals", "runs/rich/evals", "[role=grid] [role=gridcell]"),
    State("search", "search?q=eleven&all=1", "a[data-hit]"),
    State("search of a run", "search?run=rich&split=train&step=4&scope=run&q=eleven", "aside a"),
    State("search, logged conversations", "search?run=logged&scope=run&q=verdict", "section a[data-hit]"),
    State("search, empty", "search", "main [role=status] h2"),
    State("search, wrong", "search?q=(&how=r&all=1", "[role=alert]"),
    State("bookmarks", "bookmarks?run=rich", "main h1"),
    State("metrics", "runs/tele/metrics", "main[aria-label=Metrics] [role=img]"),
    State(
        "metrics, menu of a chart",
        f"runs/tele/metrics?chart={quote('?kind=sample&name=reward&with=response_tokens')}&chart=response_tokens",
        "main[aria-label=Metrics] [role=img]",
        charted,
        closes="Menu of Reward",
    ),
    State("no metrics", "runs/empty/metrics", "main h2"),
    State("tokens of a run", "runs/toy/tokens", "#changes"),
    State("no tokens in a run", "runs/rich/tokens", "[role=status] code"),
    State(
        "compare",
        "runs/tele/compare?over=rich&over=tinker&keys=all",
        "[aria-labelledby=compare-code] [role=status]",
        click("button", "Add a run", "[role=listbox] [role=option]"),
        closes="Compared runs",
    ),
    State("report", "runs/tinker/report?split=eval/test&step=0", "main[aria-label=Report] h1"),
    State("report, led to", "runs/logged/report?split=train&step=1&at=1.1", "main[aria-label=Report] :focus"),
    State("no report", "runs/rich/report", "main h2"),
    State("run", "runs/tinker/run", "main summary"),
    State("problems", "runs/rich/problems", "main h1"),
    State("settings", "settings", "main h1"),
    State("runs", "", "main h1"),
    State("runs, one opened", "", "main h1", click("button", "Details of rich", "[data-more] dl")),
    State("empty run", "runs/empty", "[role=status] h2:visible"),
    State("no such run", "runs/nowhere", "[role=status] h2:visible"),
    State("keys", RICH, SAMPLE, press("?", then="dialog[open]")),
    State("palette", RICH, SAMPLE, press("Control+k", "n", then="#found [role=option]")),
)


ALIKE = {
    "sample, cut off", "sample, templated", "sample, long", "sample drawn", "list of samples", "list, filtered",
    "no report", "list of what was trained on", "no such run", "nothing discarded", "search, wrong", "text of a sample",
    "no tokens in a run", "no metrics", "metrics",
}  # fmt: skip
"""States in which nothing can be pressed that other states have not."""

PARTS = 4
"""A walk through all states is so many tests, which may run side by side."""

WALKED = amount(tuple(state for state in STATES if state.name not in ALIKE), STATES)

in_parts = pytest.mark.parametrize(
    "states", [slow_unless(part == PARTS - 1, WALKED[part::PARTS]) for part in range(PARTS)], ids=range(PARTS)
)
"""`make test` looks at one state of four."""


@contextmanager
def entered(page: Page, viewer: Viewer, state: State) -> Iterator[None]:
    """Bring the page into a state, and take back what would change the next; the page begins anew after an act."""
    if page.url.startswith(viewer.address):
        go(page, viewer, state.address)
    else:
        page.goto(viewer.address + state.address)
    expect(page.locator(state.ready).first).to_be_visible()
    if state.act is not None:
        state.act(page)
    expect(page.locator("ul[aria-busy=true], section[aria-busy=true]")).to_have_count(0)
    yield
    if state.back is not None:
        state.back(page)
    if state.act is not None:
        page.goto("about:blank")
