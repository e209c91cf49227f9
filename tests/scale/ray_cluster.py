"""A Ray cluster of two nodes with a core each, in a network of its own, and what is done on it.

Run with `python -m tests.scale.ray_cluster`, which reads a line for each thing to do and answers with one.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rolloupe.index import IndexWork, Library
from rolloupe.index.execution import OwnWork
from rolloupe.index.ray_tasks import RayExecutor, perform_encoded
from tests.index.kills import forget
from tests.index.support import contents
from tests.scale.namespaces import bring_loopback_up

NOTHING = OwnWork(0, 0, 0)
"""This process does nothing itself, however small the run is."""

CLIENT_PORT = 10001
LONGEST_REST_S = 0.5


class RayCluster:
    """The cluster."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._folder = tempfile.mkdtemp(prefix="ray")  # short: sockets lie in it
        os.environ["RAY_TMPDIR"] = self._folder  # where Ray notes the newest cluster, in a folder that it expects
        os.mkdir(os.path.join(self._folder, "ray"))
        head = {"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": CLIENT_PORT}
        self._nodes = Cluster(initialize_head=True, head_node_args={**head, "temp_dir": self._folder})
        self._second = self._nodes.add_node(num_cpus=1)
        os.environ["RAY_ADDRESS"] = self._nodes.address

    def kill_node(self) -> None:
        """Kill the second node with all its processes, and start another in its place."""
        with self.one_node(allow_graceful=False):
            pass

    @contextlib.contextmanager
    def one_node(self, *, allow_graceful: bool = True) -> Iterator[None]:
        """Do without the second node."""
        self._nodes.remove_node(self._second, allow_graceful=allow_graceful)
        yield
        self._second = self._nodes.add_node(num_cpus=1)

    def close(self) -> None:
        """End all processes."""
        self._nodes.shutdown()


def workers() -> list[int]:
    """The processes that perform a job now, of this network alone."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_near = os.readlink(path / "ns/net") == os.readlink("/proc/self/ns/net")
            if is_near and (path / "cmdline").read_bytes().startswith(f"ray::{perform_encoded.__name__}".encode()):
                found.append(int(path.name))
    return found


def on_ray() -> RayExecutor:
    """Performs jobs on the cluster."""
    return RayExecutor("ray")


def indexed(run: Path, index_dir: Path, *, on_cluster: bool) -> dict[str, bytes]:
    """The files of an index, made here or on the cluster."""
    executor = on_ray if on_cluster else None
    with Library(
        [run], index_dir=index_dir, work=IndexWork(own_work=NOTHING, executor=executor, processes=2)
    ) as library:
        assert library.runs[0].wait_all(600)
        assert library.runs[0].failures(texts=True) == []
    return contents(index_dir)


class Tasks:
    """What can be done on the cluster; each answers with what JSON can hold."""

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster

    def index(self, run: str, folder: str) -> list[str]:
        """Index a run on the cluster and here; returns the names of files that are not the same."""
        return self._differing(Path(run), Path(folder))

    def campaign(self, run: str, folder: str, kills: str) -> dict[str, int]:
        """Index again and again while workers, and sometimes a node, are killed. Fails unless the index is the same."""
        rng, index_dir = random.Random(0), Path(folder) / "index"
        done = {"workers": 0, "nodes": 0}
        while sum(done.values()) < int(kills):
            with Library([run], index_dir=index_dir, work=IndexWork(own_work=NOTHING, executor=on_ray)) as library:
                opened = library.runs[0]
                while not opened.wait_all(rng.random() * LONGEST_REST_S) and sum(done.values()) < int(kills):
                    if rng.random() < 0.04:
                        self._cluster.kill_node()
                        done["nodes"] += 1
                    elif pids := workers():
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(rng.choice(pids), signal.SIGKILL)
                            done["workers"] += 1
                assert opened.wait_all(600) and opened.failures(texts=True) == []
            if sum(done.values()) < int(kills):
                forget(index_dir)
        assert self._differing(Path(run), Path(folder)) == []
        return done

    def command(self, *words: str) -> list[Any]:
        """Run a command line in a process of its own, here in the network."""
        line = [sys.executable, "-m", "rolloupe", *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=600)
        return [done.returncode, done.stdout, done.stderr]

    def rates(self, run: str, folder: str, rounds: str) -> list[list[float]]:
        """Index a run by two processes, on the cluster, and on its first node alone, in turn.

        Returns the seconds of each, for each round.
        """
        index_dir = Path(folder) / "rates"

        def took_s(*, on_cluster: bool) -> float:
            forget(index_dir)
            began = time.monotonic()
            indexed(Path(run), index_dir, on_cluster=on_cluster)
            return time.monotonic() - began

        found = []
        for _ in range(int(rounds)):
            both = [took_s(on_cluster=False), took_s(on_cluster=True)]
            with self._cluster.one_node():
                found.append([*both, took_s(on_cluster=True)])
        return found

    def _differing(self, run: Path, folder: Path) -> list[str]:
        made = indexed(run, folder / "index", on_cluster=True)
        expected = indexed(run, folder / "undisturbed", on_cluster=False)
        return sorted(name for name in made.keys() | expected.keys() if made.get(name) != expected.get(name))


def main() -> None:
    """Do what standard input asks for."""
    bring_loopback_up()
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints as well
    cluster = RayCluster()
    tasks = Tasks(cluster)
    print("ready", file=replies, flush=True)
    try:
        for line in sys.stdin:
            name, *args = json.loads(line)
            task: Callable[..., Any] = getattr(tasks, name)
            try:
                answer = {"answer": task(*args)}
            except Exception as error:  # the next may go well
                answer = {"error": repr(error)}
            print(json.dumps(answer), file=replies, flush=True)
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
