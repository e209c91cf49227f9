"""The manifest: many publishers at once lose nothing, and the segments remain the truth."""

import os
from pathlib import Path

import msgspec
import pytest

from rolloupe import query
from rolloupe.index import catalog, index_folders
from rolloupe.index.catalog import Catalog
from rolloupe.index.segments import segment as segment_files
from tests.forks import program
from tests.index.support import contents, lines, opened, relax_run, row, row_count, settled
from tests.thoroughness import amount

RACES = amount(40, 1000)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few segments are enough for a manifest."""
    monkeypatch.setattr(catalog, "MANY", 16)


PUBLISHER = """
import sys
from pathlib import Path
from rolloupe.index import catalog
folder, name, races = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for race in range(races):
    catalog.publish(folder, {f"{name}-{race}": name.encode() * race}, EVERY)
"""
EVERY = """
class Every:
    def __contains__(self, name): return True
EVERY = Every()
"""


def test_of_two_publishers_none_loses_an_entry(tmp_path: Path) -> None:
    processes = [program(EVERY + PUBLISHER, str(tmp_path), name, str(RACES)) for name in ("a", "b")]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"go\n")
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0, 0]
    expected = {f"{name}-{race}": name.encode() * race for name in ("a", "b") for race in range(RACES)}
    assert catalog.read_manifest(tmp_path) == expected
    assert [path.name for path in tmp_path.iterdir()] == [catalog.MANIFEST]


def test_entries_without_files_leave_the_manifest_and_nothing_new_is_written_for_nothing_new(tmp_path: Path) -> None:
    catalog.publish(tmp_path, {"a": b"1", "b": b"2"}, ["a", "b"])
    assert [path.name for path in tmp_path.iterdir()] == [catalog.MANIFEST]
    catalog.publish(tmp_path, {"c": b"3"}, ["a", "c"])
    assert catalog.read_manifest(tmp_path) == {"a": b"1", "c": b"3"}
    before = (tmp_path / catalog.MANIFEST).stat()
    catalog.publish(tmp_path, {"c": b"3"}, ["a", "c"])
    assert (tmp_path / catalog.MANIFEST).stat() == before


def test_a_damaged_manifest_costs_nothing_but_time(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=catalog.MANY)
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    (path,) = (tmp_path / "index").rglob(catalog.MANIFEST)
    path.write_bytes(path.read_bytes()[:-9])
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].wait_all(60) and row_count(library.runs[0]) == 8 * catalog.MANY


def test_a_catalog_with_a_manifest_opens_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relax_run(tmp_path / "run", steps=catalog.MANY)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        folder = library.runs[0].catalog.folder
        before = {segment.path: segment.meta for segment in library.runs[0].catalog.segments()}
    (tmp_path / "run/rollout_result/train/99.jsonl").write_bytes(lines([row(99, 0)]))
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    assert len(catalog.read_manifest(folder)) == catalog.MANY, "one more is not worth another manifest"
    opened_files: list[str] = []
    read = segment_files.contents_of

    def noted(path: Path | str, most_bytes: int) -> bytes:
        opened_files.append(str(path))
        return read(path, most_bytes)

    monkeypatch.setattr(segment_files, "contents_of", noted)
    again = Catalog(folder)
    again.read("relax")
    assert {segment.path: segment.meta for segment in again.segments()}.items() >= before.items()
    assert len(again.segments()) == catalog.MANY + 1
    assert len(opened_files) == 1, "the one that the manifest lacks"
    segment = next(iter(before))
    segment.unlink()
    again = Catalog(folder)
    again.read("relax")
    assert segment not in {one.path for one in again.segments()}, "an entry without a file does not count"


def test_a_file_that_was_touched_is_scanned_once(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=catalog.MANY)
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    os.utime(train / "3.jsonl")
    for _ in range(2):
        with settled(tmp_path / "run", tmp_path / "index"):
            pass
    metas = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*.meta")}
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*.meta")} == metas
    entries = catalog.read_manifest(next((tmp_path / "index").glob("v*/*")))
    assert entries == {path.stem: path.read_bytes() for path in metas}
    assert msgspec.msgpack.decode(next(iter(entries.values())))["format"] == "relax"


@pytest.mark.parametrize("length", ["same", "shorter"])
def test_a_replaced_source_leaves_no_stale_segment_and_no_file_is_overwritten(tmp_path: Path, length: str) -> None:
    train = relax_run(tmp_path / "run", steps=2)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as first:
        before = {path: path.read_bytes() for path in (tmp_path / "index").rglob("*[0-9a-f].parquet")}
        rows = [row(1, i, reward=float(1 - i % 2)) for i in range(8 if length == "same" else 5)]
        (train / "1.jsonl").write_bytes(lines(rows))
        with opened(tmp_path / "run", tmp_path / "index") as second:
            assert second.runs[0].wait_all(60) and row_count(second.runs[0]) == 8 + len(rows)
        assert {path: path.read_bytes() for path in before} == before, "another viewer may still read them"
        assert first.runs[0].wait_all(60)
    for _ in range(2):
        stamps = {path: path.stat().st_mtime_ns for path in contents_of(tmp_path / "index")}
        with opened(tmp_path / "run", tmp_path / "index") as library:
            assert library.runs[0].wait_all(60) and row_count(library.runs[0]) == 8 + len(rows)
            rewards = [item.reward for item in query.every(library.runs[0], query.SampleQuery(step_min=1))]
            assert rewards == [one["reward"] for one in rows]
        assert {path: path.stat().st_mtime_ns for path in contents_of(tmp_path / "index")} == stamps, "nothing again"


def contents_of(index_dir: Path) -> list[Path]:
    return [index_dir / name for name in contents(index_dir)]


def test_what_was_superseded_goes_after_a_while(tmp_path: Path) -> None:
    train = relax_run(tmp_path / "run", steps=2)
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    whole = relax_run(tmp_path / "other", steps=2)
    for folder in (train, whole):
        (folder / "1.jsonl").write_bytes(lines([row(1, i) for i in range(5)]))
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    count = len(contents(tmp_path / "index"))
    past = os.path.getmtime(train) - 2 * catalog.SUPERSEDED_S
    for path in (tmp_path / "index").rglob("*.meta"):
        os.utime(path, (past, past))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].wait_all(60) and row_count(library.runs[0]) == 13
    with settled(tmp_path / "other", tmp_path / "clean"):
        pass
    assert len(contents(tmp_path / "clean")) == len(contents(tmp_path / "index")) < count


SHARING = """
import sys, time
from rolloupe import query
from rolloupe.index import IndexWork, Library
path, index_dir, follows, rows = sys.argv[1:]
with Library([path], index_dir=index_dir, follow=follows == "follow", work=IndexWork(processes=1)) as library:
    run = library.runs[0]
    print("started", flush=True)
    while follows == "follow" and sum(1 for _ in query.every(run, query.SampleQuery())) < int(rows):
        time.sleep(0.1)
    assert run.wait_all(60)
    print(sum(item.reward for item in query.every(run, query.SampleQuery())), run.failures(texts=True))
"""


def test_viewers_and_indexers_share_one_index_while_the_run_grows(tmp_path: Path) -> None:
    steps, viewers = amount(4, 40), amount(2, 10)
    train = relax_run(tmp_path / "run", steps=steps)
    place = str(tmp_path / "run"), str(tmp_path / "index")
    rows = 8 * (steps + 2)
    viewing = [program(SHARING, *place, "follow", str(rows)) for _ in range(viewers)]
    for process in viewing:
        assert process.stdout.readline() == b"started\n"
    for step in (steps, steps + 1):
        (train / f"{step}.jsonl").write_bytes(lines([row(step, i) for i in range(8)]))
    indexing = [program(SHARING, *place, "once", str(rows)) for _ in range(2)]
    for process in (*viewing, *indexing):
        out, err = process.communicate()
        assert process.wait() == 0, err
        assert out.decode().splitlines()[-1] == f"{float(rows // 2)} []"
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    with settled(tmp_path / "run", tmp_path / "whole"):
        pass
    shared, whole = (
        {name for name in contents(tmp_path / folder) if "packs" not in name and "manifest" not in name}
        for folder in ("index", "whole")
    )
    assert shared >= whole


@pytest.mark.parametrize("what", ["pipe", "endless", "sparse", "folder", "empty"])
def test_what_somebody_put_in_place_of_a_manifest_costs_only_time(tmp_path: Path, what: str) -> None:
    put(tmp_path / catalog.MANIFEST, what)
    assert catalog.read_manifest(tmp_path) == {}
    if what == "folder":
        with pytest.raises(OSError, match="directory"):
            catalog.publish(tmp_path, {"a": b"x"}, ["a"])
    else:
        catalog.publish(tmp_path, {"a": b"x"}, ["a"])
        assert catalog.read_manifest(tmp_path) == {"a": b"x"}


def put(place: Path, what: str) -> None:
    """Put something at a place that is not an index file."""
    if what == "pipe":
        os.mkfifo(place)
    elif what == "endless":
        place.symlink_to("/dev/zero")
    elif what == "folder":
        place.mkdir()
    else:
        with open(place, "wb") as file:
            file.truncate(2**40 if what == "sparse" else 0)


@pytest.mark.parametrize("what", ["pipe", "endless", "sparse", "empty"])
def test_what_somebody_put_in_place_of_small_files_of_segments_costs_only_time(tmp_path: Path, what: str) -> None:
    relax_run(tmp_path / "run", steps=2)
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    for file in [*tmp_path.glob("index/*/*/??/*.meta"), *tmp_path.glob("index/*/*/??/*.derived.about")]:
        file.unlink()
        put(file, what)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].wait_all(30) and row_count(library.runs[0]) == 16 and not library.runs[0].problems()


@pytest.mark.parametrize("is_private", [False, True])
def test_pipes_in_place_of_all_files_block_nobody(
    tmp_path: Path, is_private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "run", steps=1)
    with settled(tmp_path / "run", tmp_path / "index"):
        pass
    files = [path for path in tmp_path.glob("index/*/*/??/*") if path.is_file()]
    for file in files:
        file.unlink()
        put(file, "pipe")
    if is_private:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setattr(index_folders, "is_writable", lambda _: False)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert library.runs[0].wait_all(30) and row_count(library.runs[0]) == 8
    assert {path.is_file() for path in files} == {not is_private}


@pytest.mark.parametrize("change", [{"rows": -8}, {"start": -1}, {"part": -1}, {"sketches": -8}])
def test_a_segment_with_impossible_numbers_is_made_again(tmp_path: Path, change: dict[str, int]) -> None:
    relax_run(tmp_path / "run", steps=1)
    with opened(tmp_path / "run", tmp_path / "index"):
        pass
    (place,) = tmp_path.glob("index/*/*/??/*.meta")
    facts = msgspec.msgpack.decode(place.read_bytes())
    if "sketches" in change:
        facts["sketches"][0][2] = change["sketches"]
    else:
        facts |= change
    place.write_bytes(msgspec.msgpack.encode(facts))
    assert segment_files.read_meta(place) is None
    with opened(tmp_path / "run", tmp_path / "index") as library:
        assert row_count(library.runs[0]) == 8
