"""slime's dumps of samples, joined with those of the trainer's data."""

import json
import os
import re
import shutil
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rolloupe
from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name, discover
from rolloupe.formats.reading.files import FolderEntry, files
from rolloupe.formats.reading.pickles import json_values
from rolloupe.formats.reading.pickles.json_values import ValueBudget
from rolloupe.formats.slime import format as slime_format
from rolloupe.formats.slime import samples as slime_samples
from rolloupe.formats.slime.samples import Shard, offsets, uid_of, whole_response
from rolloupe.model import Annotation, Problem, RunInfo, Sample, SampleRow
from tests.formats.reading.pickles.support import Call, StorageKey, archive, dumps, tensor
from tests.formats.support import items, load, mean_reward, only_run, rows, samples, values

EXAMPLE = Path(__file__).parents[1] / "data/slime/dump_details"
DOCS = Path(__file__).parents[2] / "docs/frameworks"
FLOATS = ("loss_masks", "rollout_log_probs", "log_probs", "ref_log_probs", "advantages", "entropy")


def write(path: Path, value: Any, storages: dict[str, bytes] | None = None) -> Path:
    """Write a file as `torch.save` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return archive(path, dumps(value), storages or {})


def record(index: int, **more: Any) -> dict[str, Any]:
    """A sample of a dump: five tokens, of which the last three are the response."""
    return {
        "group_index": index // 2, "index": index, "prompt": "2+2?", "tokens": [1, 2, 30_000, 4, 70_000],
        "response": "four", "response_length": 3, "label": "4", "reward": 1.0, "loss_mask": [1, 1, 1],
        "rollout_log_probs": [-0.5, -0.25, -0.125], "status": "completed", "metadata": {}, **more,
    }  # fmt: skip


def dump(path: Path, *records: Any, step: int = 0) -> Path:
    return write(path, {"rollout_id": step, "samples": list(records)})


def train_dump(path: Path, *some: dict[str, Any], columns: bool = False, **more: Any) -> Path:
    """Write train data, as a list of samples or as columns; lists of numbers become tensors."""
    storages: dict[str, bytes] = {}

    def stored(found: list[float]) -> Call:
        name = str(len(storages))
        storages[name] = struct.pack(f"<{len(found)}f", *found)
        return tensor(StorageKey("FloatStorage", name, len(found)), (len(found),), (1,))

    own = [{key: stored(one[key]) if key in FLOATS else one[key] for key in one} for one in some]
    if not columns:
        return write(path, {"format_version": 2, "rollout_id": 0, "rank": 0, "samples": own, **more}, storages)
    raw = {key: more.pop(key) for key in ("raw_reward",) if key in more}
    data = {key: [one[key] for one in own] for key in own[0]} | raw
    return write(path, {"rollout_id": 0, "rank": 0, "rollout_data": data, **more}, storages)


def train(position: int | None, index: int | None, advantage: float, **more: Any) -> dict[str, Any]:
    return {
        "rollout_position": position, "sample_index": index, "tokens": [1, 2, 3, 4, 5], "response_lengths": 3,
        "total_lengths": 5, "rewards": advantage, "loss_masks": [1.0, 1.0, 0.0], "log_probs": [-1.0, -2.0, -4.0],
        "advantages": [advantage] * 3, **more,
    }  # fmt: skip


def annotations(run: RunInfo) -> dict[str, float | None]:
    return {one.uid: one.advantage for one in items(run) if isinstance(one, Annotation)}


def problems(run: RunInfo) -> list[str]:
    return [one.reason for one in items(run) if isinstance(one, Problem)]


def series(sample: Sample) -> dict[str, list[float]]:
    return {one.name: list(one.values) for one in sample.series}


def loaded(run: RunInfo, position: int = 0) -> Sample:
    reader = by_name(run.format)
    source = next(one for one in reader.sources(run) if not one.annotates)
    row = next(
        one for one in reader.scan(run, source, 0, 2**62) if isinstance(one, SampleRow) and one.start == position
    )
    return load(reader, run, source, row)


def test_every_sample_of_a_run_is_read() -> None:
    run = only_run(EXAMPLE)
    found = [one for one in items(run) if isinstance(one, SampleRow)]
    assert (run.format, run.name) == ("slime", "slime") and problems(run) == []
    by_split = {(row.split, row.step) for row in found}
    assert by_split == {("train", 0), ("train", 1), ("train", 2), ("eval/default", 0)}
    for step, mean in ((0, 0.5), (1, 0.625), (2, 0.65625)):
        own = [row for row in found if (row.split, row.step) == ("train", step)]
        assert (len(own), len({row.group for row in own}), mean_reward(own)) == (16, 4, mean)
    assert len([row for row in found if row.split == "eval/default"]) == 4
    first = found[0]
    assert (first.prompt_tokens, first.response_tokens, first.total_tokens) == (15, 29, 44)
    assert (first.status, first.has_series, first.discarded) == ("completed", True, "")
    assert found[32].metrics["reward.score"] == 0.5 and found[33].tags["pred"] == "7"
    assert found[0].tags["metadata.rm_type"] == "math"


def test_a_sample_has_its_tokens_and_what_the_trainer_made_of_it() -> None:
    sample = samples(only_run(EXAMPLE))[33]
    assert str(sample.key) == "train/2/8/33" and sample.notes == []
    assert (len(sample.token_ids), sample.label, sample.response_text[:7]) == (46, "100", "<think>")
    assert [turn.role for turn in sample.turns] == ["user", "assistant"]
    found = series(sample)
    assert set(found) == {
        "loss_mask", "logprobs", "old_logprobs", "ref_logprobs", "advantages", "returns", "entropy",
    }  # fmt: skip
    assert {one.offset for one in sample.series} == {17} and {len(one) for one in found.values()} == {29}
    assert found["logprobs"][0] == pytest.approx(-0.001525073)
    assert found["old_logprobs"][0] == pytest.approx(-0.000525073)
    assert sample.row.metrics["raw_reward"] == 0.5 and sample.row.metrics["normalized_reward"] == 0.0
    assert "weight_versions" in sample.extra and "rollout_routed_experts" not in sample.extra


def test_the_index_joins_what_the_trainer_made(tmp_path: Path) -> None:
    (run,) = rolloupe.open(EXAMPLE, index_dir=tmp_path / "index").runs
    assert run.problems() == []
    every = list(run.samples(split="train", steps=(0, 99)))
    above = [item.id for item in run.samples(split="train", steps=(0, 99), where="raw_reward > 0.6")]
    assert len(every) == 48 and {item.advantage is not None for item in every} == {True}
    assert above == [item.id for item in every if item.metrics["raw_reward"] > 0.6] and 0 < len(above) < 48
    one = run.sample(str(every[20].id))
    assert one.row.advantage == pytest.approx(every[20].advantage)


def test_rows_are_joined_by_their_position_not_by_an_index_that_several_share(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", *(record(7) for _ in range(3)))
    train_dump(
        tmp_path / "run/train_data/0.pt",
        train(2, 7, 0.3),
        train(0, 7, 0.1),
        train(1, 7, 0.2),
        raw_reward=[5.0, 6.0, 7.0],
    )
    run = only_run(tmp_path / "run")
    assert annotations(run) == pytest.approx({"0:0": 0.1, "0:1": 0.2, "0:2": 0.3})
    found = samples(run)
    assert [str(one.key) for one in found] == ["train/0/3/7", "train/0/3/7-1", "train/0/3/7-2"]
    assert [one.row.metrics["raw_reward"] for one in found] == [5.0, 6.0, 7.0]
    assert [one.row.advantage for one in found] == pytest.approx([0.1, 0.2, 0.3])
    assert problems(run) == []


def test_samples_without_a_row_on_any_rank_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    dump(folder / "rollout_data/0.pt", *map(record, range(4)))
    train_dump(folder / "train_data/0_0.pt", train(0, 0, 0.1))
    run = only_run(folder)
    assert problems(run) == ["3 samples have no row in the train data"]
    before = [one.depends for one in by_name("slime").sources(run)]
    train_dump(folder / "train_data/0_1.pt", train(2, 2, 0.2))
    assert problems(run) == ["2 samples have no row in the train data"]
    assert [one.depends for one in by_name("slime").sources(run)][:2] == before
    (folder / "train_data/0_0.pt").write_bytes(b"")
    assert [one.source for one in items(run) if isinstance(one, Problem)] == ["train_data/0_0.pt"]


def test_steps_without_the_train_data_that_a_later_one_has_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for step in range(5):
        dump(folder / f"rollout_data/{step}.pt", record(0), step=step)
    dump(folder / "rollout_data/eval_0.pt", record(0))
    run = rolloupe.open(folder, index_dir=tmp_path / "index").runs[0]
    assert run.problems() == []
    train_dump(folder / "train_data/3.pt", train(0, 0, 0.1))
    run = rolloupe.open(folder, index_dir=tmp_path / "index").runs[0]
    assert [one.reason for one in run.problems()] == ["3 steps have samples and no train data: 0, 1, 2"]


def test_rows_without_a_position_are_joined_by_an_index_of_one_sample_only(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0), record(1), record(1), record(3, response_length=2))
    lost = [train(None, 1, 0.2), train(None, 1, 0.3), train(None, 9, 0.4), train(9, 1, 0.5), train(None, None, 1.0)]
    train_dump(tmp_path / "run/train_data/0.pt", train(None, 0, 0.1), *lost, train(None, 3, 0.6))
    run = only_run(tmp_path / "run")
    assert annotations(run) == pytest.approx({uid_of(0, 0): 0.1})
    assert problems(run) == [
        "2 rows have no sample: a sample_index that several samples share, and no rollout_position",
        "1 row has no sample: a sample_index that no sample has",
        "1 row has no sample: a rollout_position that no sample has",
        "1 row has no sample: neither rollout_position nor sample_index",
        "1 row has no sample: another length than their sample",
        "3 samples have no row in the train data",
    ]


def test_train_data_in_columns_of_ranks_is_read(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", *(record(index) for index in range(4)))
    for rank, own in enumerate(([0, 2], [1, 3])):
        path = tmp_path / f"run/train_data/0_{rank}.pt"
        rows_ = [{**train(None, None, 0.1 * index), "sample_indices": index} for index in own]
        for row in rows_:
            del row["rollout_position"], row["sample_index"]
        train_dump(path, *rows_, columns=True, raw_reward=[0.0, 1.0, 2.0, 3.0])
    run = only_run(tmp_path / "run")
    assert annotations(run) == pytest.approx({uid_of(0, index): 0.1 * index for index in range(4)})
    found = samples(run)
    assert [one.row.metrics["raw_reward"] for one in found] == [0.0, 1.0, 2.0, 3.0]
    assert series(found[3])["advantages"][:2] == pytest.approx([0.3, 0.3])


def test_values_outside_the_mask_are_hidden(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0, loss_mask=[1, 0, 1]))
    train_dump(tmp_path / "run/train_data/0.pt", train(0, 0, 0.5))
    (sample,) = samples(only_run(tmp_path / "run"))
    logprobs = next(one for one in sample.series if one.name == "logprobs")
    assert str(list(logprobs.values)) == "[-0.5, nan, -0.125]" and logprobs.stored is not None
    assert list(logprobs.stored) == [-0.5, -0.25, -0.125]
    assert any("outside of the loss mask" in note for note in sample.notes)
    assert not any("outside of the loss mask" in note for note in samples(only_run(EXAMPLE))[0].notes)


def test_what_the_mask_hides_counts_in_no_statistics(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0, loss_mask=[1, 0, 1], rollout_log_probs=[-0.5, 0.0, -0.25]))
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        (found,) = runs.only().token_stats("logprobs").steps
        assert (found.tokens, found.mean, found.max) == (2, -0.375, -0.25)


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize(("total", "response"), [(40, 33), (41, 40), (7, 3), (100, 1)])
def test_pieces_of_context_parallelism_are_put_together(size: int, total: int, response: int) -> None:
    import numpy as np

    whole = np.arange(float(response))
    pieces = []
    for rank in range(size):
        parts = [whole[start:stop] for start, stop in offsets(total, response, rank, size)]
        pieces.append((Shard(rank, size), np.concatenate(parts), (total, response)))
    found = whole_response(pieces)
    assert found is not None and found.tolist() == whole.tolist()
    if len(pieces[0][1]) not in (0, response):
        assert whole_response(pieces[1:]) is None or any(len(one[1]) == response for one in pieces[1:])


def test_a_run_without_train_data_is_normal(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "rollout_data", tmp_path / "run/rollout_data")
    run = only_run(tmp_path / "run")
    assert len(rows(run)) == 52 and {row.advantage for row in rows(run)} == {None}
    assert set(series(samples(run)[0])) == {"loss_mask", "logprobs"}


def test_train_data_that_is_cut_off_costs_no_sample(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "run")
    path = tmp_path / "run/train_data/1.pt"
    path.write_bytes(path.read_bytes()[:20_000])
    run = only_run(tmp_path / "run")
    assert len([one for one in items(run) if isinstance(one, SampleRow)]) == 52
    (problem,) = [one for one in items(run) if isinstance(one, Problem)]
    assert problem.source == "train_data/1.pt" and problem.transient and "still being written" in problem.reason
    sample = samples(run)[16]
    assert set(series(sample)) == {"loss_mask", "logprobs"} and "1.pt: cut off" in sample.notes[0]


def test_a_half_written_dump_is_recognised_and_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run/rollout_data/0.pt"
    path.parent.mkdir(parents=True)
    whole = (EXAMPLE / "rollout_data/0.pt").read_bytes()
    path.write_bytes(whole[:-300])
    run = only_run(tmp_path / "run")
    assert [one.transient for one in items(run) if isinstance(one, Problem)] == [True]
    path.write_bytes(whole)
    assert len(rows(run)) == 16


@pytest.mark.parametrize("inner", ["rollout_data", "rollout_data/2.pt", "."])
def test_a_run_opens_from_each_of_its_places(inner: str) -> None:
    run = only_run(EXAMPLE / inner)
    assert run.format == "slime" and len([one for one in items(run) if isinstance(one, SampleRow)]) in (16, 52)


def test_a_folder_of_dumps_with_names_of_ones_own_is_a_run(tmp_path: Path) -> None:
    for step in (3, 12):
        dump(tmp_path / f"debug/rollout_{step}.pt", record(0), record(1), step=step)
    dump(tmp_path / "debug/rollout_eval_12.pt", record(0), step=12)
    train_dump(tmp_path / "debug/train_12.pt", train(0, 0, 0.5))
    write(tmp_path / "debug/model_12.pt", {"weights": 1})
    found = rows(only_run(tmp_path / "debug"))
    assert [(row.split, row.step) for row in found] == [*[("train", 3)] * 2, *[("train", 12)] * 2, ("eval/default", 12)]


def test_older_samples_without_a_group_are_grouped_by_their_prompts(tmp_path: Path) -> None:
    old = [record(n, prompt=f"{n // 2}?") for n in range(4)]
    for one in old:
        del one["group_index"], one["metadata"], one["loss_mask"]
    dump(tmp_path / "run/rollout_data/0.pt", *old)
    found = rows(only_run(tmp_path / "run"))
    assert [row.index for row in found] == ["0", "1", "2", "3"]
    assert found[0].group == found[1].group != found[2].group == found[3].group


def test_train_data_alone_is_no_run(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "train_data", tmp_path / "train_data")
    assert discover([tmp_path]).runs == []
    (note,) = discover([tmp_path]).notes
    assert "rollout_data" in note.reason and "pickle" not in note.reason


def test_other_files_of_pytorch_are_no_run(tmp_path: Path) -> None:
    write(tmp_path / "model/1.pt", {"state_dict": {"a": 1}})
    (tmp_path / "model/2.pt").write_bytes(b"\x80\x04.")
    found = discover([tmp_path])
    assert found.runs == [] and "no dumps of samples" in found.notes[0].reason


def test_objects_of_classes_are_shown_and_never_made(tmp_path: Path) -> None:
    image = Call("PIL.Image.Image", state={"size": (4, 4)})
    hostile = Call("os.system", f"touch {tmp_path}/ran")
    one = record(0, multimodal_inputs={"images": [image]}, metadata={"x": hostile}, prompt=hostile, label=hostile)
    dump(
        tmp_path / "run/rollout_data/0.pt", one, record(1, status=Call("slime.utils.types.Sample.Status", "truncated"))
    )
    first, second = samples(only_run(tmp_path / "run"))
    assert "PIL.Image.Image" in str(first.extra["multimodal_inputs"]) and "os.system" in str(first.extra["metadata"])
    assert "os.system" in first.prompt_text or "touch" in first.prompt_text
    assert second.row.status == "truncated" and not (tmp_path / "ran").exists()


def test_samples_that_were_removed_are_discarded(tmp_path: Path) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0, remove_sample=True), record(1))
    assert [row.discarded for row in rows(only_run(tmp_path / "run"))] == ["remove_sample", ""]


def test_prompts_may_be_messages_and_fields_may_be_missing(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]
    bare = {"tokens": [], "response": "x"}
    other = dict.fromkeys(("group_index", "index", "response_length", "status", "loss_mask", "reward"))
    dump(tmp_path / "run/rollout_data/5.pt", record(0, prompt=chat), bare | other, 7, {"a": 1}, step=5)
    run = only_run(tmp_path / "run")
    first, second = samples(run)
    assert [turn.role for turn in first.turns] == ["system", "user", "assistant"] and first.prompt_messages == chat
    assert (second.row.step, second.row.status, second.row.reward, second.token_ids) == (5, "unknown", None, [])
    assert len(problems(run)) == 2


def test_a_dump_that_repeats_its_values_very_often_is_read_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_values, "MAX_VALUES", 1000)
    monkeypatch.setattr(json_values, "FREE_VALUES", 3000)
    many: list[Any] = ["x"]
    for _ in range(6):
        many = [many] * 10  # a million values in a few bytes, once for each sample
    dump(tmp_path / "run/rollout_data/0.pt", *(record(index, prompt=many) for index in range(100)))
    run = only_run(tmp_path / "run")
    *found, problem = items(run)
    assert 0 < len(found) < 50 and isinstance(problem, Problem)
    assert problem.reason == f"from sample {len(found)} on: the file repeats its values too often: read no further"
    assert json_values.TOO_MANY in loaded(run).prompt_text
    texts, same, long = ["y" * 10_000] * 1000, record(0), "y" * 100_000
    keys = {f"k{number}": float(number) for number in range(1000)}
    for some in (
        [record(index, prompt=texts) for index in range(50)],
        [record(index, response=long) for index in range(500)],
        [same] * 20_000,
        [same | keys] * 1000,
        [record(index, metadata=keys) for index in range(1000)],
        [same | {"index": long}] * 1000,
    ):
        dump(tmp_path / "run/rollout_data/0.pt", *some)
        assert 0 < len(items(run)) < len(some) / 2 and len(problems(run)) == 1


def test_the_samples_of_a_dump_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[int] = []
    spend = ValueBudget.spend

    def noted(budget: ValueBudget, values: int) -> None:
        if values >= slime_samples.VALUES_OF_ROW:
            named.append(values)
        spend(budget, values)

    monkeypatch.setattr(ValueBudget, "spend", noted)
    dump(tmp_path / "run/rollout_data/0.pt", *(record(0) for _ in range(40)))
    run = only_run(tmp_path / "run")
    assert len({sample.row.key for sample in samples(run)}) == 40
    assert len(named) == 2 * 40, "once to scan them, once to show them"


def test_a_list_that_is_not_shown_whole_ends_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "MAX_VALUES", 1000)
    dump(tmp_path / "run/rollout_data/0.pt", record(0, many=["y" * 1000] * 50_000))
    run = only_run(tmp_path / "run")
    (source,) = by_name(run.format).sources(run)
    assert len(loaded(run).extra["many"]) < 1000
    assert len(by_name(run.format).raw(source, loaded(run).locator)) < 1_000_000


def test_train_data_that_repeat_their_values_very_often_are_read_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_values, "FREE_VALUES", 3000)
    dump(tmp_path / "run/rollout_data/0.pt", *map(record, range(300)))
    same = [0.5] * 10_000
    many = [train(n, n, 0.5) for n in range(300)]
    for one in many:
        one["advantages"] = one["loss_masks"] = same
    path = tmp_path / "run/train_data/0_0.pt"
    write(
        path,
        {
            "rollout_id": 0,
            "rank": 0,
            "rollout_data": {key: [one[key] for one in many] for key in many[0]} | {"partition": [*range(300)]},
        },
    )
    run = only_run(tmp_path / "run")
    (reason,) = problems(run)
    assert 0 < len(annotations(run)) < 150
    assert reason == f"from row {len(annotations(run))} on: the file repeats its values too often: read no further"
    monkeypatch.setattr(slime_samples, "MAX_ROWS", 299)
    assert problems(run) == ["300 rows, and at most 299 are read: none is"]


def test_a_tensor_of_very_many_values_costs_its_own_series_only(tmp_path: Path) -> None:
    key = StorageKey("FloatStorage", "0", 3)
    some = {"tokens": tensor(key, (2**24,), (0,)), "rollout_log_probs": tensor(key, (3,), (1,))}
    write(
        tmp_path / "run/rollout_data/0.pt", {"rollout_id": 0, "samples": [record(0, **some)]},
        {"0": struct.pack("<3f", -1, -2, -3)},
    )  # fmt: skip
    sample = loaded(only_run(tmp_path / "run"))
    assert (sample.token_ids, series(sample)["logprobs"]) == ([], [-1, -2, -3])
    assert "tokens holds 16,777,216 values, and none is shown: at most 2,097,152 are read" in sample.notes


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.sampled_from([*record(0), "weight_versions", "decoded_tokens"]), values, max_size=6))
def test_values_of_any_type_cost_at_most_their_sample(tmp_path: Path, odd: dict[str, Any]) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0), record(1) | odd)
    train_dump(tmp_path / "run/train_data/0.pt", train(0, 0, 0.5))
    run = only_run(tmp_path / "run", format="slime")
    for sample in samples(run):
        repr(sample).encode("utf-8")
        json.dumps(sample.extra).encode("utf-8")
    assert not any("defect" in reason for reason in problems(run))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.sampled_from([key for key in train(0, 0, 1.0) if key not in FLOATS]), values, max_size=4))
def test_train_data_of_any_type_costs_no_sample(tmp_path: Path, odd: dict[str, Any]) -> None:
    dump(tmp_path / "run/rollout_data/0.pt", record(0), record(1))
    train_dump(tmp_path / "run/train_data/0.pt", train(0, 0, 0.5), train(1, 1, 0.5) | odd)
    run = only_run(tmp_path / "run")
    assert len(samples(run)) == 2 and not any("defect" in reason for reason in problems(run))


def test_the_raw_record_is_json_with_all_its_numbers() -> None:
    run = only_run(EXAMPLE)
    sample = samples(run)[0]
    source = by_name("slime").sources(run)[0]
    shown = json.loads(by_name("slime").raw(source, sample.locator))
    assert shown["tokens"] == sample.token_ids and shown["response"] == sample.response_text


def test_a_sample_of_a_file_that_was_replaced_is_not_shown(tmp_path: Path) -> None:
    path = dump(tmp_path / "run/rollout_data/0.pt", record(0), record(1))
    run = only_run(tmp_path / "run")
    locator = loaded(run, 1).locator
    dump(path, record(0))
    with pytest.raises(SourceChanged):
        by_name("slime").load(run, by_name("slime").sources(run)[0], locator)


def test_the_hook_of_the_page_records_evaluations_by_their_data_sets(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "slime.md").read_text(encoding="utf-8"), re.DOTALL)
    hook: dict[str, Any] = {}
    exec(code, hook)
    values_ = {**record(0), "status": SimpleNamespace(value="truncated"), "get_reward_value": lambda _: 0.25}
    data = {name: {"samples": [SimpleNamespace(**values_)]} for name in ("aime", "gsm8k")}
    assert hook["log_eval"](3, SimpleNamespace(save=str(tmp_path)), data, None) is False
    (run,) = rolloupe.open(tmp_path / "evals", index_dir=tmp_path / "index").runs
    for split in ("eval/aime", "eval/gsm8k"):
        assert [(step.step, step.reward.mean) for step in run.steps(split=split)] == [(3, 0.25)]
    sample = run.sample("eval/aime/3/0/0")
    assert (sample.row.status, series(sample)["logprobs"]) == ("truncated", [-0.5, -0.25, -0.125])


def test_a_folder_that_stays_as_it_is_is_listed_once_for_all_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(4):
        dump(tmp_path / "rollout_data" / f"{step}.pt", record(0), step=step)
        train_dump(tmp_path / "train_data" / f"{step}.pt", {"sample_index": 0, "advantages": [step] * 3})
    for folder in ("rollout_data", "train_data"):
        os.utime(tmp_path / folder, (1, 1))
    run = only_run(tmp_path)
    listed: list[str] = []

    def counted(folder: str, links: str, endings: tuple[str, ...]) -> list[FolderEntry]:
        listed.append(folder)
        return files(folder, links, endings)

    monkeypatch.setattr("rolloupe.formats.reading.files.files", counted)
    assert [one.row.advantage for one in samples(run)] == [0, 1, 2, 3]
    assert len(listed) <= 2
    train_dump(tmp_path / "train_data" / "1_1.pt", {"sample_index": 0, "advantages": [9] * 3})
    assert len(slime_format.train_files_of(run, 1)) == 2
