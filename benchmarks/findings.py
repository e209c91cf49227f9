"""What findings cost: the scan on top of the index, and the answers.

    python benchmarks/findings.py [--samples 100000] [--many 1000000]

Writes runs with a planted phrase (see `tests/insight/findings/planted.py`), indexes them, and then writes the features
of every segment again in this process, whose CPU time and memory count. Answers are asked of processes that know
nothing: the first, which reads words and keeps the answer, windows of steps, and the answer again; and once for what
each part of the reward pays for. Prints a line for each with its limit, and ends with 1 if one is exceeded. What is
measured is CPU time, so that other jobs of the machine count little; the line also has the time by the clock. Files are
in a temporary folder.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.insight.findings.planted import Plan, topics, write_run

import rolloupe
from rolloupe.index import Library
from rolloupe.index.features import features_of, sample_words_of, share_of
from rolloupe.index.segments.kind import BackfillJob, SegmentSource
from rolloupe.index.segments.kinds import KINDS

SCAN_S, SCAN_MB, FIRST_S, WINDOW_S, AGAIN_S = 20.0, 400.0, 2.0, 2.0, 0.3
"""The limits: for 100,000 samples, those of a scan; for all samples, those of answers."""

ASK = """
import sys, time, rolloupe
from rolloupe.index.execution import keep_pandas_out
keep_pandas_out()  # as the command line does
run = rolloupe.open(sys.argv[1], index_dir=sys.argv[2]).runs[0]
run.wait(texts=True)
run.steps()
steps = None if sys.argv[3] == "all" else tuple(map(int, sys.argv[3].split(":")))
began = time.process_time(), time.perf_counter()
if sys.argv[4] == "parts":
    about = f"{run.parts(steps=steps).samples:,} fitted"
else:
    found = run.findings(steps=steps)
    about = f"{len(found.findings)} findings, {found.scanned:,} scanned, {found.read:,} read"
print(time.process_time() - began[0], time.perf_counter() - began[1], about)
"""

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "OPENBLAS_NUM_THREADS": "1",
}
"""That of the command line, whose modules are compiled once."""


def copied(path: Path, times: int, steps: int) -> None:
    """Have a run with many times the steps: those of the first, with prompts of their own."""
    for file in sorted((path / "rollout_result/train").glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for number in range(1, times):
            lines = (json.dumps({**row, "rollout_id": row["rollout_id"] + number * steps}) for row in rows)
            name = f"{int(file.stem) + number * steps}.jsonl"
            (file.parent / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def scan(path: Path, index_dir: Path) -> tuple[float, float, float]:
    """Write the features of every segment again: CPU seconds, megabytes more than before, and megabytes written."""
    with Library([path], index_dir=index_dir) as library:
        (run,) = library.runs
        assert run.wait_all()
        segments = [one for one in run.snapshot().segments if one.meta.rows]
        share = share_of(stats for one in segments for stats in one.meta.step_stats)
        (kind,) = (kind for kind in KINDS if kind.name == "features")
        assert kind is not None
        before, began = memory_mb("VmRSS"), time.process_time()
        for one in segments:
            source = run.sources.get(one.meta.source)
            assert source is not None
            folder = str(run.catalog.folder)
            job = BackfillJob(
                folder=folder, run=run.info, source=source, meta=one.meta, kinds=["features"], share=share
            )
            kind.write(one.path, SegmentSource(job))
        took, more = time.process_time() - began, memory_mb("VmHWM") - before
        files = (file for one in segments for file in (features_of(one.path), sample_words_of(one.path)))
        return took, more, sum(file.stat().st_size for file in files) / 2**20


def memory_mb(what: str) -> float:
    """The memory of this process: `VmRSS` now, `VmHWM` the most since the last `VmRSS`."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    if what == "VmRSS":
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def asked(path: Path, index_dir: Path, steps: str, what: str = "findings") -> tuple[float, str]:
    """Ask a new process for findings or parts: the seconds, and in words what it looked at and its CPU time."""
    command = [sys.executable, "-c", ASK, str(path), str(index_dir), steps, what]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    cpu, clock, about = done.stdout.strip().split(" ", 2)
    return float(clock), f"{about}, {float(cpu):.2f} s of CPU"


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    args = parser.parse_args()
    rows: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = write_run(Path(folder) / "run", Plan(hacks=("phrase",), steps=500, groups=args.samples // 4000))
        index_dir = Path(folder) / "index"
        took, more, written = scan(path, index_dir)
        rows += [("scan, CPU s", took, SCAN_S), ("scan, MB", more, SCAN_MB), ("written, MB", written, 1e9)]
        took, about = asked(path, index_dir, "all", "parts")
        rows.append((f"parts: {about}, s", took, 1e9))
        copied(path, max(1, args.many // args.samples), 500)
        assert rolloupe.open(path, index_dir=index_dir).runs[0].wait(texts=True)
        last = 500 * max(1, args.many // args.samples)
        rng = random.Random(0)
        windows = [(first, first + last // 5) for first in (rng.randrange(last) for _ in range(3))]
        for what, steps, limit in [
            ("all, first", "all", FIRST_S),
            *((f"steps {low} to {high}", f"{low}:{high}", WINDOW_S) for low, high in windows),
            ("all, again", "all", AGAIN_S),
        ]:
            took, about = asked(path, index_dir, steps)
            rows.append((f"{what}: {about}, s", took, limit))
    for what, value, limit in rows:
        print(f"{value:8.2f}  {'' if limit > 1e8 else f'of {limit:g}':8}  {what}")
    return int(any(value > limit for _, value, limit in rows))


if __name__ == "__main__":
    topics()
    sys.exit(main())
