"""A remote file reads what its object holds, wherever somebody goes in it and whatever was announced."""

import datetime as dt
import io
import random
import threading
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.storage.remote import connection, reader, tree
from rolloupe.storage.remote.calls import FolderListing, ObjectState
from rolloupe.storage.remote.failures import ReplacedObject
from tests.index.support import eventually

SIZE = 3 * 2**20
KEY = ("/s3:/fake/a", "tag")
DATA = random.Random(1).randbytes(SIZE)


class Fake:
    """A bucket in memory with one object, which counts what is asked of it."""

    rest_s = 0.0

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.lock = threading.Lock()

    def list(self, key: str) -> FolderListing:
        return FolderListing({"a": ObjectState(SIZE, 0, "tag")}, frozenset())

    def state(self, key: str) -> ObjectState:
        return ObjectState(SIZE, 0, "tag")

    def read(self, key: str, start: int, stop: int, state: ObjectState) -> memoryview:
        with self.lock:
            self.asked.append((start, stop))
        return memoryview(DATA)[start:stop]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    found = Fake()
    monkeypatch.setattr(connection, "connections", {("s3", "fake"): found})
    for name, value in (("BLOCK_BYTES", 2**17), ("FIRST_BYTES", 2**14), ("AHEAD_BYTES", 2**18), ("KEPT_BYTES", 2**18)):
        monkeypatch.setattr(reader, name, value)
    tree.forget("/s3:/fake/a")
    reader.shared_blocks.clear()
    return found


PLACES = st.integers(0, SIZE + 10)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("seek"), PLACES),
        st.tuples(st.just("read"), st.integers(0, 2**19)),
        st.tuples(st.just("back"), st.integers(0, 2**16)),
        st.tuples(st.just("expect"), st.lists(st.tuples(PLACES, PLACES), max_size=5)),
    ),
    max_size=20,
)


@given(STEPS, st.sampled_from([0, 100, 2**13, 2**20]))
def test_reading_anywhere_yields_what_is_there(steps: list[Any], buffering: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "connections", {("s3", "fake"): Fake()})
        for name in ("BLOCK_BYTES", "FIRST_BYTES", "AHEAD_BYTES", "KEPT_BYTES"):
            patch.setattr(reader, name, 2**16)
        raw = reader.open_object("/s3:/fake/a")
        file = io.BufferedReader(raw, buffering) if buffering else raw
        expected = io.BytesIO(DATA)
        with file:
            for name, value in steps:
                if name == "expect":
                    raw.expect(value)  # type: ignore[pyrefly:missing-attribute]
                elif name == "read":
                    data = file.read(value)
                    assert data == expected.read(len(data) if not buffering else value)
                else:
                    place = value if name == "seek" else max(0, expected.tell() - value)
                    assert file.seek(place) == expected.seek(place)


def test_what_was_announced_is_fetched_once_and_nothing_else(fake: Fake) -> None:
    with io.BufferedReader(reader.open_object("/s3:/fake/a"), 2**13) as file:
        file.raw.expect([(2**20, 2 * 2**20)])  # type: ignore[pyrefly:missing-attribute]
        file.seek(2**20)
        assert file.read(2**20) == DATA[2**20 : 2 * 2**20]
    asked = sorted(fake.asked)
    assert asked[0][0] == 2**20 and sum(stop - start for start, stop in asked) <= 2**20 + 2**14
    assert all(one[1] == other[0] for one, other in pairwise(asked)), "none twice"


def test_what_is_fetched_soon_is_there_for_the_next_reader(fake: Fake) -> None:
    reader.fetch_soon("/s3:/fake/a", 2**20 - 1, SIZE)
    reader.beginners.submit(lambda: None).result()
    assert eventually(lambda: len(fake.asked) * 2**17 >= 2**18)
    with io.BufferedReader(reader.open_object("/s3:/fake/a"), 2**13) as file:
        file.raw.expect([(2**20 - 1, 2**21)])  # type: ignore[pyrefly:missing-attribute]
        file.seek(2**20)
        assert file.read(2**20) == DATA[2**20 : 2**21]
    asked = sorted(fake.asked)
    assert all(one[1] <= other[0] for one, other in pairwise(asked)), "none twice"
    readers = [one for one in threading.enumerate() if one.name.startswith("remote call")]
    assert readers and all(one.daemon for one in readers), "Ctrl-C does not wait for a store that is silent"


def test_what_could_not_be_fetched_soon_is_fetched_when_it_is_read(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> memoryview:
        failed.append(True)
        raise ConnectionError

    failed: list[bool] = []
    with monkeypatch.context() as patch:
        patch.setattr(fake, "read", fails)
        reader.fetch_soon("/s3:/fake/a", 0, 2**18)
        held = reader.shared_blocks
        assert eventually(lambda: len(failed) == 2 and all(one.data.done() for one in held.get(KEY) or ()))
    with reader.open_object("/s3:/fake/a") as file:
        file.expect([(0, 2**18)])  # type: ignore[pyrefly:missing-attribute]
        assert file.read(2**16) == DATA[: 2**16]


def test_reading_on_fetches_larger_and_larger_blocks(fake: Fake) -> None:
    with io.BufferedReader(reader.open_object("/s3:/fake/a"), 2**12) as file:
        while file.read(2**12):
            pass
    sizes = [stop - start for start, stop in sorted(fake.asked)]
    assert sizes[0] == 2**14 and max(sizes) == 2**17
    assert len(sizes) < 40 and sum(sizes) == SIZE


def test_memory_is_bounded(fake: Fake) -> None:
    raw: Any = reader.open_object("/s3:/fake/a")
    raw.expect([(0, SIZE)])
    while raw.read(2**14):
        blocks = [*raw.ahead, *raw.kept]
        assert sum(block.stop - block.start for block in blocks) <= 2 * 2**18 + 2**17
    raw.close()


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_store_that_sends_other_bytes_than_it_lists(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, *, is_pinned: bool
) -> None:
    def replaced(key: str, start: int, stop: int, _: ObjectState) -> memoryview:
        fake.asked.append((start, stop))
        raise ReplacedObject(key)

    monkeypatch.setattr(fake, "read", replaced)
    raw: Any = reader.open_object("/s3:/fake/a")
    if is_pinned:
        raw.state()
    with raw, pytest.raises(OSError, match="the store sends other bytes than it lists"):
        raw.read(1)
    assert len(fake.asked) == 1


def test_an_object_that_is_another_at_each_look_is_given_up(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def replaced(key: str, start: int, stop: int, _: ObjectState) -> memoryview:
        fake.asked.append((start, stop))
        raise ReplacedObject(key)

    monkeypatch.setattr(fake, "read", replaced)
    monkeypatch.setattr(fake, "state", lambda _: ObjectState(SIZE, 0, f"tag {len(fake.asked)}"))
    with reader.open_object("/s3:/fake/a") as file, pytest.raises(ReplacedObject):
        file.read(1)
    assert len(fake.asked) == reader.TRIES


def test_a_time_that_no_calendar_has_fits_a_file_system() -> None:
    meta = {"size": 1, "last_modified": dt.datetime(9999, 12, 31, tzinfo=dt.UTC), "e_tag": '"a"'}
    assert 0 < connection.state_of(meta).mtime_ns < 2**63
