"""Runs to ask about."""

import shutil
from pathlib import Path

import pytest

from tests.cli.support import HOSTILE, row, write_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of four samples, and an evaluation. Tests that change it ask for `own_run`."""
    folder = write_run(
        tmp_path_factory.mktemp("runs") / "run",
        {0: [row(i) for i in range(4)], 3: [row(i, reward=-1.0) for i in range(4)]},
    )
    return write_run(folder, {3: [row(i, dataset="gsm8k", reward=0.5) for i in range(2)]}, "eval")


@pytest.fixture
def own_run(run: Path, tmp_path: Path) -> Path:
    """The same run, for one test."""
    return Path(shutil.copytree(run, tmp_path / "run"))


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose name, prompts, responses, status and metrics are out to harm; with one damaged line."""
    rows = [
        row(0, prompt=HOSTILE, response=HOSTILE, status=HOSTILE),
        row(1, reward=float("nan"), response="\ud83d lone"),
        row(2, reward=float("-inf")),
        row(3, reward=None),
        row(4, reward={"score": 1.0, "[red]\x1b[31m": 2.0, "turns": 7.0, "metric.turns": 8.0}),
    ]
    folder = write_run(tmp_path_factory.mktemp("hostile") / "evil \x1b[31m\u202e[red]\n", {0: rows})
    with (folder / "rollout_result/train/0.jsonl").open("a") as file:
        file.write('{"rollout_id": 0, \x1b[2J\n')
    return folder
