"""miles: slime's dumps with columns of ranks, conversations and metrics beside them."""

import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rolloupe
from rolloupe.formats import by_name, discover
from rolloupe.formats.slime.samples import offsets
from rolloupe.model import Annotation, Problem, RunInfo, SampleRow
from tests.formats.support import items, mean_reward, only_run, rows, samples
from tests.formats.test_slime import annotations, loaded, problems, record, series, train, train_dump, write
from tests.formats.test_slime import dump as slime_dump

EXAMPLE = Path(__file__).parents[1] / "data/miles/demo_dump_details"


def dump(path: Path, *records: dict[str, Any], step: int = 0) -> Path:
    return write(
        path, {"rollout_id": step, "metadata": {}, "samples": [{**one, "routing_key": None} for one in records]}
    )


def lines(path: Path, *some: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in some), encoding="utf-8")


def without(one: dict[str, Any], index: int) -> dict[str, Any]:
    """A row of train data as columns name it."""
    rest = {key: value for key, value in one.items() if key not in ("rollout_position", "sample_index")}
    return rest | {"sample_indices": index}


def test_every_sample_of_a_run_is_read() -> None:
    run = only_run(EXAMPLE)
    found = [one for one in items(run) if isinstance(one, SampleRow)]
    assert (run.format, run.name, problems(run)) == ("miles", "demo_dump_details", [])
    for step, mean in ((0, 0.46875), (1, 0.53125), (2, 0.5)):
        own = [row for row in found if (row.split, row.step) == ("train", step)]
        assert (len(own), len({row.group for row in own}), mean_reward(own)) == (32, 8, mean)
    assert len([row for row in found if row.split == "eval/default"]) == 16
    noted = [one for one in items(run) if isinstance(one, Annotation)]
    assert (len(noted), len({one.uid for one in noted})) == (64, 32), "each of two ranks holds a copy"


def test_a_recorded_conversation_is_the_turns_of_its_sample() -> None:
    first, second, third = samples(only_run(EXAMPLE))[:3]
    assert [turn.role for turn in first.turns] == ["system", "user", "assistant", "tool", "assistant"]
    kinds = [part.kind for part in first.turns[2].parts]
    assert kinds == ["think", "text", "tool_call"] and first.turns[2].origin == "response"
    assert (first.row.turns, second.row.turns, third.row.turns) == (2, 2, 1)
    assert [turn.origin for turn in second.turns][:2] == ["prompt", "prompt"]
    assert [turn.role for turn in third.turns] == ["user", "assistant"]
    found = rows_of_train(only_run(EXAMPLE))
    assert (found[0].turns, found[2].turns) == (2, 1)
    assert found[0].messages is not None and found[0].messages[0]["role"] == "assistant" and found[2].messages is None


def rows_of_train(run: RunInfo) -> list[SampleRow]:
    return [one for one in items(run) if isinstance(one, SampleRow) and one.split == "train"]


def test_the_tools_of_conversations_are_counted(tmp_path: Path) -> None:
    (run,) = rolloupe.open(EXAMPLE, index_dir=tmp_path / "index").runs
    asked = run.samples(split="train", step=0, where="derived.tool_calls > 0")
    assert {str(item.id) for item in asked} == {"train/0/0/0", "train/0/0/1"}


def test_metrics_configuration_and_tokenizer_lie_beside() -> None:
    run, reader = only_run(EXAMPLE), by_name("miles")
    assert [row.step for row in reader.metrics(run)] == [0, 1, 2]
    assert reader.metrics(run)[1].values["rollout/rewards_mean"] == 0.45
    assert reader.config(run) == {"colocate": True} and reader.loss(run) is None
    assert run.tokenizer is not None and run.tokenizer.path.endswith("tokenizer/tokenizer.json")
    what = {os.path.dirname(one.name): one.what for one in reader.files(run)}
    assert what["trajectory"] == "conversations" and what["dashboard/cache"] == "the cache of miles' own viewer"
    assert discover([EXAMPLE]).notes == []


def test_the_rule_of_the_update_comes_from_its_arguments(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0))
    meta = {"args": {"advantage_estimator": "gspo", "eps_clip": 3e-4, "eps_clip_high": 4e-4}}
    (tmp_path / "run/dashboard").mkdir()
    (tmp_path / "run/dashboard/meta.json").write_text(json.dumps(meta))
    loss = by_name("miles").loss(only_run(tmp_path / "run"))
    assert loss is not None and (loss.rule, loss.thresholds) == ("gspo", {"low": 3e-4, "high": 4e-4})


def test_files_of_metrics_for_each_hour_are_read(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0))
    for hour, step in (("19700112_13", 0), ("19700112_14", 1)):
        row = {"ts": 1.0, "step_key": "rollout/step", "step": step, "metrics": {"perf/time": step + 0.5, "a": "x"}}
        lines(tmp_path / f"run/dashboard/metrics/{hour}.jsonl", row, {"metrics": 3}, {})
    found = by_name("miles").metrics(only_run(tmp_path / "run"))
    assert [(row.step, row.values) for row in found if row.step is not None] == [
        (0, {"perf/time": 0.5}), (1, {"perf/time": 1.5}),
    ]  # fmt: skip


def test_pieces_of_ranks_become_whole_responses(tmp_path: Path) -> None:
    total, response, size = 23, 17, 2
    tokens = list(range(total))
    one = record(0, tokens=tokens, response_length=response, loss_mask=None, rollout_log_probs=None)
    dump(tmp_path / "run/rollout_data/0.pt", one)
    whole = np.arange(1.0, response + 1)
    for rank in range(size):
        piece = [value for start, stop in offsets(total, response, rank, size) for value in whole[start:stop].tolist()]
        own = {"response_lengths": response, "total_lengths": total, "loss_masks": [1.0] * response, "rewards": 0.0}
        columns = without(own | {"log_probs": piece, "advantages": piece}, 0)
        train_dump(tmp_path / f"run/train_data/0_{rank}.pt", columns, columns=True, cp_rank=rank, cp_size=size)
    (sample,) = samples(only_run(tmp_path / "run"))
    assert series(sample)["old_logprobs"] == whole.tolist() and sample.notes == []
    os.unlink(tmp_path / "run/train_data/0_1.pt")
    (sample,) = samples(only_run(tmp_path / "run"))
    assert "old_logprobs" not in series(sample)
    assert sample.notes == ["pieces of the response that do not fit together are left out: advantages, old_logprobs"]


def test_an_empty_response_has_no_pieces_that_do_not_fit(tmp_path: Path) -> None:
    one = record(0, response="", tokens=[1, 2], response_length=0, loss_mask=[], rollout_log_probs=[])
    dump(tmp_path / "run/rollout_data/0.pt", one)
    empty: list[float] = []
    own = {"response_lengths": 0, "total_lengths": 2, "rewards": 0.5, "loss_masks": empty, "log_probs": empty}
    train_dump(tmp_path / "run/train_data/0_0.pt", without(own, 0), columns=True, cp_rank=0, cp_size=1)
    (sample,) = samples(only_run(tmp_path / "run"))
    assert (sample.notes, sample.row.metrics["normalized_reward"]) == ([], 0.5)


def test_values_that_only_the_last_stage_computes_are_found(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0))
    first = {key: value for key, value in train(0, 0, 0.5).items() if key not in ("log_probs", "advantages")}
    train_dump(tmp_path / "run/train_data/0_0.pt", without(first, 0), columns=True, cp_rank=0, cp_size=1)
    train_dump(tmp_path / "run/train_data/0_1.pt", without(train(0, 0, 0.5), 0), columns=True, cp_rank=0, cp_size=1)
    run = only_run(tmp_path / "run")
    (sample,) = samples(run)
    assert series(sample)["old_logprobs"][:2] == [-1.0, -2.0] and sample.row.advantage == 0.5
    assert set(annotations(run)) == {"0:0"}


def test_conversations_that_several_samples_could_have_are_not_shown(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(5), record(6))
    messages = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "five"}]
    twice = {"sample_index": 5, "messages": messages}
    lines(tmp_path / "run/trajectory/0.jsonl", twice, twice, {"sample_index": 6, "messages": messages}, {"messages": 1})
    first, second = samples(only_run(tmp_path / "run"))
    assert [turn.parts[0].text for turn in first.turns] == ["2+2?", "four"]
    assert first.notes == ["2 conversations have its sample_index: none is shown"]
    assert [turn.parts[0].text for turn in second.turns] == ["2+2?", "five"]


def test_conversations_that_belong_to_no_sample_are_counted(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(5), record(6))
    messages = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "five"}]
    some = [{"sample_index": index, "messages": messages} for index in (5, 6, 6, 7, 8)]
    lines(tmp_path / "run/trajectory/0.jsonl", *some, {"messages": messages}, {"sample_index": 5, "messages": 1})
    found = items(only_run(tmp_path / "run"))
    assert sorted(one.reason for one in found if isinstance(one, Problem)) == [
        "1 conversation belongs to no sample, in trajectory/: no messages",
        "1 conversation belongs to no sample, in trajectory/: no sample_index",
        "2 conversations belong to no sample, in trajectory/: a sample_index that no sample has, or several",
        "2 conversations belong to no sample, in trajectory/: a sample_index that several of them share",
    ]
    assert len([one for one in found if isinstance(one, SampleRow)]) == 2


def test_rows_follow_when_conversations_come_later(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0))
    run, reader = only_run(tmp_path / "run"), by_name("miles")
    (before,) = reader.sources(run)
    lines(tmp_path / "run/trajectory/0.jsonl", {"sample_index": 0, "messages": [{"role": "assistant", "content": "x"}]})
    (after,) = reader.sources(run)
    assert before.depends == "" != after.depends


def test_dumps_of_slime_and_miles_are_told_apart(tmp_path: Path) -> None:
    slime_dump(tmp_path / "a/rollout_data/0.pt", record(0))
    dump(tmp_path / "b/rollout_data/0.pt", record(0))
    assert {run.name: run.format for run in discover([tmp_path]).runs} == {"a": "slime", "b": "miles"}


def test_a_dump_that_is_being_written_is_a_passing_problem(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "run")
    path = tmp_path / "run/rollout_data/2.pt"
    path.write_bytes(path.read_bytes()[:9_000])
    run = only_run(tmp_path / "run")
    assert run.format == "miles"
    found = [one for one in items(run) if isinstance(one, Problem)]
    assert [(one.source, one.transient) for one in found] == [("rollout_data/2.pt", True)]
    assert len([one for one in items(run) if isinstance(one, SampleRow)]) == 80


@pytest.mark.parametrize("gone", ["train_data", "trajectory", "dashboard", "dashboard_columns", "tokenizer"])
def test_each_part_of_a_run_may_be_missing(tmp_path: Path, gone: str) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "run", ignore=shutil.ignore_patterns(gone))
    run = only_run(tmp_path / "run")
    assert run.format == "miles" and len(rows(run)) == 112 and loaded(run).token_ids


def test_columns_stand_for_a_dump_that_is_missing(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "run")
    whole = [one for one in samples(only_run(EXAMPLE)) if one.key.step == 0]
    for name in ("0.pt", "eval_0.pt"):
        (tmp_path / "run/rollout_data" / name).unlink()
    run = only_run(tmp_path / "run")
    assert problems(run) == [] and len(rows(run)) == 112
    found = [one for one in samples(run) if one.key.step == 0]
    assert [one.key.split for one in found] == [one.key.split for one in whole]
    for one, dumped in zip(found, whole, strict=True):
        assert (one.token_ids, one.key.index) == (dumped.token_ids, dumped.key.index)
        ours, theirs = series(one), series(dumped)
        assert ours.keys() == theirs.keys()
        assert all(ours[name] == pytest.approx(theirs[name]) for name in ours)
        assert one.row.reward is None and one.notes[0].startswith("the dump of its step is missing")
    assert found[0].response_text.startswith(" t61 t45") and found[0].row.advantage == whole[0].row.advantage
    assert [turn.role for turn in found[0].turns][2:] == ["assistant", "tool", "assistant"]
    assert {one.uid for one in items(run) if isinstance(one, Annotation)} == {f"0:{n}" for n in range(32)}


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + b"\xff" * 400 + b"PAR1"])
def test_damaged_columns_cost_no_other_step(tmp_path: Path, data: bytes) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0))
    (tmp_path / "run/dashboard_columns").mkdir()
    (tmp_path / "run/dashboard_columns/rollout_1.parquet").write_bytes(data)
    run = only_run(tmp_path / "run")
    assert len(problems(run)) == 1 and len(samples(run)) == 1


def test_conversations_alone_keep_the_ids_that_they_had_as_generic(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "trajectory", tmp_path / "trajectory")
    with rolloupe.open(tmp_path, format="generic", index_dir=tmp_path / "a") as before:
        old = {sample.id: before[0].texts(sample.id).response for sample in before[0].samples()}
    with rolloupe.open(tmp_path, index_dir=tmp_path / "b") as after:
        assert (after[0].format, len(old)) == ("miles", 6)
        assert {name: after[0].texts(name).response for name in old} == old
    assert only_run(EXAMPLE / "trajectory" / "0.jsonl").format == "miles"


def test_the_function_on_the_page_records_evaluations_by_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[2] / "docs/frameworks/miles.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    hook: dict[str, Any] = {"rolloupe": rolloupe}
    exec(code, hook)
    one = SimpleNamespace(group_index=4, index=9, response="four", get_reward_value=lambda _: 0.5)
    assert not hook["log_eval"](3, SimpleNamespace(), {"aime": {"samples": [one]}}, None)
    hook["recorder"].close()
    (row,) = rows(only_run(tmp_path / "runs/miles-evals"))
    assert (str(row.key), row.reward, row.response) == ("eval/aime/3/4/9", 0.5, "four")
