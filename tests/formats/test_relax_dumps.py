"""Relax's debug dumps: a run of their own, or the tokens of the samples in the lines beside them."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.demo import RUNS
from rolloupe.formats import by_name, discover, relax
from rolloupe.formats.slime.format import RELAX
from rolloupe.formats.testing import FormatContract
from rolloupe.model import Location, Problem, RunInfo, Sample, SampleRow
from tests.formats.reading.pickles.support import archive, dumps
from tests.formats.support import items, load, mean_reward, only_run, rows, samples
from tests.formats.test_slime import record, series

EXAMPLE = Path(__file__).parents[1] / "data/relax_dumps/debug"
LINES = RUNS / "other_formats/relax/rollout_result"


class TestRelaxDumps(FormatContract):
    format = "relax"
    example = EXAMPLE


def both(folder: Path) -> Path:
    """A run of lines with a dump of its first step beside it."""
    shutil.copytree(LINES, folder / "rollout_result")
    shutil.copytree(EXAMPLE, folder / "debug")
    return folder


def write_dump(path: Path, *records: dict[str, Any], step: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with_strings = [{**one, "decoded_tokens": [f"<{token}>" for token in one["tokens"]]} for one in records]
    archive(path, dumps({"rollout_id": step, "samples": with_strings}), {})


def write_lines(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = ("prompt", "response", "reward", "response_length", "status", "group_index")
    some = [{"rollout_id": 0, "sample_index": n, **{key: one[key] for key in keys}} for n, one in enumerate(records)]
    path.write_text("".join(json.dumps(one) + "\n" for one in some))


def test_dumps_alone_are_a_run() -> None:
    run = only_run(EXAMPLE)
    found = rows(run)
    assert run.format == "relax" and {row.split for row in found} == {"train"}
    assert (len(found), len({row.group for row in found}), mean_reward(found)) == (16, 4, 0.5)
    first = samples(run)[0]
    assert (len(first.token_ids), len(first.token_strings), len(series(first)["logprobs"])) == (44, 29, 29)
    assert "".join(first.token_strings) == first.response_text
    assert (first.row.prompt_tokens, first.row.turns, first.series[0].offset) == (15, 1, 15)


def test_beside_lines_they_add_tokens_to_the_same_samples(tmp_path: Path) -> None:
    run = only_run(both(tmp_path))
    found = samples(run)
    assert run.root.endswith("rollout_result") and len(rows(run)) == len(rows(only_run(LINES)))
    alone = samples(only_run(EXAMPLE))
    with_tokens = [one for one in found if one.token_ids]
    assert [one.key.step for one in with_tokens] == [0] * 16 and with_tokens[0].row.split == "train"
    for one, dumped in zip(with_tokens, alone, strict=True):
        assert one.response_text == dumped.response_text and one.notes == []
        assert (one.token_ids, one.token_strings, series(one)) == (
            dumped.token_ids, dumped.token_strings, series(dumped),
        )  # fmt: skip
    assert [row.has_series for row in rows(run)] == [row.split == "train" and row.step == 0 for row in rows(run)]


def test_the_index_has_their_token_series(tmp_path: Path) -> None:
    (run,) = rolloupe.open(both(tmp_path / "run"), index_dir=tmp_path / "index").runs
    assert run.problems() == []
    assert len(series(run.sample("train/0/0/0"))["logprobs"]) == 29
    assert series(run.sample("train/1/4/16" if _has(run, "train/1/4/16") else _first(run, 1))) == {}


def _has(run: rolloupe.Run, name: str) -> bool:
    return any(str(item.id) == name for item in run.samples(split="train", step=1))


def _first(run: rolloupe.Run, step: int) -> str:
    return str(next(iter(run.samples(split="train", step=step))).id)


def test_a_sample_is_found_by_its_texts_where_positions_differ(tmp_path: Path) -> None:
    records = [record(n, response=f"answer {n}") for n in range(3)]
    write_lines(tmp_path / "run/rollout_result/train/0.jsonl", *records)
    write_dump(tmp_path / "run/debug/rollout_0.pt", records[2], {**records[0], "tokens": [9] * 5}, records[1])
    found = samples(only_run(tmp_path / "run"))
    assert [one.token_ids for one in found] == [[9] * 5, records[1]["tokens"], records[2]["tokens"]]


def test_a_sample_without_its_texts_in_the_dump_says_so(tmp_path: Path) -> None:
    same = record(0, response="x")
    write_lines(tmp_path / "run/rollout_result/train/0.jsonl", record(0, response="a"), same, same)
    write_dump(tmp_path / "run/debug/rollout_0.pt", same, record(1, response="b"), record(2, response="c"), same)
    first, second, _ = samples(only_run(tmp_path / "run"))
    for one in (first, second):
        assert one.token_ids == [] and "no sample with these texts alone" in one.notes[-1]


def test_what_lines_and_dumps_do_not_share_is_counted(tmp_path: Path) -> None:
    same = record(0, response="x")
    write_lines(tmp_path / "run/rollout_result/train/0.jsonl", record(0, response="a"), same, same)
    write_dump(tmp_path / "run/debug/rollout_0.pt", same, record(1, response="b"), same)
    write_dump(tmp_path / "run/debug/rollout_1.pt", same, step=1)
    write_dump(tmp_path / "run/debug/rollout_eval_0.pt", same)
    (run,) = rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index").runs
    assert sorted((one.source, one.reason) for one in run.problems()) == [
        ("debug/rollout_0.pt", "2 lines have no sample in the dump with its texts alone"),
        ("debug/rollout_0.pt", "2 samples have no line with its texts alone"),
        ("debug/rollout_1.pt", "its samples have no lines: no file of lines is of its step"),
        ("debug/rollout_eval_0.pt", "its samples have no lines: no file of lines is of its step"),
    ]  # fmt: skip
    assert [len(run.sample(str(item.id)).token_ids) for item in run.samples()] == [0, 0, 5]


def test_evaluations_are_joined_with_their_dumps(tmp_path: Path) -> None:
    one, other = record(0, response="a"), record(0, response="b")
    write_lines(tmp_path / "run/rollout_result/train/0.jsonl", one)
    write_lines(tmp_path / "run/rollout_result/eval/0.jsonl", other)
    write_dump(tmp_path / "run/debug/rollout_eval_0.pt", {**other, "tokens": [5, 5, 5, 5, 5]})
    found: dict[str, Sample] = {sample.row.split: sample for sample in samples(only_run(tmp_path / "run"))}
    assert found["train"].token_ids == [] and found["eval/default"].token_ids == [5] * 5


def test_a_dump_that_comes_later_or_is_damaged_costs_no_line(tmp_path: Path) -> None:
    both(tmp_path / "run")
    path = tmp_path / "run/debug/rollout_0.pt"
    run, reader = only_run(tmp_path / "run"), by_name("relax")
    before = [source.depends for source in reader.sources(run)]
    path.write_bytes(path.read_bytes()[:9_000])
    assert [source.depends for source in reader.sources(run)] != before
    (problem,) = (one for one in items(run) if isinstance(one, Problem))
    assert (problem.source, problem.transient) == ("debug/rollout_0.pt", True)
    assert problem.reason.startswith("no tokens from it: cut off")
    sample = samples(run)[0]
    assert sample.token_ids == [] and "could not be read: cut off" in sample.notes[0]


@pytest.mark.parametrize("places", [["rollout_result"], ["debug"]])
def test_each_folder_opens_alone(tmp_path: Path, places: list[str]) -> None:
    both(tmp_path / "run")
    (run,) = discover([tmp_path / "run" / place for place in places]).runs
    assert run.format == "relax" and _means(run) == 0.5


def _means(run: RunInfo) -> float:
    own = [row for row in items(run) if isinstance(row, SampleRow) and (row.split, row.step) == ("train", 0)]
    return math.fsum(row.reward or 0.0 for row in own) / len(own)


def test_a_sample_of_a_line_needs_no_look_into_dumps_of_other_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = only_run(both(tmp_path))
    looked: list[str] = []

    def counted(location: Location) -> str:
        looked.append(location.path)
        return RELAX

    monkeypatch.setattr(relax, "kind_of", counted)
    for step in range(3, 9):
        write_dump(next(tmp_path.rglob("*.pt")).parent / f"{step}.pt", step=step)
    source = next(one for one in by_name("relax").sources(run) if not one.annotates)
    row = next(one for one in by_name("relax").scan(run, source, 0, 2**62) if isinstance(one, SampleRow))
    looked.clear()
    assert load(by_name("relax"), run, source, row).token_ids
    assert len(looked) == 1
