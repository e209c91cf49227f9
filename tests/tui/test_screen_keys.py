"""Every key of the screens over the main one: its table, its help, its page of the documents, and what comes of it."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tools.pages import terminal_keys

from rolloupe.model import SampleKey
from rolloupe.tui.keys import (
    EVAL_KEYS,
    EVERY_KEY,
    FINDING_KEYS,
    GROUP_KEYS,
    HELP_KEYS,
    LIST_KEYS,
    METRIC_KEYS,
    SCREENS,
    SEARCH_KEYS,
    TOKEN_KEYS,
    KeyHelp,
)
from rolloupe.tui.screens.tokens import TokenPane
from rolloupe.tui.widgets.lines import LinePane, RowList
from tests.cli.support import row, write_run
from tests.tui.support import WIDE, Driver, terminal

pytestmark = pytest.mark.anyio


Look = Callable[[Driver], object]
"""Something on the screen that a key changes."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of long answers in groups of four, samples that break several rules, and two evaluations."""
    long = "\n".join(f"line {n}" for n in range(200))
    rows = [row(n, reward=float(n % 3), group_index=n // 4, response=f"Answer {n}\n{long}") for n in range(60)]
    rows[5]["advantage"] = float("nan")
    rows[7] |= {"status": "truncated", "reward": 2.0}
    rows[8] |= {"response": "", "reward": 2.0}
    folder = write_run(tmp_path_factory.mktemp("runs") / "run", {0: rows, 3: rows})
    return write_run(folder, {3: [row(n, dataset=f"set {n % 40}") for n in range(80)]}, "eval")


OPENERS: dict[str, tuple[tuple[KeyHelp, ...], str]] = {
    "Tokens": (TOKEN_KEYS, "t"),
    "Metrics": (METRIC_KEYS, "m"),
    "Group": (GROUP_KEYS, "v"),
    "Evaluations": (EVAL_KEYS, "E"),
    "Findings": (FINDING_KEYS, "i"),
    "Search": (SEARCH_KEYS, "slash A n s w e r enter"),
    "Keys": (HELP_KEYS, "question_mark"),
}
"""The table of each screen, and the keys that open it."""


def test_every_key_is_in_the_documents() -> None:
    assert all(f"| {one.meaning} |" in terminal_keys() for one in EVERY_KEY)
    assert [keys for keys, _ in OPENERS.values()] == list(SCREENS)


async def back(me: Driver) -> None:
    """Leave every screen over the main one."""
    while len(me.app.screen_stack) > 1:
        await me.press("escape")


async def test_each_key_of_a_screen_does_what_its_row_says(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, ...]] = []

    def noted(action: str) -> Callable[..., None]:
        return lambda _, *words: done.append((action, *map(repr, words)))

    for table, opener in OPENERS.values():
        await me.press(*opener.split())
        kind = type(me.app.screen)
        actions = {key.action: re.findall(r"[^(),\s]+", key.action) for key in table}
        with monkeypatch.context() as patch:
            for action, *_ in actions.values():
                assert hasattr(kind, f"action_{action}"), action
                patch.setattr(kind, f"action_{action}", noted(action))
            for row_of_table in table:
                for key in row_of_table.keys:
                    done.clear()
                    await me.press(key)
                    assert done == [tuple(actions[row_of_table.action])], (kind, key)
        feet = " ".join(key.foot for key in table if key.foot)
        assert all(word in me.text for word in feet.split()), "the foot has the keys"
        await back(me)


def cursor(me: Driver) -> object:
    """The row under the cursor of a list."""
    return me.app.screen.query_one(RowList).cursor


def top(me: Driver) -> object:
    """The first line in view."""
    return me.app.screen.query_one(LinePane).scroll_offset.y


def token(me: Driver) -> object:
    """The token under the cursor."""
    return me.app.screen.query_one(TokenPane).cursor


def series(me: Driver) -> object:
    """The series that tints the tokens."""
    return me.app.screen.query_one(TokenPane).series


def sample(me: Driver) -> object:
    """The sample on the screen."""
    return me.shown


def chosen(me: Driver) -> object:
    """The answer of a group that is chosen, or the step of a curve."""
    return re.findall(r"▸ \S+|step \d+ ", me.text)


def screens(me: Driver) -> object:
    """How many screens there are."""
    return len(me.app.screen_stack)


ROWS: list[tuple[str, Look]] = [
    (key, cursor) for key in "down up j k pagedown pageup G g end home down".split()
]  # fmt: skip
PAGES: list[tuple[str, Look]] = [(key, top) for key in "j k pagedown pageup G g end home".split()]
LEAVE: list[tuple[str, Look]] = [("question_mark", screens), ("escape", screens)]


def leaves(opener: str, *keys: str) -> list[tuple[str, Look]]:
    """Leave a screen in several ways, and open it again between them."""
    again = " ".join(opener.split())
    return [step for key in keys for step in ((key, screens), (again, screens))]


SCENES: dict[str, list[tuple[str, Look]]] = {
    "Tokens": [
        *((key, token) for key in "right l left h down up w w".split()), ("x", series), ("u", series),
        ("X up enter", series), *((key, top) for key in "g G home end k j pageup pagedown".split()),
        *((key, sample) for key in "n p P N".split()), *leaves("t", "t", "escape", "q"), *LEAVE,
    ],
    "Metrics": [
        *ROWS, *((key, chosen) for key in "left right h l".split()), *leaves("m", "enter", "space", "escape", "q"),
        *LEAVE,
    ],
    "Group": [
        *((key, chosen) for key in "right left l h n p".split()), ("down", top), ("up", top), *PAGES,
        *leaves("v", "enter", "space", "escape", "q"), *LEAVE,
    ],
    "Evaluations": [
        *ROWS, ("enter", lambda me: "share correct" in me.text), ("escape", lambda me: "share correct" in me.text),
        ("space", lambda me: "share correct" in me.text), ("q", lambda me: "share correct" in me.text),
        *leaves("E", "escape", "q"), *LEAVE,
    ],
    "Findings": [
        *((key, cursor) for key in "down up end home G g down up".split()),
        *((f"{key} {back}", cursor) for key, back in (("j", ""), ("k", ""), ("pagedown", ""), ("pageup", ""))),
        ("enter", screens), ("escape", screens), ("space", screens), ("escape", screens), *leaves("i", "escape", "q"),
        *LEAVE,
    ],
    "Search": [*ROWS, *leaves("slash A n s w e r enter", "enter", "space", "escape", "q"), *LEAVE],
    "Keys": [
        ("down", top), ("up", top), *PAGES, *leaves("question_mark", "escape", "q", "question_mark", "enter"),
    ],
}  # fmt: skip
"""Keys, and what each changes."""


def pressed(steps: Iterable[tuple[str, Look]]) -> set[str]:
    """All keys of a scene."""
    return {key for keys, _ in steps for key in keys.split()}


def test_every_key_of_a_screen_is_in_its_scene() -> None:
    for name, (table, _) in OPENERS.items():
        assert {key for one in table for key in one.keys} <= pressed(SCENES[name]), name


async def walk(me: Driver, name: str) -> None:
    """Open a screen, and press all of its keys."""
    await me.press(*OPENERS[name][1].split())
    await me.answers()
    for keys, look in SCENES[name]:
        before = look(me)
        await me.press(*keys.split())
        await me.answers()
        assert look(me) != before, (name, keys, look.__name__, me.text)


async def test_what_comes_of_each_key_of_a_screen(me: Driver) -> None:
    await me.draw_at(WIDE[0], 16)
    await me.rest()
    for name in [name for name in SCENES if name != "Tokens"]:
        me.rollouts.nav.go_to(SampleKey.parse("train/3/0/0"))
        await walk(me, name)
        await back(me)


async def test_what_comes_of_each_key_of_the_token_view(short_grpo: Path, tmp_path: Path, demo_index: Path) -> None:
    async with terminal(short_grpo, tmp_path, (60, 12), index=demo_index) as me:
        await me.rest()
        await walk(me, "Tokens")


async def test_the_keys_of_a_list_beside_other_panes(me: Driver) -> None:
    await me.press("tab", "tab")
    for key in "down up pagedown pageup end home".split():
        before = me.shown
        await me.press(key)
        assert me.shown != before, key
    await me.press("tab", "enter")
    assert "[ ] prompt" in me.text
    assert "[x] prompt" in await me.press("space")
    assert {key for row_of_table in LIST_KEYS for key in row_of_table.keys} == set(
        "up down pagedown pageup home end enter space".split()
    )
