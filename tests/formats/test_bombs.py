"""Small files that ask for much work: runs of blank lines, and compressed lines without number."""

import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rolloupe.formats import by_name
from rolloupe.formats.reading import line_reader
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading.files import alone
from rolloupe.index.segments.parts import GRID_BYTES, grid_span
from rolloupe.model import Problem, SampleRow
from tests.formats.support import items, only_run
from tests.index.support import lines as as_lines
from tests.index.support import opened, row, row_count

BLANK_RUNS = [b"\n" * 300, b"\r\n" * 80, b" \t\r\n" * 30, b" " * 200 + b"\n", b"   ", b"\n"]
MIB = 2**20


def lines_of(data: bytes, start: int, stop: int) -> list[tuple[int, bytes]]:
    found = line_reader.lines(io.BufferedReader(io.BytesIO(data)), start, stop)
    return [(line.start, line.data) for line in found if line.data is not None and line.data.strip(line_reader.BLANK)]


def cut_by_hand(data: bytes, start: int, stop: int) -> list[tuple[int, bytes]]:
    at, found = 0, []
    for line in data.split(b"\n"):
        if start <= at < stop and line.strip(line_reader.BLANK):
            found.append((at, line))
        at += len(line) + 1
    return found


@given(
    st.lists(st.sampled_from([*BLANK_RUNS, b"a\n", b" b\n", b"c" * 70 + b"\n", b"d"]), max_size=12).map(b"".join),
    st.data(),
)
@example(b"\n" * 5 + b"a\n", st.data())
def test_blank_lines_are_passed_over_wherever_a_block_ends(data: bytes, draw: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        size = draw.draw(st.sampled_from([1, 3, 16, 100, 2**16])) if data[:1] != b"\n" else 16
        patch.setattr(line_reader, "BLOCK_BYTES", size)
        patch.setattr(line_reader, "MIN_BLOCK_BYTES", size)
        for start in (0, len(data) // 3):
            for stop in (len(data) // 2, len(data) + 1):
                assert lines_of(data, start, stop) == cut_by_hand(data, start, stop)


@pytest.mark.parametrize("unit", [b"\n", b"\r\n", b" \t\r\n", b" " * 63 + b"\n"])
def test_a_run_of_blank_lines_is_no_lines_at_all(unit: bytes) -> None:
    data = unit * (16 * MIB // len(unit))
    assert list(line_reader.lines(io.BufferedReader(io.BytesIO(data)), 0, len(data))) == []


def test_a_megabyte_of_packed_newlines_hides_no_row(tmp_path: Path) -> None:
    path = tmp_path / "rollout_result" / "train" / "0.jsonl.gz"
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wb") as file:
        file.write(as_lines([row(0, 0)]))
        for _ in range(32):
            file.write(b"\n" * MIB)
        file.write(as_lines([row(0, 1)]))
    with opened(tmp_path, tmp_path / "index") as library:
        (run,) = library.runs
        assert row_count(run) == 2
        assert not run.problems()


def test_packed_lines_beyond_the_bytes_of_the_file_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "rollout_result" / "train" / "0.jsonl.gz"
    path.parent.mkdir(parents=True)
    good = as_lines([row(0, index) for index in range(8)])
    path.write_bytes(gzip.compress(good + b"[]\n" * 5_000_000))
    *told, last = items(only_run(tmp_path))
    assert [one.ordinal for one in told[:8] if isinstance(one, SampleRow)] == list(range(8))
    assert line_reader.FREE_LINES < len(told) <= line_reader.FREE_LINES + path.stat().st_size
    assert isinstance(last, Problem)
    assert last.reason == line_reader.TOO_MANY_LINES
    assert last.start is not None
    assert last.start > len(good)
    with opened(tmp_path, tmp_path / "index") as library:
        (run,) = library.runs
        assert row_count(run) == 8
        assert line_reader.TOO_MANY_LINES in {problem.reason for problem in run.problems()}


def test_the_shortest_lines_that_say_anything_are_read(tmp_path: Path) -> None:
    some = random.Random(1)
    path = tmp_path / "metrics.jsonl.gz"
    rows = [{"step": step, "loss": round(some.random(), 4)} for step in range(2 * line_reader.FREE_LINES)]
    path.write_bytes(gzip.compress(b"".join(json.dumps(one).encode() + b"\n" for one in rows)))
    assert list(trainer.records(alone(path))) == rows


def test_metrics_of_packed_newlines_fill_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"step": 1}\n' + b"\n" * (32 * MIB) + b'{"step": 2}\n'))
    assert [one["step"] for one in trainer.records(alone(path))] == [1, 2]


def test_lines_that_are_not_packed_are_all_read(tmp_path: Path) -> None:
    path = tmp_path / "rollout_result" / "train" / "0.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(as_lines([row(0, 0)]) + b"{}\n" * (2 * line_reader.FREE_LINES))
    run = only_run(tmp_path)
    (source,) = by_name(run.format).sources(run)
    assert len(list(by_name(run.format).scan(run, source, 0, 2**62))) == 2 * line_reader.FREE_LINES + 1


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_packed_lines_that_are_much_alike_are_all_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "rollout_result" / "train" / f"0.jsonl.{ending}"
    path.parent.mkdir(parents=True)
    rows = [row(0, index, response="The answer is 4. " * 6) for index in range(150_000)]
    data = as_lines(rows)
    path.write_bytes(gzip.compress(data, 6) if ending == "gz" else pa.Codec("zstd", 3).compress(data, asbytes=True))
    run = only_run(tmp_path)
    reader = by_name(run.format)
    (source,) = reader.sources(run)
    parts = [list(reader.scan(run, source, *grid_span(part))) for part in range(-(-len(data) // GRID_BYTES))]
    assert len(parts) > 2
    assert sum(map(len, parts)) == len(rows)
    assert not [one for part in parts for one in part if isinstance(one, Problem)]


def zeros(path: Path) -> None:
    """A terabyte that takes no room on the disk."""
    with path.open("ab") as file:
        file.truncate(2**40)


def empty_members(path: Path) -> None:
    with path.open("ab") as file:
        file.write(
            (gzip.compress(b"") if path.suffix == ".gz" else pa.Codec("zstd").compress(b"", asbytes=True)) * 50_000
        )


def skippable_frames(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\x50\x2a\x4d\x18\0\0\0\0" * 50_000)


@pytest.mark.parametrize(
    ("ending", "add"), [("gz", zeros), ("gz", empty_members), ("zst", empty_members), ("zst", skippable_frames)]
)
def test_what_holds_nothing_is_read_no_further(tmp_path: Path, ending: str, add: Callable[[Path], None]) -> None:
    path = tmp_path / "rollout_result" / "train" / f"0.jsonl.{ending}"
    path.parent.mkdir(parents=True)
    data = as_lines([row(0, 0), row(0, 1)])
    path.write_bytes(gzip.compress(data) if ending == "gz" else pa.Codec("zstd").compress(data, asbytes=True))
    add(path)
    first, second, problem = items(only_run(tmp_path))
    assert isinstance(first, SampleRow)
    assert isinstance(second, SampleRow)
    assert isinstance(problem, Problem)
    assert "read no further" in problem.reason


def test_padding_and_an_empty_block_at_the_end_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "rollout_result" / "train" / "0.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(as_lines([row(0, 0)])) + gzip.compress(b"") * 3 + b"\0" * 10_000)
    assert len(items(only_run(tmp_path))) == 1
