"""ART: Parquet, lines of groups, YAML migrated files, and documents made to hurt."""

import json
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

import rolloupe
from rolloupe.formats import by_name, discover
from rolloupe.formats.testing import FormatContract
from rolloupe.model import Problem, Reading
from tests.formats.support import items, limit_contract, mean_reward, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "art"
MODEL = DATA / ".art" / "toy-project" / "models" / "tiny"
OLDER = DATA / "older"

limit_contract()


class TestLines(FormatContract):
    format = "art"
    example = OLDER / "lines"


class TestYaml(FormatContract):
    format = "art"
    example = OLDER / "yaml"


def test_a_model_is_a_run_below_a_hidden_folder() -> None:
    (run,) = [run for run in discover([DATA]).runs if run.root == str(MODEL)]
    found = rows(run)
    assert run.name == "tiny"
    assert Counter((row.split, row.step) for row in found) == {("train", 1): 16, ("eval/val", 2): 16}
    assert sorted(Counter((row.split, row.group) for row in found).values()) == [4] * 8
    assert mean_reward([row for row in found if row.split == "eval/val"]) == 0.65625
    assert {"acc", "duration", "metadata.scenario"} <= found[0].metrics.keys() and found[0].tags["metadata.gt"]
    assert next((row.step, row.values) for row in by_name("art").metrics(run)) == (
        1, {"train/reward": 0.5, "training_step": 1.0},
    )  # fmt: skip


@pytest.mark.parametrize("inner", ["trajectories", "trajectories/val", "trajectories/val/0002.parquet"])
def test_any_folder_or_file_of_a_model_opens(inner: str) -> None:
    found = rows(only_run(MODEL / inner))
    assert {(row.split, row.step) for row in found if row.split != "train"} == {("eval/val", 2)}


@pytest.mark.parametrize("name", ["lines", "yaml"])
def test_older_files_hold_the_same_samples(name: str) -> None:
    newest = samples(only_run(MODEL / "trajectories" / "val"))[:8]
    found = samples(only_run(OLDER / name))
    assert [(one.prompt_text, one.response_text, one.row.reward, one.row.metrics) for one in found] == [
        (one.prompt_text, one.response_text, one.row.reward, one.row.metrics) for one in newest
    ]
    assert [turn.role for turn in found[0].turns] == [turn.role for turn in newest[0].turns]
    assert {(one.row.status, one.row.status_raw) for one in found} == {("completed", "stop")}
    assert sorted(Counter(one.row.group for one in found).values()) == [4, 4]


def test_of_a_step_that_was_migrated_the_newest_kind_counts(tmp_path: Path) -> None:
    run = shutil.copytree(OLDER / "yaml", tmp_path / "run")
    shutil.copy(OLDER / "lines/trajectories/train/0003.jsonl", run / "trajectories/val/0002.jsonl")
    assert [Path(one.path).name for one in by_name("art").sources(only_run(run))] == ["0002.jsonl"]


def test_a_group_on_a_line_of_several_megabytes_is_recognised(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "q" * 2**19}, {"finish_reason": "stop", "message": {"role": "assistant"}}]
    one = {"reward": 1, "metrics": {}, "metadata": {}, "messages_and_choices": said}
    write(tmp_path / "trajectories" / "train" / "0001.jsonl", {"trajectories": [one] * 4})
    run = only_run(tmp_path)
    assert run.format == "art" and len(rows(run)) == 4


def test_a_trajectory_that_is_no_object_is_a_problem_and_hides_no_other(tmp_path: Path) -> None:
    one = {"reward": 1, "metrics": {}, "metadata": {}, "messages_and_choices": [{"role": "user", "content": "q"}]}
    write(tmp_path / "lines" / "train" / "0001.jsonl", {"trajectories": [one, None, one]})
    (tmp_path / "yaml" / "train").mkdir(parents=True)
    said = "{reward: 1, messages_and_choices: [{role: user, content: q}]}"
    (tmp_path / "yaml" / "train" / "0001.yaml").write_text(f"- trajectories:\n  - {said}\n  - 3\n  - {said}\n")
    for name in ("lines", "yaml"):
        run = only_run(tmp_path / name)
        assert [isinstance(item, Problem) for item in items(run)] == [False, True, False]
        assert [sample.row.reward for sample in samples(run)] == [1.0, 1.0]


def test_calls_are_calls_whether_as_texts_of_json_or_not(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "q"},
        {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [call]}},
        {"role": "tool", "tool_call_id": "c", "content": "3"},
        {"finish_reason": "length", "message": {"role": "assistant", "content": "3", "tool_calls": None}},
    ]
    one = {"reward": 1, "metrics": {"n": 2, "ok": True}, "metadata": {"a": [1]}, "messages_and_choices": said}
    write(tmp_path / "train" / "0001.jsonl", {"trajectories": [one, one]}, {"trajectories": []}, {"other": 1})
    run = only_run(tmp_path)
    *found, last = items(run)
    assert isinstance(last, Problem) and "not a group" in last.reason and len(found) == 2
    (first, _) = samples(only_run(write(tmp_path / "alone.jsonl", {"trajectories": [one, one]})))
    assert [part.call.name for turn in first.turns for part in turn.parts if part.call] == ["add"]
    assert (first.row.status, first.row.metrics, first.extra) == (
        "truncated", {"n": 2.0, "ok": 1.0}, {"metadata": {"a": [1]}},
    )  # fmt: skip


def test_aliases_that_multiply_without_end_are_a_problem(tmp_path: Path) -> None:
    bomb = "- trajectories:\n  - messages_and_choices:\n    - &x0 [1, 1]\n"
    bomb += "".join(f"    - &x{n} [{', '.join([f'*x{n - 1}'] * 20)}]\n" for n in range(1, 9))
    (tmp_path / "0001.yaml").write_text(bomb)
    (problem,) = items(only_run(tmp_path))
    assert isinstance(problem, Problem) and "more than 1,000,000 values" in problem.reason


def test_a_document_in_the_making_may_heal(tmp_path: Path) -> None:
    whole = (OLDER / "yaml/trajectories/val/0002.yaml").read_text()
    path = tmp_path / "val" / "0001.yaml"
    path.parent.mkdir()
    path.write_text(whole[: len(whole) // 2].rpartition("'")[0])
    run = only_run(tmp_path)
    before = by_name("art").sources(run)
    path.write_text(whole)
    assert len(rows(only_run(tmp_path))) == 8 and by_name("art").sources(run) != before


def test_a_list_of_other_things_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "0001.yaml").write_text("- metadata: {}\n  other: 1\n")
    (tmp_path / "0002.jsonl").write_text(json.dumps({"trajectories": [1]}) + "\n")
    assert discover([tmp_path]).runs == []


def test_files_under_other_names_are_taken_for_what_they_hold(tmp_path: Path) -> None:
    shutil.copy(MODEL / "trajectories/val/0002.parquet", tmp_path / "copy.parquet")
    run = only_run(tmp_path)
    assert (run.format, len(rows(run))) == ("art", 16)


def test_ids_of_rows_that_generic_made_open_the_same_samples(tmp_path: Path) -> None:
    shutil.copytree(MODEL / "trajectories" / "val", tmp_path / "val")
    with rolloupe.open(tmp_path / "val", format="generic", index_dir=tmp_path / "a") as before:
        old = {sample.id: before[0].texts(sample.id) for sample in before[0].samples()}
    with rolloupe.open(tmp_path / "val", index_dir=tmp_path / "b") as after:
        assert (after[0].format, len(old)) == ("art", 16)
        for name, texts in old.items():
            now = after[0].texts(name)
            assert now.key.index == name.rpartition("/")[2] and now.prompt == texts.prompt
            assert now.response.startswith(texts.response[:40])  # in which generic shows no calls


def test_a_group_of_many_trajectories_by_a_column_costs_no_square_of_their_number(tmp_path: Path) -> None:
    one = {"messages_and_choices": [{"role": "user", "content": "q"}], "reward": 1.0, "metadata": {"seed": 7}}
    write(tmp_path / "trajectories" / "train" / "0001.jsonl", {"trajectories": [one] * 4_000})
    (run,) = discover([tmp_path], Reading(group_by="metadata.seed")).runs
    began = time.process_time()
    assert {row.group for row in rows(run)} == {"7"}
    assert time.process_time() - began < 5
