"""Relax's results: the same lines as Relax makes, from objects like its own; never a picture, never half a file."""

import enum
import json
import logging
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from rolloupe.record.writers.relax import record_of, save_eval_summary_jsonl, save_rollout_result_jsonl
from rolloupe.record.writers.rl_logging_board import save_rollout_jsonl
from tests.formats.support import only_run, rows, samples


class Status(enum.Enum):
    COMPLETED = "completed"


class Tensor:
    """What is used of a torch tensor."""

    def __init__(self, shape: list[int], dtype: str, values: Any = None) -> None:
        self.shape, self.dtype, self._values = tuple(shape), dtype, values

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def tolist(self) -> Any:
        return self._values


Image = type("Image", (), {"__module__": "PIL.Image", "__str__": lambda self: self.said})


def as_relax(row: dict[str, Any]) -> SimpleNamespace:
    """The `Sample` of Relax that makes this row."""
    inputs, train = row.get("multimodal_inputs"), row.get("multimodal_train_inputs")
    if inputs is not None:
        image = Image()
        image.said = inputs["images"][0]
        inputs = {"images": [image], "videos": [], "audio": None}
    if train is not None:
        train = {
            "pixel_values": Tensor([1200, 1176], "torch.bfloat16"),
            "image_grid_thw": Tensor([1, 3], "torch.int64", [[1, 30, 40]]),
        }
    return SimpleNamespace(
        prompt=row["prompt"], response=row["response"], reward=row["reward"], label=row.get("label"),
        tokens=[0] * row["total_length"], response_length=row["response_length"], status=Status.COMPLETED,
        group_index=row["group_index"], metadata={}, multimodal_inputs=inputs, multimodal_train_inputs=train,
    )  # fmt: skip


@pytest.mark.parametrize("step", [0, 1, 2])
def test_rows_are_written_byte_for_byte(demo_runs: Path, tmp_path: Path, step: int) -> None:
    theirs = demo_runs / "other_formats/relax/rollout_result/train" / f"{step}.jsonl"
    made = [as_relax(json.loads(line)) for line in theirs.read_text(encoding="utf-8").splitlines()]
    save_rollout_result_jsonl(tmp_path / "rollout_result", step, made, strict=True)
    assert (tmp_path / f"rollout_result/train/{step}.jsonl").read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("step", [0, 1, 2])
def test_evaluations_are_written_byte_for_byte(demo_runs: Path, tmp_path: Path, step: int) -> None:
    theirs = demo_runs / "other_formats/relax/rollout_result/eval" / f"{step}.jsonl"
    data: dict[str, dict[str, list[Any]]] = {}
    for line in theirs.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        data.setdefault(row["dataset"], {"samples": []})["samples"].append(as_relax(row))
    save_eval_summary_jsonl(SimpleNamespace(rollout_result_dir=str(tmp_path)), step, data, strict=True)
    assert (tmp_path / f"eval/{step}.jsonl").read_bytes() == theirs.read_bytes()


def test_dicts_are_samples_too(tmp_path: Path) -> None:
    made = {"prompt": "p", "response": "r", "reward": np.float32(0.5), "tokens": [1, 2, 3], "response_length": 2}
    save_rollout_result_jsonl(tmp_path, 4, [made, {**made, "status": "truncated", "weight_versions": ("a", "b")}])
    first, second = rows(only_run(tmp_path))
    assert (first.step, first.reward, first.prompt_tokens, first.total_tokens) == (4, 0.5, 1, 3)
    assert (second.status, second.index) == ("truncated", "1")
    assert samples(only_run(tmp_path))[1].extra == {"weight_versions": ["a", "b"]}


def test_what_json_has_no_number_for_is_null(tmp_path: Path) -> None:
    rewards = (math.nan, {"score": 1.0, "acc": math.inf})
    made = [{"prompt": "p", "response": "\ud83d lone \u2028", "reward": reward} for reward in rewards]
    save_rollout_result_jsonl(tmp_path, 0, made, strict=True)
    data = (tmp_path / "train/0.jsonl").read_bytes()
    assert b"NaN" not in data and b"Infinity" not in data and b"\\ud83d" in data
    first, second = rows(only_run(tmp_path))
    assert (first.reward, second.reward, first.response) == (None, 1.0, "\ufffd lone \u2028")


def test_pictures_and_tensors_are_told_of_and_never_written(tmp_path: Path) -> None:
    secret = b"\x89PNG" * 9999
    made = {
        "prompt": [{"role": "user", "content": [{"type": "image", "image": secret}, np.zeros((2, 2))]}],
        "response": "r", "reward": 1, "tokens": [], "response_length": 0,
        "multimodal_inputs": {"images": [secret], "audio": np.zeros(9), "videos": []},
        "multimodal_train_inputs": {"pixels": [Tensor([2, 2], "torch.float32")] * 2, "n": 3, "a": np.zeros(3)},
    }  # fmt: skip
    save_rollout_result_jsonl(tmp_path, 0, [made], strict=True)
    row = json.loads((tmp_path / "train/0.jsonl").read_text())
    assert row["multimodal_inputs"] == {"images": ["bytes"], "audio": "ndarray", "videos": 0}
    said = "Tensor(shape=[2, 2], dtype=torch.float32)"
    assert row["multimodal_train_inputs"] == {"pixels": [said, said], "n": "int", "a": "ndarray"}
    assert row["prompt"][0]["content"][0] == {"type": "image", "image": "bytes"}
    assert row["image_count"] == 1


def test_tokens_of_pictures_videos_and_audio_are_counted() -> None:
    inputs = {"image_grid_thw": [[1, 14, 14], [2, 10, 10]], "video_grid_thw": np.array([[3, 8, 8]])}
    made = {"response_length": 0, "multimodal_inputs": {"images": ["a", "b"]}, "multimodal_train_inputs": inputs}
    row = record_of(made, 0, 0)
    assert [row[key] for key in ("image_count", "image_token_count", "multimodal_token_count")] == [2, 99, 147]
    parts = [{"image_grid_thw": [[1, 2, 2]]}, {"audio_seqlens": [5]}, {"feature_attention_mask": [[1, 1, 0]]}]
    row = record_of({"multimodal_train_inputs": parts}, 0, 0)
    assert [row[key] for key in ("image_count", "image_token_count", "multimodal_token_count")] == [1, 1, 8]


def test_timings_of_an_agent_are_kept_short() -> None:
    trace = {
        "events": {"a": 1}, "reward": {"status": "ok"}, "per_turn_assistant_turn_count": 2, "secret": "no",
        "turns": [{"events": {}, "wall_elapsed_s": 1.0, "text": "no"}, "odd"], "reasoning_trigger": "per_turn",
    }  # fmt: skip
    row = record_of({"metadata": {"agentic_trace": trace, "rollout_turns": 3}}, 0, 0)
    assert row["agent_turns"] == 3
    assert row["latency_trace"] == {
        "events": {"a": 1}, "reward": {"status": "ok"}, "turns": [{"wall_elapsed_s": 1.0, "events": {}}],
        "per_turn_assistant_turn_count": 2, "per_turn_off_lineage_judge_count": 0,
    }  # fmt: skip
    assert "latency_trace" not in record_of({"metadata": {"agentic_trace": []}}, 0, 0)


def test_a_sample_that_cannot_be_written_costs_its_own_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = {"prompt": "p", "response": "r", "reward": 1.0, "response_length": 1}
    with caplog.at_level(logging.WARNING):
        save_rollout_result_jsonl(tmp_path, 0, [good, {**good, "response_length": "x"}, good])
    assert [row.index for row in rows(only_run(tmp_path))] == ["0", "2"]
    assert "sample 1 left out" in caplog.text
    with pytest.raises(ValueError, match="invalid literal"):
        save_rollout_result_jsonl(tmp_path, 1, [{**good, "response_length": "x"}], strict=True)
    assert not (tmp_path / "train/1.jsonl").exists() and len(list((tmp_path / "train").iterdir())) == 1


def test_nowhere_to_write_is_told_and_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "train").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        save_rollout_result_jsonl(tmp_path, 0, [{"prompt": "p"}])
    assert "training goes on" in caplog.text
    save_rollout_result_jsonl(SimpleNamespace(rollout_result_dir=None), 0, [{}], strict=True)


@pytest.mark.parametrize(("path", "step", "samples"), [(3, 0, []), ("p", "x", []), ("p", 0, 5), ("p", None, [None])])
def test_nonsense_does_not_end_training(tmp_path: Path, path: Any, step: Any, samples: Any) -> None:
    place = tmp_path / path if isinstance(path, str) else path
    save_rollout_result_jsonl(place, step, samples)
    save_eval_summary_jsonl(place, step, samples)
    save_eval_summary_jsonl(place, step, {"a": samples, "b": {"samples": samples}, "c": {}})
    save_rollout_jsonl(place, step, samples)


def test_a_file_that_is_named_is_the_file(tmp_path: Path) -> None:
    save_rollout_result_jsonl(tmp_path / "deep/7.jsonl", 7, [{"prompt": "p", "response": "r", "reward": 1}])
    assert [row.step for row in rows(only_run(tmp_path / "deep"))] == [7]


@pytest.mark.parametrize("wrong", [5, None, {}, {"reward": 1.0}])
def test_what_is_no_sample_is_told_and_left_out(wrong: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = {"prompt": "p", "response": "r", "reward": 1.0}
    with caplog.at_level(logging.WARNING):
        save_rollout_result_jsonl(tmp_path, 0, [wrong, good, wrong])
    assert [row.index for row in rows(only_run(tmp_path))] == ["1"]
    assert "sample 0 left out" in caplog.text and "2 left out in all" in caplog.text
    with pytest.raises(TypeError, match="is not a sample"):
        save_rollout_result_jsonl(tmp_path, 1, [wrong], strict=True)


def test_a_step_is_a_whole_number(tmp_path: Path) -> None:
    save_rollout_result_jsonl(tmp_path, 1.5, [{"prompt": "p"}])  # type: ignore[pyrefly:bad-argument-type]
    assert not list(tmp_path.rglob("*.jsonl"))
    for save in (save_rollout_result_jsonl, save_rollout_jsonl):
        with pytest.raises(TypeError, match="whole number"):
            save(tmp_path, cast(int, 1.5), [{"prompt": "p", "response": "r", "reward": 1}], strict=True)
