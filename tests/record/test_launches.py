"""A run that goes on: after its end, a crash or a fork, with as many ranks or others."""

import json
import os
import signal
import warnings
from pathlib import Path

import pytest

import rolloupe
from rolloupe.index import Library
from rolloupe.query import sample_and_group
from rolloupe.record import Recorder
from tests.forks import program
from tests.record.support import lines, opened, recorder, series


def test_a_run_that_goes_on_keeps_all_and_its_last_attempt_counts(tmp_path: Path) -> None:
    for attempt in range(2):
        with recorder(tmp_path / "run", config={"attempt": attempt}, reward_range=(0, 1)) as record:
            last = record.last_checkpoint()
            assert (last is None) == (attempt == 0)
            for step in range(attempt, 3):
                record.sample(step=step, group="g", index=0, reward=float(attempt))
            record.checkpoint("000001", step=1)
    run = opened(tmp_path / "run")
    assert [sample.reward for sample in run.samples()] == [0.0, 0.0, 1.0, 0.0, 1.0]
    assert run.sample("train/1/g/0").row.reward == 1.0
    assert run.sample("train/1/g/0~1").row.reward == 0.0
    assert [row["attempt"] for row in lines(tmp_path / "run/attempts.jsonl")] == [1, 2]
    assert [row["producer"] for row in lines(tmp_path / "run/ended.jsonl")] == ["rank0", "rank0"]
    assert (run.config, json.loads((tmp_path / "run/config.1.json").read_text())) == ({"attempt": 1}, {"attempt": 0})


def test_another_recorder_of_this_process_takes_the_place_of_the_former(tmp_path: Path) -> None:
    for reward in (0.0, 1.0):  # a cell of a notebook that is run again
        record = recorder(tmp_path / "run")
        assert record.producer == "rank0"
        for _ in range(2):
            record.sample(step=0, group="g", reward=reward)
    record.close()
    run = opened(tmp_path / "run")
    assert [(str(sample.key), sample.reward) for sample in run.samples()] == [
        ("train/0/g/0~1", 0.0), ("train/0/g/1~1", 0.0), ("train/0/g/0", 1.0), ("train/0/g/1", 1.0),
    ]  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_that_was_forked_off_writes_files_of_its_own(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(step=0, group="g", index="parent")
        record.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if not child:
            try:
                record.sample(step=0, group="g", index="child", series={"a": [1.0]})
                record.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        record.sample(step=0, group="g", index="parent again")
    run = opened(tmp_path / "run")
    assert {sample.key.index for sample in run.samples()} == {"parent", "child", "parent again"}
    assert series(run.sample("train/0/g/child")) == {"a": [1.0]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_that_was_forked_off_while_trouble_was_reported_does_not_wait_for_it(tmp_path: Path) -> None:
    children = []

    class Forks:
        """A step whose number is read while the trouble is reported."""

        def __index__(self) -> int:
            children.append(os.fork())
            if not children[0]:
                signal.alarm(30)  # ends it where it hangs
                try:
                    record.sample(step=0, group="g", index="child", reward="bad")
                    record.flush()
                finally:
                    os._exit(0)
            return 0

    with recorder(tmp_path / "run", strict=False) as record, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record.trouble.report("bad", what="values", step=Forks())
        assert os.waitpid(children[0], 0)[1] == 0
    assert [sample.key.index for sample in opened(tmp_path / "run").samples()] == ["child"]


def test_a_torn_end_is_moved_aside_and_costs_itself_alone(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(step=0, group="g", index=0)
    place = tmp_path / "run/samples/rank0.jsonl"
    with place.open("ab") as file:
        file.write(b'{"uid": "torn", "step"')
    with recorder(tmp_path / "run") as record:
        record.sample(step=0, group="g", index=1)
    run = opened(tmp_path / "run")
    assert (len(list(run.samples())), run.problems()) == (2, [])
    assert (tmp_path / "run/torn/rank0.jsonl").read_bytes() == b'{"uid": "torn", "step"\n'


def launched(run: Path, ranks: int, steps: range, monkeypatch: pytest.MonkeyPatch) -> list[Recorder]:
    """So many ranks record two samples each of some steps, at once."""
    monkeypatch.setenv("WORLD_SIZE", str(ranks))
    started = []
    for rank in reversed(range(ranks)):
        monkeypatch.setenv("RANK", str(rank))
        started.append(recorder(run, config={"ranks": ranks}))
    for step in steps:
        for record in started:
            for n in range(2):
                record.sample(step=step, group=f"{n}", reward=float(ranks))
    for record in started:
        record.flush()
    return started


def current(run: rolloupe.Run, step: int) -> list[float]:
    return sorted(s.reward or 0.0 for s in run.samples(step=step) if not s.key.attempt)


def test_a_step_that_is_recorded_again_by_other_ranks_replaces_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    for ranks, steps in ((4, range(3)), (2, range(1, 4)), (3, range(3, 5)), (3, range(4, 6))):
        for record in launched(path, ranks, steps, monkeypatch):
            record.close()
    run = opened(path)
    expected = {0: [4.0] * 8, 1: [2.0] * 4, 2: [2.0] * 4, 3: [3.0] * 6, 4: [3.0] * 6, 5: [3.0] * 6}
    assert {step: current(run, step) for step in range(6)} == expected
    there = expected | {4: [3.0] * 12}  # the same ranks of the same process recorded it twice: attempts, side by side
    assert {step: [s.reward for s in run.samples(step=step)] for step in range(6)} == there
    assert {s.step: (s.samples, s.reward.mean) for s in run.steps()} == {n: (len(r), r[0]) for n, r in there.items()}
    (split,) = run.splits()
    assert (split.samples, split.superseded) == (40, 8 * 2 + 4)
    old = [key for key in run.group_of(next(iter(run.samples(step=1))).key) if key.attempt]
    assert {run.sample(key).row.reward for key in old} == {4.0}
    listed = [sample.key for sample in run.samples(step=1)]
    with Library([path], index_dir=tmp_path / "index") as library:
        assert library.runs[0].wait_all(30)
        for key in listed:
            group = sample_and_group(library.runs[0], key)[1]
            assert list(group) == [other for other in listed if other.group == key.group]
        assert sample_and_group(library.runs[0], old[0])[1].count(old[0]) == 1
    for sample in run.samples(step=3):
        assert run.sample(sample.key).row.reward == sample.reward
        assert sample.key in run.group_of(sample.key)
    assert sorted(s.row.reward or 0.0 for s in run.whole(1)) == expected[1]
    told = [(row["ranks"], row["launch"]) for row in lines(path / "attempts.jsonl")]
    assert told == [(4, 1)] * 4 + [(2, 2)] * 2 + [(3, 3)] * 6


CRASHES = """
import os, sys
from rolloupe import Recorder
record = Recorder(sys.argv[1], code=None)
for step in range(int(sys.argv[2]), int(sys.argv[3])):
    for index in range(int(sys.argv[4])):
        record.sample(step=step, group=f"{sys.argv[4]}-{index % 2}", reward=float(sys.argv[4]))
    record.step_end(step)
os.kill(os.getpid(), 9)
"""


def test_what_was_recorded_before_a_crash_is_left_aside_once_its_step_is_recorded_again(tmp_path: Path) -> None:
    for first, stop, count in ((0, 3, 6), (2, 4, 4)):
        program(CRASHES, str(tmp_path / "run"), str(first), str(stop), str(count)).communicate(60)
    run = opened(tmp_path / "run")
    assert {s.step: (s.samples, s.reward.mean) for s in run.steps()} == {0: (6, 6), 1: (6, 6), 2: (4, 4), 3: (4, 4)}
    assert [s.reward for s in run.samples(sort="reward")] == [4.0] * 8 + [6.0] * 12
    assert [len(run.groups(step)) for step in range(4)] == [2] * 4 and len(list(run.samples(where="reward > 5"))) == 12
    assert run.splits()[0].superseded == 6 and run.sample("train/2/6-1/0~1").row.reward == 6.0


def test_processes_that_live_together_are_of_one_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    both = [*launched(path, 2, range(1), monkeypatch), *launched(path, 3, range(1), monkeypatch)]
    with recorder(path, producer="evaluator") as other:
        other.sample(step=0, group="e", reward=9.0)
    for record in both:
        record.close()
    assert {row.get("launch") for row in lines(path / "attempts.jsonl")} == {1, None}
    launched(path, 1, range(1), monkeypatch)[0].close()
    assert current(opened(path), 0) == [1.0, 1.0, 9.0]
