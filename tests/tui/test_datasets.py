"""Datasets within a split, and the curve of the first line, by keys."""

from pathlib import Path

import pytest

from rolloupe import query
from rolloupe.record import Recorder
from rolloupe.tui.views.samples import curve_steps
from tests.cli.support import row, write_run
from tests.tui.support import NARROW, WIDE, terminal

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of two datasets, the second of which only the first step has; and an evaluation."""
    folder = tmp_path_factory.mktemp("datasets") / "run"
    with Recorder(folder, code=None) as recorder:
        for step in (0, 1):
            for n in range(4):
                env = "math" if n % 2 and not step else "code [x]"
                recorder.sample(
                    step=step, group=n, index=0, prompt=f"p{n}", response=f"r{n}", reward=n, env=env,
                    discarded="stale" if n == 3 else "",
                )  # fmt: skip
            if step:
                recorder.sample(step=1, split="eval/x", prompt="p", response="r", reward=0.5)
            recorder.step_end(step)
    return folder


async def test_a_dataset_within_a_split(run: Path, tmp_path: Path) -> None:
    async with terminal(run, tmp_path) as me:
        await me.rest()
        opened = me.rollouts.live.session.run
        assert [tuple(one) for one in query.datasets(opened, "train")] == [("code [x]", 6, 1.0), ("math", 2, 1.0)]
        assert query.datasets(opened, "eval") == [] == query.datasets(opened, "no such split")
        assert "6 dataset all" in " ".join(me.text.split())
        await me.press("P", "6")
        assert [line.split()[0] for line in me.rows("pick-rows")] == ["all", "code", "math"]
        await me.type("math")
        assert "Sample 1 of 2" in await me.press("enter") and me.shown == "train/0/1/0"
        assert "6 dataset math" in " ".join(me.text.split()) and " math " in me.lines[4]
        assert me.shown == "train/0/1/0" and "Sample 2 of 2" in await me.press("n") and me.shown == "train/0/3/0"
        await me.press("N")
        assert me.rollouts.nav.shown.note == "This step has no samples of math · 6 chooses another dataset."
        await me.press("6", "up", "enter")
        assert "Sample 1 of 4" in me.text
        await me.press("F")
        await me.type("reward > 0", "enter")
        assert "Sample 1 of 3" in me.text and "code [x], filtered" in me.text, "both hold"
        await me.press("2")
        await me.type("eval/x", "enter")
        assert me.rollouts.nav.place.dataset == "", "another split has others"
        await me.press("F", "ctrl+u", "enter")
        assert me.shown.startswith("eval/x/1/")
        assert "No sample of eval/x names a dataset or an environment." in await me.press("6")


async def test_the_curve_of_the_first_line_by_keys(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {step: [row(0, reward=step % 5)] for step in range(60)})

    async with terminal(run, tmp_path) as me:
        await me.rest()
        state = me.rollouts.live.split_state
        assert state is not None
        for size in (WIDE, NARROW):
            await me.resize(*size)
            steps = curve_steps(state, me.rollouts.bar("header").lines)
            assert len(steps) < 60
            await me.press("<")
            assert me.rollouts.nav.place.step == steps[-2] < 58
            await me.press("less_than_sign", "<", "greater_than_sign")
            assert me.rollouts.nav.place.step == steps[-3]
            await me.press(">", ">")
            assert me.rollouts.nav.place.step == 59 and "last step of the curve" in await me.press(">")
