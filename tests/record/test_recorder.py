"""What a training loop records is what can be read again; and nothing that goes wrong reaches the loop."""

import contextlib
import enum
import errno
import functools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rolloupe
from rolloupe.errors import UnreadablePath
from rolloupe.formats import _annotations as annotations
from rolloupe.index import Library
from rolloupe.record import Recorder, RecorderWarning
from rolloupe.record.lines import Lines
from rolloupe.server import views, wire


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def recorder(path: Path, **more: Any) -> Recorder:
    return Recorder(path, **{"code": None, "strict": True, **more})


def opened(path: Path) -> rolloupe.Run:
    return rolloupe.open(path, index_dir=path.parent / "index").runs[0]


def series(sample: rolloupe.Sample) -> dict[str, list[float]]:
    return {one.name: one.values for one in sample.series}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_what_is_recorded_is_what_is_read(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "2+2?"}]
    with recorder(tmp_path / "run", reward_range=(0, 2), metric_ranges={"length": (400, 0)}) as record:
        uid = record.sample(
            step=7, group=3, index="b", prompt=messages, response="<think>easy</think> 4", reward=np.float32(1.5),
            advantage=-0.25, status="length", env="sums", label=4, metrics={"format": np.int64(1), "no": "number"},
            tags={"kind": "add"}, token_ids=[1, 2, 3, 4, 5], extra={"seed": 9, "path": Path("/x")}, ref_response="5",
            ref_reward=0.0, series={"logprobs": [-0.5, None, -1.5], "loss_mask": [0, 0, 1, 1, 1]},
        )  # fmt: skip
        record.metrics(7, {"loss": 0.5})
        record.checkpoint("000007", step=7, paths={"model": tmp_path / "m.pt"}, loop_state={"rng": [1, 2]})
        record.step_end(7)
    run = opened(tmp_path / "run")
    assert (run.format, run.problems()) == ("native", [])
    sample = run.sample("train/7/3/b")
    row = sample.row
    assert (row.uid, row.reward, row.advantage, row.status, row.env) == (uid, 1.5, -0.25, "truncated", "sums")
    assert (row.metrics, row.tags) == (
        {"format": 1.0, "ref_reward": 0.0, "reward_gap": 1.5},
        {"no": "number", "kind": "add"},
    )
    assert (row.prompt_tokens, row.response_tokens, row.total_tokens) == (2, 3, 5)
    assert [(turn.role, turn.origin) for turn in sample.turns] == [("user", "prompt"), ("assistant", "response")]
    assert (sample.label, sample.ref_reward, sample.token_ids) == ("4", 0.0, [1, 2, 3, 4, 5])
    assert sample.extra == {"seed": 9, "path": "/x"}
    found = series(sample)
    assert found["loss_mask"] == [0, 0, 1, 1, 1]
    assert found["logprobs"][::2] == [-0.5, -1.5]
    assert math.isnan(found["logprobs"][1])
    assert {one.name: one.offset for one in sample.series} == {"logprobs": 2, "loss_mask": 0}
    assert run.metrics("loss")[0].value == 0.5
    assert (run.checkpoints[0].step, run.checkpoints[0].extra) == (7, {"rng": [1, 2]})


def test_arrays_are_copied_before_the_call_returns(tmp_path: Path) -> None:
    buffer, ids, prompt = np.arange(4, dtype=np.float32), [1, 2, 3, 4], [{"role": "user", "content": "one"}]
    with recorder(tmp_path / "run") as record:
        for step in range(3):
            record.sample(step=step, group="g", prompt=prompt, series={"logprobs": buffer}, token_ids=ids)
            buffer[:] = 99
            ids[0] = 99
            prompt[0]["content"] = "another"
            buffer[:] = np.arange(4) + step + 1
    run = opened(tmp_path / "run")
    assert [series(run.sample(f"train/{step}/g/0"))["logprobs"] for step in range(3)] == [
        [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5],
    ]  # fmt: skip
    assert run.sample("train/0/g/0").prompt_text == "one"
    assert run.sample("train/0/g/0").token_ids == [1, 2, 3, 4]


class Tensor:
    """As much of a torch tensor as is used: on a device, in a type that NumPy has not."""

    def __init__(self, values: list[float]) -> None:
        self._values = values

    def detach(self) -> "Tensor":
        return self

    def is_floating_point(self) -> bool:
        return True

    def float(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def numpy(self) -> Any:
        return np.array(self._values, dtype=np.float32)

    def item(self) -> Any:
        (value,) = self._values
        return value

    size = 1


def test_tensors_and_scalars_of_other_libraries_are_taken(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(step=np.int64(1), group="g", reward=Tensor([0.5]), series={"a": Tensor([1.0, 2.0])})
        record.sample(
            step=1, group="g", reward=np.array(0.25), series={"a": np.array([3.0], np.float16), "b": np.array([True])}
        )
    run = opened(tmp_path / "run")
    assert [sample.reward for sample in run.samples()] == [0.5, 0.25]
    assert series(run.sample("train/1/g/0")) == {"a": [1.0, 2.0]}
    assert series(run.sample("train/1/g/1")) == {"a": [3.0], "b": [1.0]}


def test_annotations_come_later_and_the_newest_counts(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uids = [record.sample(step=0, group="g", token_ids=[1, 2, 3], series={"logprobs": [-1.0, -2.0]}) for _ in "abc"]
        record.step_end(0)
        record.annotate(uids[0], advantage=1.0, series={"trainer_logprobs": [-1.5, -2.5]})
        record.annotate(uids[0], advantage=2.0, metrics={"clip": 0.5})
        record.discard(uids[1], "stale")
        record.annotate(uids[1], discarded="")
        record.discard(uids[2], "zero_advantage")
    run = opened(tmp_path / "run")
    assert [(s.advantage, s.discarded) for s in run.samples()] == [(2.0, ""), (None, ""), (None, "zero_advantage")]
    sample = run.sample("train/0/g/0")
    assert (sample.row.advantage, sample.row.metrics) == (2.0, {"clip": 0.5, "trainer_logprobs": -2.0})
    assert [(one.name, one.values, one.offset) for one in sample.series] == [
        ("logprobs", [-1.0, -2.0], 1), ("trainer_logprobs", [-1.5, -2.5], 1),
    ]  # fmt: skip


def test_a_sample_is_read_with_its_own_annotations_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorder(tmp_path / "run") as record:
        uids = [record.sample(step=0, group="g") for _ in range(3)]
        for uid in [*uids, *uids]:
            record.annotate(uid, tags={"own": uid}, metrics={"clip": 0.5})
    run = opened(tmp_path / "run")
    assert len(list(run.samples())) == 3
    monkeypatch.setattr(annotations, "about", lambda *_: pytest.fail("the file was searched"))
    for sample in [*(run.sample(f"train/0/g/{index}") for index in range(3)), *run.whole(0)]:
        assert sample.row.tags == {"own": sample.row.uid}


def test_where_annotations_moved_since_they_are_searched(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uids = [record.sample(step=0, group="g") for _ in range(2)]
        for uid in uids:
            record.annotate(uid, advantage=0.5)
    run = opened(tmp_path / "run")
    assert len(list(run.samples(where="advantage = 0.5"))) == 2
    file = tmp_path / "run/annotations/rank0.jsonl"
    first, second = file.read_bytes().splitlines(keepends=True)
    for data, found in (
        (second + first, [0.5, 0.5]), (b"{}\n" + second, [None, 0.5]), (first[:20], [None, None]), (None, [None, None]),
    ):  # fmt: skip
        file.write_bytes(data) if data is not None else file.unlink()
        assert [run.sample(f"train/0/g/{index}").row.advantage for index in range(2)] == found


def test_lists_go_by_the_means_of_annotated_series(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uids = [record.sample(step=0, group="g") for _ in range(3)]
        record.annotate(uids[0], series={"kl": [1, 3], "loss_mask": [1, 1]})
        record.annotate(uids[1], series={"kl": [5, 100, math.nan], "loss_mask": [1, 0, 1]})
    run = opened(tmp_path / "run")
    assert [s.metrics for s in run.samples(sort="kl", descending=True)] == [{"kl": 5.0}, {"kl": 2.0}, {}]


def test_what_failed_and_evaluations_are_samples(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.error(step=1, error=TimeoutError("the tool did not answer"), group="g", prompt="p")
        record.sample(step=1, split="eval/held out", group="g", prompt="p", response="r", reward=1)
    run = opened(tmp_path / "run")
    (failed,) = run.samples(split="train")
    assert (failed.status, failed.discarded, failed.tags) == ("error", "error", {"error": "TimeoutError"})
    assert "the tool did not answer" in run.sample(failed.key).extra["error"]
    assert [split.name for split in run.splits()] == ["train", "eval/held out"]


def test_step_end_adds_what_the_trainer_did_not_log(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sampled, trained = (-rng.random((2, 2, 5)).astype(np.float32) for _ in "ab")
    rewards = np.array([[0.0, 1.0], [1.0, 1.0]])
    with recorder(tmp_path / "run") as record:
        for group in range(2):
            for index in range(2):
                uid = record.sample(
                    step=4, group=group, reward=rewards[group, index], env=f"env{group}", response_tokens=5,
                    prompt_tokens=3, turns=2, metrics={"format": index}, series={"logprobs": sampled[group, index]},
                )  # fmt: skip
                record.annotate(uid, series={"trainer_logprobs": trained[group, index]})
        record.metrics(4, {"progress/batch": 400})
        record.step_end(4)
    run = opened(tmp_path / "run")
    named = {name: run.metrics(name)[0].value for name in run.metric_names()}
    gap = (sampled.astype(float) - trained).ravel()
    wanted = {
        "progress/batch": 400.0, "env/all/reward/total": 0.75, "env/env0/reward/total": 0.5, "env/all/format": 0.5,
        "env/all/ac_tokens_per_turn": 2.5, "env/all/ob_tokens_per_turn": 1.5, "env/all/turns_per_episode": 2.0,
        "env/all/total_episodes": 4.0, "env/all/by_group/frac_mixed": 0.5, "env/all/by_group/frac_all_good": 0.5,
        "env/all/by_group/frac_all_bad": 0.0, "optim/kl_sample_train_v1": gap.mean(),
        "optim/kl_sample_train_v2": (gap**2).mean() / 2,
    }  # fmt: skip
    assert {name: named[name] for name in wanted} == pytest.approx(wanted)


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


class Gate:
    """Where lines are to be written, the thread that does waits until it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._reached, self._open, append = threading.Event(), threading.Event(), Lines.append

        def waiting(lines: Lines, some: Any) -> None:
            self._reached.set()
            self._open.wait(30)
            append(lines, some)

        monkeypatch.setattr(Lines, "append", waiting)

    def stop(self, record: Recorder) -> None:
        """Wait until the thread stands here, what was recorded so far in its hands: all else waits behind it."""
        with record._background._changed:
            record._background._hurry()
        assert self._reached.wait(30)

    def open(self) -> None:
        self._open.set()


def test_when_writing_does_not_keep_up_the_oldest_series_go_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    with recorder(tmp_path / "run", capacity_bytes=200_000) as record:
        for index in range(40):
            record.sample(step=0, group="g", index=index, response=f"text {index}", series={"a": np.zeros(2000)})
            if not index:
                gate.stop(record)
        gate.open()
        record.step_end(0)
        dropped = record.failures["token series dropped"]
    run = opened(tmp_path / "run")
    samples = list(run.samples())
    assert [sample.response for sample in samples] == [f"text {index}" for index in range(40)]
    loaded = [run.sample(sample.key) for sample in samples]
    without = [at for at, sample in enumerate(loaded) if not sample.series]
    assert 0 < dropped == len(without) < 40
    assert loaded[-1].series
    assert all("no room left: a" in loaded[at].notes[0] for at in without)
    assert run.metrics("recorder/token_series_dropped")[0].value == dropped


def test_where_nothing_is_written_for_long_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    record = recorder(tmp_path / "run", capacity_bytes=200_000, strict=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for index in range(100):
            record.sample(step=0, group="g", index=index, response="\N{SNOWMAN}" * 5_000)
            if not index:
                gate.stop(record)
    gate.open()
    record.close()
    (warned,) = told
    assert "no room for more" in str(warned.message)
    (lost,) = record.failures.values()
    indexes = [sample.key.index for sample in opened(tmp_path / "run").samples()]
    assert indexes == [str(index) for index in range(100 - lost)]
    assert 20 <= len(indexes) <= 40  # of 10 kB each


FULL = """
import resource, sys, warnings
import numpy as np
from rolloupe.record import Recorder

warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
with Recorder(sys.argv[1], code=None) as record:
    for index in range(3):
        if index == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        size = 60_000 if index == 1 else 1000
        record.sample(step=0, group="g", index=index, series={"a": np.random.default_rng(0).normal(size=size)})
        record.flush()
    print(*record.failures)
"""


def test_a_disk_that_is_full_within_a_part_costs_its_series_alone(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path / "run"], capture_output=True, text=True, check=True)
    assert "token series: OSError" in done.stdout and "token series dropped" in done.stdout
    assert [path.name for path in (tmp_path / "run/tokens/rank0").iterdir() if path.name.startswith(".")] == []
    run = opened(tmp_path / "run")
    assert [len(run.sample(f"train/0/g/{index}").series) for index in range(3)] == [1, 0, 1]
    assert run.sample("train/0/g/1").notes == ["not written, for the recorder had no room left: a"]
    assert run.problems() == []


def test_block_waits_and_loses_nothing(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", capacity_bytes=50_000, on_full="block") as record:
        for index in range(60):
            record.sample(step=0, group="g", index=index, series={"a": np.full(2000, index)})
        record.flush()
        assert record.failures == {}
    run = opened(tmp_path / "run")
    assert [series(run.sample(sample.key))["a"][0] for sample in run.samples()] == list(range(60))


def test_a_full_disk_ends_nothing_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, write = recorder(tmp_path / "run", strict=False), os.write
    full = threading.Event()

    def writing(handle: int, data: Any) -> int:
        if full.is_set() and len(data) > 5:
            if len(data) > 20:
                return write(handle, bytes(data)[:10])  # a part of it still fits
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data)

    record.sample(step=0, group="g", index="before")
    record.flush()
    monkeypatch.setattr("rolloupe.record.lines.os.write", writing)
    full.set()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for index in range(3):
            record.sample(step=0, group="g", index=index)
            record.flush()
    assert [warning.category for warning in told] == [RecorderWarning]
    full.clear()
    record.sample(step=0, group="g", index="after")
    record.close()
    assert sum(record.failures.values()) == 3
    run = opened(tmp_path / "run")
    assert ([sample.key.index for sample in run.samples()], run.problems()) == (["before", "after"], [])


def test_a_run_that_vanished_is_made_again_and_its_loss_is_told(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", strict=False) as record:
        record.sample(step=0, group="g", index="before", series={"a": [1.0]})
        record.flush()
        shutil.rmtree(tmp_path / "run")
        record.sample(step=0, group="g", index="after", series={"a": [2.0]})
        with pytest.warns(RecorderWarning, match="are gone"):
            record.step_end(0)
    run = opened(tmp_path / "run")
    assert [series(run.sample(sample.key)) for sample in run.samples()] == [{"a": [2.0]}]


def test_misuse_is_reported_and_training_goes_on(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", strict=False) as record:
        wrong: list[dict[str, Any]] = [
            {"reward": "high"}, {"series": {"a": [[1, 2], [3, 4]]}}, {"series": {"a": ["x"]}}, {"turns": 1.5},
            {"metrics": {"odd": [1, 2]}},
        ]  # fmt: skip
        for more in wrong:
            with pytest.warns(RecorderWarning):
                assert record.sample(**{"step": 0, "group": "g", "response": "good", **more})
        with pytest.warns(RecorderWarning):
            assert record.sample(step=cast(int, "one")) == ""
        with pytest.raises(TypeError, match="promt"):
            record.sample(step=0, promt="a wrong name")  # type: ignore[call-arg]
    assert sum(record.failures.values()) == 6
    assert [sample.response for sample in opened(tmp_path / "run").samples()] == ["good"] * 5
    with recorder(tmp_path / "strict") as strict, pytest.raises(ValueError, match="series 'a'"):
        strict.sample(step=0, series={"a": ["x"]})


def test_a_path_where_nothing_can_be_recorded_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UnreadablePath, match="nothing can be recorded"):
        recorder(tmp_path / "file")
    with pytest.raises(ValueError, match="on_full"):
        recorder(tmp_path / "run", on_full="wait")
    (tmp_path / "later").mkdir()
    (tmp_path / "later/rolloupe.json").write_text('{"layout": "rolloupe", "version": 2}')
    with pytest.raises(UnreadablePath, match="update Rolloupe"):
        recorder(tmp_path / "later")
    assert opened(tmp_path / "later").reason.endswith("update Rolloupe")


def test_the_configuration_says_what_everything_is(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", config={
        "lr": np.float32(0.5), "fn": shutil.copy, "cls": Recorder, "part": functools.partial(max, 1, key=len),
        "lambda": lambda: None, "path": Path("/a"), "set": {1}, "nan": math.nan, 3: "three", "array": np.zeros((2, 3)),
    }):  # fmt: skip
        pass
    config = opened(tmp_path / "run").config
    assert config["fn"] == "shutil.copy"
    assert config["cls"] == "rolloupe.record.recorder.Recorder"
    assert config["part"] == {"partial": "builtins.max", "args": [1], "key": "builtins.len"}
    assert config["lambda"].endswith("<lambda>")
    assert (config["path"], config["set"], config["3"], config["lr"]) == ("/a", [1], "three", 0.5)
    assert config["array"] == [[0.0] * 3] * 2
    assert math.isnan(config["nan"])


def test_the_state_of_the_code_is_kept(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    git = ["git", "-C", str(code), "-c", "user.name=n", "-c", "user.email=e@x"]
    subprocess.run([*git, "init", "-q"], check=True)
    (code / "a.py").write_text("one\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    (code / "a.py").write_text("two\n")
    (code / "new.py").write_text("")
    with recorder(tmp_path / "run", code=code):
        pass
    diff = opened(tmp_path / "run").code_diff()
    assert diff.startswith("### repo: ")
    assert "-- not staged --" in diff
    assert "-one\n+two\n" in diff
    assert "-- untracked --\nnew.py\n" in diff


texts = st.text(st.characters(codec=None), max_size=20)
numbers = st.floats(width=32) | st.integers(-(2**70), 2**70) | st.booleans() | st.none()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries({
            "group": texts | st.integers(), "prompt": texts, "response": texts, "reward": numbers, "discarded": texts,
            "metrics": st.dictionaries(texts, numbers, max_size=3), "tags": st.dictionaries(texts, texts, max_size=2),
            "series": st.dictionaries(texts, st.lists(st.floats(width=32) | st.none(), max_size=5), max_size=3),
            "extra": st.dictionaries(texts, numbers | texts, max_size=2),
        }),
        max_size=4,
    )
)  # fmt: skip
def test_whatever_is_recorded_can_be_read(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("recorded")
    with recorder(folder / "run") as record:
        uids = [record.sample(step=0, index=at, **row) for at, row in enumerate(rows)]
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        run = runs.runs[0]
        assert [one for one in run.problems() if not one.reason.startswith("token series")] == []
        found = {run.sample(item.key).row.uid: run.sample(item.key) for item in (run.samples() if rows else ())}
        assert found.keys() == set(uids)
        for uid, row in zip(uids, rows, strict=True):
            wanted = {
                name: np.array([np.nan if v is None else v for v in values], np.float32)
                for name, values in row["series"].items() if values
            }  # fmt: skip
            got = {one.name.removeprefix("series."): one.values for one in found[uid].series}
            assert len(got) == len(wanted)
            assert all(any(np.array_equal(v, g, equal_nan=True) for g in got.values()) for v in wanted.values())
            reward = found[uid].row.reward
            assert (reward is None) == (row["reward"] is None)


def test_groups_of_trajectories_are_taken_as_they_are(tmp_path: Path) -> None:
    def transition(ob: list[int], ac: list[int], **more: Any) -> dict[str, Any]:
        return {"ob": ob, "ac": {"tokens": ac, "logprobs": [-0.5] * len(ac)}, "reward": 0.25, **more}

    one_row = [transition([1, 2], [3]), transition([1, 2, 3, 4], [5, 6], metrics={"format": 1.0})]
    two_rows = [transition([1], [2]), transition([7, 8], [9])]
    group = {
        "trajectories_G": [{"transitions": one_row}, {"transitions": two_rows}], "final_rewards_G": [1.0, 0.0],
        "metrics_G": [{"solved": True}, {}], "advantages_G": [0.5, -0.5],
    }  # fmt: skip
    with recorder(tmp_path / "run") as record:
        uids = record.group(group, step=1, group="g", decode=lambda ids: " ".join(map(str, ids)), env="e")
        assert len(uids) == 3
    run = opened(tmp_path / "run")
    found = list(run.samples())
    assert [(s.key.index, s.reward, s.turns, s.prompt_tokens, s.response_tokens) for s in found] == [
        ("0", 1.5, 2, 2, 3), ("1", 0.5, 1, 1, 1), ("1.1", 0.5, 1, 2, 1),
    ]  # fmt: skip
    assert [s.advantage for s in found] == [0.5, -0.5, -0.5]
    first = run.sample(found[0].key)
    assert (first.prompt_text, first.response_text, first.token_ids) == ("1 2", "3 4 5 6", [1, 2, 3, 4, 5, 6])
    assert series(first)["loss_mask"] == [0, 0, 1, 0, 1, 1]
    assert np.isnan(series(first)["logprobs"]).tolist() == [True, True, False, True, False, False]
    assert found[0].metrics == {"solved": 1.0, "format": 1.0}


def test_what_trainers_give_is_taken(tmp_path: Path) -> None:
    class Ended(enum.Enum):
        DONE = "completed"

    uid = uuid.uuid4()
    with recorder(tmp_path / "run") as record:
        record.sample(
            step=1, group="g", uid=uid, status=Ended.DONE, turns=np.int64(2), prompt_tokens=np.int64(3), env=Path("e"),
            reward={"score": np.float32(0.5), "format": 1, "judge": "good"},
            metrics={"lang": "en", "cost": Decimal("1.5")},
        )  # fmt: skip
        record.annotate(str(uid), advantage=1)
    (sample,) = opened(tmp_path / "run").samples()
    assert (sample.uid, sample.status, sample.turns, sample.prompt_tokens, sample.env) == (
        str(uid),
        "completed",
        2,
        3,
        "e",
    )
    assert (sample.reward, sample.advantage) == (0.5, 1.0)
    assert sample.metrics == {"reward.score": 0.5, "reward.format": 1.0, "cost": 1.5}
    assert sample.tags == {"judge": "good", "lang": "en"}


def test_the_mask_says_what_the_response_is(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uid = record.sample(
            step=0, group="g", token_ids=[1, 2, 3, 4, 5],
            series={"logprobs": [9, 9, -1, -9, -2], "loss_mask": [0, 0, 1, 0, 1], "entropy": [1, 100, 1]},
        )  # fmt: skip
        record.annotate(uid, series={"trainer_logprobs": [7, 7, 7]})
        record.annotate(uid, series={"trainer_logprobs": [-1, 7, -3], "ref_logprobs": [8, 8, -1, 8, -2]})
        record.step_end(0)
    run = opened(tmp_path / "run")
    (sample,) = run.samples()
    assert (sample.prompt_tokens, sample.response_tokens) == (2, 3)
    assert run.metrics("optim/entropy")[0].value == 1.0
    assert run.metrics("optim/kl_sample_train_v1")[0].value == 0.5
    assert run.metrics("optim/kl_ref_k1")[0].value == -0.5
    shown = series(run.sample(sample.key))
    assert np.array_equal(shown["logprobs"], [np.nan, np.nan, -1, np.nan, -2], equal_nan=True)
    assert np.array_equal(shown["entropy"], [1, np.nan, 1], equal_nan=True)


def test_a_mask_that_comes_later_counts_for_all(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uid = record.sample(step=0, group="g", uid="ü", series={"logprobs": [-1, -2], "loss_mask": [0, 1]})
        record.annotate(uid, series={"loss_mask": [1, 1]}, advantage=2.0)
    sample = opened(tmp_path / "run").sample("train/0/g/0")
    assert (series(sample)["logprobs"], sample.row.advantage) == ([-1.0, -2.0], 2.0)


def test_sums_of_all_processes_make_the_means_of_a_run(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", producer="rank0") as one, recorder(tmp_path / "run", producer="rank10") as other:
        for index in range(4):
            one.sample(step=0, group="a", index=index, reward=0.0)
        other.sample(step=0, group="b", index=0, reward=1.0)
        other.sample(step=0, group="b", index=1, reward=math.nan)
        for record in (one, other):
            record.step_end(0)
    run = opened(tmp_path / "run")
    wanted = {
        "env/all/reward/total": 0.2, "env/all/total_episodes": 6.0, "env/all/by_group/frac_all_bad": 0.5,
        "env/all/by_group/frac_all_good": 0.5, "env/all/by_group/frac_mixed": 0.0,
    }  # fmt: skip
    assert {name: run.metrics(name)[0].value for name in wanted} == wanted


def test_evaluations_have_metrics_of_their_own(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.samples([{"reward": 1.0}, {"reward": 0.0}], step=3, split="eval/held_out", group="g")
        record.step_end(3)
    assert opened(tmp_path / "run").metrics("eval/held_out/env/all/reward/total")[0].value == 0.5


def test_a_sample_of_another_run_can_be_recorded(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(
            step=1, group="g", prompt="<|im_start|>user\nhi<|im_end|>", response="<think>x</think> y", reward=1.0,
            series={"a": [1.0]}, extra={"k": 1},
        )  # fmt: skip
    one = opened(tmp_path / "run").sample("train/1/g/0")
    with recorder(tmp_path / "copy/run") as record:
        record.samples([one], step=2)
    other = opened(tmp_path / "copy/run").sample("train/2/g/0")
    assert (other.turns, other.prompt_text, other.response_text) == (one.turns, one.prompt_text, one.response_text)
    assert (other.extra, series(other), other.row.uid) == (one.extra, series(one), one.row.uid)


def test_threads_may_record_while_a_step_ends(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        stop = threading.Event()

        def roll_out(thread: int) -> None:
            for index in range(10_000):
                if stop.is_set():
                    return
                record.sample(step=index // 50, group=thread, index=index, reward=1.0, env=f"e{index % 7}")

        threads = [threading.Thread(target=roll_out, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for step in range(40):
            record.step_end(step)
        stop.set()
        for thread in threads:
            thread.join()
        assert record.failures == {}


def test_trouble_of_the_writing_thread_hangs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr("rolloupe.record.background.Background._append", fail)
    record = recorder(tmp_path / "run", strict=False)  # warnings are errors in this test
    record.sample(step=0)
    record.step_end(0)
    record.close()
    assert record.failures == {"MemoryError: no more": 2}


def test_a_script_that_ends_without_a_word_loses_nothing(tmp_path: Path) -> None:
    program = """
import sys
from multiprocessing import Process
import rolloupe

def child():
    recorder = rolloupe.Recorder(sys.argv[1], code=None, producer="child")
    recorder.sample(step=0, group="g", index="c", series={"a": [2.0]})

if __name__ == "__main__":
    rolloupe.Recorder(sys.argv[1], code=None).sample(step=0, group="g", index="p", series={"a": [1.0]})
    process = Process(target=child)
    process.start()
    process.join()
"""
    script = tmp_path / "script.py"
    script.write_text(program)
    subprocess.run([sys.executable, script, tmp_path / "run"], check=True, capture_output=True)
    run = opened(tmp_path / "run")
    assert {s.key.index: series(run.sample(s.key)) for s in run.samples()} == {"p": {"a": [1.0]}, "c": {"a": [2.0]}}


@pytest.mark.parametrize("producer", ["../../esc", "a/b", "x" * 300, ".hidden", "a\0b", "\ud800"])
def test_a_producer_is_a_name_and_no_path(tmp_path: Path, producer: str) -> None:
    with recorder(tmp_path / "run", producer=producer) as record:
        record.sample(step=0)
    assert len(list(opened(tmp_path / "run").samples())) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"run", "index"}


def test_a_configuration_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.json").write_text('{"architectures": ["Model"]}')
    for attempt in range(2):
        with recorder(tmp_path / "run", config={"lr": attempt}):
            pass
    assert json.loads((tmp_path / "run/config.json").read_text()) == {"architectures": ["Model"]}
    assert opened(tmp_path / "run").config == {"lr": 1}


def test_a_path_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    for number, content in enumerate(['{"layout": "other"}', "[", "[" * 100_000, "null"]):
        place = tmp_path / str(number)
        place.mkdir()
        (place / "rolloupe.json").write_text(content)
        with pytest.raises(UnreadablePath):
            recorder(place)
        assert (place / "rolloupe.json").read_text() == content


@pytest.mark.parametrize("wrong", [(1, 0), 1, (0,), ("a", "b"), (0, math.nan)])
def test_a_range_is_a_lowest_and_a_highest_value(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ValueError, match="lowest, highest"):
        recorder(tmp_path / "run", reward_range=wrong)


@pytest.mark.parametrize("wrong", [{"a": 1}, {"a": (1, 1)}, {"a": (0, math.inf)}, {"a": ("x", 1)}])
def test_a_metric_has_a_worst_and_a_best_value(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ValueError, match="'a'"):
        recorder(tmp_path / "run", metric_ranges=wrong)


def test_ranges_reach_the_page(tmp_path: Path) -> None:
    with recorder(tmp_path / "run", reward_range=(0, 2), metric_ranges={"length": (400, np.int64(0))}) as record:
        record.sample(step=0, metrics={"length": 100})
    recorder(tmp_path / "run").close()  # one that says nothing of ranges leaves them
    with Library([tmp_path / "run"], index_dir=tmp_path / "index") as library:
        item = views.run_item(library.runs[0])
    ranges = item.reward_range, item.metric_ranges
    assert ranges == ((0, 2), [wire.MetricRange(name="length", worst=400, best=0)])


def test_whatever_is_not_training_is_an_evaluation(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        for split in ("train", "", "test", "eval", "eval/x"):
            record.sample(step=0, split=split)
    assert sorted({split.name for split in opened(tmp_path / "run").splits()}) == [
        "eval/default",
        "eval/test",
        "eval/x",
        "train",
    ]


def test_series_of_another_length_are_kept_and_told(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        good = record.sample(step=0, group="g", token_ids=range(5), series={"logprobs": [1, 2], "entropy": range(5)})
        assert not record.failures
        with pytest.warns(RecorderWarning, match="another length"):
            odd = record.sample(
                step=0, group="g", token_ids=[1, 2, 3], response_tokens=2, series={"long": range(9), "short": [4]}
            )
        record.annotate(good, series={"fits": [1, 2]})
        record.annotate(good, series={"wrong": [1, 2, 3]})
        record.annotate("of another process", series={"unknown": [1, 2, 3]})
        assert list(record.failures.values()) == [3]
    run = opened(tmp_path / "run")
    uneven = [(p.source, p.reason.rpartition(": ")[2]) for p in run.problems() if p.stop and "series" in p.reason]
    assert uneven == [("samples/rank0.jsonl", "long, short"), ("annotations/rank0.jsonl", "wrong")]
    assert series(run.sample("train/0/g/1")) == {"long": [*range(9)], "short": [4.0]}
    assert run.sample("train/0/g/1").row.uid == odd
    assert run.sample("train/0/g/0").notes == [
        "token series of another length than the 5 tokens, 2 of them of the response: wrong 3; shown at the last tokens"
    ]
    assert "long 9, short 1" in run.sample("train/0/g/1").notes[0]


def test_annotations_of_nobody_are_a_problem_until_the_sample_comes(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(step=0, group="g", uid="here")
        for uid in ("here", "typo", "typo", "later"):
            record.annotate(uid, advantage=1.0)
        record.flush()
        run = opened(tmp_path / "run")
        (problem,) = run.problems()
        assert (problem.source, run.problem_count()) == ("annotations/rank0.jsonl", 1)
        assert problem.reason.startswith("3 annotations of samples that are not in the run")
        assert json.loads(run.read(problem.source, problem.start or 0, problem.stop or 0))["uid"] == "typo"
        record.sample(step=0, group="g", uid="typo")
        record.sample(step=0, group="g", uid="later")
    assert opened(tmp_path / "run").problems() == []


def _launched(run: Path, ranks: int, steps: range, monkeypatch: pytest.MonkeyPatch) -> list[Recorder]:
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


def _current(run: rolloupe.Run, step: int) -> list[float]:
    return sorted(s.reward or 0.0 for s in run.samples(step=step) if not s.key.attempt)


def test_a_step_that_is_recorded_again_by_other_ranks_replaces_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    for ranks, steps in ((4, range(3)), (2, range(1, 4)), (3, range(3, 5)), (3, range(4, 6))):
        for record in _launched(path, ranks, steps, monkeypatch):
            record.close()
    run = opened(path)
    expected = {0: [4.0] * 8, 1: [2.0] * 4, 2: [2.0] * 4, 3: [3.0] * 6, 4: [3.0] * 6, 5: [3.0] * 6}
    assert {step: _current(run, step) for step in range(6)} == expected
    there = expected | {4: [3.0] * 12}  # the same ranks of the same process recorded it twice: attempts, side by side
    assert {step: [s.reward for s in run.samples(step=step)] for step in range(6)} == there
    assert {s.step: (s.samples, s.reward.mean) for s in run.steps()} == {n: (len(r), r[0]) for n, r in there.items()}
    (split,) = run.splits()
    assert (split.samples, split.superseded) == (40, 8 * 2 + 4)
    old = [key for key in run.group_of(next(iter(run.samples(step=1))).key) if key.attempt]
    assert {run.sample(key).row.reward for key in old} == {4.0}
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
        words = [str(tmp_path / "run"), str(first), str(stop), str(count)]
        subprocess.run([sys.executable, "-c", CRASHES, *words], check=False, timeout=120)
    run = opened(tmp_path / "run")
    assert {s.step: (s.samples, s.reward.mean) for s in run.steps()} == {0: (6, 6), 1: (6, 6), 2: (4, 4), 3: (4, 4)}
    assert [s.reward for s in run.samples(sort="reward")] == [4.0] * 8 + [6.0] * 12
    assert [len(run.groups(step)) for step in range(4)] == [2] * 4 and len(list(run.samples(where="reward > 5"))) == 12
    assert run.splits()[0].superseded == 6 and run.sample("train/2/6-1/0~1").row.reward == 6.0


def test_processes_that_live_together_are_of_one_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    both = [*_launched(path, 2, range(1), monkeypatch), *_launched(path, 3, range(1), monkeypatch)]
    with recorder(path, producer="evaluator") as other:
        other.sample(step=0, group="e", reward=9.0)
    for record in both:
        record.close()
    assert {row.get("launch") for row in lines(path / "attempts.jsonl")} == {1, None}
    _launched(path, 1, range(1), monkeypatch)[0].close()
    assert _current(opened(path), 0) == [1.0, 1.0, 9.0]


def test_ranks_with_configurations_of_their_own_all_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    monkeypatch.setenv("WORLD_SIZE", "3")
    started = []
    for rank in (2, 1, 0):
        monkeypatch.setenv("RANK", str(rank))
        started.append(recorder(path, config={"rank": min(rank, 1)}))
    for record, expected in zip(started, ("rank2", "rank1", ""), strict=True):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            record.step_end(0)
        assert [expected in str(one.message) for one in told] == [True] * bool(expected)
        assert not record.failures
        record.close()
    assert json.loads((path / "config.json").read_text()) == {"rank": 0}
    assert json.loads((path / "config.rank2.json").read_text()) == {"rank": 1}
    assert opened(path).config == {"rank": 0}


def test_what_prepares_a_recording_is_sheltered_too(tmp_path: Path) -> None:
    def fails(name: str) -> None:
        raise LookupError(f"no {name} here")

    with recorder(tmp_path / "run", strict=False) as record:
        for _ in range(3):
            with contextlib.suppress(RecorderWarning):  # told once, and an error here
                record.safely(fails, "tokens")
        assert record.failures == {"LookupError: no tokens here": 3}
    with recorder(tmp_path / "strict") as record, pytest.raises(LookupError, match="no tokens"):
        record.safely(fails, "tokens")


def test_a_configuration_may_be_known_later(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.config({"lr": 1.0})
        record.config({"lr": 2.0})
    assert opened(tmp_path / "run").config == {"lr": 2.0}
    assert json.loads((tmp_path / "run/config.1.json").read_text()) == {"lr": 1.0}


def test_a_series_that_is_longer_than_all_tokens_is_told_with_where_and_how_long(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        with pytest.warns(
            RecorderWarning, match="'logprobs' has 4 where 3 fit, of split train, step 7, group g, index 2"
        ):
            record.sample(step=7, group="g", index=2, token_ids=[1, 2, 3], series={"logprobs": [0.1] * 4})
        record.sample(step=7, group="g", index=3, token_ids=[1, 2, 3], series={"logprobs": [0.1] * 9, "entropy": [1.0]})
        assert list(record.failures.values()) == [2]
    run = opened(tmp_path / "run")
    rows = [run.sample(key).row for key in ("train/7/g/2", "train/7/g/3")]
    assert [(row.prompt_tokens, row.response_tokens) for row in rows] == [(None, None), (2, 1)]
    assert [problem.reason.rpartition(": ")[2] for problem in run.problems()] == ["logprobs", "logprobs"]


@pytest.mark.parametrize("call", ["sample", "samples", "discard", "error", "metrics"])
def test_a_warning_stands_at_the_line_of_the_trainer(call: str, tmp_path: Path) -> None:
    with recorder(tmp_path / "run", strict=False) as record, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        calls: dict[str, Callable[[], object]] = {
            "sample": lambda: record.sample(step=0, reward="x"), "samples": lambda: record.samples([{"step": "x"}]),
            "discard": lambda: record.discard("u", cast(str, None)), "metrics": lambda: record.metrics(0, {"a": "x"}),
            "error": lambda: record.error(step=0, error="e", reward="x"),
        }  # fmt: skip
        calls[call]()
    assert [one.filename for one in told] == [__file__]


def test_two_samples_that_are_called_the_same_are_told_once(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(step=0, group="g", index=0, uid="dup")
        with pytest.warns(RecorderWarning, match="two samples have the uid 'dup'"):
            record.sample(step=0, group="g", index=1, uid="dup")
        with pytest.warns(RecorderWarning, match="at split train, step 0, group g, index 0: the first is taken"):
            record.sample(step=0, group="g", index=0)
        for _ in range(3):
            record.sample(step=0, group="g", index=0, uid="dup")
        assert record.failures == {}


def test_a_step_that_has_ended_may_be_recorded_again(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        for _ in range(2):
            record.sample(step=0, group="g", index=0, uid="same")
            record.sample(step=0, group="g", index=0, uid="other", split="eval/x")
            record.step_end(0)


def test_places_are_remembered_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolloupe.record.ongoing.MAX_SAMPLES", 10)
    with recorder(tmp_path / "run") as record:
        for index in range(100):
            record.sample(step=0, group="g", index=index)
        assert len(record._steps._places) == 10


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda record: record.discard("u", None), "discard: a reason is wanted"),
        (lambda record: record.discard("u", ""), "takes one back"),
        (lambda record: record.metrics({"loss": 1}, 0), "step: a whole number is wanted, not dict"),
        (lambda record: record.metrics(0, [1]), "metric: TypeError: a dict is wanted, not list"),
        (lambda record: record.checkpoint(3, step="x"), "step: a whole number is wanted, not str"),
        (lambda record: record.sample(step=0, tags="easy"), "tags: TypeError: a dict is wanted, not a text"),
        (lambda record: record.error(step=0, error="e", tags="x"), "tags: TypeError: a dict is wanted, not a text"),
        (lambda record: record.sample(step=0, reward=[0.5]), "reward: TypeError: a number is wanted, not list"),
        (lambda record: record.sample(step=0, turns=1.5), "turns: TypeError: a whole number is wanted, not float"),
    ],
)
def test_what_was_wrong_is_said_in_words(call: Callable[[Recorder], object], told: str, tmp_path: Path) -> None:
    with recorder(tmp_path / "run", strict=False) as record:
        with pytest.warns(RecorderWarning, match=re.escape(told)):
            call(record)
        assert len(record.failures) == 1


@pytest.mark.parametrize("nowhere", ["", None, b"run", 5])
def test_no_path_is_no_folder(nowhere: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadablePath, match="nothing can be recorded"):
        Recorder(nowhere)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_a_run_of_another_tool_is_told_once(demo_runs: Path, tmp_path: Path) -> None:
    shutil.copytree(demo_runs / "relax", tmp_path / "run")
    with pytest.warns(RecorderWarning, match="holds files of relax already"):
        recorder(tmp_path / "run").close()
    recorder(tmp_path / "run").close()
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/data.jsonl").write_text('{"prompt": "p", "response": "r", "reward": 1}\n')
    recorder(tmp_path / "plain").close()
