"""RLLoggingBoard's files: keys in the order of its table, arrays of any kind, appended in one write."""

import json
import logging
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rolloupe.formats.reading.files import alone
from rolloupe.formats.reading.trainer_files import read_bytes
from rolloupe.record.writers.rl_logging_board import KEYS, save_rollout_jsonl
from tests.formats.support import only_run, rows, samples

ROW = {"prompt": "p", "response": "r", "reward": 1.0}


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_poems_are_written_byte_for_byte(demo_runs: Path, tmp_path: Path) -> None:
    theirs = read_bytes(alone(demo_runs / "other_formats/rl_logging_board/eval_poem_task/data.jsonl.zst"))
    made = [json.loads(line) for line in theirs.splitlines()]
    for step in dict.fromkeys(row["step"] for row in made):
        assert isinstance(step, int)
        save_rollout_jsonl(tmp_path, step, [row for row in made if row["step"] == step], strict=True)
    assert (tmp_path / "rank_0.jsonl").read_bytes() == theirs


def test_token_arrays_are_written_as_they_are(demo_runs: Path, tmp_path: Path) -> None:
    source = demo_runs / "other_formats/rl_logging_board/gen_train_toy"
    made = lines(source / "rank_0.jsonl")
    for step in range(3):
        save_rollout_jsonl(tmp_path, step, [row for row in made if row["step"] == step], strict=True)
    ours = lines(tmp_path / "rank_0.jsonl")
    assert ours == made
    assert [list(row) for row in ours] == [[key for key in KEYS if key in row] for row in made]
    mine, theirs = samples(only_run(tmp_path)), samples(only_run(source))
    assert [(s.token_strings, s.series, s.row.metrics) for s in mine] == [
        (s.token_strings, s.series, s.row.metrics) for s in theirs
    ]


def test_objects_and_arrays_are_taken_as_they_are(tmp_path: Path) -> None:
    made = SimpleNamespace(**ROW, response_tokens=["a", "b"], logprobs=np.array([-0.25, math.nan], np.float32))
    save_rollout_jsonl(tmp_path, np.int64(2), [made], rank=3, strict=True)  # type: ignore[pyrefly:bad-argument-type]
    (sample,) = samples(only_run(tmp_path / "rank_3.jsonl"))
    assert (sample.row.step, sample.token_strings, sample.series[0].values[0]) == (2, ["a", "b"], -0.25)
    assert math.isnan(sample.series[0].values[1])


def test_numbers_of_arrays_can_be_rounded(tmp_path: Path) -> None:
    save_rollout_jsonl(tmp_path, 0, [ROW | {"logprobs": [-0.123456, math.inf], "reward": 0.123456}], decimals=3)
    (row,) = lines(tmp_path / "rank_0.jsonl")
    assert (row["logprobs"], row["reward"]) == ([-0.123, math.inf], 0.123456)


def test_further_keys_stand_behind(tmp_path: Path) -> None:
    save_rollout_jsonl(tmp_path, 0, [{"note": "x", **ROW}])
    assert list(lines(tmp_path / "rank_0.jsonl")[0]) == ["prompt", "response", "reward", "step", "note"]


def test_a_torn_line_is_lost_alone(tmp_path: Path) -> None:
    (tmp_path / "rank_0.jsonl").write_bytes(b'{"prompt": "torn')
    save_rollout_jsonl(tmp_path, 0, [ROW, ROW])
    assert (tmp_path / "rank_0.jsonl").read_bytes().count(b"\n") == 3


def test_steps_are_appended(tmp_path: Path) -> None:
    for step in range(3):
        save_rollout_jsonl(tmp_path, step, [ROW])
    assert [row.step for row in rows(only_run(tmp_path))] == [0, 1, 2]


def test_nowhere_to_write_is_told_and_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING):
        save_rollout_jsonl(tmp_path / "file", 0, [ROW])
    assert "training goes on" in caplog.text
    with pytest.raises(OSError, match="file"):
        save_rollout_jsonl(tmp_path / "file", 0, [ROW], strict=True)


@pytest.mark.parametrize(
    "wrong", [{"prompt": "p", "response": "r"}, 5, {**ROW, "reward": [1.0, 2.0]}, {**ROW, "reward": "high"}]
)
def test_a_sample_without_what_is_needed_is_told_and_left_out(
    wrong: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        save_rollout_jsonl(tmp_path, 0, [ROW, wrong, wrong])
    assert len(lines(tmp_path / "rank_0.jsonl")) == 1
    assert "sample 1 left out" in caplog.text and "2 left out in all" in caplog.text
    with pytest.raises((TypeError, ValueError)):
        save_rollout_jsonl(tmp_path / "strict", 0, [wrong], strict=True)


def test_an_array_that_does_not_fit_the_tokens_is_told_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = {
        **ROW,
        "response_tokens": ["a", "b", "<PAD>"],
        "logprobs": [-1.0],
        "values": [0.5, 0.5],
        "token_rewards": [0] * 3,
    }
    with caplog.at_level(logging.WARNING):
        save_rollout_jsonl(tmp_path, 0, [row])
    (line,) = lines(tmp_path / "rank_0.jsonl")
    assert "logprobs" not in line and line["values"] == [0.5, 0.5] and line["token_rewards"] == [0] * 3
    assert "sample 0, logprobs left out: logprobs has 1, response_tokens 3" in caplog.text
    with pytest.raises(ValueError, match="logprobs has 1"):
        save_rollout_jsonl(tmp_path, 0, [row], strict=True)
