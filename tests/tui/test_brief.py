"""The band above the samples: its sentences, and the evidence that a key opens."""

from pathlib import Path

import pytest

from rolloupe.demo import RUNS
from rolloupe.tui.screens.evals import EvalsScreen
from rolloupe.tui.screens.findings import FindingsScreen
from rolloupe.tui.screens.metrics import MetricsScreen
from tests.insight.briefed import write
from tests.tui.support import NARROW, terminal

pytestmark = pytest.mark.anyio


async def test_each_sentence_opens_its_evidence(tmp_path: Path, demo_index: Path) -> None:
    async with terminal(RUNS / "tiny_grpo", tmp_path, index=demo_index) as me:
        await me.rest()
        before = me.lines[4:]
        await me.briefed()
        assert me.lines[4:] == before, "nothing moves when the sentences come"
        assert me.lines[1].startswith(" 7 paid for  Within groups the reward pays +0.13 for the same sentence")
        assert "best at step 89" in me.lines[2] and "48% to 77%" in me.lines[3]
        await me.press("7")
        screen = me.app.screen
        assert isinstance(screen, FindingsScreen)
        await me.answers()
        assert "The same sentence repeated" in me.rows("findings")[screen.rows.cursor * screen.rows.row_height]
        await me.press("escape", "8")
        assert isinstance(me.app.screen, MetricsScreen) and "step 89  1.38" in me.text
        await me.press("escape", "9")
        assert isinstance(me.app.screen, EvalsScreen) and "correct 0.760" in me.text
        await me.press("escape")
        await me.draw_at(*NARROW)
        assert me.lines[1].startswith(" 7 paid for  Within groups") and me.lines[1].endswith("8 reward  9 held out")
        assert me.lines[2].startswith(" Sample 1 of 160")


async def test_a_sentence_may_be_missing_and_a_click_opens_one_too(tmp_path: Path) -> None:
    async with terminal(write(tmp_path / "run", 1, steps=12), tmp_path) as me:
        assert "The brief is not known yet." in await me.press("9")
        await me.briefed()
        assert "The brief has no such sentence." in await me.press("9")
        await me.click("#brief", 20, 0)
        assert isinstance(me.app.screen, MetricsScreen)
