"""`rolloupe tail`."""

import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rolloupe.api import Run
from rolloupe.cli import progress
from rolloupe.cli.commands import tail as module
from rolloupe.cli.terminal import NOTHING, UNREADABLE
from rolloupe.index import library
from tests.cli.support import FORBIDDEN, command, rolloupe, row, write_run


def aged(run: Path, seconds: float = 60) -> Path:
    """Make every file of a run old."""
    for path in run.rglob("*.jsonl"):
        os.utime(path, (time.time() - seconds,) * 2)
    return run


def test_the_last_steps_have_their_best_median_and_worst_sample(run: Path) -> None:
    records = rolloupe("tail", aged(run), "--split", "train", "--last", "2", "--count", "2", "--json").lines
    assert [(one["step"], one["samples"], one["reward_mean"], one["reward_max"]) for one in records] == [
        (0, 4, 1.5, 3.0), (3, 4, -1.0, -1.0),
    ]  # fmt: skip
    first = records[0]
    assert [first[name]["id"] for name in ("best", "median", "worst")] == ["train/0/1/3", "train/0/1/2", "train/0/0/0"]
    assert first["best"]["response"] == "Answer 3"
    done = rolloupe("tail", run, "--split", "train", "--last", "2", "--count", "1")
    assert done.out.splitlines()[0] == "run  train  step 0" and "worst" in done.out and "train/0/0/0" in done.out


def test_a_pipe_gets_each_step_at_once(run: Path) -> None:
    words = command("tail", aged(run), "--split", "train", "--last", "1", "--json")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=buffered) as process:
        assert process.stdout is not None
        end = threading.Timer(30, process.kill)
        end.start()
        try:
            assert b"train" in process.stdout.readline()
        finally:
            end.cancel()
            process.kill()


def test_the_largest_rewards_count(tmp_path: Path) -> None:
    write_run(tmp_path, {0: [row(n, reward=reward) for n, reward in enumerate((0.0, 1.0, 1e308))]}, "train")
    (step,) = rolloupe("tail", aged(tmp_path), "--last", "1", "--count", "1", "--json").lines
    assert [step[name]["reward"] for name in ("best", "median", "worst")] == [1e308, 1.0, 0.0]


def test_nothing_hostile_is_printed(hostile_run: Path) -> None:
    done = rolloupe("tail", aged(hostile_run), "--count", "1")
    assert not set(FORBIDDEN) & set(done.out) and "best" in done.out
    record: dict[str, Any] = rolloupe("tail", hostile_run, "--count", "1", "--json").lines[0]
    assert (record["best"]["reward"], record["worst"]["reward"]) == (1.0, 0.0), (
        "rewards that are not finite have no place in the order"
    )


def test_a_new_step_is_printed_once_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.6)
    monkeypatch.setattr(module, "LOOK_S", 0.05)
    run = aged(write_run(tmp_path / "run", {0: [row(0)]}))

    def train() -> None:
        time.sleep(0.3)
        file = run / "rollout_result/train/1.jsonl"
        for n in range(3):
            with file.open("a") as lines:
                lines.write(json.dumps(row(n, reward=float(n)) | {"rollout_id": 1}) + "\n")
            time.sleep(0.25)

    trainer = threading.Thread(target=train)
    trainer.start()
    records = rolloupe("tail", run, "--last", "0", "--count", "1", "--json").lines
    trainer.join()
    assert [(one["step"], one["samples"], one["best"]["reward"]) for one in records] == [(1, 3, 2.0)]


def test_a_run_that_begins_meanwhile_and_an_evaluation_of_another_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, name in ((module, "QUIET_S"), (module, "LOOK_S"), (library, "LOOK_S")):
        monkeypatch.setattr(where, name, 0.05)
    monkeypatch.setattr(library, "LOOK_SHARE", 0.0)
    run = aged(write_run(tmp_path / "runs/first", {0: [row(0)]}))

    def train() -> None:
        time.sleep(0.3)
        write_run(run, {0: [row(0)]}, "eval")
        aged(write_run(tmp_path / "runs/second", {4: [row(0), row(1)]}))

    trainer = threading.Thread(target=train)
    trainer.start()
    records = rolloupe("tail", tmp_path / "runs", "--last", "0", "--count", "2", "--json").lines
    trainer.join()
    assert {(one["run"], one["split"], one["step"], one["samples"]) for one in records} == {
        ("first", "eval/default", 0, 1), ("second", "train", 4, 2),
    }  # fmt: skip


def test_the_last_steps_of_a_run_that_is_indexed_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = aged(write_run(tmp_path / "run", {step: [row(0)] for step in range(6)}))
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    monkeypatch.setattr(progress, "wait", lambda _: None)
    looks = []

    def wait(self: Run, timeout_s: float | None = None, *, texts: bool = False) -> bool:
        looks.append(self)
        return len(looks) > 3 and is_indexed(self, timeout_s, texts=texts)

    is_indexed = Run.wait
    monkeypatch.setattr(Run, "wait", wait)
    records = rolloupe("tail", run, "--last", "2", "--count", "2", "--json").lines
    assert [one["step"] for one in records] == [4, 5] and len(looks) > 3


@pytest.mark.parametrize("is_there", [True, False])
def test_a_run_that_is_not_there_yet_is_awaited(
    tmp_path: Path, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, name in ((module, "QUIET_S"), (module, "LOOK_S"), (library, "LOOK_S")):
        monkeypatch.setattr(where, name, 0.05)
    if is_there:
        (tmp_path / "run").mkdir()
    trainer = threading.Timer(0.3, lambda: aged(write_run(tmp_path / "run", {0: [row(0)], 1: [row(0)]})))
    trainer.start()
    done = rolloupe("tail", tmp_path / "run", "--count", "2", "--json")
    trainer.join()
    assert [one["step"] for one in done.lines] == [0, 1], "all of its steps are new; standard output has nothing else"
    assert done.err.startswith(f"Waiting for a run at {tmp_path / 'run'} (") and "Ctrl-C" in done.err


def test_the_first_samples_of_a_run_are_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QUIET_S", "LOOK_S"):
        monkeypatch.setattr(module, name, 0.05)
    run = write_run(tmp_path / "run", {0: []})
    trainer = threading.Timer(0.5, lambda: write_run(run, {0: [row(0)], 1: [row(0)]}))
    trainer.start()
    done = rolloupe("tail", run, "--count", "1", "--json")
    trainer.join()
    assert done.err == "Waiting for the first samples of run. Ctrl-C ends.\n" and done.lines[0]["step"] == 0


def test_where_no_run_may_begin_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no samples")
    assert rolloupe("tail", tmp_path / "notes.txt").code == NOTHING
    assert rolloupe("tail", tmp_path / "nowhere/run").code == UNREADABLE
