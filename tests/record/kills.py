"""Kill processes that record, at moments that nobody chose: what was acknowledged is there, and the run goes on.

python -m tests.record.kills FOLDER --kills 200
"""

import argparse
import random
import time
from pathlib import Path

import rolloupe
from tests.forks import begin, program

PROGRAM = """
import sys
import numpy as np
from rolloupe.record import Recorder

record = Recorder(sys.argv[1], code=None, strict=True)
begin = int(sys.argv[2])
for step in range(begin, begin + 1000):
    for index in range(8):
        values = np.full(500, step * 8 + index, np.float32)
        uid = f"{step}-{index}"
        record.sample(step=step, group=0, index=index, response="x" * 3000, series={"logprobs": values}, uid=uid)
    record.annotate(f"{step}-0", advantage=float(step))
    record.step_end(step)
    print(step, flush=True)
"""


def kill_recorders(folder: Path, kills: int, seed: int = 0) -> list[int]:
    """Start a process that records into `folder`, kill it, and again; returns the steps that were acknowledged."""
    rng = random.Random(seed)
    acknowledged: list[int] = []
    for number in range(kills):
        process = program(PROGRAM, str(folder), str(number * 1000))
        first = process.stdout.readline()  # it has begun
        time.sleep(rng.random() * 0.1)
        process.kill()
        process.wait()
        written = [first, *process.stdout.read().splitlines(keepends=True)]
        process.close()
        acknowledged += [int(line) for line in written if line.endswith(b"\n")]
    return acknowledged


def check(folder: Path, index_dir: Path, acknowledged: list[int]) -> None:
    """Assert that a run holds what was acknowledged, whole, and goes on."""
    with rolloupe.Recorder(folder, code=None, strict=True) as record:
        record.sample(step=10**6, group=0, index=0, response="after")
    with rolloupe.open(folder, index_dir=index_dir) as runs:
        run = runs.runs[0]
        assert run.problems() == []
        found = {(sample.key.step, sample.key.index): sample for sample in run.samples()}
        assert (10**6, "0") in found
        for step in acknowledged:
            assert found[step, "0"].advantage == step
            for index in range(8):
                assert (step, str(index)) in found
        for step in {*acknowledged[:2], *acknowledged[-3:]}:
            (series,) = run.sample(found[step, "7"].key).series
            assert list(series.values) == [step * 8 + 7] * 500
        names = {metric.step for metric in run.metrics("env/all/total_episodes")}
        assert names >= set(acknowledged)


def main() -> None:
    """Kill as often as asked, and say what was found."""
    begin()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    given = parser.parse_args()
    acknowledged = kill_recorders(given.folder / "run", given.kills)
    check(given.folder / "run", given.folder / "index", acknowledged)
    torn = sum(len(path.read_bytes().splitlines()) for path in (given.folder / "run/torn").glob("*"))
    print(f"{given.kills} kills, {len(acknowledged)} steps acknowledged, all there; {torn} torn ends moved aside")


if __name__ == "__main__":
    main()
