"""One prompt over the steps of a run: the line above its sample, and the keys that follow it."""

from pathlib import Path

import pytest

from tests.cli.support import row, write_run
from tests.tui.support import terminal

pytestmark = pytest.mark.anyio


def answer(index: int, prompt: str, reward: float) -> dict[str, object]:
    return row(index, prompt=prompt, group_index=prompt, reward=reward)


async def test_keys_follow_a_prompt_from_step_to_step(tmp_path: Path) -> None:
    steps = {
        0: [answer(0, "Why?", 0.0), answer(1, "Why?", 0.0)],
        1: [answer(0, "Who?", 1.0)],
        2: [answer(0, "When?", 1.0), answer(1, "Why?", 0.0), answer(2, "Why?", 1.0)],
    }
    async with terminal(write_run(tmp_path / "run", steps), tmp_path) as me:
        assert "of 2 steps" not in me.text, "the prompt of the first sample appears once"
        assert "This prompt appears at no other step." in await me.press("right_curly_bracket")
        shown = await me.press("n", "n")
        assert " prompt ▁█ 2 of 2 steps  mean 0.500 of 2 samples  { } its other steps" in shown
        assert "This is the last step of the prompt." in await me.press("right_curly_bracket")
        shown = await me.press("left_curly_bracket")
        assert "step 0 / 2" in shown and "1 of 2 steps  mean 0.00" in shown
        assert "Sample 2 of 2" in shown, "the second answer, as before"
        assert "Sample 3 of 3" in await me.press("right_curly_bracket")
