"""Samples as files: the same rows in JSON lines, CSV and Parquet, whatever the samples hold."""

import csv
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rolloupe import Recorder, export, query
from rolloupe.errors import BadQuery, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey, Texts
from tests.index.support import lines, opened, row

LONG = "x" * 1000
TEXTS = ["=1+1", "a\nb, \"c\" 'd'", "\n@SUM(A1)", "\ud800 half", "-3", "\u2028 \x00 end", LONG]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterable[OpenRun]:
    """A run whose texts, tags and numbers make trouble; its metrics are called like columns."""
    folder = tmp_path_factory.mktemp("run")
    train = folder / "rollout_result/train"
    train.mkdir(parents=True)
    rewards = [{"score": value, "step": 7.0, "=x": -1.0} for value in (1.0, math.nan, math.inf, 0.25, -0.5, 0.0, 2.0)]
    found = [row(0, n, prompt=t, response=t, reward=r) for n, (t, r) in enumerate(zip(TEXTS, rewards, strict=True))]
    (train / "0.jsonl").write_bytes(lines(found))
    with opened(folder, tmp_path_factory.mktemp("index")) as library:
        yield library.runs[0]


def exported(run: OpenRun, kind: str, *, whole: bool = True, notes: dict[SampleKey, str] | None = None) -> bytes:
    columns = export.columns_of(*query.value_names(run), has_notes=notes is not None, is_whole=whole)
    items = query.every(run, query.SampleQuery())
    read = query.Reader(run).texts if whole else None
    return b"".join(export.written(kind, columns, export.rows(run.id, items, columns, read, notes)))


def test_json_lines_hold_every_text_and_number(run: OpenRun) -> None:
    rows = [json.loads(line, parse_constant=pytest.fail) for line in exported(run, "jsonl").splitlines()]
    assert [one["response"] for one in rows] == [t.replace("\ud800", "\ufffd") for t in TEXTS]
    assert [one["reward"] for one in rows[:4]] == [1.0, "NaN", "Infinity", 0.25]
    assert all(one["step"] == 0 for one in rows)
    assert (rows[0]["reward.step"], rows[0]["reward.=x"]) == (7.0, -1.0)


def test_a_spreadsheet_gets_no_formula(run: OpenRun) -> None:
    body = exported(run, "csv").decode()
    assert body.startswith("\ufeff")
    rows = list(csv.DictReader(io.StringIO(body[1:], newline="")))
    assert [one["response"] for one in rows] == ["'=1+1", TEXTS[1], "'\n@SUM(A1)", "\ufffd half", "'-3", TEXTS[5], LONG]
    assert [one["reward"] for one in rows] == ["1.0", "NaN", "Infinity", "0.25", "-0.5", "0.0", "2.0"]
    assert not any(name.startswith(("=", "+", "-", "@")) for name in rows[0])


def test_parquet_has_types(run: OpenRun, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(exported(run, "parquet", notes={}))
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.num_rows == len(TEXTS)
    assert [str(table.schema.field(name).type) for name in ("id", "step", "reward", "note")] == [
        "string", "int64", "double", "string",
    ]  # fmt: skip
    assert math.isnan(table["reward"].to_pylist()[1])
    assert table["prompt"].to_pylist()[6] == LONG


def test_without_whole_texts_the_starts_are_there(run: OpenRun) -> None:
    rows = [json.loads(line) for line in exported(run, "jsonl", whole=False).splitlines()]
    assert 100 < len(rows[6]["response"]) < len(LONG)


def test_whole_samples_have_the_answers_and_what_is_not_recorded_is_null(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        reference = [{"role": "assistant", "content": "It is"}, {"role": "assistant", "content": " 4."}]
        recorder.sample(step=0, prompt="2+2", response="5", label="4", ref_response=reference, tags={"label": "mine"})
        recorder.sample(step=0, prompt="2+2", response="4", discarded="stale")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        rows = [json.loads(line) for line in exported(library.runs[0], "jsonl").splitlines()]
        assert [(one["label"], one["ref_response"], one["discarded"]) for one in rows] == [
            ("4", "It is 4.", None), (None, None, "stale"),
        ]  # fmt: skip
        assert rows[0]["tag.label"] == "mine" and "tag.label" not in rows[1]
        starts = [json.loads(line) for line in exported(library.runs[0], "jsonl", whole=False).splitlines()]
        assert [one["discarded"] for one in starts] == [None, "stale"] and "label" not in starts[0]
        (tmp_path / "x.parquet").write_bytes(exported(library.runs[0], "parquet"))
        table = pq.read_table(tmp_path / "x.parquet")
        assert [table[name].to_pylist() for name in ("discarded", "label")] == [[None, "stale"], ["4", None]]
        rows = list(csv.DictReader(io.StringIO(exported(library.runs[0], "csv").decode()[1:], newline="")))
        assert [(one["discarded"], one["label"]) for one in rows] == [("", "4"), ("stale", "")]


def test_notes_stand_beside_their_samples(run: OpenRun) -> None:
    rows = [
        json.loads(line) for line in exported(run, "jsonl", notes={SampleKey("train", 0, "0", "1"): "why"}).splitlines()
    ]
    assert [one["note"] for one in rows][:3] == ["", "why", ""]


def test_a_sample_that_cannot_be_read_is_there_with_its_start(run: OpenRun) -> None:
    def gone(key: SampleKey) -> Texts:
        raise SourceChanged("gone")

    columns = export.columns_of([], [])
    rows: list[dict[str, Any]] = list(export.rows("r", query.every(run, query.SampleQuery()), columns, gone))
    assert len(rows) == len(TEXTS) and rows[0]["response"] == "=1+1"


def test_names_that_are_taken_get_another() -> None:
    columns = export.columns_of(["step", "x", "note", "metric.step"], ["x", "id"])
    assert columns.names[-6:] == ["metric.step", "x", "metric.note", "metric.metric.step", "tag.x", "tag.id"]
    assert len(set(columns.names)) == len(columns.names)


def test_another_kind_is_refused() -> None:
    with pytest.raises(BadQuery, match="jsonl, csv, parquet"):
        export.written("xlsx", export.columns_of([], []), [])


def test_nothing_is_a_file_too(tmp_path: Path) -> None:
    for kind in export.KINDS:
        body = b"".join(export.written(kind, export.columns_of(["m"], []), []))
        assert (body == b"") == (kind == "jsonl")


def test_rows_of_any_columns_are_the_same_csv() -> None:
    rows: list[list[object]] = [[math.inf, "=1"], [None, -1.5], ["a\nb", "\ud800"]]
    found = b"".join(export.csv_lines(["a", "@b"], rows))
    assert found.decode() == "a,'@b\r\nInfinity,'=1\r\n,-1.5\r\n\"a\nb\",\ufffd\r\n"
