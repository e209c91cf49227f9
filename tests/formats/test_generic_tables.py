"""Parquet, CSV, TSV, JSON arrays and tables with usual names: the same samples as from JSON lines."""

import csv
import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rolloupe
from rolloupe.formats import by_name, discover
from rolloupe.model import Problem, SampleRow
from tests.formats.support import items, only_run, rows, samples

ROWS: list[dict[str, Any]] = [
    {"prompt": "2+2?", "response": 'four, "4"\nand é', "reward": 1.0, "step": 3, "kind": "a"},
    {"prompt": "12", "response": "7", "reward": -0.5, "step": 3, "kind": "b"},
    {"prompt": "12", "response": "8", "reward": 0.0, "step": 4, "kind": ""},
]
KINDS = ("parquet", "csv", "tsv", "json", "table.json")


def written(folder: Path, kind: str, some: list[dict[str, Any]]) -> Path:
    """Write rows as a file of a kind."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"data.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(some), path)
    elif kind == "table.json":
        columns = list(some[0])
        table = {"columns": columns, "index": [*range(len(some))], "data": [[*row.values()] for row in some]}
        path.write_text("\ufeff" + json.dumps(table, indent=1, ensure_ascii=False), encoding="utf-8")
    elif kind == "json":
        path.write_text(json.dumps(some, indent=1, ensure_ascii=False), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(some[0]), delimiter="," if kind == "csv" else "\t")
            writer.writeheader()
            writer.writerows(some)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_tables_with_usual_names_open(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "run", kind, ROWS)
    for place in (path, path.parent):
        run = only_run(place)
        found = rows(run)
        assert run.format == "generic"
        assert [(row.step, row.reward, row.prompt, row.response) for row in found] == [
            (row["step"], row["reward"], row["prompt"], row["response"]) for row in ROWS
        ]
        assert [one.response_text for one in samples(run)] == [row["response"] for row in ROWS]
        reader = by_name("generic")
        (source,) = reader.sources(run)
        assert found[0].tags == {"kind": "a"}
        edges = [0, 1, *sorted({row.start for row in found}), 60, 2**40]
        parts = [one for a, b in pairwise(sorted(edges)) for one in reader.scan(run, source, a, b)]
        assert repr(parts) == repr(found)
    with rolloupe.open(path.parent, index_dir=tmp_path / "index") as runs:
        assert [one.reward for one in runs[0].samples(sort="reward")] == [-0.5, 0.0, 1.0]


@pytest.mark.parametrize(("name", "split"), [("val_step3", "eval/val"), ("eval_aime", "eval/aime"), ("data", "train")])
def test_the_suffix_of_a_table_is_no_part_of_its_split(tmp_path: Path, name: str, split: str) -> None:
    for kind in ("csv", "json", "parquet"):
        path = written(tmp_path, kind, ROWS).rename(tmp_path / f"{name}.{kind}")
        assert {row.split for row in rows(only_run(path))} == {split}


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_map_names_the_columns_of_tables(tmp_path: Path, kind: str) -> None:
    renamed = [{"q": row["prompt"], "a": row["response"], "mark": row["reward"]} for row in ROWS]
    path = written(tmp_path / "run", kind, renamed)
    assert discover([path.parent]).runs == []
    named = (("prompt", "q"), ("response", "a"), ("reward", "mark"))
    for place in (path, path.parent):
        run = only_run(place, fields=named)
        assert [row.reward for row in rows(run)] == [1.0, -0.5, 0.0]
        assert [one.response_text for one in samples(run)] == [row["response"] for row in ROWS]


@pytest.mark.parametrize("kind", ["csv", "json", "table.json"])
def test_tables_in_the_making_and_compressed_ones(tmp_path: Path, kind: str) -> None:
    data = written(tmp_path / "whole", kind, ROWS).read_bytes()
    half = tmp_path / "half" / f"data.{kind}"
    half.parent.mkdir()
    half.write_bytes(data[: data.rindex(b"12") - 3])
    found = items(only_run(half.parent))
    assert isinstance(found[0], SampleRow) and found[0].reward == 1.0
    assert all(one.transient for one in found if isinstance(one, Problem))
    packed = tmp_path / "packed" / f"data.{kind}.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(data))
    assert len(rows(only_run(packed.parent))) == 3


def test_hostile_tables_cost_nothing(tmp_path: Path) -> None:
    text = '[{"prompt": "p", "response": "r", "reward": NaN}, 3, {"prompt": "p"}, ' + "[" * 5000
    (tmp_path / "a.json").write_text(text)
    found = items(only_run(tmp_path))
    assert [type(one) for one in found] == [SampleRow, Problem, Problem, Problem]
    (tmp_path / "a.json").write_text(
        '{"columns": ["prompt", "response", "reward"], "data": [["p", "r", NaN], 3, [], [['
    )
    assert [type(one) for one in items(only_run(tmp_path))] == [SampleRow, Problem, Problem, Problem]
    tables = (b'{"columns": 3, "data": [[1]]}', b'{"columns": ["prompt"], "data": 3}', b'{"columns": [')
    for data in (*tables, b"", b"{}", b"[]", b"[", b"prompt,response", b'a,"b\n', b"\xff\xfe,\0\n1,2\n"):
        (tmp_path / "a.json").unlink(missing_ok=True)
        for name in ("b.json", "b.csv", "b.tsv", "b.parquet"):
            (tmp_path / name).write_bytes(data)
        assert discover([tmp_path]).runs == []
