"""What is typed or pasted into a line costs memory and work for its length: it has a most."""

import asyncio
import time
from pathlib import Path

import pytest
from textual import events

from rolloupe.query.filter.parser import MAX_CHARS
from rolloupe.tui.widgets.prompt_line import FilterNames
from tests.cli.support import row, write_run
from tests.tui.support import Driver, terminal

pytestmark = pytest.mark.anyio


def paste(me: Driver, text: str) -> None:
    """Paste a text, as a terminal hands it on."""
    assert me.app._driver is not None
    me.app._driver.send_message(events.Paste(text))


async def test_a_line_says_that_it_is_full_until_it_has_room(tmp_path: Path) -> None:
    async with terminal(write_run(tmp_path / "run", {0: [row(n) for n in range(3)]}), tmp_path) as me:
        for key in ("F", "f", "slash"):
            await me.press(key)
            line = me.rollouts.prompt.line
            paste(me, "x" * (MAX_CHARS - 2))
            await me.settle()
            await me.type("ab")
            assert line.value.endswith("xab") and "holds 4,000" not in me.text, key
            await me.type("cd")
            assert line.value.endswith("xab") and "The line holds 4,000 characters, no more." in me.text, key
            await me.press("backspace")
            assert len(line.value) == MAX_CHARS - 1 and "holds 4,000" not in me.text, key
            paste(me, "y" * (MAX_CHARS + 1))
            await me.settle()
            assert "y" not in line.value and "holds 4,000" in me.text, key
            await me.press("escape")
            assert "holds 4,000" not in me.text, key


def test_completion_costs_no_more_than_the_length_of_the_line() -> None:
    names = FilterNames(["reward", "turns"])
    began = time.process_time()
    for end, completed in ((")", None), (" rew", "ard"), (' "rew', None), (" ", None)):
        line = "a" * 200_000 + end
        assert asyncio.run(names.get_suggestion(line)) == (completed and line + completed)
    assert time.process_time() - began < 5, "a search for the last word that begins at every letter takes minutes"
