"""Groups of lines that follow each other: wherever a scan begins, whatever lies between, and for one sample alone."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rolloupe
from rolloupe.formats import by_name
from rolloupe.formats.reading import jsonl
from rolloupe.model import SampleRow
from tests.formats.support import load, only_run, rows, write

ORDER = "aabbaacaab"
SIZES = [2, 2, 2, 1, 2, 1]


def verl(prompt: str) -> dict[str, Any]:
    return {"input": prompt, "output": "x" * 50, "score": 1.0}


def skyrl(prompt: str) -> dict[str, Any]:
    return {"input_prompt": prompt, "output_response": "x", "score": 1.0, "env_class": "e"}


def nemo_rl(prompt: str) -> dict[str, Any]:
    ids = [ord(prompt), 1, 2]
    return {"content": [["", "x"]], "rewards": [1.0], "token_ids": [ids], "token_loss_mask": [[0, 1, 1]], "idx": 0}


def put(folder: Path, name: str) -> Path:
    make = {"verl": verl, "skyrl": skyrl, "nemo_rl": nemo_rl}[name]
    path = folder / {"verl": "7.jsonl", "skyrl": "gsm8k.jsonl", "nemo_rl": "train_data_step7.jsonl"}[name]
    write(path, *(make(prompt) for prompt in ORDER))
    return path


@pytest.mark.parametrize("name", ["verl", "skyrl", "nemo_rl"])
def test_a_prompt_that_a_step_asks_twice_has_two_groups(tmp_path: Path, name: str) -> None:
    run = only_run(put(tmp_path, name))
    found = rows(run)
    assert run.format == name and [*Counter(row.group for row in found).values()] == SIZES
    assert len({row.prompt for row in found}) == 3 or name == "nemo_rl"


@pytest.mark.parametrize("name", ["verl", "skyrl", "nemo_rl"])
@pytest.mark.parametrize("first_bytes", [10, jsonl.FIRST_BYTES])
def test_scans_of_parts_and_samples_alone_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first_bytes: int
) -> None:
    monkeypatch.setattr(jsonl, "FIRST_BYTES", first_bytes)
    run = only_run(put(tmp_path, name))
    reader, (source,) = by_name(name), by_name(name).sources(run)
    whole = [row for row in reader.scan(run, source, 0, 2**62) if isinstance(row, SampleRow)]
    edges = [0, *(row.start for row in whole[1:]), 2**62]
    parts = [row for a, b in pairwise(edges) for row in reader.scan(run, source, a, b)]
    assert repr(parts) == repr(whole)
    assert [load(reader, run, source, row).key for row in whole] == [row.key for row in whole]


def test_a_line_that_is_no_sample_does_not_part_a_group(tmp_path: Path) -> None:
    lines = write(tmp_path / "7.jsonl", verl("a"), verl("a")).read_bytes().splitlines()
    (tmp_path / "7.jsonl").write_bytes(b"\n".join([lines[0], b"{broken", b"", lines[1]]))
    run = only_run(tmp_path / "7.jsonl")
    (source,) = by_name("verl").sources(run)
    found = [row for row in by_name("verl").scan(run, source, 0, 2**62) if isinstance(row, SampleRow)]
    assert len({row.group for row in found}) == 1
    last = [row for row in by_name("verl").scan(run, source, found[1].start, 2**62) if isinstance(row, SampleRow)]
    assert last[0].group == found[0].group


@pytest.mark.parametrize("is_scanned", [True, False])
def test_a_sample_deep_in_a_group_is_opened_without_a_look_at_all_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_scanned: bool
) -> None:
    run = only_run(write(tmp_path / "7.jsonl", *[verl("a")] * 100))
    reader, (source,) = by_name("verl"), by_name("verl").sources(run)
    found = [row for row in reader.scan(run, source, 0, 2**62) if isinstance(row, SampleRow)]
    asked = Counter[int]()
    group_in = jsonl.PromptRuns.group_in

    def count(reader: jsonl.PromptRuns, run: Any, source: Any, data: bytes, start: int) -> str | None:
        asked[start] += 1
        return group_in(reader, run, source, data, start)

    monkeypatch.setattr(jsonl.PromptRuns, "group_in", count)
    monkeypatch.setattr(jsonl, "MARK_BYTES", 500)
    if is_scanned:
        assert [*reader.scan(run, source, 0, 2**62)] == found
    else:
        assert load(reader, run, source, found[98]).key == found[98].key
    asked.clear()
    assert load(reader, run, source, found[99]).key == found[99].key
    assert sum(asked.values()) < 10
    write(tmp_path / "7.jsonl", verl("b"), *[verl("aa")] * 100)
    assert [*Counter(row.group for row in rows(run)).values()] == [1, 100]


def test_rows_of_tables_that_follow_each_other_are_a_group(tmp_path: Path) -> None:
    columns = {"step": [1] * 10, "prompt": [*ORDER], "completion": ["x"] * 10, "reward": [1.0] * 10}
    table = pa.table(columns | {"advantage": [0.0] * 10})
    pq.write_table(table, tmp_path / "completions_00001.parquet", row_group_size=3)
    found = rows(only_run(tmp_path))
    assert [*Counter(row.group for row in found).values()] == SIZES
    assert found[0].group and found[4].group == f"{found[0].group}-2" and found[7].group == f"{found[0].group}-3"


def test_a_column_that_a_person_names_is_the_group(tmp_path: Path) -> None:
    write(tmp_path / "7.jsonl", *(verl(prompt) | {"task": n % 2} for n, prompt in enumerate(ORDER)))
    assert {row.group for row in rows(only_run(tmp_path, group_by="task"))} == {"0", "1"}
    with rolloupe.open(tmp_path, index_dir=tmp_path / "index") as runs:
        sample = next(iter(runs[0].samples()))
        assert runs[0].sample(sample.id).key.group == sample.group
