"""Atropos: a line is a group, and each place in its lists a sample."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rolloupe.model import Problem
from tests.formats.support import items, mean_reward, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data/atropos"
GROUP: dict[str, Any] = {
    "tokens": [[1, 2, 3, 4], [1, 2, 5]], "masks": [[-100, -100, 3, 4], [-100, 2, -100]], "scores": [1.0, -1],
    "inference_logprobs": [[1.0, 1.0, -0.5, -0.25], [1.0, -2.0, 1.0]], "advantages": [[9.0, 9.0, 0.5, 1.5], None],
    "overrides": [{"set_advantage_to_zero": True}, {}], "group_overrides": {"x": 1},
}  # fmt: skip


def test_the_samples_of_a_line_are_a_group() -> None:
    run = only_run(DATA)
    found = rows(run)
    lines = map(json.loads, (DATA / "groups.jsonl").read_text().splitlines())
    scores = [score for line in lines for score in line["scores"]]
    assert (run.format, mean_reward(found)) == ("atropos", sum(scores) / len(scores))
    assert sorted(Counter(row.group for row in found).values()) == [4, 4, 4]
    assert [row.reward for row in found] == scores and {row.step for row in found} == {0}
    first = samples(run)[0]
    assert [turn.role for turn in first.turns] == ["system", "user", "assistant"] and first.extra == {}
    assert (first.row.prompt_tokens, first.row.response_tokens, first.row.total_tokens) == (5, 2, 7)


def test_tokens_of_a_group_without_messages(tmp_path: Path) -> None:
    write(tmp_path / "g.jsonl", GROUP)
    first, second = samples(only_run(tmp_path))
    assert (first.token_ids, first.row.reward, first.row.advantage) == ([1, 2, 3, 4], 1.0, 1.0)
    assert (second.row.prompt_tokens, second.row.response_tokens, second.row.advantage) == (1, 2, None)
    logprobs = {one.name: list(one.values) for one in second.series}["logprobs"]
    assert logprobs[1] == -2.0 and math.isnan(logprobs[0]) and math.isnan(logprobs[2])
    assert {one.name for one in first.series} == {"loss_mask", "logprobs", "advantages"}
    assert first.extra == {"overrides": {"set_advantage_to_zero": True}, "group_overrides": {"x": 1}}
    assert (first.prompt_text, first.response_text) == ("1 2", "3 4")


@pytest.mark.parametrize(
    "wrong",
    [
        {"masks": [[-100], None]}, {"tokens": [[1], "x"]}, {"messages": [3]}, {"messages": [[{"role": 1}], "text"]},
        {"inference_logprobs": 3, "advantages": [["x"], []]}, {"tokens": [[1.5, "y", None, 2**70], []]},
    ],
)  # fmt: skip
def test_strange_members_lose_no_sample(tmp_path: Path, wrong: dict[str, Any]) -> None:
    write(tmp_path / "g.jsonl", GROUP, GROUP | wrong, GROUP | {"scores": []}, {"scores": 1, "tokens": [], "masks": []})
    run = only_run(tmp_path)
    assert [sample.row.reward for sample in samples(run)] == [1.0, -1.0] * 2
    (problem,) = [one for one in items(run) if isinstance(one, Problem)]
    assert "not a group" in problem.reason
