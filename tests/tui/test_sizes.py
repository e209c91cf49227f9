"""Windows of one cell, and back."""

import asyncio
from pathlib import Path

from rolloupe.tui.draw.ink import PLAIN, cut, padded
from tests.tui.support import NARROW, terminal
from tests.tui.test_snapshots import SCENES


def test_a_line_without_a_cell_is_empty() -> None:
    line = [("a name", PLAIN), ("日本", PLAIN)]
    assert [cut(line, width) for width in (-5, 0)] == [[], []] and padded(line, -1)[0][0] == ""


def test_every_screen_outlives_a_window_of_one_cell(short_grpo: Path, tmp_path: Path) -> None:
    different: list[str] = []

    async def scene() -> None:
        async with terminal(short_grpo, tmp_path, NARROW) as me:
            await me.rest()
            for name, keys in SCENES.items():
                shown = await me.press(*keys.split())
                await me.resize(1, 1)
                await me.resize(*NARROW)
                for _ in range(100):  # what lies under a list is drawn later
                    if me.text == shown:
                        break
                    await me.settle()
                else:
                    different.append(name)

    asyncio.run(scene())
    assert different == []
