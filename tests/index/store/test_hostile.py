"""A shared index that a broken or hostile writer damaged: it leads nowhere else, costs little, and is mended."""

import errno
from pathlib import Path
from typing import Any

import msgspec
import obstore
import pytest
from obstore.store import MemoryStore

from rolloupe.index import Library, shared_index
from rolloupe.index.shared_index import Mirror, SharedFile, SharedManifest, SharedRun
from rolloupe.storage.remote import connection, stores
from tests.index.support import contents, relax_run, row_count

NAME = "aa/0123456789abcdef0123-000000-1-abcdef"
LARGEST = 2**63 - 1
OBJECT = f"{'0' * 40}-{'0' * 8}"


class Shared:
    """A run, and the store with its index, as a good writer left it."""

    def __init__(self, run: Path, caches: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self._run, self._caches, self.store, self._monkeypatch = run, caches, store, monkeypatch
        with self.opened("first") as library:
            self.run = self.shared(library)
            self.good = self.run.manifest()
            self.here = contents(library.runs[0].catalog.folder)

    def opened(self, person: str) -> Library:
        """Open the run as somebody, and wait until all is done."""
        self._monkeypatch.setenv("XDG_CACHE_HOME", str(self._caches / person))
        library = Library([self._run], index_dir="s3://bucket/index")
        assert library.runs[0].wait_all(30)
        return library

    @staticmethod
    def shared(library: Library) -> SharedRun:
        """What the only run of a library shares."""
        held = library.runs[0].indexer.mirror
        assert held is not None
        return held.shared

    def write(self, manifest: SharedManifest | bytes) -> None:
        """Write a manifest."""
        data = manifest if isinstance(manifest, bytes) else msgspec.msgpack.encode(manifest)
        obstore.put(self.store, f"{self.run.key}/manifest", data)

    def objects(self) -> set[str]:
        """The names of all objects."""
        return {one["path"] for page in self.store.list() for one in page}


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shared:
    store = MemoryStore()
    monkeypatch.setattr(stores, "opened_store", lambda *_: store)
    monkeypatch.setattr(connection, "connections", {})
    relax_run(tmp_path / "run", steps=2)
    return Shared(tmp_path / "run", tmp_path / "caches", store, monkeypatch)


INLINE = SharedFile("", 1, 1, b"x")
ENTRIES: dict[str, dict[str, Any]] = {
    "above": {"files": {"../../../pwned": INLINE, "ab/../pwned": INLINE, "/pwned": INLINE, "ab/..": INLINE}},
    "elsewhere": {"files": {"zz/pwned.meta": INLINE, "aa/..\\..\\pwned": INLINE, "aa/C:pwned": INLINE}},
    "no name": {"files": {"aa/x\0.meta": INLINE, f"aa/{'x' * 5000}.meta": INLINE, "aa/\ud7ff.meta": INLINE}},
    "other objects": {
        "files": {
            f"{NAME}{n}.parquet": SharedFile(one, 1, 10)
            for n, one in enumerate(("../../other/manifest", "/etc/passwd", "a\0b", "o" * 5000, OBJECT))
        }
    },
    "size": {"files": {f"{NAME}.parquet": SharedFile(OBJECT, 1, 10**9), f"{NAME}a.parquet": SharedFile(OBJECT, 1, -9)}},
    "times": {"files": {f"{NAME}.meta": SharedFile("", LARGEST, 1, b"x"), f"{NAME}a.meta": SharedFile("", -9, 1)}},
    "removed": {"removed": {"../../x": 0.0, "a\0": 0.0, "..": 0.0, "": 0.0, OBJECT: float("nan")}},
    "swept": {"swept_s": float("inf")},
}  # fmt: skip


@pytest.mark.parametrize("change", ENTRIES.values(), ids=ENTRIES.keys())
def test_an_entry_leads_nowhere_costs_nobody_the_rest_and_is_taken_out(
    shared: Shared, tmp_path: Path, change: dict[str, Any]
) -> None:
    good = shared.good
    shared.write(
        SharedManifest(good.files | change.get("files", {}), change.get("removed", {}), change.get("swept_s", 0.0))
    )
    before = shared.objects()
    with shared.opened("second") as library:
        (run,) = library.runs
        assert row_count(run) == 16 and not run.failures(texts=True) and not run.unsent
        here = contents(run.catalog.folder)
        assert {name: here.get(name) for name in shared.here} == shared.here
    assert not list(tmp_path.rglob("*pwned*"))
    after = shared.run.manifest()
    assert after.files.keys() - good.files.keys() <= {f"{NAME}.meta", f"{NAME}a.meta"}
    assert after.files.items() >= good.files.items() and shared.objects() >= before - {
        f"{shared.run.key}/objects/{OBJECT}"
    }
    assert abs(after.swept_s) < 1e11


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x91" * 100_000, b"\x83"])
def test_a_damaged_manifest_is_named_and_replaced(shared: Shared, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    shared.write(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SharedRun, "publish", refuse)
        with shared.opened("reader") as library:
            assert row_count(library.runs[0]) == 16
            assert "is damaged" in " ".join(one.reason for one in library.runs[0].problems())
    run = SharedRun(shared.run.place)
    damaged = [(not run.manifest().files, run.is_damaged)]
    obstore.delete(shared.store, f"{shared.run.key}/manifest")
    damaged.append((not run.manifest().files, run.is_damaged))
    assert damaged == [(True, True), (True, False)], "none is not damage"
    shared.write(data)
    with shared.opened("writer") as library:
        assert not library.runs[0].problems() and not library.runs[0].unsent
    assert shared.run.manifest().files.keys() == shared.good.files.keys()


def refuse(*_: object) -> None:
    """What a store does to those who may only read."""
    raise PermissionError(errno.EACCES, "refused")


def test_files_that_are_gone_or_others_are_counted_for_who_may_only_read(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = [file.object for file in shared.good.files.values() if file.object]
    obstore.delete(shared.store, f"{shared.run.key}/objects/{first}")
    obstore.put(shared.store, f"{shared.run.key}/objects/{second}", b"something else")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SharedRun, "publish", refuse)
        with shared.opened("reader") as library:
            assert row_count(library.runs[0]) == 16
            assert "2 files of the shared index" in " ".join(one.reason for one in library.runs[0].problems())
    with shared.opened("writer") as library:
        assert not library.runs[0].problems()
    with shared.opened("third") as library:
        assert contents(library.runs[0].catalog.folder) == shared.here


@pytest.mark.parametrize(("bound", "file"), [("MANIFEST_BYTES", "manifest"), ("FILE_BYTES", "objects")])
def test_nothing_of_any_size_comes_into_memory(
    shared: Shared, monkeypatch: pytest.MonkeyPatch, bound: str, file: str
) -> None:
    monkeypatch.setattr(shared_index, bound, 100)
    with shared.opened("second") as library:
        (run,) = library.runs
        assert row_count(run) == 16
        if file == "manifest":
            assert "bytes, 100 at most are read. Next: delete it" in run.unsent


def test_of_a_file_that_was_replaced_the_new_one_stays(shared: Shared) -> None:
    name, file = next((name, file) for name, file in shared.good.files.items() if file.object)
    lost = file.__class__(OBJECT, file.mtime_ns, file.size)
    with shared.opened("second") as library:
        held = library.runs[0].indexer.mirror
        assert isinstance(held, Mirror)
        held.lost[name] = lost  # of an older manifest
        held.send((), lambda: True, now=True)
        assert shared.run.manifest().files[name] == file and not held.trouble


def test_leftovers_go_by_the_clock_of_the_store(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    own = shared.run.put(Path(__file__))
    monkeypatch.setattr(shared_index.time, "time", lambda: 1e11)
    shared.run.publish({NAME: INLINE}, ())
    assert shared.run.object_key(own.object) in shared.objects(), "another process is about to publish it"


def test_whoever_is_never_first_gives_up_for_now(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_index, "TRIES", 3)
    monkeypatch.setattr(connection.ObstoreConnection, "swap", lambda *_: None)
    with pytest.raises(OSError, match="others were first 3 times"):
        shared.run.publish({NAME: INLINE}, ())
