"""`rolloupe steps`."""

from pathlib import Path

import pytest

from rolloupe import Recorder
from tests.cli.support import rolloupe, row, write_run

KEYS = ("samples", "discarded", "reward_mean", "reward_std", "without_reward")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps, samples of which are thrown away or have no reward; and an evaluation."""
    steps: list[list[float | None]] = [[0.0, 1.0, None, float("nan")], [None]]
    folder = tmp_path_factory.mktemp("trained") / "run"
    with Recorder(folder, code=None) as recorder:
        for step, rewards in enumerate(steps):
            for n, reward in enumerate(rewards):
                recorder.sample(step=step, group="g", prompt="p", response="r", reward=reward, uid=f"{step}.{n}")
            recorder.step_end(step)
        recorder.sample(step=0, group="g", prompt="p", response="r", reward=100.0, discarded="stale")
        recorder.sample(step=0, split="eval/math", group="g", prompt="p", response="r", reward=0.5)
        recorder.discard("0.0", "zero_advantage")
    return folder


def test_json_has_a_line_a_step(trained: Path) -> None:
    done = rolloupe("steps", trained, "--json")
    assert (done.code, done.err) == (0, "")
    assert [(line["split"], line["step"], *(line[key] for key in KEYS)) for line in done.lines] == [
        ("train", 0, 5, 2, 1.0, 0.0, 2),
        ("train", 1, 1, 0, None, None, 1),
        ("eval/math", 0, 1, 0, 0.5, 0.0, 0),
    ]


def test_the_numbers_are_those_of_the_samples(run: Path) -> None:
    for line in rolloupe("steps", run, "--split", "train", "--json").lines:
        own = rolloupe("query", run, "--split", "train", "--step", str(line["step"]), "--json").lines
        rewards = [one["reward"] for one in own]
        assert (line["samples"], line["reward_mean"]) == (len(own), sum(rewards) / len(own))


def test_one_split_or_all_evaluations(run: Path) -> None:
    assert [line["step"] for line in rolloupe("steps", run, "--split", "train", "--json").lines] == [0, 3]
    for name in ("eval", "eval/gsm8k"):
        (line,) = rolloupe("steps", run, "--split", name, "--json").lines
        assert (line["split"], line["samples"]) == ("eval/gsm8k", 2)
    missing = rolloupe("steps", run, "--split", "test")
    assert (missing.code, missing.out) == (1, "")
    assert "there are: train, eval/gsm8k" in missing.err


def test_the_table_has_a_row_a_step(trained: Path) -> None:
    lines = rolloupe("steps", trained).out.splitlines()
    assert lines[0].split() == ["step", "samples", "discarded", "reward", "std", "without", "reward", "split"]
    assert [line.split() for line in lines[1:]] == [
        ["0", "5", "2", "1", "0", "2", "train"],
        ["1", "1", "0", "-", "-", "1", "train"],
        ["0", "1", "0", "0.5", "0", "0", "eval/math"],
    ]


def test_several_runs_are_named(run: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "other", {7: [row(0)]})
    both = rolloupe("steps", run, tmp_path / "other").out.splitlines()
    assert both[0].split()[0] == "run" and len(both) == 1 + 3 + 1
    names = dict.fromkeys(line["run"] for line in rolloupe("steps", run, tmp_path / "other", "--json").lines)
    (line,) = rolloupe("steps", run, tmp_path / "other", "--run", [*names][-1], "--json").lines
    assert line["step"] == 7


def test_nothing_found_says_why(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_bytes(b"\x80\x02")
    done = rolloupe("steps", tmp_path, "--json")
    assert (done.code, done.out) == (1, "") and "unpickles" in done.err
