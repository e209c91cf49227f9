"""An index that is shared in a store: whoever opens the run next scans nothing, and nobody loses or mixes anything."""

import contextlib
import json
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import msgspec
import pytest

from rolloupe import query
from rolloupe.index import Library, OpenRun, catalog, shared_index
from rolloupe.index.segments.kinds import BUDGETED
from rolloupe.index.shared_index import Mirror, SharedFile, SharedRun
from tests.cli.support import rolloupe as command
from tests.forks import program
from tests.index.support import contents, eventually, lines, opened, relax_run, row, row_count, settled
from tests.index.test_manifest import SHARING
from tests.storage.remote.s3 import Bucket
from tests.thoroughness import amount

RACES = amount(20, 1000)

PUBLISHER = """
import sys
from rolloupe.index.shared_index import SharedFile, SharedRun
place, name, races = sys.argv[1], sys.argv[2], int(sys.argv[3])
shared = SharedRun(place)
print("ready", flush=True)
sys.stdin.readline()
for race in range(races):
    shared.publish({f"{name}-{race}": SharedFile("", race, data=name.encode())}, ())
    print(shared.version["e_tag"])
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be("first", tmp_path, monkeypatch)
    monkeypatch.setattr(shared_index, "REST_S", 0.1)
    monkeypatch.setattr(shared_index, "REST_SHARE", 1)
    monkeypatch.setattr(shared_index, "RETRY_S", 0.1)


def be(person: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be another person: one with a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches" / person))


def indexed(run: Path, bucket: Bucket, **options: Any) -> Library:
    library = opened(run, f"{bucket.url}/index", **options)  # type: ignore[pyrefly:bad-argument-type]
    assert library.runs[0].wait_all(60)
    return library


def shared(run: OpenRun) -> SharedRun:
    assert run.indexer.mirror is not None
    return run.indexer.mirror.shared


def stamps(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mtime_ns for name in contents(folder)}


def test_of_two_publishers_one_wins_each_time_and_no_segment_is_lost(bucket: Bucket) -> None:
    place = f"/s3:/{bucket.name}/run"
    processes = [program(PUBLISHER, place, name, str(RACES)) for name in ("a", "b")]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"go\n")
    tags: list[bytes] = []
    for process in processes:
        out, err = process.communicate()
        assert process.wait() == 0, err
        tags += out.split()
    files = SharedRun(place).manifest().files
    assert {name: file.data for name, file in files.items()} == {
        f"{name}-{race}": name.encode() for name in ("a", "b") for race in range(RACES)
    }
    assert len(set(tags)) == 2 * RACES, "each entry has a manifest of its own"


def test_the_next_person_has_the_same_index_and_scans_nothing(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "run", steps=5)
    with indexed(tmp_path / "run", bucket) as library:
        first, made = library.index_dir, stamps(library.index_dir)
    be("second", tmp_path, monkeypatch)
    with indexed(tmp_path / "run", bucket) as library:
        assert library.index_dir != first and contents(library.index_dir) == contents(first)
        assert stamps(library.index_dir) == made, "nothing was written again"
        assert row_count(library.runs[0]) == 40 and not library.runs[0].problems()
        tag = shared(library.runs[0]).version
    with indexed(tmp_path / "run", bucket) as library:
        assert shared(library.runs[0]).version == tag, "nothing new makes no manifest"


def test_a_replaced_source_leaves_no_stale_segment_anywhere(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = relax_run(tmp_path / "run", steps=2)
    with indexed(tmp_path / "run", bucket):
        pass
    rows = [row(1, i, reward=float(1 - i % 2)) for i in range(8)]
    (train / "1.jsonl").write_bytes(lines(rows))
    for person in ("second", "third", "first"):
        be(person, tmp_path, monkeypatch)
        with indexed(tmp_path / "run", bucket) as library:
            rewards = [item.reward for item in query.every(library.runs[0], query.SampleQuery(step_min=1))]
            assert rewards == [one["reward"] for one in rows] and row_count(library.runs[0]) == 16
    monkeypatch.setattr(catalog, "SUPERSEDED_S", -60.0)
    be("janitor", tmp_path, monkeypatch)
    with indexed(tmp_path / "run", bucket) as library:
        manifest = shared(library.runs[0]).manifest()
        assert {Path(name).name.partition(".")[0] for name in manifest.files} == {
            one.path.stem for one in library.runs[0].catalog.segments()
        }
        assert manifest.removed, "a viewer may still know the old manifest"
    keys = bucket_keys(bucket)
    monkeypatch.setattr(shared_index, "GRACE_S", -60.0)
    monkeypatch.setattr(shared_index, "ORPHAN_S", -60.0)
    place = shared(library.runs[0]).object_key("left-by-a-killed-process")
    bucket.put(place, b"x")
    (train / "2.jsonl").write_bytes(lines([row(2, 0)]))
    with indexed(tmp_path / "run", bucket) as library:
        manifest = shared(library.runs[0]).manifest()
        named = {shared(library.runs[0]).object_key(file.object) for file in manifest.files.values() if file.object}
        left = bucket_keys(bucket)
        assert not manifest.removed and {key for key in left if "/objects/" in key} == named != keys


def bucket_keys(bucket: Bucket) -> set[str]:
    return {one["path"] for page in bucket.store().list() for one in page}


@pytest.mark.slow
def test_indexers_and_viewers_share_one_index_while_the_run_grows(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, viewers = amount(4, 12), amount(2, 10)
    train = relax_run(tmp_path / "run", steps=steps)
    rows = 8 * (steps + 2)
    line = str(tmp_path / "run"), f"{bucket.url}/index"

    def person(name: str, follows: str) -> Any:
        cache = str(tmp_path / "caches" / name)
        return program(SHARING, *line, follows, str(rows), XDG_CACHE_HOME=cache)

    viewing = [person(f"viewer{n}", "follow") for n in range(viewers)]
    for process in viewing:
        assert process.stdout.readline() == b"started\n"
    for step in (steps, steps + 1):
        (train / f"{step}.jsonl").write_bytes(lines([row(step, i) for i in range(8)]))
    indexing = [person(f"indexer{n}", "once") for n in range(2)]
    for process in (*viewing, *indexing):
        out, err = process.communicate()
        assert process.wait() == 0, err
        assert out.decode().splitlines()[-1] == f"{float(rows // 2)} []"
    with indexed(tmp_path / "run", bucket) as library:
        got = contents(library.index_dir)
    with settled(tmp_path / "run", tmp_path / "whole"):
        pass
    whole = {name: data for name, data in contents(tmp_path / "whole").items() if "packs" not in name}
    assert {name: got.get(name) for name in whole} == whole


@contextmanager
def line_to(endpoint: str) -> Iterator[tuple[str, list[bool]]]:
    """Stand between a store and whoever asks it: cut the line by setting the only item of the list to False."""
    stands, target = [True], urlsplit(endpoint)
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(source: socket.socket, to: socket.socket) -> None:
        with source, to:
            try:
                while stands[0] and (data := source.recv(65536)):
                    to.sendall(data)
            except OSError:
                pass
            for end in (source, to):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            if not stands[0]:
                near.close()
                continue
            far = socket.create_connection((target.hostname or "", target.port or 0))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=copy, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", stands
    listener.close()


def test_a_store_that_dies_in_the_middle_is_said_costs_no_sample_and_gets_all_later(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = relax_run(tmp_path / "run", steps=2)
    with line_to(bucket.endpoint) as (endpoint, stands):
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with indexed(tmp_path / "run", bucket, follow=True) as library:
            (run,) = library.runs
            eventually(lambda: bool(shared(run).manifest().files))
            put = SharedRun.put

            def put_and_die(self: SharedRun, path: Path) -> SharedFile:
                stands[0] = False
                return put(self, path)

            monkeypatch.setattr(SharedRun, "put", put_and_die)
            (train / "2.jsonl").write_bytes(lines([row(2, i) for i in range(8)]))
            eventually(lambda: "the shared index at s3://" in " ".join(one.reason for one in run.problems()))
            assert "cannot be reached" in run.unsent or "failed" in run.unsent
            eventually(lambda: row_count(run) == 24)
            monkeypatch.setattr(SharedRun, "put", put)
            stands[0] = True
            eventually(lambda: not run.unsent and not run.problems())
            here = {name for name in contents(run.catalog.folder) if "packs" not in name}
            eventually(lambda: shared(run).known.files.keys() >= here)


def test_who_may_only_read_does_so_and_keeps_what_is_new(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = relax_run(tmp_path / "run", steps=2)
    with indexed(tmp_path / "run", bucket):
        pass
    before = bucket_keys(bucket)
    iam = boto3.client("iam", endpoint_url=bucket.endpoint, region_name="us-east-1")
    iam.create_user(UserName=bucket.name)
    allowed = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_user_policy(UserName=bucket.name, PolicyName="reads", PolicyDocument=policy)
    key = iam.create_access_key(UserName=bucket.name)["AccessKey"]
    (train / "2.jsonl").write_bytes(lines([row(2, i) for i in range(8)]))
    be("reader", tmp_path, monkeypatch)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    forget_connections(monkeypatch)
    ask_for_rights(bucket, "0")
    try:
        with indexed(tmp_path / "run", bucket) as library:
            (run,) = library.runs
            assert row_count(run) == 24 and not run.failures(texts=True) and not run.problems()
            assert run.unsent == f"these credentials may not write to {bucket.url}/index/{run_place(run)}"
        told = command("index", tmp_path / "run", "--index-dir", f"{bucket.url}/index")
        assert told.code == 3 and "the index is not shared at s3://" in told.err
    finally:
        ask_for_rights(bucket, "inf")
    assert bucket_keys(bucket) == before


def run_place(run: OpenRun) -> str:
    return "/".join(run.catalog.folder.parts[-2:])


def forget_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    from rolloupe.storage.remote import connection

    monkeypatch.setattr(connection, "connections", {})


def ask_for_rights(bucket: Bucket, after: str) -> None:
    """Have the server check what each request may, after so many requests."""
    asked = urllib.request.Request(
        f"{bucket.endpoint}/moto-api/reset-auth", after.encode(), {"Content-Type": "text/plain"}, method="POST"
    )
    urllib.request.urlopen(asked, timeout=30).close()


def test_a_copy_keeps_within_its_bound_and_has_the_newest_texts(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "run", steps=6, samples=64)
    with indexed(tmp_path / "run", bucket) as library:
        sizes = {name: len(data) for name, data in contents(library.index_dir).items()}
    texts = sorted(size for name, size in sizes.items() if name.endswith(".text.parquet"))
    rest = sum(size for name, size in sizes.items() if not name.endswith(BUDGETED))
    be("second", tmp_path, monkeypatch)
    bound = rest + 2 * texts[-1]
    asked: list[bool] = []
    fetch_rest = Mirror.fetch_rest

    def noted(self: Mirror, *more: Any) -> None:
        due = time.monotonic() > self.fetch_s
        fetch_rest(self, *more)
        asked.extend([True] * due)

    monkeypatch.setattr(Mirror, "fetch_rest", noted)
    with indexed(tmp_path / "run", bucket, budget_bytes=bound, follow=True) as library:
        (run,) = library.runs
        here = contents(library.index_dir)
        assert sum(map(len, here.values())) <= bound + max(sizes.values()), "the last file that found room may exceed"
        kept = {name for name in here if name.endswith(".text.parquet")}
        assert 0 < len(kept) < 6 and row_count(run) == 6 * 64
        newest = max(run.catalog.segments(), key=lambda one: max(s.step for s in one.meta.step_stats))
        assert any(newest.path.stem in name for name in kept)
        before = stamps(library.index_dir)
        looks = len(asked)
        eventually(lambda: len(asked) > looks + 2)
        assert stamps(library.index_dir) == before, "nothing comes and goes again and again"
        assert len(shared(run).manifest().files) == len(sizes), "what finds no room here stays in the store"


def test_damage_in_the_store_costs_time_and_is_mended(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "run", steps=3)
    with indexed(tmp_path / "run", bucket) as library:
        expected = contents(library.index_dir)
        files = [file.object for file in shared(library.runs[0]).manifest().files.values() if file.object]
        place = shared(library.runs[0])
    bucket.put(place.object_key(files[0]), b"damaged")
    bucket.delete(place.object_key(files[1]))
    be("second", tmp_path, monkeypatch)
    with indexed(tmp_path / "run", bucket) as library:
        assert contents(library.index_dir) == expected and not library.runs[0].problems()
    after = place.manifest().files
    assert not {file.object for file in after.values()} & set(files[:2])
    assert all(place.fetch(file, tmp_path / "fetched") for file in after.values())
    bucket.put(f"{place.key}/manifest", b"damaged")
    be("third", tmp_path, monkeypatch)
    with indexed(tmp_path / "run", bucket) as library:
        assert contents(library.index_dir) == expected
    assert place.manifest().files.keys() == after.keys()


def test_commands_take_an_address_for_the_index(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "run", steps=2)
    where = "--index-dir", f"{bucket.url}/index"
    told = command("index", tmp_path / "run", *where)
    assert told.code == 0 and f"It is shared at {bucket.url}/index." in told.out
    for number in (1, 2):
        be(f"shard{number}", tmp_path, monkeypatch)
        told = command("index", tmp_path / "run", "--index-dir", f"{bucket.url}/sharded", "--shard", f"{number}/2")
        assert told.code == 0
    assert "All 2 shards are indexed" in told.out
    counted = command("ls", tmp_path / "run", "--json", *where)
    assert counted.json[0]["splits"]["train"]["samples"] == 16
    told = command("index", tmp_path / "run", *where, "--on", "ray")
    assert told.code == 2 and "--on needs an --index-dir that all nodes see" in told.err
    assert msgspec.json.decode(counted.out)
