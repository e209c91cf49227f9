"""What a training loop records is what can be read again."""

import enum
import math
import subprocess
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rolloupe
from tests.record.support import opened, recorder, series
from tests.thoroughness import amount


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
        {"logprobs": -1.0, "format": 1.0, "ref_reward": 0.0, "ref_response_chars": 1.0, "reward_gap": 1.5},
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


def test_an_address_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rolloupe.UnreadablePath, match=r"with upload='s3://bucket/run'"):
        rolloupe.Recorder("s3://bucket/run")
    assert not list(tmp_path.iterdir())


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


@pytest.mark.parametrize("whole", ["score", "Total", "overall", "total_reward"])
def test_the_whole_among_parts_of_a_reward_is_what_readers_take_for_it(whole: str, tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(step=1, prompt="p", response="r", reward={"format": 0.5, whole: 1.5})
    (sample,) = opened(tmp_path / "run").samples()
    assert (sample.reward, sample.metrics["reward.format"]) == (1.5, 0.5)


def test_what_failed_and_evaluations_are_samples(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.error(step=1, error=TimeoutError("the tool did not answer"), group="g", prompt="p")
        record.sample(step=1, split="eval/held out", group="g", prompt="p", response="r", reward=1)
    run = opened(tmp_path / "run")
    (failed,) = run.samples(split="train")
    assert (failed.status, failed.discarded, failed.tags) == ("error", "error", {"error": "TimeoutError"})
    assert "the tool did not answer" in run.sample(failed.key).extra["error"]
    assert [split.name for split in run.splits()] == ["train", "eval/held out"]


texts = st.text(st.characters(codec=None), max_size=20)
numbers = st.floats(width=32) | st.integers(-(2**70), 2**70) | st.booleans() | st.none()


@settings(max_examples=amount(8, 60), deadline=None)
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
                for name, values in row["series"].items() if name and values
            }  # fmt: skip
            is_nameless = any("without a name" in one for one in found[uid].notes)
            assert is_nameless == bool(row["series"].get(""))  # it stays in the file, and the sample says so
            got = {one.name.removeprefix("series."): list(one.values) for one in found[uid].series}
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
        ("0", 1.5, 2, 2, 3), ("1", None, 1, 1, 1), ("1.1", 0.5, 1, 2, 1),
    ]  # fmt: skip
    assert [s.advantage for s in found] == [0.5, -0.5, -0.5]
    first = run.sample(found[0].key)
    assert (first.prompt_text, first.response_text, first.token_ids) == ("1 2", "3 4 5 6", [1, 2, 3, 4, 5, 6])
    assert series(first)["loss_mask"] == [0, 0, 1, 0, 1, 1]
    assert np.isnan(series(first)["logprobs"]).tolist() == [True, True, False, True, False, False]
    assert found[0].metrics == {"logprobs": -0.5, "solved": 1.0, "format": 1.0}


def test_a_trajectory_that_breaks_counts_once_in_means(tmp_path: Path) -> None:
    """Its last sample has the reward and the metrics; all of its samples have its advantage."""

    def transitions(*observed: list[int]) -> list[dict[str, Any]]:
        return [{"ob": ob, "ac": {"tokens": [9], "logprobs": [-0.5]}, "reward": 0.0} for ob in observed]

    group = {
        "trajectories_G": [{"transitions": transitions([1])}, {"transitions": transitions([1], [2], [3])}],
        "final_rewards_G": [0.0, 1.0], "metrics_G": [{"solved": 0.0}, {"solved": 1.0}], "advantages_G": [-1.0, 1.0],
    }  # fmt: skip
    with recorder(tmp_path / "run") as record:
        record.group(group, step=1, group="g")
        record.step_end(1)
    run = opened(tmp_path / "run")
    found = {item.key.index: item for item in run.samples()}
    assert {name: one.reward for name, one in found.items()} == {"0": 0.0, "1": None, "1.1": None, "1.2": 1.0}
    assert {name: one.advantage for name, one in found.items()} == {"0": -1.0, "1": 1.0, "1.1": 1.0, "1.2": 1.0}
    assert [name for name, one in found.items() if "solved" in one.metrics] == ["0", "1.2"]
    (step,) = run.steps("train")
    assert (step.reward.mean, step.reward.count) == (0.5, 2)
    (row,) = [row for row in run.metric_rows() if row.step == 1]
    assert (row.values["env/all/reward/total"], row.values["env/all/solved"]) == (0.5, 0.5)


def test_without_a_decoder_the_text_of_trajectories_is_what_was_logged(tmp_path: Path) -> None:
    def step(ob: list[int], ac: list[int], **logs: str) -> dict[str, Any]:
        metrics = {"length": len(ob), "kind": "b"}
        return {"ob": ob, "ac": {"tokens": ac, "stop_reason": "length"}, "metrics": metrics, "logs": logs}

    call, result = {"tool_call_0": 'add({"a": 1})'}, {"tool_result_0": "2"}
    steps = [step([1], [2], question="1+1?", assistant_content="<think>so</think>I add", **call, **result),
             step([1, 2, 3], [4], assistant_content="2", seconds="9")]  # fmt: skip
    bare = {"ob": [1], "ac": {"tokens": [2]}, "reward": 1.0, "metrics": {"length": 1}}
    with recorder(tmp_path / "run") as record:
        record.group({"trajectories_G": [{"transitions": steps}, {"transitions": [bare]}]}, step=0, group="g")
    run = opened(tmp_path / "run")
    logged, silent = (run.sample(f"train/0/g/{index}") for index in range(2))
    assert [(turn.role, turn.origin, [part.kind for part in turn.parts]) for turn in logged.turns] == [
        ("user", "prompt", ["text"]), ("assistant", "response", ["think", "text", "tool_call"]),
        ("tool", "response", ["text"]), ("assistant", "response", ["text"]),
    ]  # fmt: skip
    assert (logged.row.status, logged.row.metrics["length"], logged.row.tags) == ("truncated", 2, {"kind": "b"})
    assert [one["metrics"]["length"] for one in logged.extra["steps"]] == [1, 3]
    assert logged.extra["steps"][1]["logs"]["seconds"] == "9"
    assert (silent.turns, silent.extra, silent.row.metrics["length"], silent.row.reward) == ([], {}, 1, 1.0)


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


@pytest.mark.slow
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
