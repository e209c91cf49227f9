"""Relax: the numbers of files written by Relax itself, every generation of keys, every place to open."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import by_name, discover
from rolloupe.model import RunInfo, SampleRow
from rolloupe.wire import to_wire
from tests.formats.support import mean_reward, only_run, rows, samples, write


@pytest.fixture
def run(demo_runs: Path) -> RunInfo:
    return only_run(demo_runs / "other_formats/relax")


def one(tmp_path: Path, split: str = "train", **record: Any) -> SampleRow:
    """The row of one record in a run of one file."""
    write(
        tmp_path / "rollout_result" / split / "7.jsonl", {"rollout_id": 7, "sample_index": 0, "response": "r"} | record
    )
    (row,) = rows(only_run(tmp_path))
    return row


def test_counts_and_rewards_are_those_that_were_written(run: RunInfo) -> None:
    found = rows(run)
    assert Counter((row.split, row.step) for row in found) == Counter(
        {("train", s): 16 for s in range(3)}
        | {("eval/aime24", s): 4 for s in range(3)}
        | {("eval/gsm8k", s): 6 for s in range(3)}
    )
    for step, mean in enumerate((0.5, 0.625, 0.65625)):
        train = [row for row in found if (row.split, row.step) == ("train", step)]
        assert mean_reward(train) == mean
        assert sorted(Counter(row.group for row in train).values()) == [4, 4, 4, 4]
        assert [row.index for row in train] == [str(n) for n in range(16)]
        evals = {row.group for row in found if row.split.startswith("eval/") and row.step == step}
        assert len(evals) == 3


def test_every_sample_has_turns_of_prompt_and_response(run: RunInfo) -> None:
    for sample in samples(run):
        assert [turn.role for turn in sample.turns] == ["user", "assistant"]
        assert [turn.origin for turn in sample.turns] == ["prompt", "response"]
        assert sample.label
        assert sample.row.status == "completed"
        assert sample.row.turns == 1
        assert sample.row.total_tokens == (sample.row.prompt_tokens or 0) + (sample.row.response_tokens or 0)


def test_prompts_that_are_messages_and_summaries_of_images_are_kept(run: RunInfo) -> None:
    with_images = [s for s in samples(run) if "multimodal_inputs" in s.extra and s.key.split == "train"]
    assert len(with_images) == 4
    assert {sample.key.step for sample in with_images} == {1}
    for sample in with_images:
        assert sample.extra["multimodal_inputs"]["images"][0].startswith("<PIL.Image.Image image mode=RGB")
        assert sample.extra["multimodal_inputs"]["videos"] == 0
        assert sample.row.metrics["image_count"] == 1
        assert sample.prompt_text


def test_rewards_that_are_objects_become_metrics_and_tags(run: RunInfo) -> None:
    for row in rows(run):
        if row.step == 2:
            assert row.reward == row.metrics["reward.score"]
            assert "reward.acc" in row.metrics
            assert row.tags.keys() == {"bench", "task_id"}


@pytest.mark.parametrize("inside", ["", "rollout_result"])
def test_the_folder_and_the_folder_above_are_one_run(demo_runs: Path, inside: str) -> None:
    run = only_run(demo_runs / "other_formats/relax" / inside)
    assert run.name == "relax"
    assert run.root == str(demo_runs / "other_formats/relax" / "rollout_result")
    assert run.reason == "6 files named {step}.jsonl below train/ and eval/, rows have rollout_id and sample_index"


@pytest.mark.parametrize(("split", "splits"), [("train", {"train"}), ("eval", {"eval/aime24", "eval/gsm8k"})])
def test_one_split_alone_is_a_run(demo_runs: Path, split: str, splits: set[str]) -> None:
    run = only_run(demo_runs / "other_formats/relax" / "rollout_result" / split)
    assert run.name == "relax"
    assert {row.split for row in rows(run)} == splits


def test_a_flat_folder_holds_both_splits(demo_runs: Path, tmp_path: Path) -> None:
    source = demo_runs / "other_formats/relax" / "rollout_result"
    flat = tmp_path / "dump"
    flat.mkdir()
    shutil.copy(source / "train" / "0.jsonl", flat / "0.jsonl")
    shutil.copy(source / "eval" / "1.jsonl", flat / "1.jsonl")
    run = only_run(flat)
    assert (run.format, run.name) == ("relax", "dump")
    assert {(row.split, row.step) for row in rows(run)} == {("train", 0), ("eval/aime24", 1), ("eval/gsm8k", 1)}


def test_one_file_is_a_run(demo_runs: Path) -> None:
    run = only_run(demo_runs / "other_formats/relax" / "rollout_result" / "eval" / "2.jsonl")
    assert run.format == "relax"
    assert {row.split for row in rows(run)} == {"eval/aime24", "eval/gsm8k"}


def test_files_that_are_named_one_by_one_are_one_run(demo_runs: Path) -> None:
    folder = demo_runs / "other_formats/relax" / "rollout_result" / "train"
    (run,) = discover([folder / "0.jsonl", folder / "2.jsonl", folder / "2.jsonl"]).runs
    assert run.name == "train"
    assert Counter(row.step for row in rows(run)) == {0: 16, 2: 16}


def test_files_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for step in (10, 9, 100, 0):
        write(tmp_path / f"{step}.jsonl", {"rollout_id": step, "sample_index": 0, "response": ""})
    run = only_run(tmp_path)
    assert [source.step for source in by_name("relax").sources(run)] == [0, 9, 10, 100]


def test_new_files_and_a_new_split_show_up(tmp_path: Path) -> None:
    write(tmp_path / "rollout_result/train/0.jsonl", {"rollout_id": 0, "sample_index": 0, "response": ""})
    run = only_run(tmp_path)
    write(tmp_path / "rollout_result/train/1.jsonl", {"rollout_id": 1, "sample_index": 0, "response": ""})
    write(
        tmp_path / "rollout_result/eval/0.jsonl", {"rollout_id": 0, "sample_index": 0, "response": "", "dataset": "x/y"}
    )
    assert {(row.split, row.step) for row in rows(run)} == {("train", 0), ("train", 1), ("eval/x/y", 0)}


def test_empty_first_files_are_passed_over(demo_runs: Path, tmp_path: Path) -> None:
    result = tmp_path / "rollout_result"
    shutil.copytree(demo_runs / "other_formats/relax" / "rollout_result", result, dirs_exist_ok=True)
    for split in ("train", "eval"):
        (result / split).chmod(0o755)
        (result / split / "0.jsonl").unlink()
        (result / split / "0.jsonl").touch()
    assert len(rows(only_run(tmp_path))) == 2 * 26


def test_a_run_whose_files_are_all_empty_is_recognised_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "rollout_result/train").mkdir(parents=True)
    (tmp_path / "rollout_result/train/0.jsonl").touch()
    assert only_run(tmp_path).reason == "1 file named {step}.jsonl below train/, all of them empty so far"


def test_rows_of_the_first_generation_have_token_counts(tmp_path: Path) -> None:
    row = one(tmp_path, response_length=29, total_length=44)
    assert (row.prompt_tokens, row.response_tokens, row.total_tokens) == (15, 29, 44)


def test_counts_under_their_newer_names_are_read(tmp_path: Path) -> None:
    row = one(tmp_path, prompt_token_count=1, response_token_count=2, total_token_count=3, agent_turns=5, judge_s=0.5)
    assert (row.prompt_tokens, row.response_tokens, row.total_tokens, row.turns) == (1, 2, 3, 5)
    assert row.metrics == {"judge_s": 0.5}


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("failed", "error"),
        ("truncated", "truncated"),
        ("Status.ABORTED", "aborted"),
        ("pending", "pending"),
        ("odd", "unknown"),
    ],
)
def test_statuses_are_common_words_and_keep_their_own(tmp_path: Path, raw: str, status: str) -> None:
    row = one(tmp_path, status=raw)
    assert (row.status, row.status_raw) == (status, raw)


def test_names_and_counts_of_relax_are_facts_as_far_as_a_record_has_them(tmp_path: Path) -> None:
    keys = {"rollout_id": 7, "sample_index": 12, "group_index": "g", "total_length": 1500, "total_token_count": None}
    write(tmp_path / "rollout_result/train/7.jsonl", {"response": "r", "prompt": "p", **keys}, {"response": "r"})
    full, bare = samples(only_run(tmp_path))
    assert full.facts == {"rollout_id": "7", "sample_index": "12", "group_index": "g", "total_length": 1500}
    assert (full.extra, bare.facts) == ({}, {})
    facts = [(fact.name, fact.kind, fact.value) for fact in to_wire.facts(full)]
    assert ("rollout_id", "own", "7") in facts and ("total_length", "own", 1500) in facts


def test_samples_without_a_group_are_grouped_by_their_prompt(tmp_path: Path) -> None:
    same: dict[str, Any] = {"rollout_id": 0, "response": "", "group_index": None}
    write(
        tmp_path / "0.jsonl",
        {**same, "sample_index": 0, "prompt": "a"}, {**same, "sample_index": 1, "prompt": "b"},
        {**same, "sample_index": 2, "prompt": "a"},
    )  # fmt: skip
    first, second, third = rows(only_run(tmp_path))
    assert first.group == third.group != second.group
    assert len(first.group) == 12


def test_a_sample_without_a_number_is_named_by_its_place(tmp_path: Path) -> None:
    record = {"rollout_id": 0, "response": "r"}
    path = write(tmp_path / "0.jsonl", {**record, "sample_index": 0}, {**record, "sample_index": None})
    offset = path.read_bytes().index(b"\n") + 1
    assert [row.index for row in rows(only_run(tmp_path))] == ["0", str(offset)]


def test_the_step_is_the_rollout_id_else_the_name_of_the_file(tmp_path: Path) -> None:
    write(
        tmp_path / "4.jsonl",
        {"rollout_id": 3, "sample_index": 0, "response": ""},
        {"sample_index": 1, "response": ""},
    )
    assert [row.step for row in rows(only_run(tmp_path))] == [3, 4]


def test_evaluation_rows_without_a_data_set_have_a_split(tmp_path: Path) -> None:
    assert one(tmp_path, split="eval").split == "eval/default"


def test_traces_of_rewards_are_no_samples(tmp_path: Path) -> None:
    one(tmp_path)
    trace = {"record_type": "reward_terminal_trace", "rollout_id": 7, "sample_index": 0, "latency_trace": {}}
    write(tmp_path / "rollout_result/reward_terminal_traces/7.jsonl", trace)
    found = discover([tmp_path])
    assert len(found.runs) == 1
    assert len(rows(found.runs[0])) == 1
    assert any("not samples" in note.reason for note in found.notes)
