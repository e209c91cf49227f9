"""A screen over another one is left once, whatever comes late, and however quickly a person types."""

from pathlib import Path

import pytest
from textual.screen import Screen

from tests.cli.support import row, write_run
from tests.tui.support import terminal

pytestmark = pytest.mark.anyio

OVER_ONE = ("m", "v", "t", "E", "i", "question_mark", "3", "4", "ctrl+p")
"""Each opens a screen over the main one."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of three samples."""
    return write_run(tmp_path / "run", {0: [row(n) for n in range(3)]})


def leave(screen: Screen[object]) -> None:
    """Leave a screen as Esc does."""
    back = getattr(screen, "action_back", None)
    back() if back else screen.dismiss(None)


async def test_a_screen_is_left_once(run: Path, tmp_path: Path) -> None:
    async with terminal(run, tmp_path) as me:
        for key in OVER_ONE:
            await me.press(key)
            screen = me.app.screen
            for _ in range(2):
                leave(screen)
            await me.settle()
            assert me.app.is_running and me.app.screen_stack == [me.rollouts], key
        await me.press("m")
        metrics = me.app.screen
        await me.press("question_mark")
        leave(metrics)
        assert len(me.app.screen_stack) == 3, "a covered screen stays until it is on top"
        await me.press("escape", "escape")
        assert me.app.screen_stack == [me.rollouts]
        for key in "mvtEi":
            await me.type(key, "?", "escape", "q", "n")
            assert me.app.screen_stack == [me.rollouts] and "Sample 2 of 3" in me.text, key
            await me.press("p")
