"""Parquet, CSV, TSV, JSON arrays and tables with usual names: the same samples as from JSON lines."""

import csv
import gzip
import io
import json
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rolloupe
from rolloupe.formats import by_name, discover
from rolloupe.formats.generic import rows as generic_rows
from rolloupe.formats.generic.documents import header_of, rows_in
from rolloupe.model import Locator, Problem, SampleRow
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


HEADER = "prompt,response,reward\n"
GOOD = ["p,first,1\n", "p,second,0\n"]


def read(path: Path, content: str | bytes) -> tuple[list[str], list[Problem]]:
    """The responses of a file, each loaded at its place, and its problems."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    run = only_run(path.parent if path.suffix == ".gz" else path)
    found = items(run)
    loaded = samples(run)
    responses = [one.response for one in found if isinstance(one, SampleRow)]
    assert [one.response_text for one in loaded] == responses
    return responses, [one for one in found if isinstance(one, Problem)]


def test_rows_with_other_numbers_of_cells(tmp_path: Path) -> None:
    rows = "p,one,1\np,it is, I think,0.5\np,short\np,q,1,2,3\np,trailing,0.5,,\n"
    responses, problems = read(tmp_path / "x.csv", HEADER + rows)
    assert responses == ["one", "short", "trailing"]
    start = len(HEADER) + len("p,one,1\n")
    assert (problems[0].start, problems[0].stop) == (start, start + len("p,it is, I think,0.5\n"))
    assert [one.reason.partition(":")[0] for one in problems] == [f"{n} cells for 3 columns" for n in (4, 5)]
    assert all("Next: quote cells with a ," in one.reason for one in problems)
    data = [["p", "one", 1], ["p", "short"], ["p", "long", 0.5, "extra"], {"x": 1}, ["p", "last", 0]]
    table = json.dumps({"columns": ["prompt", "response", "reward"], "data": data})
    responses, problems = read(tmp_path / "x.json", table)
    assert responses == ["one", "short", "last"]
    assert [one.reason[:21] for one in problems] == ["4 cells for 3 columns", "not an array of cells"]


def test_columns_of_one_name_are_numbered_as_pandas_does_and_named(tmp_path: Path) -> None:
    names, cells = ["prompt", "response", "response", "response.1", "response"], ["p", "one", "two", "three", "four"]
    for name, content in (
        ("x.csv", f"{','.join(names)},reward\n{','.join(cells)},1\n"),
        ("x.json", json.dumps({"columns": [*names, "reward"], "data": [[*cells, 1]]})),
    ):
        responses, problems = read(tmp_path / name, content)
        assert responses == ["one"]
        assert "columns of the same name" in problems[0].reason and "Next: " in problems[0].reason
        assert "`response.2`, `response.3`" in problems[0].reason
        (sample,) = samples(only_run(tmp_path / name))
        assert sample.row.tags == {"response.1": "three", "response.2": "two", "response.3": "four"}


@pytest.mark.parametrize(
    ("torn", "quote", "reason"),
    [
        ('p,"open,1\n', 2, "{} has no end in its cell"),
        ('p,"open,1\np,"x""y"z\n', 2, "{} has no end in its cell"),
        ('p,"two\nlines","open\n', 14, "{} has no end in its cell"),
        ('p,"He said "so"\nand left",1\n', 2, "a quote in the cell behind {}"),
    ],
)
def test_a_quote_without_an_end_costs_its_own_row(tmp_path: Path, torn: str, quote: int, reason: str) -> None:
    rows = [f"p,{n},1\n" for n in range(200)]
    responses, (problem,) = read(tmp_path / "x.csv", HEADER + GOOD[0] + torn + "".join(rows))
    assert responses == ["first", *map(str, range(200))]
    start = len(HEADER + GOOD[0])
    assert (problem.start, problem.stop, problem.transient) == (start, start + len(torn), False)
    assert problem.reason.startswith(f"{reason.format(f'the quote at byte {start + quote}')}. Next: ")


def test_a_row_that_is_being_written_hides_no_other_and_makes_none(tmp_path: Path) -> None:
    half = 'p,"It begins,\nso we say, and then, this,\nfirst, second'
    responses, (problem,) = read(tmp_path / "x.csv", HEADER + "".join(GOOD) + half)
    assert responses == ["first", "second"]
    assert (problem.start, problem.transient) == (len(HEADER + "".join(GOOD)), True)


def test_rows_as_people_write_quotes_and_as_pandas_writes_carriage_returns(tmp_path: Path) -> None:
    rows = 'p,"He said "hi" to me",1\np,"spaced" ,0\np,a\rb,1\n'
    responses, problems = read(tmp_path / "x.csv", HEADER + rows + GOOD[0])
    assert responses == ['He said hi" to me"', "spaced ", "a\rb", "first"]
    assert problems == []


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_hole_in_a_table_ends_the_row_before_it(tmp_path: Path, ending: str) -> None:
    before, behind = HEADER + GOOD[0] + 'p,"cut', 'rest",1\n' + GOOD[1]
    data = before.encode() + bytes(5_000) + behind.encode()
    responses, problems = read(tmp_path / f"run/x.csv{ending}", gzip.compress(data) if ending else data)
    assert responses == ["first", "second"]
    assert [(one.start, one.stop) for one in problems] == [
        (len(HEADER + GOOD[0]), len(before)),
        (len(before), len(before) + 5_000),
        (len(before) + 5_000, len(data) - len(GOOD[1])),
    ]
    assert "a hole of 5,000 NUL bytes" in problems[1].reason


def test_a_sparse_table_and_one_with_a_line_that_is_too_long_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    size = 2**28
    with path.open("wb") as file:
        file.write((HEADER + GOOD[0]).encode())
        file.seek(size)
        file.write(b"\n" + GOOD[1].encode())
    with (tmp_path / "y.csv").open("wb") as file:
        file.write((HEADER + GOOD[0]).encode())
        file.writelines([b"p," + bytes([120]) * 70 * 2**20, b",1\n", GOOD[1].encode()])
    tracemalloc.start()
    try:
        for name in ("x.csv", "y.csv"):
            with (tmp_path / name).open("rb") as file:
                found = [(one.record or {}).get("response") for one in rows_in(file, ".csv")]
            assert found == ["first", None, "second"]
        assert tracemalloc.get_traced_memory()[1] < 200 * 2**20
    finally:
        tracemalloc.stop()


OBJECTS = [json.dumps({"prompt": "p", "response": str(n), "reward": n, "log": [{"a": 1}, {"a": 2}]}) for n in range(4)]
BAD = (
    '{"prompt": "p", "response": "b\\x", "reward": 1}',
    '{"prompt": "p", "log": [{"a": 1}, {"a": 2}], "response": "b", "reward":}',
    '{"prompt": "p", "response": "b, "reward": 1}',
    '{"prompt": "p", "log": [{"prompt": 1}], "response": x}',
    "nul",
)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("between", [",", ",\n"])
@pytest.mark.parametrize("at", [0, 2])
def test_a_bad_element_of_an_array_costs_no_other(tmp_path: Path, bad: str, between: str, at: int) -> None:
    if not at and not bad.startswith("{"):
        pytest.skip("nothing says with which key the objects begin")
    text = f"[{between.join([*OBJECTS[:at], bad, *OBJECTS[at:]])}]"
    responses, (problem,) = read(tmp_path / "x.json", text)
    assert responses == ["0", "1", "2", "3"]
    start = text.index(bad)
    assert (problem.start, problem.stop) == (start, start + len(bad + between))
    assert problem.reason.startswith("no JSON (") and "Next: " in problem.reason and not problem.transient


def test_a_bad_row_of_a_json_table_costs_no_other(tmp_path: Path) -> None:
    rows = '["p", "a", 1], ["p", "b\\x", [["p", "q"], ["p", "q"]]], ["p", "c", 0]'
    text = f'{{"columns": ["prompt", "response", "reward"], "data": [{rows}]}}'
    responses, problems = read(tmp_path / "x.json", text)
    assert (responses, len(problems)) == (["a", "c"], 1)


def test_very_many_bad_elements_take_time_in_proportion(tmp_path: Path) -> None:
    data = f"[{','.join([OBJECTS[0], *[BAD[0], OBJECTS[1]] * 8_000])}]"
    began = time.process_time()
    found = [*rows_in(io.BytesIO(data.encode()), ".json")]
    assert time.process_time() - began < 5
    assert "too much of the file is not JSON" in found[-1].reason and len(found) > 2_000


def test_the_beginning_of_a_file_is_read_once_for_all_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "run", "csv", ROWS * 10)
    run = only_run(path)
    (source,) = by_name("generic").sources(run)
    places = [Locator(source=source.name, start=row.start, length=row.length) for row in rows(run)]
    calls: list[bytes] = []

    def counted(beginning: bytes, ending: str) -> Any:
        calls.append(beginning)
        return header_of(beginning, ending)

    monkeypatch.setattr(generic_rows, "header_of", counted)
    reader: Any = by_name("generic")
    assert len([*reader.samples_at(run, source, places)]) == len(places) == 30
    assert len(calls) == 1
    path.write_bytes(path.read_bytes().replace(b"response", b"answer_x"))
    assert len([*reader.samples_at(run, source, places)]) == 30
    assert len(calls) == 2 and b"answer_x" in calls[1]
