"""Objects that are replaced, that grow and that go while a run is open: noticed, and never mixed."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rolloupe.formats.reading import jsonl
from rolloupe.formats.reading.record_blocks import BlockReader, RecordBlock
from rolloupe.index import Library, OpenRun
from rolloupe.model import Location
from rolloupe.storage import open_file, open_state
from rolloupe.storage.remote import tree
from tests.index.support import eventually, lines, opened, row, row_count
from tests.storage.remote.conftest import POLL_S
from tests.storage.remote.s3 import Bucket
from tests.thoroughness import amount

PART = 5 * 2**20


def texts(run: OpenRun) -> set[str]:
    """What the samples of a run say, by the index."""
    while True:
        pieces = [piece for some in run.snapshot().pieces.values() for piece in some]
        try:
            tables = [piece.table if piece.path is None else pq.read_table(piece.path) for piece in pieces]
        except FileNotFoundError:  # dropped since the snapshot
            continue
        return {str(text) for table in tables if table is not None for text in table["response_preview"].to_pylist()}


def rows(word: str, count: int = 8, step: int = 0) -> bytes:
    """Samples of a step whose responses are this word."""
    return lines([row(step, number, response=word) for number in range(count)])


def following(bucket: Bucket, index_dir: Path) -> tuple[Library, OpenRun]:
    """A library that follows the one run of a bucket."""
    library = opened(tree_path(bucket), index_dir, follow=True)
    (run,) = library.runs
    return library, run


def tree_path(bucket: Bucket) -> Path:
    """The path of the bucket, as the command line makes it."""
    return Path(f"{bucket.url}/run")


KEY = "run/rollout_result/train/{}.jsonl"


def test_objects_that_grow_come_and_go_are_noticed(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put(KEY.format(0), rows("first"))
    library, run = following(bucket, tmp_path)
    with library:
        assert row_count(run) == 8
        bucket.put(KEY.format(0), rows("first", 12))
        eventually(lambda: row_count(run) == 12)
        bucket.put(KEY.format(1), rows("second", step=1))
        eventually(lambda: row_count(run) == 20)
        bucket.put(KEY.format(1), rows("changed"[:6], step=1))  # as long as it was
        eventually(lambda: "change" in texts(run) and "second" not in texts(run))
        bucket.delete(KEY.format(1))
        eventually(lambda: row_count(run) == 12)


def test_the_same_bytes_in_other_parts_are_not_scanned_again(bucket: Bucket, tmp_path: Path) -> None:
    if bucket.scheme == "gs":
        pytest.skip("the server takes no parts")
    data = lines([row(0, number, response="x" * 100_000) for number in range(60)])
    key = KEY.format(0)
    bucket.put(key, data, PART)
    library, run = following(bucket, tmp_path)

    def written() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.meta")}

    with library:
        before, tag, state = written(), bucket.tag(key), run.indexer.sources.all()
        bucket.put(key, data, 2 * PART)
        assert bucket.tag(key) != tag
        eventually(lambda: run.indexer.sources.all() != state)
        eventually(lambda: run.progress().phase == "ready")
        assert written() == before
        bucket.put(key, data.replace(b'"reward": 1.0', b'"reward": 2.0'), PART)
        eventually(lambda: written() != before)


def test_an_object_replaced_in_the_middle_of_a_scan_is_scanned_again(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the moment, no segment holds rows of two objects, and in the end the rows are those of the last one."""
    generations = [lines([row(0, n, response=f"{word} " * 20_000) for n in range(100)]) for word in range(10, 16)]
    assert len(generations[0]) > 2**22
    waiting = iter(generations)
    bucket.put(KEY.format(0), next(waiting))
    moments = iter(amount((0, 2), (0, 1, 2, 4)))

    class Replacing(BlockReader):
        """Replaces the object before a block of a scan is read from its bytes."""

        def __init__(self) -> None:
            super().__init__()
            self.moment, self.count = next(moments, None), 0

        def read(self, whole: bytearray, stop: int, place: int) -> RecordBlock | None:
            if self.count == self.moment:
                bucket.put(KEY.format(0), next(waiting))
            self.count += 1
            return super().read(whole, stop, place)

    monkeypatch.setattr(jsonl, "BlockReader", Replacing)
    library, run = following(bucket, tmp_path)
    seen: list[set[str]] = []
    last = str(10 + amount(2, 4))

    def is_last() -> bool:
        seen.append({text[:2] for text in texts(run)})
        return seen[-1] == {last}

    with library:
        eventually(is_last)
        assert all(len(words) <= 1 for words in seen), seen
        bucket.put(KEY.format(0), next(waiting))
        eventually(lambda: {text[:2] for text in texts(run)} == {str(int(last) + 1)})
        eventually(lambda: not run.problems())


def test_a_file_reads_one_object_or_none(bucket: Bucket) -> None:
    size = 9 * 2**20
    place = Location(f"/{bucket.scheme}:/{bucket.name}/a.bin", f"/{bucket.scheme}:/{bucket.name}")
    bucket.put("a.bin", b"a" * size)
    with open_file(place) as file:
        assert file.read(10) == b"a" * 10
        bucket.put("a.bin", b"b" * size)
        with pytest.raises(OSError, match="was replaced while it was read"):
            file.read()
    with open_file(place) as file:
        assert file.read() == b"b" * size


def test_a_file_that_nobody_has_read_opens_the_present_object(bucket: Bucket) -> None:
    place = Location(f"/{bucket.scheme}:/{bucket.name}/a.bin", f"/{bucket.scheme}:/{bucket.name}")
    bucket.put("a.bin", b"a" * 10)
    with open_file(place) as file:
        bucket.put("a.bin", b"bb" * 10)
        assert file.read() == b"bb" * 10
    bucket.put("a.bin", b"c" * 2**20)
    time.sleep(4 * POLL_S)  # after a slow answer, the next question waits as long
    with open_file(place) as file:
        assert open_state(file).st_size == 2**20
        bucket.put("a.bin", b"d" * 2**20)
        with pytest.raises(OSError, match="was replaced"):
            file.read()
    with open_file(place) as file:
        assert file.read() == b"d" * 2**20
        bucket.delete("a.bin")
    time.sleep(POLL_S)
    with pytest.raises(FileNotFoundError), open_file(place) as file:
        file.read()


def test_nothing_leads_out_of_the_root(bucket: Bucket) -> None:
    bucket.put("outside.jsonl", b"{}\n")
    with pytest.raises(PermissionError):
        open_file(Location(f"/{bucket.scheme}:/{bucket.name}/outside.jsonl", f"/{bucket.scheme}:/{bucket.name}/run"))


def test_what_is_there_stays_while_a_store_does_not_answer(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(KEY.format(0), rows("first"))
    library, run = following(bucket, tmp_path)
    with library:
        link, _ = tree.connection_of(f"/{bucket.scheme}:/{bucket.name}")
        works = link.list

        def refused(key: str) -> Any:
            raise PermissionError(13, "the credentials have expired. Next: sign in again", key)

        monkeypatch.setattr(link, "list", refused)
        eventually(lambda: any("have expired" in problem.reason for problem in run.problems()))
        assert row_count(run) == 8
        monkeypatch.setattr(link, "list", works)
        bucket.put(KEY.format(0), rows("first", 12))
        eventually(lambda: row_count(run) == 12)
        eventually(lambda: not run.problems())


def test_polling_lists_folders_and_looks_up_no_object(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        bucket.put(KEY.format(number), rows("word", 1, number))
    library, run = following(bucket, tmp_path)
    with library:
        eventually(lambda: run.progress().phase == "ready")
        link, _ = tree.connection_of(f"/{bucket.scheme}:/{bucket.name}")
        asked: list[tuple[str, str]] = []
        for name in ("list", "state", "read"):
            monkeypatch.setattr(link, name, _noting(name, getattr(link, name), asked))
        eventually(lambda: len([one for one in asked if one == ("list", "run/rollout_result/train")]) >= 3)
        polls = len([one for one in asked if one == ("list", "run/rollout_result/train")])
        assert not [one for one in asked if one[1].endswith(".jsonl")]
        assert len(asked) <= 4 * (polls + 1), asked


def _noting(name: str, call: Callable[..., Any], asked: list[tuple[str, str]]) -> Callable[..., Any]:
    def noted(key: str, *args: Any) -> Any:
        asked.append((name, key))
        return call(key, *args)

    return noted
