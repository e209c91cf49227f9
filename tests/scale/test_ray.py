"""Indexing on a real Ray cluster, in a network of its own."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import rolloupe
from tests.index.support import contents, relax_run
from tests.index.token_stats.test_pass import board_run
from tests.scale.namespaces import alone
from tests.scale.ray_cluster import CLIENT_PORT
from tests.thoroughness import amount

HAS_RAY = importlib.util.find_spec("ray") is not None
on_ray = pytest.mark.skipif(
    not HAS_RAY and os.environ.get("ROLLOUPE_SCALE") != "required", reason="Ray is not installed: make test-scale"
)
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Ask]:
    """A cluster; call it with the name of a task of `tests.scale.ray_cluster` and its arguments."""
    process = alone("tests.scale.ray_cluster")
    assert process.stdin and process.stdout
    reading, writing = process.stdout, process.stdin
    if reading.readline() != "ready\n":
        process.communicate()
        pytest.fail("no cluster began")

    def ask(*words: str | Path) -> Any:
        writing.write(json.dumps([str(word) for word in words]) + "\n")
        writing.flush()
        reply = json.loads(reading.readline())
        assert "error" not in reply, reply["error"]
        return reply["answer"]

    yield ask
    writing.close()
    assert process.wait(60) == 0
    reading.close()


@on_ray
@pytest.mark.parametrize("kind", ["text", "tokens"])
def test_the_index_of_a_cluster_is_that_of_one_machine(cluster: Ask, tmp_path: Path, kind: str) -> None:
    if kind == "tokens":
        board_run(tmp_path / "run", steps=8)
    else:
        relax_run(tmp_path / "run", steps=80)
    assert cluster("index", tmp_path / "run", tmp_path) == []
    assert any(
        name.endswith(f".{kind.removesuffix('s')}{'s' * (kind == 'tokens')}.parquet") for name in contents(tmp_path)
    )


@on_ray
def test_killed_workers_and_nodes_change_nothing(cluster: Ask, tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=amount(40, 120))
    done = cluster("campaign", tmp_path / "run", tmp_path, amount(8, 200))
    assert sum(done.values()) == amount(8, 200), done


@on_ray
@pytest.mark.parametrize("on", ["ray", f"ray://127.0.0.1:{CLIENT_PORT}"])
def test_the_command_line_indexes_on_a_cluster(cluster: Ask, tmp_path: Path, on: str) -> None:
    board_run(tmp_path / "run", steps=40, samples=200)  # more than a process does by itself
    code, out, err = cluster("command", "index", tmp_path / "run", "--index-dir", tmp_path / "index", "--on", on)
    assert code == 0 and "Error" not in err and "Next:" not in err, err
    assert "8,000" in out or "8000" in out
    assert rolloupe("index", tmp_path / "run", "--index-dir", tmp_path / "whole").code == 0
    assert contents(tmp_path / "index") == contents(tmp_path / "whole")


@on_ray
def test_a_cluster_that_is_not_there_is_named(tmp_path: Path) -> None:
    relax_run(tmp_path / "run", steps=1)
    line = [sys.executable, "-m", "rolloupe", "index", str(tmp_path / "run"), "--index-dir", str(tmp_path / "index")]
    environ = {**os.environ, "RAY_ADDRESS": "127.0.0.1:9"}
    done = subprocess.run([*line, "--on", "ray"], capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 3 and "no Ray cluster can be joined at 127.0.0.1:9" in done.stderr
    assert "Next:" in done.stderr and "Traceback" not in done.stderr
