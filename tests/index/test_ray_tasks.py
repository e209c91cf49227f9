"""Tasks of Ray, with a stand-in for Ray that performs them in threads; `tests/scale` has a real cluster."""

import os
import socket
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rolloupe.errors import BadQuery, UnreadablePath
from rolloupe.index import IndexWork, Library, ray_tasks
from rolloupe.index.execution import JobReply, OwnWork
from rolloupe.index.ray_tasks import NodeReply, RayExecutor
from rolloupe.index.segments.step_stats import encoded
from tests.cli.support import rolloupe
from tests.index.support import contents, relax_run, row_count
from tests.index.test_execution import scan_job


class OtherThreads:
    """What Rolloupe uses of the module `ray`."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(2)
        self.options: dict[str, Any] = {}
        self.joined: list[str] = []

    def init(self, address: str, **_: Any) -> None:
        if address == "nowhere":
            raise ConnectionError("nobody\n  answers")
        self.joined.append(address)

    def remote(self, **options: Any) -> Callable[[Callable[..., bytes]], Any]:
        self.options = options
        return lambda task: SimpleNamespace(remote=lambda *args: self._begun(task, args))

    def _begun(self, task: Callable[..., bytes], args: tuple[Any, ...]) -> Any:
        future = self.pool.submit(task, *args)
        return SimpleNamespace(future=lambda: future)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def cancel(self, reference: Any) -> None:
        reference.future().cancel()

    def shutdown(self) -> None:
        self.pool.shutdown()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> OtherThreads:
    threads = OtherThreads()
    monkeypatch.setitem(sys.modules, "ray", threads)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return threads


def test_a_run_is_indexed_by_tasks(tmp_path: Path, cluster: OtherThreads) -> None:
    relax_run(tmp_path / "run", steps=12)
    with Library([tmp_path / "run"], index_dir=tmp_path / "whole") as library:
        assert library.runs[0].wait_all(60)
    executor = [RayExecutor("ray")]
    with Library(
        [tmp_path / "run"],
        index_dir=tmp_path / "index",
        work=IndexWork(own_work=OwnWork(0, 0, 0), executor=lambda: executor[0]),
    ) as library:
        assert library.runs[0].wait_all(60) and library.runs[0].failures(texts=True) == []
        assert row_count(library.runs[0]) == 96
    assert cluster.joined == ["auto"] and cluster.options["max_retries"] > 0 and cluster.options["num_cpus"] == 1
    assert executor[0].count == 4
    assert contents(tmp_path / "index") == contents(tmp_path / "whole")


def test_an_index_folder_that_is_named_from_here_is_found_from_elsewhere(
    tmp_path: Path, cluster: OtherThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "run", steps=1)
    monkeypatch.chdir(tmp_path)
    with Library(
        ["run"], index_dir="index", work=IndexWork(own_work=OwnWork(0, 0, 0), executor=lambda: RayExecutor("ray"))
    ) as library:
        monkeypatch.chdir("/")
        assert library.runs[0].wait_all(60) and row_count(library.runs[0]) == 8
    assert contents(tmp_path / "index")


def test_jobs_that_wait_when_the_executor_closes_get_empty_replies(tmp_path: Path, cluster: OtherThreads) -> None:
    job = scan_job(tmp_path)
    executor = RayExecutor("ray")
    waiting = [executor.submit(job) for _ in range(40)]
    executor.close()
    replies = [future.result(10) for future in waiting]
    assert replies[-1] == executor.submit(job).result(0) == JobReply()


def answers(cluster: OtherThreads, reply: NodeReply | Exception) -> None:
    """Have the nodes give this reply to whatever they are asked."""

    def begun(task: object, args: object) -> Any:
        future = Future[bytes]()
        if isinstance(reply, Exception):
            future.set_exception(reply)
        else:
            future.set_result(encoded(reply))
        return SimpleNamespace(future=lambda: future)

    cluster._begun = begun  # type: ignore[pyrefly:method-assign]


def test_nodes_that_do_not_see_the_same_files_are_named(tmp_path: Path, cluster: OtherThreads) -> None:
    job = scan_job(tmp_path)
    meta = RayExecutor("ray").submit(job).result(30).meta
    assert meta is not None
    for path in (tmp_path / "index").rglob("*.parquet"):
        path.unlink()
    for reply, words in (
        (
            NodeReply("node7", JobReply(), job.source.path),
            ("node7 does not see", job.source.path, "Next: keep the run"),
        ),
        (
            NodeReply("node7", JobReply(meta=meta)),
            ("node7 wrote to a different", str(tmp_path / "index"), "Next: keep"),
        ),
        (OSError("the node is gone"), ("no node of the cluster could do it", "the node is gone")),
    ):
        answers(cluster, reply)
        error = RayExecutor("ray").submit(job).result(30).error
        assert all(word in error for word in words), error
    os.unlink(job.source.path)
    answers(cluster, NodeReply("node7", JobReply(), job.source.path))
    assert RayExecutor("ray").submit(job).result(30) == JobReply(), "it is gone here as well"


def test_a_node_with_another_version_is_named(tmp_path: Path, cluster: OtherThreads) -> None:
    with pytest.raises(RuntimeError, match=r"not 99\.0\. Next: install the same on each node"):
        ray_tasks.perform_encoded("99.0", b"")


def test_a_cluster_that_cannot_be_joined_is_an_error(cluster: OtherThreads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "nowhere")
    with pytest.raises(UnreadablePath, match=r"no Ray cluster can be joined at nowhere: nobody answers\. Next: start"):
        RayExecutor("ray")


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nothing_listens_is_an_error_at_once(
    cluster: OtherThreads, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"{scheme}127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        RayExecutor(address if scheme else "ray").close()
    with pytest.raises(UnreadablePath, match=f"no Ray cluster can be joined at {address}: .*refused"):
        RayExecutor(address if scheme else "ray")
    assert cluster.joined == [address]


def test_without_ray_an_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    relax_run(tmp_path / "run", steps=1)
    with pytest.raises(BadQuery, match=r"--on ray: this needs Ray. Next: pip install 'rolloupe\[ray\]'"):
        RayExecutor("ray")
    done = rolloupe("index", tmp_path / "run", "--on", "ray")
    assert done.code == 2 and "rolloupe[ray]" in done.err
    for words in (
        ("--on", "spark"),
        ("--on", "ray://"),
        ("--on", "ray", "--shard", "1/2"),
        ("--on", "ray", "--processes", "2"),
    ):
        assert rolloupe("index", tmp_path / "run", *words).code == 2
