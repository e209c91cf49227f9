"""Any JSON lines: whatever a script may write."""

import os
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.formats import by_name, discover, fields_in
from rolloupe.formats.reading.peek import MAX_LINE_BYTES
from rolloupe.model import Locator, Problem, Sample, SampleRow
from tests.formats.support import items, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "generic"


def sample_of(tmp_path: Path, **record: Any) -> Sample:
    """The sample of one record."""
    write(tmp_path / "run" / "data.jsonl", record)
    (sample,) = samples(only_run(tmp_path / "run"))
    return sample


@pytest.mark.parametrize(
    ("prompt", "response", "score"),
    [
        ("prompt", "response", "reward"), ("input", "completion", "score"), ("question", "output", "reward"),
        ("query", "generation", "score"), ("problem", "answer_text", "reward"),
        ("input_prompt", "output_response", "score"), ("prompt", "summary", "r"), ("prompt", "translation", "reward"),
        ("prompt", "trajectory", "reward"), ("text_in", "text_out", "r"), ("in_text", "out_text", "reward"),
        ("msg_in", "msg_out", "score"), ("prompt_in", "model_out", "rm"), ("instruction", "rewrite", "score"),
    ],
)  # fmt: skip
def test_usual_names_are_known(tmp_path: Path, prompt: str, response: str, score: str) -> None:
    sample = sample_of(tmp_path, **{prompt: "Q", response: "A", score: 0.5, "iteration": 4})
    assert (sample.prompt_text, sample.response_text, sample.row.reward, sample.key.step) == ("Q", "A", 0.5, 4)
    assert sample.extra == {}


@pytest.mark.parametrize("response", ["answer", "text", "output"])
def test_a_rewrite_is_the_response_only_without_a_better_one(tmp_path: Path, response: str) -> None:
    sample = sample_of(tmp_path, **{"prompt": "Q", "rewrite": "R", response: "A", "score": 0.5})
    assert (sample.response_text, sample.label) == ("A", "")


@pytest.mark.parametrize(
    ("record", "prompt"),
    [
        ({"opening": "A plain film, not a loud one", "completion": "A", "reward": 1}, "A plain film, not a loud one"),
        ({"completion": "A", "verdict": "It is not what was asked", "reward": 1}, ""),
        ({"error_text": "It is not what was asked", "completion": "A", "reward": 1}, ""),
        ({"reasoning": "It is not what was asked", "completion": "A", "reward": 1}, ""),
        ({"opening": "Two words", "completion": "A", "reward": 1}, ""),
    ],
)
def test_prose_before_the_response_under_an_unknown_name_is_the_prompt_which_is_said(
    tmp_path: Path, record: dict[str, Any], prompt: str
) -> None:
    sample = sample_of(tmp_path, **record)
    assert sample.prompt_text == prompt
    taken = "opening is taken as the prompt, and --map prompt=KEY names another"
    assert (taken in only_run(tmp_path / "run").reason) == bool(prompt)


def test_the_texts_of_a_line_are_read_without_the_rest(tmp_path: Path) -> None:
    write(tmp_path / "run" / "data.jsonl", {"prompt": "Q", "response": "A", "reward": 1.0, "logprobs": [-0.5] * 9})
    run = only_run(tmp_path / "run")
    reader, (row,) = by_name(run.format), rows(run)
    (source,) = reader.sources(run)
    texts = reader.load_texts(run, source, Locator(source=source.name, start=row.start, length=row.length))
    assert texts is not None and (texts.prompt, texts.response) == ("Q", "A")


def test_numbers_are_metrics_short_texts_tags_and_the_rest_is_extra(tmp_path: Path) -> None:
    sample = sample_of(
        tmp_path, prompt="Q", response="A", reward=True, acc=1, ok=False, source="web", long="x" * 65, nested={"a": 1},
        metrics={"speed": 2.5}, label=["a", 1], data_source="gsm8k", advantage=-0.5, completion_tokens=7,
        entropy=[0.1, 0.2],
    )  # fmt: skip
    assert sample.row.reward == 1.0
    assert sample.row.metrics == {"acc": 1.0, "ok": 0.0, "speed": 2.5}
    assert sample.row.tags == {"source": "web"}
    assert sample.extra == {"long": "x" * 65, "nested": {"a": 1}}
    assert sample.label == '["a", 1]'
    assert (sample.row.env, sample.row.advantage, sample.row.response_tokens) == ("gsm8k", -0.5, 7)
    assert [(one.name, list(one.values)) for one in sample.series] == [("entropy", [0.1, 0.2])]


def test_an_object_with_the_parts_of_a_reward_beside_it_has_sample_metrics(tmp_path: Path) -> None:
    parts = {"exact_match": 1.0, "style": 0.5}
    sample = sample_of(tmp_path, prompt="Q", response="A", reward=1.5, rewards=parts, score_parts={"a": 1, "b": [2]})
    assert (sample.row.reward, sample.extra) == (1.5, {"score_parts": {"a": 1, "b": [2]}})
    assert sample.row.metrics == {"reward.exact_match": 1.0, "reward.style": 0.5, "reward.a": 1.0}
    weighted = sample_of(tmp_path, prompt="Q", response="A", reward=1.5, reward_component_weights=parts)
    assert weighted.row.metrics == {}, "weights are the same in every sample"


def test_padding_by_the_attention_mask_has_no_values(tmp_path: Path) -> None:
    sample = sample_of(
        tmp_path, prompt="Q", response="A", score=1, entropy=[9, 0.5, 9], loss_mask=[0, 1, 1], attention_mask=[0, 1, 0]
    )
    shown = {one.name: list(one.values) for one in sample.series}
    assert (shown["loss_mask"], shown["attention_mask"]) == ([0, 1, 1], [0, 1, 0])
    assert str(shown["entropy"]) == "[nan, 0.5, nan]"
    assert list(sample.series[0].stored or []) == [9, 0.5, 9]


def test_values_count_under_the_loss_mask(tmp_path: Path) -> None:
    record = {"prompt": "Q", "response": "A", "score": 1, "entropy": [5, 1, 1, 1], "loss_mask": [0, 1, 1, 1]}
    write(tmp_path / "run" / "data.jsonl", record | {"logprobs": [-9, -1, -1, -1], "ref_logprobs": [-1, -1, -1, -2]})
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        (run,) = runs
        assert [one.mean for one in run.token_stats("entropy").steps] == [1.0]
        assert [one.token for one in run.worst_tokens("kl_k3", limit=1).tokens] == [3]


def test_arrays_of_unequal_length_are_cut_to_the_shortest_with_a_note(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, prompt="Q", response="A", score=1, logprobs=[-1, -2, -3], entropy=[0.5, 1])
    assert {one.name: list(one.values) for one in sample.series} == {"logprobs": [-1, -2], "entropy": [0.5, 1]}
    assert sample.notes == ["arrays of unequal length, shown up to the shortest (2): logprobs has 3"]


def test_logprobs_of_the_rollout_are_those_at_sampling(tmp_path: Path) -> None:
    def series(**more: Any) -> dict[str, list[float]]:
        sample = sample_of(tmp_path, prompt="Q", response="A", score=1, rollout_logprobs=[-2], **more)
        return {one.name: list(one.values) for one in sample.series}

    assert series(logprobs=[-1]) == {"trainer_logprobs": [-1], "logprobs": [-2]}
    assert series(old_logprobs=[-1]) == {"old_logprobs": [-1], "logprobs": [-2]}
    both = {"trainer_logprobs": [-3], "logprobs": [-1], "rollout_logprobs": [-2]}
    assert series(logprobs=[-1], trainer_logprobs=[-3]) == both


def test_scores_of_another_number_than_the_tokens_are_no_reward(tmp_path: Path) -> None:
    record = {"prompt": "Q", "response": "A", "scores": [0.25, 0.5], "entropy": [1, 2, 3]}
    write(tmp_path / "data.jsonl", record, record | {"entropy": [1, 2]}, record | {"scores": [0.25]})
    refused, summed, single = items(only_run(tmp_path))
    assert isinstance(refused, Problem) and "--map reward=scores.0" in refused.reason
    assert [one.reward for one in (summed, single) if isinstance(one, SampleRow)] == [0.75, 0.25]
    mapped = rows(only_run(tmp_path, fields=fields_in("reward=scores.0")))
    assert [one.reward for one in mapped] == [0.25, 0.25, 0.25]


@pytest.mark.parametrize(
    ("reward", "value"),
    [
        ({"score": 1, "acc": 2}, 1.0), ({"reward": 1, "acc": 2}, 1.0), ({"acc": 2, "bench": "x"}, 2.0),
        ({"a": 1, "b": 2}, None), ({"score": None, "reward": 3}, 3.0), ({}, None), ("1.0", 1.0), (None, None),
        ("8", 8.0), ("Incorrect", 0.0), ("yes", 1.0), ("tensor(0.5, device='cuda:0')", 0.5), ("8, or 9", None),
        ("A", None),
        (10**400, float("inf")), ([0.5], 0.5),
    ],
)  # fmt: skip
def test_rewards(tmp_path: Path, reward: object, value: float | None) -> None:
    write(
        tmp_path / "x.jsonl",
        {"prompt": "Q", "response": "A", "reward": 0},
        {"prompt": "Q", "response": "A", "reward": reward},
    )
    assert rows(only_run(tmp_path))[1].reward == value


@pytest.mark.parametrize(
    ("member", "status"),
    [
        ({"finish_reason": "length"}, "truncated"), ({"stop_reason": "stop"}, "completed"),
        ({"status": "timeout"}, "error"), ({"error": {"error": "E"}}, "error"), ({"is_truncated": True}, "truncated"),
        ({"error": None, "is_completed": True}, "completed"), ({"status": 3}, "unknown"), ({}, "unknown"),
    ],
)  # fmt: skip
def test_statuses(tmp_path: Path, member: dict[str, Any], status: str) -> None:
    assert sample_of(tmp_path, prompt="Q", response="A", score=1, **member).row.status == status


def test_of_messages_alone_the_response_begins_at_the_first_assistant(tmp_path: Path) -> None:
    said = [{"role": role, "content": role} for role in ("system", "user", "assistant", "tool", "assistant")]
    sample = sample_of(tmp_path, messages=said, reward=1)
    assert [(turn.role, turn.origin) for turn in sample.turns] == [
        ("system", "prompt"), ("user", "prompt"), ("assistant", "response"), ("tool", "response"),
        ("assistant", "response"),
    ]  # fmt: skip
    assert sample.row.turns == 2


@pytest.mark.parametrize("prompt", ["p", [{"role": "user", "content": "p"}]])
def test_a_response_of_no_messages_is_no_turn(tmp_path: Path, prompt: object) -> None:
    write(tmp_path / "r.jsonl", {"prompt": prompt, "completion": [], "reward": 1.0})
    (row,) = rows(only_run(tmp_path))
    (sample,) = samples(only_run(tmp_path))
    assert (row.response, row.turns, row.prompt) == ("", 0, "p")
    assert [turn.role for turn in sample.turns] == ["user"]
    assert (sample.response_text, sample.extra) == ("", {})


@pytest.mark.parametrize("role", ["speaker", "from", "author", "who", "sender"])
@pytest.mark.parametrize("content", ["text", "value", "content", "utterance"])
@pytest.mark.parametrize(("asks", "answers"), [("customer", "agent"), ("human", "bot"), ("User", "Assistant")])
def test_turns_of_speakers_are_messages(tmp_path: Path, role: str, content: str, asks: str, answers: str) -> None:
    turns = [{role: "system", content: "S"}, {role: asks, content: "Q"}, {role: answers, content: "A"}]
    sample = sample_of(tmp_path, turns=turns, rm=0.5)
    assert [turn.role for turn in sample.turns] == ["system", "user", "assistant"]
    assert (sample.prompt_text, sample.response_text, sample.row.reward) == ("S\n\nQ", "A", 0.5)
    assert sample.extra == {}


def test_turns_are_no_messages_if_their_speakers_have_other_names_or_they_are_counted(tmp_path: Path) -> None:
    turns = [{"speaker": "Ann", "text": "Q"}, {"speaker": "Ben", "text": "A"}]
    sample = sample_of(tmp_path, prompt="P", text="R", turns=turns, r=0.5)
    assert (sample.prompt_text, sample.response_text, sample.extra) == ("P", "R", {"turns": turns})
    assert sample_of(tmp_path / "counted", prompt="P", text="R", turns=2, r=0.5).response_text == "R"


@pytest.mark.parametrize("folder", ["batches", "steps", "episodes", "dumps", "trajectories"])
def test_a_folder_that_says_what_it_holds_names_no_run(tmp_path: Path, folder: str) -> None:
    place = tmp_path / "tuned"
    for step in (44, 45):
        write(place / folder / f"batch_{step:03}.jsonl", {"prompt": "Q", "response": "A", "reward": 1.0})
    (place / "metrics.csv").write_text("iter,mean_reward\n44,1.0\n45,1.0\n")
    with rolloupe.open(place, index_dir=tmp_path / "index") as runs:
        assert [run.name for run in runs] == ["tuned"]
        assert [step.step for step in runs[0].steps()] == [44, 45]
        assert runs[0].metric_names() == ["mean_reward"]


def test_the_step_is_in_the_row_or_in_a_name(tmp_path: Path) -> None:
    row = {"prompt": "Q", "response": "A", "score": 1}
    for name in ("rollouts_12.jsonl", "gen-step7.ndjson", "rank_3.jsonl", "plain.jsonl"):
        write(tmp_path / "run" / name, row)
    write(tmp_path / "run" / "x_5.jsonl", row | {"global_step": 99})
    found = {row.index.partition(":")[0]: row.step for row in rows(only_run(tmp_path / "run"))}
    assert found == {"rollouts_12": 12, "gen-step7.ndjson": 7, "rank_3": 0, "plain": 0, "x_5": 99}


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train_data_step1.jsonl", "train"), ("val_data_step1.jsonl", "eval/val"), ("eval_math_12.jsonl", "eval/math"),
        ("test.jsonl", "eval/test"), ("latest.jsonl", "train"), ("12.jsonl", "train"),
        ("heldout.jsonl", "eval/heldout"), ("held_out_math_3.jsonl", "eval/math"),
        ("dev.jsonl", "eval/dev"), ("dev_run.jsonl", "train"),
    ],
)  # fmt: skip
def test_files_of_evaluations_have_a_split_of_their_own(tmp_path: Path, name: str, split: str) -> None:
    write(tmp_path / "run" / name, {"prompt": "Q", "response": "A", "score": 1})
    assert rows(only_run(tmp_path / "run"))[0].split == split


@pytest.mark.parametrize(
    ("member", "split"),
    [
        ({"split": "train"}, "train"), ({"split": "eval"}, "eval/eval"), ({"phase": "Validation"}, "eval/validation"),
        ({"mode": "eval_aime24"}, "eval/eval_aime24"), ({"is_eval": True}, "eval/eval"), ({"is_test": False}, "train"),
        ({"mode": "valid json"}, "train"), ({"split": "eval", "step": None}, "train"),
        ({"split": "heldout"}, "eval/heldout"), ({"data_split": "val_new_tables"}, "eval/val_new_tables"),
        ({"subset": "Held-Out"}, "eval/held-out"), ({"subset": "test_hard"}, "eval/test_hard"),
        ({"eval": True}, "eval/eval"), ({"eval": False}, "train"), ({"eval": 0.5}, "train"),
        ({"mode": "test_generation"}, "train"), ({"phase": "evaluator"}, "train"), ({"data_split": "train_a"}, "train"),
        ({"split": "valley"}, "train"), ({"mode": "rollout", "split": "dev"}, "eval/dev"),
    ],
)  # fmt: skip
def test_a_row_says_that_it_belongs_to_an_evaluation(tmp_path: Path, member: dict[str, Any], split: str) -> None:
    sample = sample_of(tmp_path, **{"prompt": "Q", "response": "A", "reward": 1, "step": 3} | member)
    assert sample.key.split == split


@pytest.mark.parametrize(
    ("members", "reward"),
    [
        ({"judge_rating": 7, "judge_model": "m", "rating_tokens": 3, "match_time": 2.0}, 7.0),
        ({"answer_match": True, "exec_ms": 40}, 1.0), ({"judge_rating": 7, "answer_match": 1}, None),
        ({"match_count": 4}, None), ({"difficulty_rating": 4}, None), ({"rating": 3, "reward": 0.5}, 0.5),
    ],
)  # fmt: skip
def test_the_only_number_that_means_a_judgement_is_the_reward(
    tmp_path: Path, members: dict[str, Any], reward: float | None
) -> None:
    write(tmp_path / "x.jsonl", {"prompt": "Q", "completion": "A"} | members)
    if reward is None:
        assert not discover([tmp_path / "x.jsonl"]).runs
        return
    run = only_run(tmp_path / "x.jsonl")
    assert rows(run)[0].reward == reward
    assert ("is taken as the reward, and --map reward=KEY names another" in run.reason) == ("reward" not in members)


@pytest.mark.parametrize(
    ("members", "reward"),
    [
        ({"step": 3, "r": 0.5}, 0.5), ({"gid": 0, "R": 1}, 1.0), ({"step": 3, "rew": -1.5}, -1.5),
        ({"r": 0.5}, 0.5), ({"r": 0.5, "prompt": None}, None), ({"step": 3, "r": "low"}, None),
        ({"step": 3, "r": 7, "correct": True}, 1.0), ({"step": 3, "r": 7, "score": 0.5}, 0.5),
    ],
)  # fmt: skip
def test_a_short_name_is_the_reward_of_a_row_with_a_prompt_and_no_other_score(
    tmp_path: Path, members: dict[str, Any], reward: float | None
) -> None:
    write(tmp_path / "x.jsonl", {"prompt": "Q", "text": "A"} | members)
    found = discover([tmp_path / "x.jsonl"]).runs
    assert [row.reward for run in found for row in rows(run)] == ([] if reward is None else [reward])


SHORT = [
    {"t": 3 + n // 4, "g": n // 2, "prompt": f"Q{n // 2}", "text": "A", "r": n % 2, "y": "B", "A": n % 2 - 0.5}
    for n in range(8)
]


def short_rows(**columns: Any) -> list[dict[str, Any]]:
    return [row | {key: value(n) for key, value in columns.items()} for n, row in enumerate(SHORT)]


def test_names_of_a_letter_are_the_step_group_label_and_advantage_beside_such_a_reward(tmp_path: Path) -> None:
    write(tmp_path / "04" / "log.jsonl", *short_rows())
    run = only_run(tmp_path / "04")
    found = rows(run)
    assert [(row.step, row.group, row.advantage) for row in found] == [
        (3 + n // 4, str(n // 2), n % 2 - 0.5) for n in range(8)
    ]
    assert found[0].metrics == {}
    assert samples(run)[0].label == "B"
    assert "r is taken as the reward, t as the step, g as the group, A as the advantage, y as the label" in run.reason
    write(tmp_path / "usual.jsonl", {"prompt": "Q", "text": "A", "reward": 1, "t": 3, "g": 4, "A": -1})
    (row,) = rows(only_run(tmp_path / "usual.jsonl"))
    assert (row.step, row.advantage, row.metrics) == (0, None, {"t": 3, "g": 4, "A": -1})


@pytest.mark.parametrize(
    ("columns", "name", "doubt", "steps"),
    [
        ({"t": lambda n: n % 2}, "log", ("step", "t"), {0}), ({"t": lambda n: n}, "log", ("step", "t"), {0}),
        ({"t": lambda _: 1}, "step_7", ("step", "t"), {7}), ({"g": lambda n: n % 2}, "log", ("group", "g"), {3, 4}),
        ({"g": lambda n: n}, "log", ("group", "g"), {3, 4}), ({"A": lambda n: n}, "log", ("advantage", "A"), {3, 4}),
        ({"g": lambda _: 0, "t": lambda _: 1}, "log", ("group", "g"), {1}),
    ],
)  # fmt: skip
def test_a_letter_has_no_role_that_its_values_do_not_show(
    tmp_path: Path, columns: dict[str, Any], name: str, doubt: tuple[str, str], steps: set[int]
) -> None:
    write(tmp_path / f"{name}.jsonl", *short_rows(**columns))
    run = only_run(tmp_path / f"{name}.jsonl")
    found, (role, key) = rows(run), doubt
    assert f"; --map {role}={key}, if it is the {role}" in run.reason
    assert all(key in row.metrics for row in found)
    assert {row.step for row in found} == steps
    assert len({(row.step, row.group) for row in found}) == 4
    assert (found[1].advantage is None) == (role == "advantage")


def test_groups_are_named_or_inferred_from_equal_prompts(tmp_path: Path) -> None:
    row = {"response": "A", "score": 1}
    write(
        tmp_path / "x.jsonl", row | {"prompt": "a"}, row | {"prompt": "a"}, row | {"prompt": "b"},
        row | {"prompt": "b", "group_id": 7}, row | {"prompt": "b", "group_id": ["odd"]},
    )  # fmt: skip
    groups = [found.group for found in rows(only_run(tmp_path))]
    assert groups[0] == groups[1] != groups[2] == groups[4]
    assert groups[3] == "7"


def test_rows_that_are_no_samples_are_listed(tmp_path: Path) -> None:
    write(tmp_path / "x.jsonl", {"prompt": "Q", "response": "A", "score": 1}, {"run_name": "toy"})
    first, second = items(only_run(tmp_path))
    assert isinstance(first, SampleRow)
    assert isinstance(second, Problem)


def test_files_of_metrics_beside_samples_are_left_aside_as_soon_as_they_hold_a_line(tmp_path: Path) -> None:
    write(tmp_path / "run" / "samples.jsonl", {"prompt": "Q", "response": "A", "score": 1})
    metrics = tmp_path / "run" / "metrics.jsonl"
    metrics.touch()
    run = only_run(tmp_path / "run")
    generic = by_name("generic")
    assert [source.name for source in generic.sources(run)] == ["metrics.jsonl", "samples.jsonl"]
    write(metrics, {"step": 1, "loss": 2})
    assert [source.name for source in generic.sources(run)] == ["samples.jsonl"]


@pytest.mark.parametrize("size", [3 * 2**20, MAX_LINE_BYTES])
def test_a_long_first_row_hides_no_run(tmp_path: Path, size: int) -> None:
    records = [{"prompt": "p", "response": "x" * length, "reward": 0.5} for length in (size, 1)]
    run = only_run(write(tmp_path / "run/data.jsonl", *records).parent)
    assert [row.reward for row in rows(run)] == [0.5, 0.5]


def test_texts_without_a_score_are_not_a_run(tmp_path: Path) -> None:
    write(tmp_path / "sft.jsonl", {"prompt": "Q", "completion": "A"})
    found = discover([tmp_path])
    assert found.runs == []
    assert "no score" in found.notes[0].reason


def test_a_file_that_is_written_again_at_its_size_is_looked_at_again(tmp_path: Path) -> None:
    line = b'{ "prompt": "p", "response": "one", "reward": 1}\n'
    path = tmp_path / "samples.jsonl"
    for second, content in enumerate((line, line.replace(b"{ ", b"{\n"), line)):
        path.write_bytes(content)
        os.utime(path, (second, second))
        (sample,) = samples(only_run(tmp_path))
        assert sample.response_text == "one"
