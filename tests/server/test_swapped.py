"""Links, folders and pipes that are swapped in under an open viewer: nothing from outside is served or indexed."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

from tests.index.support import eventually
from tests.server.server_process import Process
from tests.server.support import get, opened, relax_run, run_path, served
from tests.storage.swapping import swapping
from tests.thoroughness import amount, slow_unless

STEPS = 4
SAMPLES = 8
REQUESTS = 1020


@pytest.fixture
def train(tmp_path: Path) -> Path:
    """The files of a run, and outside of it the same with other answers, byte for byte as long."""
    train = relax_run(tmp_path / "run", STEPS, SAMPLES)
    outside = relax_run(tmp_path / "outside", STEPS, SAMPLES)
    for path in outside.iterdir():
        path.write_bytes(path.read_bytes().replace(b"Answer", b"SECRET"))
    return train


def outside_of(train: Path) -> Path:
    return train.parents[2] / "outside" / "rollout_result" / "train"


def targets(path: str) -> list[str]:
    """Addresses that read the files of the run, or its index."""
    ids = [quote(f"train/{step}/{index // 4}/{index}", safe="") for step in range(STEPS) for index in range(SAMPLES)]
    found = [f"{path}/sample/{kind}?id={one}" for one in ids for kind in ("raw", "text", "turns")]
    found += [f"{path}/sample?id={one}" for one in ids]
    found += [f"{path}/samples?split=train&step={step}" for step in range(STEPS)]
    found += [f"{path}/members?id={one}" for one in ids[::SAMPLES]]
    found += [f"{path}/problems/raw?file=train/{step}.jsonl&start=0&stop=900" for step in range(STEPS)]
    return found


def by_link(path: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(outside / path.name)


def by_linked_folder(path: Path, outside: Path) -> None:
    path.parent.rename(path.parent.with_name("aside"))
    path.parent.symlink_to(outside)


def by_pipe(path: Path, outside: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("swap", [slow_unless(False, by_link), by_linked_folder, by_pipe])
def test_what_is_swapped_in_is_never_served(train: Path, tmp_path: Path, swap: Callable[[Path, Path], None]) -> None:
    with Process([tmp_path / "run"], tmp_path / "index") as server:
        path = f"/api/runs/{quote(server.json('/api/runs')['runs'][0]['id'], safe='')}"
        eventually(lambda: len(server.json(f"{path}/steps?split=train").get("steps", ())) == STEPS)
        swap(train / f"{STEPS - 1}.jsonl", outside_of(train))
        began = time.monotonic()
        while time.monotonic() - began < amount(0.3, 3.0):
            for target in targets(path)[-STEPS * 10 :: 3]:
                assert b"SECRET" not in server.send(target)
        assert server.json("/api/runs")["runs"]
    assert_nothing_indexed(tmp_path / "index")


@pytest.mark.slow
def test_a_race_of_swaps_serves_nothing_from_outside(train: Path, tmp_path: Path) -> None:
    library = opened(tmp_path / "run", tmp_path / "index")
    app = served(library)
    asked = targets(run_path(app))
    statuses = set()
    with swapping(all_of(train)):
        for number in range(REQUESTS):
            reply = get(app, asked[number % len(asked)])
            assert b"SECRET" not in reply.body
            statuses.add(reply.status)
    library.close()
    assert 200 in statuses
    assert statuses <= {200, 404, 409}


def assert_nothing_indexed(folder: Path) -> None:
    """Fail where a table of an index holds text from outside."""
    for path in folder.rglob("*.parquet"):
        assert "SECRET" not in repr(pq.read_table(path).to_pylist())


def all_of(train: Path) -> dict[Path, Path]:
    """Each file of the run, and the one outside that is swapped in for it."""
    return {train / f"{step}.jsonl": outside_of(train) / f"{step}.jsonl" for step in range(STEPS)}
