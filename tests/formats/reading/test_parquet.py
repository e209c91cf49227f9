"""Formats of Parquet files: row groups on the index's grid, values of every type, and damage."""

import datetime as dt
import decimal
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rolloupe
from rolloupe.errors import SourceChanged
from rolloupe.formats import by_name
from rolloupe.formats.reading.files import alone
from rolloupe.formats.reading.tables import parquet, parquet_files
from rolloupe.formats.reading.tables.parquet import python_rows
from rolloupe.formats.testing import FormatContract
from rolloupe.index.segments.parts import GRID_BYTES
from rolloupe.index.segments.segment import read_meta
from rolloupe.model import Location, Problem, SampleRow, Scanned
from tests.formats.packages import install, on_path
from tests.formats.support import items, load, only_run, rows

MODULE = """
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.records import References, Unusable, step_of
from rolloupe.formats.reading.tables.parquet import ParquetFormat
from rolloupe.model import SampleRow

class Plank(ParquetFormat):
    name = "plank"
    title = "Plank"
    placed = frozenset({"ask", "reply", "score", "step"})

    def fits(self, record):
        return {"ask", "reply", "score"} <= record.keys()

    def row(self, source, record, start, length):
        if record.get("reply") is None:
            raise Unusable("a row without a reply is not a sample")
        return SampleRow(
            split="train", step=step_of(record.get("step")) or 0,
            group=parsers.digest(parsers.joined(record.get("ask"))),
            index=f"{source.name}:{start}", ordinal=start, start=start, length=length,
            reward=parsers.number(record.get("score")), prompt=parsers.joined(record.get("ask")),
            response=parsers.joined(record.get("reply")),
        )

    def references(self, record):
        return References(parsers.as_text(record.get("truth")), [])
"""


def table(count: int, step: int = 0) -> pa.Table:
    """Rows of the format, prompts as messages, with a list of numbers and values that JSON lacks."""
    return pa.table({
        "ask": [[{"role": "user", "content": f"question {n // 4}"}] for n in range(count)],
        "reply": [f"reply {step}-{n}" for n in range(count)],
        "score": [n / count for n in range(count)],
        "step": [step] * count,
        "truth": ["4"] * count,
        "ids": [list(range(n % 7)) for n in range(count)],
        "when": [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)] * count,
    })  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def plank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The format, installed for this process; returns a folder with a run of it."""
    site = install(tmp_path_factory.mktemp("site"), "plank", {"plank": "plank_format:Plank"}, {"plank_format": MODULE})
    run = tmp_path_factory.mktemp("example") / "run"
    run.mkdir()
    for step in range(2):
        pq.write_table(table(50, step), run / f"{step}.parquet", row_group_size=8)
    TestPlank.example = run
    with on_path(site):
        yield run


class TestPlank(FormatContract):
    format = "plank"


def test_a_row_has_the_place_of_its_group_and_its_number_in_there(plank: Path) -> None:
    found = [row for row in rows(only_run(plank)) if row.step == 1]
    assert [row.part for row in found[:10]] == ["0", "1", "2", "3", "4", "5", "6", "7", "0", "1"]
    assert len({(row.start, row.length) for row in found}) == 7
    assert [row.index for row in found] == [f"1.parquet:{n}" for n in range(50)]


def test_what_json_lacks_is_shown_as_text(plank: Path) -> None:
    run = only_run(plank)
    reader = by_name("plank")
    (source, *_) = reader.sources(run)
    sample = load(reader, run, source, rows(run)[5])
    assert sample.extra["ids"] == [0, 1, 2, 3, 4] and sample.extra["when"].startswith("2026-01-01")
    assert sample.label == "4" and sample.prompt_text == "question 1"


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([b"\xff\x00a", None], pa.binary(), ["\ufffd\x00a", None]),
        ([decimal.Decimal("1.5")], pa.decimal128(5, 2), [1.5]),
        ([[("a", 1)]], pa.map_(pa.string(), pa.int64()), [{"a": 1}]),
        ([{"a": [b"x"]}], pa.struct([("a", pa.list_(pa.binary()))]), [{"a": ["x"]}]),
        ([dt.date(2026, 1, 2)], pa.date32(), ["2026-01-02"]),
        ([float("nan"), 1], pa.float32(), [pytest.approx(float("nan"), nan_ok=True), 1.0]),
    ],
)
def test_values_of_every_type_become_those_of_json(values: list[Any], kind: pa.DataType, expected: list[Any]) -> None:
    batch = pa.record_batch({"x": pa.array(values, kind)})
    assert [record["x"] for record in python_rows(batch, lambda _: False)] == expected


def test_text_that_is_no_utf_8_costs_nothing_else() -> None:
    bad = pa.array([b"ok", b"\xff!"], pa.binary()).view(pa.string())
    batch = pa.record_batch({"x": bad, "y": pa.array([1, 2])})
    assert list(python_rows(batch, lambda _: False)) == [{"x": "ok", "y": 1}, {"x": "\ufffd!", "y": 2}]


def test_lists_of_numbers_are_arrays_where_a_format_says_so() -> None:
    batch = pa.record_batch({"x": pa.array([[1, None], None, []], pa.list_(pa.int64()))})
    found = [record["x"] for record in python_rows(batch, lambda _: True)]
    assert repr([None if one is None else one.tolist() for one in found]) == "[[1.0, nan], None, []]"


def test_the_index_has_a_part_for_the_row_groups_that_begin_in_it(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    long = pa.array([f"reply {n} {'x' * 100_000}" for n in range(400)])
    some = table(400).set_column(1, "reply", long)
    pq.write_table(some, tmp_path / "run/0.parquet", row_group_size=10, compression="none", use_dictionary=False)
    assert 2 * GRID_BYTES < (tmp_path / "run/0.parquet").stat().st_size < 3 * GRID_BYTES
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        (run,) = runs
        assert [(step.step, step.samples) for step in run.steps()] == [(0, 400)]
        (item,) = run.samples(where="reward > 0.997")
        assert item.key.index == "0.parquet:399"
        assert run.sample(item.key).response_text.startswith("reply 399 x")
        assert run.problems() == []
    parts = [meta for path in (tmp_path / "index").rglob("*.meta") if (meta := read_meta(path)) is not None]
    assert len(parts) == 3 and sum(meta.rows for meta in parts) == 400 and all(meta.rows for meta in parts)


def test_a_file_without_its_end_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "run/0.parquet"
    path.parent.mkdir()
    pq.write_table(table(64), path, row_group_size=8)
    held = path.read_bytes()
    run = only_run(path.parent)
    path.write_bytes(held[: len(held) // 2])
    (problem,) = items(run)
    assert isinstance(problem, Problem) and problem.transient and "not the end of a Parquet file" in problem.reason
    path.write_bytes(held)
    assert len(rows(run)) == 64


def test_a_row_that_is_no_sample_is_a_problem_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    some = table(20).set_column(1, "reply", pa.array(["x"] * 12 + [None] + ["x"] * 7))
    pq.write_table(some, tmp_path / "run/0.parquet", row_group_size=8)
    found = items(only_run(tmp_path / "run"))
    (problem,) = [item for item in found if isinstance(item, Problem)]
    assert problem.reason == "row 12: a row without a reply is not a sample" and not problem.transient
    assert sum(isinstance(item, SampleRow) for item in found) == 19


def test_a_file_with_more_rows_than_bytes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    count = 30_000
    some = pa.table({name: pa.array(["x"] * count).dictionary_encode() for name in ("ask", "reply", "score")})
    pq.write_table(some, tmp_path / "run/0.parquet")
    run = only_run(tmp_path / "run", format="plank")
    (problem,) = items(run)
    assert isinstance(problem, Problem) and "more rows than the file has bytes" in problem.reason
    monkeypatch.setattr(parquet_files, "FREE_ROWS", count)
    assert len(rows(run)) == count


def test_rows_are_decoded_by_few_where_one_may_be_large(tmp_path: Path) -> None:
    def most_rows(*texts: str, **how: Any) -> int:
        file = tmp_path / "some.parquet"
        pq.write_table(pa.table({"ask": list(texts)}), file, **how)
        place = Location(str(file), str(file))
        (group,) = parquet_files.groups_of(place)
        return max(int(batch.num_rows) for batch in parquet_files.batches_of(place, group))

    small = ("a",) * 600
    assert most_rows(*small) == parquet_files.BATCH_ROWS
    for how in ({}, {"use_dictionary": False}):  # later rows are much larger than the first
        assert most_rows(*small, *(str(number) * 2**20 for number in range(8)), **how) == parquet_files.FEW_ROWS
    assert most_rows(*small, "x" * 2**25) == 3, "that of 32 MiB may be in each"


def test_pages_that_are_too_large_cost_the_rows_of_their_group_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "MAX_PAGE_BYTES", 2**21)
    large = [["x" * 1000] * 16, ["y" * 2**20] * 4, ["z" * 1000] * 16]
    path = tmp_path / "run" / "0.parquet"
    path.parent.mkdir()
    for packed in ("zstd", "none"):  # four repeated megabytes take few bytes in the file, or one in a dictionary
        first = table(16)
        with pq.ParquetWriter(path, first.schema, compression=packed, use_dictionary=False) as writer:
            for texts in large:
                writer.write_table(table(len(texts)).set_column(1, "reply", pa.array(texts)))
        found = items(only_run(path.parent))
        assert [row.response[0] for row in found if isinstance(row, SampleRow)] == ["x"] * 16 + ["z"] * 16
        (problem,) = (one for one in found if isinstance(one, Problem))
        assert "rows 16 to 19: pages of" in problem.reason and "Next: write the file again" in problem.reason
        assert not problem.transient
    with pq.ParquetWriter(path, first.schema, use_dictionary=False) as writer:
        writer.write_table(table(4).set_column(1, "reply", pa.array(large[1])))
    assert only_run(path.parent).format == "plank" and len(items(only_run(path.parent))) == 1


def test_dates_that_python_cannot_hold_are_shown_as_they_are_stored() -> None:
    columns = {
        "day": pa.array([2**30, 0], pa.date32()), "time": pa.array([2**62, 0], pa.duration("s")),
        "at": pa.array([[2**62], None], pa.list_(pa.timestamp("s"))),
    }  # fmt: skip
    first, second = python_rows(pa.record_batch(columns), lambda _: False)
    assert (first["day"], first["time"]) == ("1073741824 (date32[day])", "4611686018427387904 (duration[s])")
    assert (second["day"], second["time"]) == ("1970-01-01", "0:00:00") and "timestamp" in str(first["at"])


def test_rows_that_repeat_a_large_text_are_read_as_far_as_a_file_may_expand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "FREE_BYTES", 3 * 2**25)
    monkeypatch.setattr(parquet, "MAX_RATIO", 1)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 600, pa.int32()), ["x" * 2**20])
    (tmp_path / "run").mkdir()
    for column in (texts, pa.array(["x" * 2**20] * 100)):
        some = table(len(column)).set_column(1, "reply", column)
        pq.write_table(some, tmp_path / "run/0.parquet")
        *found, problem = items(only_run(tmp_path / "run"))
        assert 0 < len(found) < 100 and isinstance(problem, Problem)
        assert f"rows from {len(found)} on expand too much: not read" in problem.reason


def test_a_page_is_measured_by_its_own_header_not_by_the_footer(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table({"a": ["x" * 2**20] * 3, "b": [1, 2, 3]}), path, compression="zstd")
    with path.open("rb") as file:
        (group,) = parquet_files.row_groups(file)
    assert [chunk.column for chunk in group.chunks] == ["a", "b"]
    assert parquet_files.largest_dictionary(alone(path), 0) == 2**20 + 4, "a length, and the text"
    assert 3 * 2**20 < parquet_files.page_bytes(alone(path), 0) < 3 * 2**20 + 2**12
    assert 0 < parquet_files.page_bytes(alone(path), 0, ("b",)) < 2**10
    data, start = path.read_bytes(), group.chunks[0].start
    path.write_bytes(data[:start] + bytes(8) + data[start + 8 :])
    with pytest.raises(ValueError, match="damaged"):
        parquet_files.page_bytes(alone(path), 0)


def test_a_locator_of_another_file_is_refused(plank: Path, tmp_path: Path) -> None:
    pq.write_table(table(10), tmp_path / "0.parquet")
    run = only_run(tmp_path)
    reader = by_name("plank")
    (source,) = reader.sources(run)
    row = rows(run)[9]
    pq.write_table(table(9), tmp_path / "0.parquet")
    with pytest.raises(SourceChanged, match="no longer holds"):
        load(reader, run, source, row)


@pytest.mark.parametrize("many", [2, 1000])
@pytest.mark.parametrize("largest", [0, 2**40])
def test_repeats_are_counted_over_batches_and_row_groups(
    many: int, largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MANY_ROWS", many)
    monkeypatch.setattr(parquet, "MANY_BYTES", largest)
    monkeypatch.setattr(parquet_files, "BATCH_ROWS", 3)
    texts = ["a", "a", None, "", "b", "a", "b", "b", "a", "a", "a", "b"]
    expected = (0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2)
    columns = {
        "text": pa.array(texts), "category": pa.array(texts).dictionary_encode(),
        "messages": pa.array([[{"role": "user", "content": text}] for text in texts]),
    }  # fmt: skip
    file = tmp_path / "some.parquet"
    pq.write_table(pa.table(columns), file, row_group_size=5)
    place = Location(str(file), str(file))
    for column in columns:
        assert parquet.repeats(place, column) == expected, column
    assert parquet.repeats(Location(str(tmp_path / "none"), str(tmp_path)), "text") == ()


def test_a_text_that_many_rows_repeat_is_in_memory_once(tmp_path: Path) -> None:
    file = tmp_path / "some.parquet"
    numbers = pa.array([0, 1] * 2000, pa.int32())
    pq.write_table(pa.table({"text": pa.DictionaryArray.from_arrays(numbers, ["x" * 2**20, "y"])}), file)
    pool = pa.proxy_memory_pool(pa.system_memory_pool())  # which counts this test alone
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        assert len(set(parquet.repeats(Location(str(file), str(file)), "text"))) == 2000
        assert pool.max_memory() < 64 * 2**20
    finally:
        pa.set_memory_pool(before)


def test_the_types_of_columns_are_in_the_footer(tmp_path: Path) -> None:
    file = tmp_path / "some.parquet"
    columns = {"text": pa.array(["a"]), "part": pa.array([1.0]), "kind": pa.array(["a"]).dictionary_encode()}
    pq.write_table(pa.table(columns), file)
    data = file.read_bytes()
    pages = len(data) - parquet_files.TAIL_BYTES - int.from_bytes(data[-8:-4], "little")
    file.write_bytes(b"PAR1" + b"\xff" * (pages - 4) + data[pages:])  # none of its pages can be decoded
    found = parquet.column_types(Location(str(file), str(file)))
    assert list(found) == ["text", "part", "kind"] and (found["text"], found["part"]) == ("string", "double")


def test_repeats_are_counted_where_texts_are_no_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "some.parquet"
    texts = pa.array([b"a", b"\xff", b"\xff", None, b"a", b"\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": texts}), file)
    assert parquet.repeats(Location(str(file), str(file)), "text") == (0, 0, 0, 0, 1, 1)


def test_a_file_that_is_replaced_while_it_is_read_yields_no_rows_of_both(plank: Path, tmp_path: Path) -> None:
    pq.write_table(table(600), tmp_path / "0.parquet")
    run = only_run(tmp_path)
    reader = by_name("plank")
    (source,) = reader.sources(run)
    found: list[Scanned] = []
    for item in reader.scan(run, source, 0, 2**62):
        if not found:
            pq.write_table(table(600, step=1), tmp_path / "0.parquet")
        found.append(item)
    *before, problem = found
    assert len(before) == parquet_files.BATCH_ROWS
    assert isinstance(problem, Problem) and problem.transient and "changed while it was read" in problem.reason
    assert len(rows(run)) == 600


def test_a_footer_with_the_long_texts_of_many_row_groups_is_read(tmp_path: Path) -> None:
    path, groups = tmp_path / "rows.parquet", 400
    with pq.ParquetWriter(path, pa.schema([("prompt", pa.string()), ("completion", pa.string())])) as writer:
        for group in range(groups):
            text = f"{group} " + "long " * 700
            writer.write_table(pa.table({"prompt": [text], "completion": [text]}))
    tail = path.read_bytes()[-parquet_files.TAIL_BYTES :]
    assert int.from_bytes(tail[:4], "little") > 2**22
    with path.open("rb") as file:
        assert len(parquet_files.row_groups(file)) == groups


@pytest.mark.parametrize("value", [b"\x11", b"\x16\x02", b"\x19\x00"], ids=["true", "number", "empty list"])
def test_a_footer_of_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch, value: bytes) -> None:
    monkeypatch.setattr(parquet_files, "MAX_VALUES", 2**14)
    footer = value * (parquet_files.MAX_VALUES + 1) + b"\0"
    file = io.BytesIO(footer + len(footer).to_bytes(4, "little") + parquet_files.MAGIC)
    with pytest.raises(ValueError, match="too many values"):
        parquet_files.row_groups(file)
