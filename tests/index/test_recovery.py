"""What is killed, torn or thrown away comes back the same."""

import errno
import itertools
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rolloupe import query
from rolloupe.errors import SourceChanged, UnreadablePath
from rolloupe.index import Library, OpenRun
from rolloupe.index.segments.parts import table_of
from rolloupe.index.segments.samples import NO_SAMPLES
from rolloupe.index.segments.segment import has_columns
from rolloupe.index.segments.texts import read_texts
from tests.forks import program
from tests.index import kills
from tests.index.kills import kill_workers
from tests.index.support import SteppedClock, contents, eventually, lines, opened, relax_run, row, row_count, settled
from tests.thoroughness import amount

SCRIPT = """
import sys
from rolloupe.index import Library
with Library([sys.argv[1]], index_dir=sys.argv[2]) as library:
    print("started", flush=True)
    library.runs[0].wait_all()
"""


STEPS = amount(24, 120)
KILLS = amount(3, 200)


def test_killed_while_indexing_and_started_again_the_index_is_the_same(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=STEPS, samples=40)
    run = tmp_path / "run"
    with opened(run, tmp_path / "whole") as library:
        library.runs[0].wait_all(60)
        expected = contents(tmp_path / "whole")
    killed = 0
    for attempt in range(amount(3, 6)):
        process = program(SCRIPT, str(run), str(tmp_path / "index"))
        assert process.stdout.readline() == b"started\n"
        time.sleep(0.02 * attempt)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        process.close()
    assert killed
    with opened(run, tmp_path / "index") as library:
        library.runs[0].wait_all(60)
        assert row_count(library.runs[0]) == STEPS * 40
    assert contents(tmp_path / "index") == expected


def test_workers_that_are_killed_cost_nothing(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=amount(40, 200))
    assert kill_workers(tmp_path / "run", tmp_path / "index", kills=KILLS) == KILLS
    assert any(name.endswith(".features.parquet") for name in contents(tmp_path / "index")), "features are killed, too"


def test_an_index_that_kills_left_otherwise_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relax_run(tmp_path / "run", steps=2)

    def indexed(run: Path, index_dir: Path) -> dict[str, bytes]:
        return {"one": b"right" if index_dir != tmp_path / "index" else b"wrong"}

    monkeypatch.setattr(kills, "indexed", indexed)
    with pytest.raises(AssertionError, match="one"):
        kill_workers(tmp_path / "run", tmp_path / "index", kills=0)


def test_a_torn_segment_is_made_again(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=3)
    with opened(tmp_path / "run", tmp_path / "index"):
        pass
    for path in (tmp_path / "index").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-7])
    for path in list((tmp_path / "index").rglob("*.meta"))[:1]:
        path.write_bytes(b"\xff not a meta")
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert row_count(library.runs[0]) == 24


@pytest.mark.parametrize("harm", ["deleted", "random", "torn", "folder"])
def test_a_segment_that_is_harmed_while_a_viewer_is_open_is_made_again(tmp_path: Path, harm: str) -> None:
    relax_run(tmp_path / "run", steps=3)
    with settled(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        if harm == "folder":
            shutil.rmtree(tmp_path / "index")
        for path in (tmp_path / "index").rglob("*[0-9a-f].parquet"):
            if harm == "deleted":
                path.unlink()
            else:
                path.write_bytes(os.urandom(path.stat().st_size) if harm == "random" else path.read_bytes()[:99])
        eventually(lambda: listed(run) == 24, within_s=10)


def listed(run: OpenRun) -> int:
    """How many samples a list of the whole run has; -1 where it has to be asked for again."""
    try:
        return len(list(query.every(run, query.SampleQuery(sort="reward"))))
    except SourceChanged:
        return -1


def test_a_segment_that_was_harmed_unseen_is_made_again_for_who_asks_next(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=3)
    with opened(tmp_path / "run", tmp_path / "index"):
        pass
    for path in (tmp_path / "index").rglob("*[0-9a-f].parquet"):
        path.write_bytes(os.urandom(path.stat().st_size))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert listed(library.runs[0]) == 24


@pytest.mark.parametrize("columns", [{"a": [1]}, {one.name: ["x"] for one in table_of(NO_SAMPLES, "").schema}])
def test_numbers_with_the_columns_of_something_else_are_made_again(
    tmp_path: Path, columns: dict[str, list[object]]
) -> None:
    relax_run(tmp_path / "run", steps=1)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (segment,) = library.runs[0].catalog.segments()
    assert has_columns(segment.path)
    pq.write_table(pa.table(columns), segment.path)
    place = segment.path.with_suffix(".meta")
    facts = msgspec.msgpack.decode(place.read_bytes())
    place.write_bytes(msgspec.msgpack.encode(facts | {"scalar_bytes": segment.path.stat().st_size}))
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        (run,) = library.runs
        with pytest.raises(SourceChanged, match="being rebuilt"):
            query.samples(run, query.SampleQuery(splits=("train",)))
        eventually(lambda: listed(run) == 8)


def test_a_damaged_byte_in_what_is_known_of_a_segment_hangs_nobody(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1)
    with opened(tmp_path / "run", tmp_path / "index"):
        pass
    (meta,) = (tmp_path / "index").rglob("*.meta")
    whole = meta.read_bytes()
    for place in range(0, len(whole), amount(37, 7)):
        meta.write_bytes(whole[:place] + b"\x8d" + whole[place + 1 :])
        with Library([tmp_path / "run"], index_dir=tmp_path / "index") as library:
            assert library.runs[0].wait(20)
            assert row_count(library.runs[0]) in (0, 8) or library.runs[0].problems()


def test_a_full_disk_is_told_and_hides_nothing_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = Path.replace
    written = []

    def write_one(made: Path, target: Path) -> Path:
        written.extend([target] if target.suffix == ".parquet" else [])
        if len(written) > 1:
            raise OSError(errno.ENOSPC, "no room")
        return replace(made, target)

    monkeypatch.setattr(Path, "replace", write_one)
    relax_run(tmp_path / "run", steps=3)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert row_count(run) == 8 and len(run.failures()) >= 2
        assert "No space left" in run.failures()[0].reason
    assert not [p for p in (tmp_path / "index").rglob("*") if p.name.endswith(".tmp")]


def test_a_place_where_no_index_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    relax_run(tmp_path / "run", steps=1)
    with pytest.raises(UnreadablePath, match="--index-dir"):
        opened(tmp_path / "run", tmp_path / "file" / "index")


def test_a_source_over_several_parts_has_every_line_once(tmp_path: Path, monkeypatch: object) -> None:
    import pytest

    from rolloupe import query
    from rolloupe.index.segments import parts as grid
    from rolloupe.query import SampleQuery

    assert isinstance(monkeypatch, pytest.MonkeyPatch)
    monkeypatch.setattr(grid, "GRID_BYTES", 700)
    train = tmp_path / "run" / "rollout_result" / "train"
    train.mkdir(parents=True)
    rows = [row(0, i, response="x" * (i * 37 % 1500)) for i in range(60)]
    (train / "0.jsonl").write_bytes(lines(rows))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        found = [item.key.index for item in query.every(library.runs[0], SampleQuery())]
        assert len(library.runs[0].snapshot().segments) > 10
    assert found == [str(i) for i in range(60)]


def test_texts_that_found_no_room_are_written_once_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolloupe.index import run_indexer

    replace, is_full = Path.replace, True

    def write_unless_full(made: Path, target: Path) -> Path:
        if is_full and "text" in target.name:
            raise OSError(errno.ENOSPC, "no room")
        return replace(made, target)

    monkeypatch.setattr(Path, "replace", write_unless_full)
    monkeypatch.setattr(run_indexer, "RETRY_S", 2.0)
    clock = SteppedClock()
    relax_run(tmp_path / "run", steps=3)
    with settled(tmp_path / "run", tmp_path / "index", follow=True, clock=clock) as library:
        run = library.runs[0]
        assert run.failures() == [] and len(run.failures(texts=True)) == len(run.problems()) == 3
        clock.pass_by(3 * run_indexer.RETRY_S)
        assert len(run.failures(texts=True)) == 3, "what is not mended stays told"
        is_full = False
        clock.until(lambda: len(list((tmp_path / "index").rglob("*.text.parquet"))) == 3)
        clock.until(lambda: run.failures(texts=True) == [] == run.problems())


def test_texts_that_could_not_be_read_for_a_moment_are_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolloupe.formats.relax import Relax
    from rolloupe.index import run_indexer

    scan, is_ill, scans = Relax.scan_columns, True, itertools.count()

    def scan_if_well(*asked: Any) -> Any:
        if is_ill and next(scans) >= 3:  # after the numbers of three files
            raise OSError(errno.EIO, "no answer", asked[2].path)
        return scan(*asked)

    monkeypatch.setattr(Relax, "scan_columns", scan_if_well)
    clock = SteppedClock()
    relax_run(tmp_path / "run", steps=3)
    with settled(tmp_path / "run", tmp_path / "index", follow=True, clock=clock) as library:
        run = library.runs[0]
        assert "no answer" in str(run.failures(texts=True))
        is_ill = False
        clock.pass_by(3 * run_indexer.RETRY_S)
        clock.until(lambda: run.failures(texts=True) == [])
        assert len(list((tmp_path / "index").rglob("*.text.parquet"))) == 3


def test_a_file_of_the_index_that_is_out_of_reach_for_a_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "run", steps=1)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run, before = library.runs[0], contents(tmp_path / "index")
        (piece,) = run.snapshot().holding()
        assert piece.path is not None
        with monkeypatch.context() as patch:
            patch.setattr(pq, "ParquetFile", out_of_reach)
            assert len([*read_texts(run.info, next(iter(run.sources.all().values())).source, piece, ["response"])]) > 0
            assert not run.heal([piece.path])
        assert contents(tmp_path / "index") == before


def out_of_reach(*_: object) -> None:
    raise OSError(errno.EMFILE, "no descriptor is free")


def test_a_part_that_failed_is_not_forgotten_while_the_texts_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolloupe.index import execution, run_indexer, sources
    from rolloupe.index.execution import Job, JobReply, perform
    from rolloupe.index.segments.kind import BackfillJob

    replace = Path.replace

    def write_some(made: Path, target: Path) -> Path:
        if "text" not in target.name and not written:
            written.append(target)
            raise OSError(errno.ENOSPC, "no room")
        return replace(made, target)

    def slowly(job: Job, ended: threading.Event) -> JobReply:
        time.sleep(0.1 if isinstance(job, BackfillJob) else 0)
        return perform(job, ended)

    written: list[Path] = []
    monkeypatch.setattr(Path, "replace", write_some)
    monkeypatch.setattr(execution, "perform", slowly)
    monkeypatch.setattr(run_indexer, "RETRY_S", 0.2)
    monkeypatch.setattr(sources, "BUSY_POLL_S", 0.03)
    relax_run(tmp_path / "run", steps=5)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        assert row_count(run) == 40 or len(run.failures()) == 1
