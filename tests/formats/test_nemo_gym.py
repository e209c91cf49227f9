"""NeMo-Gym: real rollouts of several environments, failures beside them, tokens in items, records of trajectories."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import discover
from rolloupe.formats.reading.peek import MAX_LINE_BYTES
from tests.formats.support import mean_reward, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "nemo_gym" / "results"
MEANS = {
    "aviary": 0.2, "bbq": 0.7, "circle_click": 1.0, "example_multi_turn_gymnasium": 1.0,
    "example_single_tool_call": 1.0,
}  # fmt: skip
ASKED = {"input": [{"role": "user", "content": "q"}], "tools": []}


def answer(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"responses_create_params": ASKED, "response": {"output": [*items], "status": "completed"}, **more}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **more}


def test_each_file_of_rollouts_is_an_evaluation() -> None:
    found = samples(only_run(DATA))
    of_split: dict[str, list[Any]] = {}
    for one in found:
        of_split.setdefault(one.row.split, []).append(one.row)
    assert {name: mean_reward(some) for name, some in of_split.items()} == {
        f"eval/{name}__example_rollouts": mean for name, mean in MEANS.items()
    }
    assert len({(one.row.split, one.row.group) for one in found}) == len(found) == 22
    assert {one.row.step for one in found} == {0} and all(one.turns[-1].origin == "response" for one in found)
    assert not any("output" in one.extra.get("response", {}) for one in found)


def test_calls_are_followed_by_their_outputs_and_images_are_images() -> None:
    found = {one.row.split.split("__")[0][5:]: one for one in samples(only_run(DATA))}
    (call,) = [part.call for turn in found["circle_click"].turns for part in turn.parts if part.call]
    assert call.name == "click" and found["circle_click"].turns[-1].tool_call_id == call.id
    assert "image" in {part.kind for turn in found["circle_click"].turns for part in turn.parts}
    assert [turn.role for turn in found["aviary"].turns[:2]] == ["user", "assistant"]
    assert [turn.origin for turn in found["aviary"].turns[:2]] == ["prompt", "response"]
    roles = [turn.role for turn in found["example_multi_turn_gymnasium"].turns]
    assert len(roles) > 2 and roles == ["user", "assistant"] * (len(roles) // 2)
    assert found["bbq"].response_text and found["bbq"].row.metrics["reward_answer"] == 1.0


def test_what_an_environment_calls_like_a_count_of_the_response_survives(tmp_path: Path) -> None:
    one = answer(said("a"), reward=1, input_tokens=7, total_tokens="many", _input="mine", _status=5)
    one["response"]["usage"] = {"input_tokens": 30, "output_tokens": 4, "total_tokens": 34}
    write(tmp_path / "out.jsonl", one, {key: one[key] for key in ("responses_create_params", "response", "reward")})
    first, second = samples(only_run(tmp_path))
    assert first.row.metrics == {"input_tokens": 7, "usage.input_tokens": 30, "usage.total_tokens": 34, "_status": 5}
    assert first.row.tags == {"total_tokens": "many", "_input": "mine"} and first.row.response_tokens == 4
    assert second.row.metrics == {"input_tokens": 30, "total_tokens": 34}


def test_failures_lie_in_the_split_of_their_rollouts_and_are_discarded(tmp_path: Path) -> None:
    one = answer(said("a"), reward=2, _ng_task_index=3, _ng_rollout_index=0, _ng_rollout_id="r")
    write(tmp_path / "out.jsonl", one, one | {"_ng_rollout_index": 1, "reward": -1.5, "expected_answer": "b"})
    failed = {"responses_create_params": ASKED, "_ng_task_index": 3, "_ng_failure_class": "judge_failed"}
    write(tmp_path / "out_failures.jsonl", failed | {"_ng_attempt_index": 0}, failed | {"_ng_attempt_index": 1})
    found = rows(only_run(tmp_path))
    assert {(row.split, row.group) for row in found} == {("eval/out", "3")}
    assert [(row.reward, row.discarded) for row in found] == [
        (2.0, ""), (-1.5, ""), (None, "judge_failed"), (None, "judge_failed"),
    ]  # fmt: skip
    assert (found[0].uid, found[0].status, samples(only_run(tmp_path))[1].label) == ("r", "completed", "b")


def test_reasoning_plain_input_and_why_a_response_is_incomplete(tmp_path: Path) -> None:
    row = answer({"type": "reasoning", "summary": [{"text": "why"}]}, said("a"), reward=1)
    row["responses_create_params"] = {"input": "just text", "temperature": 1.0}
    row["response"] |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    write(tmp_path / "out.jsonl", row)
    (one,) = samples(only_run(tmp_path))
    assert (one.row.prompt, one.row.status, one.row.status_raw) == ("just text", "truncated", "max_output_tokens")
    assert [part.kind for turn in one.turns for part in turn.parts] == ["text", "think", "text"]
    assert one.extra["responses_create_params"] == {"temperature": 1.0}


def test_tokens_of_several_calls_are_one_sequence(tmp_path: Path) -> None:
    first = said("a", prompt_token_ids=[1, 2], generation_token_ids=[3], generation_log_probs=[-0.5])
    last = said("b", prompt_token_ids=[1, 2, 3, 4], generation_token_ids=[5, 6], generation_log_probs=[-0.1, -0.2])
    other = said("b", prompt_token_ids=[9, 9], generation_token_ids=[5], generation_log_probs=[-0.1])
    empty = said("c", prompt_token_ids=[], generation_token_ids=[], generation_log_probs=[])
    write(
        tmp_path / "out.jsonl", answer(first, last, reward=1), answer(first, other, reward=1), answer(empty, reward=1)
    )
    found = samples(only_run(tmp_path))
    assert [one.token_ids for one in found] == [[1, 2, 3, 4, 5, 6], [], []]
    series = {one.name: list(one.values) for one in found[0].series}
    assert series["loss_mask"] == [0, 0, 1, 0, 1, 1]
    assert [str(value) for value in series["logprobs"]] == ["nan", "nan", "-0.5", "nan", "-0.1", "-0.2"]
    assert (found[0].row.prompt_tokens, found[0].row.response_tokens, found[1].row.has_series) == (2, 4, False)


def test_a_trajectory_stands_for_a_response_that_is_missing(tmp_path: Path) -> None:
    invocations = [{"invocation_id": "1", "conversation": []}, {"invocation_id": "2", "conversation": [said("a")]}]
    trajectory = {"schema_version": "1.0", "invocations": invocations}
    write(tmp_path / "out.jsonl", {"responses_create_params": ASKED, "ng_trajectory": trajectory, "reward": 1})
    (one,) = samples(only_run(tmp_path))
    assert (one.prompt_text, one.response_text, "ng_trajectory" in one.extra) == ("q", "a", True)


@pytest.mark.parametrize(("name", "runs"), [("out", 1), ("out_materialized_inputs", 0)])
def test_a_first_line_too_long_to_be_seen_whole_is_a_rollout_unless_its_file_holds_inputs(
    tmp_path: Path, name: str, runs: int
) -> None:
    row = answer(said("a"), reward=1)
    row["responses_create_params"] = {"input": [{"role": "user", "content": "x" * (MAX_LINE_BYTES + 10)}]}
    write(tmp_path / f"{name}.jsonl", row)
    assert len(discover([tmp_path]).runs) == runs


def test_other_rows_beside_rollouts_are_left_aside_unless_a_person_asks_for_them(tmp_path: Path) -> None:
    shutil.copy(DATA / "bbq__example_rollouts.jsonl", tmp_path / "gym.jsonl")
    write(tmp_path / "own.jsonl", {"prompt": "p", "response": "r", "reward": 1})
    assert {row.split for row in rows(only_run(tmp_path))} == {"eval/gym"}
    assert {row.index.partition(":")[0] for row in rows(only_run(tmp_path, format="generic"))} == {"gym", "own"}
