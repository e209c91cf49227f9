"""ROLL: one line holds the columns of a step."""

import gzip
import json
from collections import Counter
from pathlib import Path

from rolloupe.model import Problem
from tests.formats.support import items, mean_reward, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "roll" / "run"


def test_a_sample_is_a_place_in_the_columns_of_a_line() -> None:
    run = only_run(DATA)
    found = rows(run)
    assert (run.format, len(found)) == ("roll", 32)
    assert [mean_reward([row for row in found if row.step == step]) for step in (0, 1)] == [0.5, 0.625]
    assert set(Counter((row.step, row.group) for row in found).values()) == {4}
    sample = samples(run)[5]
    assert [turn.role for turn in sample.turns] == ["user", "assistant"]
    assert (sample.label, sample.row.env, sample.row.tags["source"]) == (str(sample.label), "math_rule", "toy")
    assert set(sample.row.tags) == {"source", "difficulty", "tag"}
    assert sample.extra["sampling_params"] == {"temperature": 1.1} and sample.extra["messages"][0]["role"] == "user"
    record = json.loads((DATA / "rollout_dump_data.step_0.jsonl").read_text())
    assert (sample.response_text, sample.label) == (record["responses"][5], record["ground_truth"][5])


def test_of_an_agentic_trajectory_the_filled_row_is_the_sample(tmp_path: Path) -> None:
    facts = {
        "env_info": {"group_id": 3, "seed": 7, "tag": "sokoban"},
        "reward_info": {"episode_reward": -0.5, "step_rewards": [0.0, -0.5]},
        "failure_info": {"stop_reason": "MAX_LENGTH"},
    }
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Left."}]
    line = {
        "trajectory_data": [None, json.dumps(facts)], "messages": [None, json.dumps(messages)],
        "tools": [None, "[]"], "exp_name": ["a", "a"], "global_step": [4, 4],
    }  # fmt: skip
    write(tmp_path / "run" / "rollout_dump_data.step_4.jsonl", line)
    (sample,) = samples(only_run(tmp_path / "run"))
    assert (sample.key.step, sample.key.group, sample.row.reward, sample.row.env) == (4, "3-7", -0.5, "sokoban")
    assert [turn.role for turn in sample.turns] == ["user", "assistant"]
    assert sample.row.part == "1" and sample.row.status_raw == "MAX_LENGTH"


def test_a_step_in_the_making_beside_a_compressed_one(tmp_path: Path) -> None:
    first, second = ((DATA / f"rollout_dump_data.step_{step}.jsonl").read_bytes() for step in (0, 1))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(first))
    (tmp_path / "b.jsonl").write_bytes(second[:-30])
    *found, problem = items(only_run(tmp_path))
    assert len(found) == 16 and isinstance(problem, Problem) and problem.transient
