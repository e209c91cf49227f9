"""Shards of a run, indexed by processes that share nothing but a folder."""

import json
from pathlib import Path

import numpy as np
import pytest

from rolloupe.formats import discover
from rolloupe.formats.registry import by_name
from rolloupe.index import IndexWork, Library, RunShard, catalog
from rolloupe.index.scans import OwnParts
from rolloupe.index.segments import parts as grid
from rolloupe.index.sources import Sources
from rolloupe.record import Recorder
from tests.forks import program
from tests.index.support import contents, lines, relax_run, row, row_count, settled
from tests.thoroughness import amount

SCRIPT = """
import sys
from rolloupe.index import IndexWork, Library, RunShard, catalog
path, index_dir, number, count = sys.argv[1:]
work = IndexWork(processes=1, shard=RunShard(int(number), int(count)))
with Library([path], index_dir=index_dir, work=work) as library:
    print("started", flush=True)
    assert library.runs[0].wait_all(60)
    print(library.runs[0].is_shard, library.runs[0].failures(texts=True), flush=True)
"""


def whole(path: Path, index_dir: Path) -> dict[str, bytes]:
    """The index of a run that one process makes."""
    with settled(path, index_dir) as library:
        assert not library.runs[0].is_shard
    return contents(index_dir)


def at_once(path: Path, index_dir: Path, count: int) -> list[bool]:
    """Index all shards at once, each in a process of its own; returns whether each ended as one shard among others."""
    processes = [program(SCRIPT, str(path), str(index_dir), str(n + 1), str(count)) for n in range(count)]
    answers = []
    for process in processes:
        assert process.stdout.readline() == b"started\n"
    for process in processes:
        out, err = process.communicate()
        assert process.wait() == 0, err
        is_shard, failures = out.decode().split(maxsplit=1)
        assert failures.strip() == "[]"
        answers.append(is_shard == "True")
    return answers


def recorded_run(folder: Path) -> Path:
    """A run with token series, some in annotations, which follow the samples."""
    with Recorder(folder) as recorder:
        for step in range(4):
            for index in range(6):
                series = {"logprobs": -np.random.default_rng(index).exponential(1, 30)}
                uid = recorder.sample(
                    step=step, group=str(index // 2), index=str(index), prompt="p", response="r", series=series
                )
                recorder.annotate(uid, advantage=0.5, series={"trainer_logprobs": -np.ones(30)})
    return folder


@pytest.mark.parametrize("kind", ["small files", "annotations"])
def test_shards_at_once_make_the_index_of_one_process(tmp_path: Path, kind: str) -> None:
    if kind == "annotations":
        recorded_run(tmp_path / "run")
    else:
        relax_run(tmp_path / "run", steps=amount(12, 200), samples=4)
    expected = whole(tmp_path / "run", tmp_path / "whole")
    at_once(tmp_path / "run", tmp_path / "index", amount(2, 3))
    assert any(name.endswith(".features.parquet") for name in expected)
    made = whole(tmp_path / "run", tmp_path / "index")
    assert [name for name in expected.keys() | made.keys() if made.get(name) != expected.get(name)] == []


def test_a_shard_alone_ends_without_the_others_and_the_last_completes_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "MANY", 16)  # there is a manifest
    relax_run(tmp_path / "run", steps=48, samples=4)
    expected = whole(tmp_path / "run", tmp_path / "whole")
    rows = []
    for number in (1, 2, 3):
        with Library(
            [tmp_path / "run"], index_dir=tmp_path / "index", work=IndexWork(shard=RunShard(number, 3))
        ) as library:
            run = library.runs[0]
            assert run.wait_all(60)
            rows.append(row_count(run))
            assert run.is_shard == (number < 3)
            assert run.progress().done_bytes == run.progress().total_bytes > 0
        if number == 1:
            assert not list((tmp_path / "index").rglob("*.features.parquet")), "they depend on the whole run"
            assert len(list((tmp_path / "index").rglob("*.text.parquet"))) == rows[0] // 4
    assert rows == [64, 128, 192]
    assert contents(tmp_path / "index") == expected
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*.*")}
    assert whole(tmp_path / "run", tmp_path / "index") == expected
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*.*")} == stamps, "nothing anew"


def test_a_shard_that_never_came_is_indexed_by_the_next_whole_run(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=9)
    expected = whole(tmp_path / "run", tmp_path / "whole")
    for number in (1, 3):
        with Library(
            [tmp_path / "run"], index_dir=tmp_path / "index", work=IndexWork(shard=RunShard(number, 3))
        ) as library:
            assert library.runs[0].wait_all(60) and library.runs[0].is_shard
    assert whole(tmp_path / "run", tmp_path / "index") == expected


def owned(folder: Path, count: int) -> list[set[tuple[str, int]]]:
    """The parts of each shard, of the first 64 of each source."""
    (run,) = discover([folder]).runs
    form = by_name(run.format)
    shards, sizes, whole_size = [], 0, 0
    for number in range(count):
        sources = Sources(run, form)
        sources.look()
        own = OwnParts(RunShard(number + 1, count), run, sources, splittable=form.splittable)
        own.update()
        shards.append({(name, part) for name in sources.all() for part in range(64) if own.has(name, part)})
        sizes, whole_size = sizes + own.size_bytes(), sources.size_bytes()
    assert sizes == whole_size
    return shards


def test_every_part_belongs_to_one_shard_and_stays_there_when_a_step_follows(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=30)
    before = owned(tmp_path / "run", 4)
    assert sum(map(len, before)) == len(set.union(*before)) == 30 * 64
    assert {len({name for name, part in one if part == 0}) for one in before} == {7, 8}
    (train / "30.jsonl").write_bytes(lines([row(30, 0)]))
    after = owned(tmp_path / "run", 4)
    assert all(one <= now for one, now in zip(before, after, strict=True))


def test_one_large_file_is_shared_among_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "GRID_BYTES", 700)
    train = relax_run(tmp_path / "run", steps=0)
    (train / "0.jsonl").write_bytes(lines([row(0, i, response="x" * 500) for i in range(60)]))
    parts = [{part for _, part in one if part < 48} for one in owned(tmp_path / "run", 3)]
    assert sorted(map(len, parts)) == [16, 16, 16]
    rows = []
    for number in (1, 2, 3):
        with Library(
            [tmp_path / "run"], index_dir=tmp_path / f"{number}", work=IndexWork(shard=RunShard(number, 3))
        ) as library:
            assert library.runs[0].wait_all(60)
            rows.append(row_count(library.runs[0]))
    assert sum(rows) == 60 and min(rows) > 5, json.dumps(rows)
