"""How many requests a run in a store costs: each of them is a wait, wherever the store is."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.index import IndexWork, Library
from rolloupe.index.execution import OwnWork
from rolloupe.storage.remote import connection, reader, tree
from rolloupe.storage.remote.calls import FolderListing, ObjectState
from tests.server.support import get, lines, row, run_path, served

STEPS, SAMPLES = 12, 8
PLACE = "s3://counted/run/rollout_result"
HERE = OwnWork(2**30, 2**30, 2**20)


class CountedBucket:
    """A bucket in memory that notes each request."""

    rest_s = 0.0

    def __init__(self, objects: dict[str, bytes]) -> None:
        self._objects, self._lock = objects, threading.Lock()
        self.asked: list[tuple[str, str]] = []

    def _note(self, kind: str, key: str) -> None:
        with self._lock:
            self.asked.append((kind, key))

    def _state(self, key: str) -> ObjectState:
        data = self._objects[key]
        return ObjectState(len(data), 10**18, f'"{hashlib.blake2b(data, digest_size=6).hexdigest()}"')

    def list(self, key: str) -> FolderListing:
        self._note("list", key)
        prefix = f"{key}/" if key else ""
        names = [one[len(prefix) :] for one in self._objects if one.startswith(prefix)]
        return FolderListing(
            {one: self._state(prefix + one) for one in names if "/" not in one},
            frozenset(one.partition("/")[0] for one in names if "/" in one),
        )

    def state(self, key: str) -> ObjectState:
        self._note("state", key)
        if key not in self._objects:
            raise FileNotFoundError(2, "does not exist", key)
        return self._state(key)

    def read(self, key: str, start: int, stop: int, state: ObjectState) -> memoryview:
        self._note("read", key)
        assert state == self._state(key)
        return memoryview(self._objects[key])[start:stop]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountedBucket]:
    """A run of some steps, whose files are too large to stay in memory."""
    files = {
        f"run/rollout_result/train/{step}.jsonl": lines(row(step, one, response="r" * 4000) for one in range(SAMPLES))
        for step in range(STEPS)
    }
    found = CountedBucket(files)
    monkeypatch.setattr(connection, "connections", {("s3", "counted"): found})
    for name in ("SMALL_BYTES", "FIRST_BYTES"):
        monkeypatch.setattr(reader, name, 2**12)
    monkeypatch.setattr(tree, "FRESH_S", 600.0)
    for known in (tree.listings, tree.states, reader.shared_blocks, reader.small_objects):
        known.clear()
    yield found
    for known in (tree.listings, tree.states):
        known.clear()


def test_a_run_costs_a_request_for_each_folder_and_file_and_a_sample_one(bucket: CountedBucket, tmp_path: Path) -> None:
    with Library([PLACE], index_dir=tmp_path, work=IndexWork(own_work=HERE)) as library:
        (run,) = library.runs
        assert run.wait_all(60)
        assert Counter(kind for kind, _ in bucket.asked) == {"list": 2, "read": STEPS}
        assert len({*bucket.asked}) == len(bucket.asked), "none twice"
        address = run_path(app := served(library))
        bucket.asked.clear()
        assert get(app, f"{address}/sample?id=train/3/0/0").status == 200
        assert bucket.asked == [], "the scan has read it"
        reader.shared_blocks.clear()
        for step, index in ((3, 1), (4, 0)):
            bucket.asked.clear()
            assert get(app, f"{address}/sample?id=train/{step}/0/{index}").status == 200
            assert bucket.asked == [("read", f"run/rollout_result/train/{step}.jsonl")]
