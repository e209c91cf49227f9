"""`rolloupe ls`."""

import os
from pathlib import Path
from typing import Any

import pytest

from rolloupe import Recorder
from rolloupe import open as open_runs
from tests.cli.support import rolloupe, row, write_run

TELESCOPE = Path(__file__).parents[1] / "data/telescope/run_default"


def test_json_has_for_each_split_what_there_is(run: Path) -> None:
    done = rolloupe("ls", run, "--json")
    assert (done.code, done.err) == (0, "")
    (found,) = done.json
    assert found["path"] == str(run / "rollout_result")
    assert (found["format"], found["problems"]) == ("relax", 0), rolloupe("check", run).out
    assert (found["groups"], found["samples"], found["reward_mean"]) == (5, 10, 0.3)
    assert found["splits"] == {
        "train": {
            "steps": 2, "groups": 4, "samples": 8, "discarded": 0,
            "reward_mean": 0.25, "reward_min": -1.0, "reward_max": 3.0,
        },
        "eval/gsm8k": {
            "steps": 1, "groups": 1, "samples": 2, "discarded": 0,
            "reward_mean": 0.5, "reward_min": 0.5, "reward_max": 0.5,
        },
    }  # fmt: skip


def test_rewards_that_are_no_numbers_are_left_out_of_the_mean(tmp_path: Path) -> None:
    rows = [row(0, reward=float("nan")), row(1, reward=None), row(2, reward=float("inf")), row(3, reward=2.0)]
    write_run(tmp_path, {0: rows[:3]}, "train")
    write_run(tmp_path, {0: rows}, "eval")
    train, evaluation = rolloupe("ls", tmp_path, "--json").json[0]["splits"].values()
    assert [train[f"reward_{name}"] for name in ("mean", "min", "max")] == [None, None, None]
    assert [evaluation[f"reward_{name}"] for name in ("mean", "min", "max")] == [2.0, 2.0, 2.0]
    assert rolloupe("ls", tmp_path, "--json").json[0]["reward_mean"] == 2.0


def test_many_runs_are_listed_with_their_problems(demo_runs: Path, hostile_run: Path) -> None:
    found = {one["id"]: one for one in rolloupe("ls", demo_runs, "--data-dir", hostile_run, "--json").json}
    assert len(found) == 13
    assert sorted(one["problems"] for one in found.values()) == [*[0] * 12, 1]


def test_splits_and_steps_count_what_was_discarded_apart(tmp_path: Path) -> None:
    """Means are over what was trained on, whether the samples say that themselves or annotations do so later."""
    with Recorder(tmp_path / "said", code=None) as record:
        for n in range(6):
            uid = record.sample(step=n // 3, group="g", index=n, reward=float(n), prompt="p", response="r")
            record.annotate(uid, discarded="stale" if n % 2 else "")
    for path, samples, discarded, mean in ((TELESCOPE, 364, 192, 1.0313953), (tmp_path / "said", 6, 3, 2.0)):
        split = rolloupe("ls", path, "--json").json[0]["splits"]["train"]
        assert (split["samples"], split["discarded"]) == (samples, discarded)
        assert split["reward_mean"] == pytest.approx(mean, abs=1e-7)
        with open_runs(path, index_dir=tmp_path / "index") as runs:
            (own,) = [one for one in runs[0].splits() if one.name == "train"]
            steps = runs[0].steps("train")
        assert (own.samples, own.discarded) == (samples, discarded)
        assert (sum(one.samples for one in steps), sum(one.discarded for one in steps)) == (samples, discarded)
        trained = sum(one.reward.count for one in steps)
        assert (own.reward.count, trained) == (samples - discarded, samples - discarded)
        assert sum((one.reward.mean or 0.0) * one.reward.count for one in steps) / trained == pytest.approx(
            mean, abs=1e-7
        )
        assert own.reward.mean == pytest.approx(mean, abs=1e-7)


def test_the_table_has_every_run_and_split(demo_runs: Path) -> None:
    done = rolloupe("ls", demo_runs)
    assert done.code == 0
    for word in ("relax", "eval_poem_task", "512", "eval/aime24", "-0.109"):
        assert word in done.out


def test_nothing_found_says_why(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_bytes(b"\x80\x02")
    done = rolloupe("ls", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "unpickles" in done.err
    listed = rolloupe("ls", tmp_path, "--json")
    assert (listed.code, listed.json) == (1, [])


def test_what_may_not_be_read_beside_a_run_is_named(own_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_run / "shut").mkdir()
    (own_run / "lines.jsonl").touch()

    def refuse(path: str, *given: Any, **named: Any) -> int:
        if str(path).endswith(("shut", "lines.jsonl")):
            raise PermissionError(13, "Permission denied")
        return opened(path, *given, **named)

    opened = os.open
    monkeypatch.setattr(os, "open", refuse)
    done = rolloupe("ls", own_run)
    assert done.code == 0
    reason = "could not be read: Permission denied. Next: allow it to be read"
    assert done.err.splitlines() == [
        "2 places could not be read. `rolloupe doctor PATH` says more.",
        f"  {own_run}: lines.jsonl: {reason}",
        f"  {own_run / 'shut'}: {reason}",
    ]
