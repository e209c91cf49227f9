"""Parts of token series that are damaged, or are something else: a reason, never a crash, never much memory."""

import random
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rolloupe
from rolloupe.formats import by_name
from rolloupe.formats.native import run_files
from rolloupe.formats.native.run_files import PartUnreadable, read_row
from rolloupe.formats.reading.files import alone
from rolloupe.formats.reading.tables.parquet_files import row_groups
from rolloupe.record.token_series import write_part
from rolloupe.tokens import SampleTokens, sample_tokens, tokens_of
from tests.forks import program
from tests.formats.support import only_run, samples
from tests.thoroughness import amount, slow_unless

ROWS = 8


def part(folder: Path) -> Path:
    values = np.random.default_rng(0).normal(size=(ROWS, 300)).astype(np.float32)
    series: list[tuple[str, dict[str, Any]]] = [
        (f"u{n}", {"token_ids": np.arange(300, dtype=np.int32), "a": row, "b": row[:200]})
        for n, row in enumerate(values)
    ]
    write_part(folder / "000001.parquet", series)
    return folder / "000001.parquet"


def damaged(good: bytes, rng: random.Random) -> bytes:
    """The file with bytes changed somewhere or in its footer, cut off, or with lengths that are enormous."""
    data, footer = bytearray(good), int.from_bytes(good[-8:-4], "little")
    kind = rng.randrange(4)
    if kind == 0:
        return good[: rng.randrange(len(good))]
    start, stop = (len(data) - 8 - footer, len(data) - 8) if kind == 1 else (4, len(data))
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(start, stop - 5)
        data[at : at + (5 if kind == 3 else 1)] = b"\xff\xff\xff\xff\x0f" if kind == 3 else rng.randbytes(1)
    return bytes(data)


def damage(folder: Path, seed: int, rounds: int) -> None:
    """Read damaged files; rows that can be read are small."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, resource.RLIM_INFINITY))
    rng, path = random.Random(seed), part(folder)
    good = path.read_bytes()
    for _ in range(rounds):
        path.write_bytes(damaged(good, rng))
        try:
            found = read_row(alone(path), rng.randrange(ROWS + 1))
        except PartUnreadable:
            continue
        assert sum(map(len, found.series.values())) < 10_000


@pytest.mark.parametrize("seed", [1, slow_unless(False, 2)])
def test_a_damaged_part_has_a_reason_and_ends_no_process(tmp_path: Path, seed: int) -> None:
    damaging = f"damage(Path({str(tmp_path)!r}), {seed}, {amount(80, 400)})"
    done = program(f"from tests.formats.native.test_token_parts import *; {damaging}")
    _, errors = done.communicate(120)
    assert (done.returncode, errors[-2000:]) == (0, b"")


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"uid": [1]}, ("1", [], {}, [])), ({"a": [[1.0]]}, ("", [], {"a": [1.0]}, [])),
        ({"uid": ["u"], "a": [["x"]]}, ("u", [], {}, ["a"])),
        ({"a": [[True, None, False]]}, ("", [], {"a": [1.0, np.nan, 0.0]}, [])),
        ({"uid": ["u"], "a": [[[1.0]]]}, ("u", [], {}, ["a"])),
        ({"uid": ["u"], "a": [{"b": [1]}]}, ("u", [], {}, ["a"])),
        ({"uid": ["u"], "token_ids": [[1.5]], "a": [None]}, ("u", [1], {}, [])),
        ({"uid": ["u"], "token_ids": [[2**60]], "a": [[None, 2]]}, ("u", [], {"a": [np.nan, 2.0]}, ["token_ids"])),
        ({"token_ids": [[np.nan, 2.0]]}, ("", [], {}, ["token_ids"])),
        ({"": [[1.0]], "a": [[2.0]]}, ("", [], {"a": [2.0]}, ["(a column without a name)"])),
    ],
)  # fmt: skip
def test_of_another_schema_what_can_be_read_is_read(
    tmp_path: Path, columns: dict[str, Any], found: tuple[str, list[int], dict[str, list[float]], list[str]]
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "000001.parquet")
    row = read_row(alone(tmp_path / "000001.parquet"), 0)
    assert (row.uid, row.ids.tolist(), row.unread) == (*found[:2], found[3])
    assert row.series.keys() == found[2].keys()
    assert all(np.array_equal(row.series[name], values, equal_nan=True) for name, values in found[2].items())


def test_a_mask_of_truths_hides_values_and_columns_of_texts_are_named(tmp_path: Path) -> None:
    with rolloupe.Recorder(tmp_path / "run") as recorder:
        recorder.sample(step=0, group="g", prompt="p", response="r", series={"logprobs": [-1.0, -2.0]})
    (path,) = (tmp_path / "run/tokens").rglob("*.parquet")
    table = pq.read_table(path)
    table = table.append_column("loss_mask", pa.array([[True, False]])).append_column("tags", pa.array([["x", "y"]]))
    pq.write_table(table, path)
    info = only_run(tmp_path / "run")
    (sample,) = samples(info)
    assert [note for note in sample.notes if "not lists of numbers: tags" in note]
    (source,) = (one for one in by_name(info.format).sources(info) if one.name == sample.locator.source)
    (found,) = by_name(info.format).token_arrays(info, source, [sample.locator])
    assert isinstance(found, SampleTokens)
    for values in (tokens_of(sample).series["logprobs"], found.series["logprobs"]):
        assert np.array_equal(values, [-1.0, np.nan], equal_nan=True)


def test_of_too_many_tokens_the_first_are_read_and_a_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_tokens, "MAX_TOKENS", 4)
    values, ids = {"logprobs": [-1.0, -2.0, -3.0], "values": [0.0, 1.0, 2.0, 3.0, 4.0]}, [5, 6, 7, 8, 9]
    with rolloupe.Recorder(tmp_path / "run") as recorder:
        recorder.sample(step=0, group="g", prompt="p", response="r", token_ids=ids, series=values)
    info = only_run(tmp_path / "run")
    (sample,) = samples(info)
    assert [note for note in sample.notes if "5 tokens of the sample: the first 4 are shown" in note]
    assert (sample.token_ids, sample.unread_tokens) == (ids[:4], 1)
    (source,) = (one for one in by_name(info.format).sources(info) if one.name == sample.locator.source)
    (found,) = by_name(info.format).token_arrays(info, source, [sample.locator])
    assert isinstance(found, SampleTokens) and found.ids is not None
    assert (found.total, found.ids.tolist()) == (4, ids[:4])
    for series in (tokens_of(sample).series, found.series):
        assert np.array_equal(series["values"], values["values"][:4])
        assert np.array_equal(series["logprobs"], [np.nan, np.nan, -1.0, -2.0], equal_nan=True)


def test_what_would_fill_the_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "MAX_VALUES", amount(2**20, run_files.MAX_VALUES))
    path = tmp_path / "000001.parquet"
    pq.write_table(pa.table({"uid": ["u"], "a": [np.zeros(run_files.MAX_VALUES + 1, np.int8)]}), path)
    assert path.stat().st_size < 200_000
    with pytest.raises(PartUnreadable, match="too large"):
        read_row(alone(path), 0)


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"PAR1PAR1", bytes(100), b"x" * 8 + b"PAR1", bytes(12) + b"\xff\xff\xff\x7fPAR1"]
)
def test_what_is_no_parquet_has_a_reason(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "000001.parquet").write_bytes(data)
    with pytest.raises(PartUnreadable):
        read_row(alone(tmp_path / "000001.parquet"), 0)


def test_the_footer_is_read_as_pyarrow_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "000001.parquet"
    pq.write_table(pa.table({"a": range(1000), "b": [[n] * (n % 5) for n in range(1000)]}), path, row_group_size=300)
    told = pq.read_metadata(path)
    with path.open("rb") as file:
        for number, group in enumerate(row_groups(file)):
            other = told.row_group(number)
            values = sum(other.column(n).num_values for n in range(other.num_columns))
            assert (group.rows, group.size_bytes) == (other.num_rows, other.total_byte_size)
            assert (group.values, group.columns) == (values, other.num_columns)
            columns = [other.column(n) for n in range(other.num_columns)]
            starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
            assert group.start == min(starts)
            assert group.stop == starts[-1] + columns[-1].total_compressed_size
            assert group.largest_dictionary == max(
                column.total_uncompressed_size for column in columns if column.has_dictionary_page
            )


def test_a_row_group_is_decoded_once_for_the_rows_that_are_read_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "000001.parquet"
    columns = {"uid": [str(n) for n in range(20)], "a": [[float(n)] for n in range(20)]}
    pq.write_table(pa.table(columns), path, row_group_size=10)
    opened = Mock(side_effect=pq.ParquetFile)
    monkeypatch.setattr(pq, "ParquetFile", opened)
    for row in range(20):
        found = read_row(alone(path), row)
        assert (found.uid, found.series["a"].tolist()) == (str(row), [float(row)])
    assert opened.call_count == 2
    columns["a"] = [[-1.0]] * 20
    pq.write_table(pa.table(columns), tmp_path / "new", row_group_size=10)
    (tmp_path / "new").replace(path)
    assert read_row(alone(path), 3).series["a"].tolist() == [-1.0]
