"""Kill the processes that index a run, again and again, at moments that nobody chose.

python -m tests.index.kills RUN INDEX_DIR --kills 1000
"""

import argparse
import contextlib
import os
import random
import signal
import tempfile
import time
from pathlib import Path

from rolloupe.index import IndexWork, Library
from rolloupe.index.execution import OwnWork, ProcessExecutor
from tests.index.support import contents

LONGEST_REST_S = 0.12


def kill_workers(run: Path, index_dir: Path, kills: int, seed: int = 0) -> int:
    """Index a run while its workers are killed; begins again, from nothing, until so many were. Returns how many.

    Fails unless the index then is, to the last byte, the one that a viewer makes whom nobody disturbs.
    """
    rng = random.Random(seed)
    done = 0
    while done < kills:
        with Library([run], index_dir=index_dir, work=IndexWork(own_work=OwnWork(scanned_bytes=0))) as library:
            opened, executor = library.runs[0], library.executor
            assert isinstance(executor, ProcessExecutor)
            while not opened.wait_all(rng.random() * LONGEST_REST_S) and done < kills:
                pids = executor.pids()
                if pids:
                    with contextlib.suppress(ProcessLookupError):  # the worker of the last kill, reaped since
                        os.kill(rng.choice(pids), signal.SIGKILL)
                        done += 1
        if done < kills:
            forget(index_dir)
    with tempfile.TemporaryDirectory() as undisturbed:
        made, expected = indexed(run, index_dir), indexed(run, Path(undisturbed))
    others = sorted(name for name in made.keys() | expected.keys() if made.get(name) != expected.get(name))
    assert not others, f"{len(others)} files are others than undisturbed: {others[:5]}"
    return done


def indexed(run: Path, index_dir: Path) -> dict[str, bytes]:
    """The files of the index of a run, brought to its end."""
    with Library([run], index_dir=index_dir) as library:
        assert library.runs[0].wait_all(600)
        assert not library.runs[0].failures()
    return contents(index_dir)


def forget(index_dir: Path) -> None:
    """Delete the files of an index."""
    for path in index_dir.rglob("*.*"):
        if path.is_file():
            path.unlink()


def main() -> None:
    """Kill, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("index_dir", type=Path)
    parser.add_argument("--kills", type=int, default=1000)
    given = parser.parse_args()
    began = time.monotonic()
    done = kill_workers(given.run, given.index_dir, given.kills)
    print(f"{done} kills in {time.monotonic() - began:.0f} s; the index is the same")


if __name__ == "__main__":
    main()
