"""Samples without an advantage have one within their group, and only those."""

from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe import Recorder

LOGPROBS = {"logprobs": np.array([-1.0, -2.0])}


def recorded(folder: Path, advantage: float | None, rewards: list[float | None]) -> Path:
    """A step with two groups, of which the second has one member, and a discarded sample in the first."""
    with Recorder(folder) as recorder:
        for index, reward in enumerate([*rewards, 9.0]):
            recorder.sample(
                step=0, group="a", index=str(index), prompt="p", response="ab", reward=reward, advantage=advantage,
                tokens=["a", "b"], series=LOGPROBS, discarded="too easy" if index == len(rewards) else "",
            )  # fmt: skip
        recorder.sample(step=0, group="b", prompt="p", response="ab", reward=1.0, tokens=["a", "b"], series=LOGPROBS)
    return folder


def test_an_advantage_within_the_group_stands_in_for_one_that_is_not_recorded(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", None, [1.0, 0.0, None])
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        run = runs[0]
        series = run.tokens("train/0/a/0").series
        assert "advantages" not in series
        assert series["group_advantages"] == pytest.approx([0.5 / (0.5**0.5 + 1e-4)] * 2)
        assert "group_advantages" not in run.tokens("train/0/a/2").series, "it has no reward"
        assert "group_advantages" not in run.tokens("train/0/b/0").series, "it has no siblings"
        found = run.update(0, "reinforce")
        assert len(found.by_sample) == 2 and found.left_out == {"discarded": 1, "no advantage": 2}
        assert found.whole.up == pytest.approx(found.whole.down) == pytest.approx(2 * 0.5 / (0.5**0.5 + 1e-4))


def test_a_critic_has_advantages_of_its_own(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run") as recorder:
        for index, reward in enumerate([0.0, 1.0]):
            series = {**LOGPROBS, "values": np.array([0.1, 0.2])}
            recorder.sample(
                step=0, group="a", index=str(index), prompt="p", response="ab", reward=reward, series=series
            )
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert "group_advantages" not in runs[0].tokens("train/0/a/0").series


def test_a_recorded_advantage_wins(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", 3.0, [1.0, 0.0])
    with rolloupe.open(folder, index_dir=tmp_path / "index") as runs:
        series = runs[0].tokens("train/0/a/0").series
        assert series["advantages"].tolist() == [3.0, 3.0] and "group_advantages" not in series
