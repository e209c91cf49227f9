"""Holes: NUL bytes where a crash, a full disk or a sparse copy left nothing written."""

import gzip
import io
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest

import rolloupe as package
from rolloupe.formats.reading import line_reader
from rolloupe.index.segments.parts import GRID_BYTES
from rolloupe.model import Problem
from rolloupe.query import SampleQuery
from tests.cli.support import rolloupe
from tests.formats.support import items, only_run, samples

TIB = 2**40


def good(step: int) -> bytes:
    record = {"step": step, "prompt": "How many?", "response": f"It is {step}.", "reward": 1.0}
    return json.dumps(record).encode() + b"\n"


TORN = good(7)[:20]
REST = good(8)[20:]
BESIDE = {
    "between lines": (good(0), good(1), 2),
    "within a line": (good(0) + TORN, REST + good(1), 2),
    "at the start": (b"", good(0) + good(1), 2),
    "at the end": (good(0) + good(1) + TORN, b"", 2),
    "for a newline": (good(0)[:-1], good(1), 2),
}


@pytest.mark.parametrize("where", BESIDE)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_lines_around_a_hole_are_read_and_it_is_one_problem(tmp_path: Path, where: str, ending: str) -> None:
    before, after, count = BESIDE[where]
    torn = (TORN in before) + after.startswith(REST)
    for length in (512, 4095, line_reader.BLOCK_BYTES + 7, 3 * line_reader.BLOCK_BYTES):
        data = before + bytes(length) + after
        folder = tmp_path / str(length)
        folder.mkdir()
        (folder / f"x.jsonl{ending}").write_bytes(gzip.compress(data) if ending else data)
        run = only_run(folder)
        assert [one.row.step for one in samples(run)] == list(range(count)), length
        problems = [one for one in items(run) if isinstance(one, Problem)]
        holes = [(one.start, one.stop) for one in problems if "a hole of" in one.reason]
        assert holes == [(len(before), len(before) + length)]
        assert len(problems) == 1 + torn, length


@pytest.mark.parametrize("where", BESIDE)
def test_wherever_a_file_is_cut_each_part_owns_its_lines(where: str) -> None:
    before, after, _ = BESIDE[where]
    data = before + bytes(700) + after
    size = len(data)
    whole = list(line_reader.lines(io.BufferedReader(io.BytesIO(data)), 0, size))
    for cut in range(1, size):
        file: Any = io.BufferedReader(io.BytesIO(data), 16)
        assert [*line_reader.lines(file, 0, cut), *line_reader.lines(file, cut, size)] == whole, cut


def test_holes_at_the_edges_of_blocks_are_found() -> None:
    line = b'{"a": "' + b"x" * 300 + b'"}\n'
    for shift in range(0, 1200, 7):
        lead = line * ((line_reader.BLOCK_BYTES - 800) // len(line))
        torn = b"y" * (line_reader.BLOCK_BYTES - 600 + shift - len(lead))
        data = lead + torn + bytes(1024) + line
        found = list(line_reader.lines(io.BufferedReader(io.BytesIO(data)), 0, len(data)))[-3:]
        start = len(lead) + len(torn)
        assert [one.start for one in found] == [len(lead), start, start + 1024]
        assert found[0].data == torn and found[2].data == line[:-1]


def sparse(path: Path, *pieces: tuple[int, bytes], size: int = TIB) -> Path:
    """A file with something at a few places, and holes between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for at, data in pieces:
            file.seek(at)
            file.write(data)
        file.truncate(size)
    if os.stat(path).st_blocks * 512 > 2**30:
        pytest.skip("this file system has no holes")
    return path


def test_a_terabyte_that_was_never_written_is_named_at_once(tmp_path: Path) -> None:
    sparse(tmp_path / "x.jsonl")
    done = rolloupe("doctor", tmp_path, "--json")
    (note,) = done.json["notes"]
    assert f"x.jsonl: a hole of {TIB:,} NUL bytes" in note["reason"] and "Next: " in note["reason"]


def test_an_index_does_not_read_a_terabyte_that_was_never_written(tmp_path: Path) -> None:
    middle = 5000 * GRID_BYTES + 123
    path = sparse(tmp_path / "run/x.jsonl", (0, good(0) + TORN), (middle, REST + good(1)))
    memory, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with package.open(path.parent, index_dir=tmp_path / "index") as runs:
        assert runs[0].total(SampleQuery()) == 2
        assert time.process_time() - began < 20
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 300 * 1024
        problems = runs[0].problems()
        assert runs[0].indexed_bytes() == (TIB, TIB)
    end = middle + len(REST + good(1))
    holes = [(one.start or 0, one.stop) for one in problems if "a hole of" in one.reason]
    assert (len(problems), sorted(holes)) == (4, [(len(good(0) + TORN), middle), (end, TIB)])


def test_a_hole_that_begins_with_a_part_is_told(tmp_path: Path) -> None:
    line = b'{"step": 0, "reward": 1, "prompt": "p", "response": "' + b"r" * (2**16 - 56) + b'"}\n'
    assert GRID_BYTES % len(line) == 0
    size = 400 * GRID_BYTES
    path = sparse(tmp_path / "run/x.jsonl", (0, line * (GRID_BYTES // len(line))), size=size)
    with package.open(path.parent, index_dir=tmp_path / "index") as runs:
        (problem,) = runs[0].problems()
        assert runs[0].total(SampleQuery()) == GRID_BYTES // len(line)
    assert (problem.start, problem.stop) == (GRID_BYTES, size)
