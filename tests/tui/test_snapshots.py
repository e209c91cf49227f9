"""Every screen in two sizes and two themes, as text and with the number of cells of each pair of colours.

`ROLLOUPE_SNAPSHOTS=write pytest -m '' tests/tui/test_snapshots.py` writes them again; look at what has changed.
"""

import asyncio
import os
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from rolloupe.demo import RUNS
from rolloupe.tui.app import Terminal
from rolloupe.tui.draw.ink import PALETTES
from tests.thoroughness import slow_unless
from tests.tui.support import NARROW, WIDE, Driver, terminal

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent / "snapshots"

SCENES = {
    "text": "g",
    "side": "tab",
    "groups": "V",
    "table": "V escape s",
    "steps": "s 3",
    "sorts": "escape 4",
    "find": "escape f 9 enter",
    "group": "escape v right",
    "tokens": "escape t x right",
    "metrics": "escape m down down left",
    "evals": "escape E",
    "prompts": "enter",
    "findings": "escape escape i down",
    "samples": "enter",
    "help": "escape escape question_mark",
    "palette": "escape ctrl+p",
    "filter": "escape F r e w",
    "search": "escape slash m a r b l e s enter",
    "bookmarks": "escape b n b B",
    "discarded": "escape D",
    "runs": "D 1",
    "splits": "escape 2",
    "datasets": "escape 6",
    "fields": "escape 5",
    "series": "escape t X",
    "update": "escape u",
}
"""The keys that lead from each screen to the next."""


def picture(me: Driver) -> str:
    """What the screen shows, and how many cells have each pair of colours."""
    cells: Counter[str] = Counter()
    for strip in me.strips():
        for segment in strip:
            style = segment.style
            names = [colour.name if colour else "-" for colour in (style.color, style.bgcolor)] if style else ["-", "-"]
            cells[f"{' on '.join(names)}{' bold' if style and style.bold else ''}"] += segment.cell_length
    return "\n".join([*me.lines, "", *(f"{count:6} {ink}" for ink, count in sorted(cells.items()))]) + "\n"


def name_of(value: str | tuple[int, int]) -> str:
    """The name of a size or a theme in that of a test."""
    return value if isinstance(value, str) else "x".join(map(str, value))


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=name_of)
async def test_the_screen_before_there_is_a_run_is_as_it_was(size: tuple[int, int], theme: str, tmp_path: Path) -> None:
    awaited: Future[str] = Future()
    app = Terminal(Future(), PALETTES[theme], str(tmp_path), awaited)
    different: list[str] = []

    async with app.run_test(size=size) as pilot:
        me = Driver(app, pilot)
        for name, reason in {"opening": "", "waiting": "Waiting for a run at /data/runs."}.items():
            if reason:
                awaited.set_result(reason)
                await me.settle()
            if not is_as_it_was(f"{name}-{size[0]}-{theme}.txt", picture(me)):
                different.append(name)
    assert different == [], "see the docstring of this module"


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        slow_unless(False, WIDE, "dark"),
        (NARROW, "light"),
        slow_unless(False, WIDE, "light"),
        slow_unless(False, NARROW, "dark"),
    ],
    ids=name_of,
)
async def test_every_screen_is_as_it_was(size: tuple[int, int], theme: str, tmp_path: Path, demo_index: Path) -> None:
    different: list[str] = []
    seen: set[type] = set()

    async with terminal(RUNS / "tiny_grpo", tmp_path, size, theme=theme, index=demo_index) as me:
        await me.briefed()
        for name, keys in SCENES.items():
            await me.press(*keys.split())
            seen.add(type(me.app.screen))
            if not is_as_it_was(f"{name}-{size[0]}-{theme}.txt", picture(me)):
                different.append(name)
            if size == NARROW and not await outlives_one_cell(me):
                different.append(f"{name} after a window of one cell")
    assert different == [], "see the docstring of this module"
    assert screens(Screen) <= seen, "a screen without a picture"


async def outlives_one_cell(me: Driver) -> bool:
    """Shrink the window to one cell and back; returns whether it shows the same."""
    shown = me.text
    await me.resize(1, 1)
    await me.resize(*NARROW)
    for _ in range(100):  # what lies under a list is drawn later
        if me.text == shown:
            return True
        await asyncio.sleep(0.05)
        await me.settle()
    return False


def screens(kind: type[Any]) -> set[type]:
    """Every screen of the terminal that is not a mere base of others."""
    below = {one for child in kind.__subclasses__() for one in screens(child)}
    return below or ({kind} if kind.__module__.startswith("rolloupe.") else set())


def is_as_it_was(name: str, shown: str) -> bool:
    """Compare a picture with the kept one, or keep it."""
    file = FOLDER / name
    if os.environ.get("ROLLOUPE_SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    return file.read_text(encoding="utf-8") == shown
