"""Measure runs of very many steps with one sample each: the most memory of any process, and the index on the disk.

    python benchmarks/many_steps.py WORK_DIR --steps 100000 [--files]

`--files` writes a file for each step instead of one file. "Opened" is a process that opens the run with its index,
and asks what a page asks first.
"""

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

OPENED = """
import sys
import rolloupe
with rolloupe.open(sys.argv[1], index_dir=sys.argv[2]) as runs:
    run = runs[0]
    print(len(run.steps()), len(run.columns()), len(run.curve("reward").steps), run.problem_count())
"""


def write_run(folder: Path, steps: int, *, is_files: bool) -> Path:
    """Write a run of so many steps, a line each."""
    random_numbers = random.Random(0)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = (
        json.dumps({
            "step": step, "prompt": f"What is {random_numbers.randrange(1000)} + {random_numbers.randrange(1000)}?",
            "response": f"Let me think. The answer is {random_numbers.randrange(2000)}.",
            "reward": random_numbers.random(),
            "metrics": {"length": random_numbers.randrange(100), "format": random_numbers.random()},
        })
        for step in range(steps)
    )  # fmt: skip
    if is_files:
        for step, line in enumerate(lines):
            (folder / f"{step}.jsonl").write_text(f"{line}\n")
    else:
        (folder / "samples.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def most_memory_mib(*command: str) -> int:
    """Run a command. Returns the most memory that it or a process of its own took, in MiB."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True, text=True)
    return int(done.stdout) // 1024


def index_bytes(folder: Path) -> int:
    """The size of all files of an index."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Measure one layout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work_dir", type=Path)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--files", action="store_true")
    asked = parser.parse_args()
    run, index = write_run(asked.work_dir / "run", asked.steps, is_files=asked.files), asked.work_dir / "index"
    shutil.rmtree(index, ignore_errors=True)
    began = time.monotonic()
    most = most_memory_mib(sys.executable, "-m", "rolloupe", "index", str(run), "--index-dir", str(index))
    took_s, cpu_s = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"indexed in {took_s:.0f} s ({cpu_s.ru_utime + cpu_s.ru_stime:.0f} s of CPU time): at most {most} MiB")
    print(f"index: {index_bytes(index) / 2**20:.1f} MiB")
    print(f"opened: at most {most_memory_mib(sys.executable, '-c', OPENED, str(run), str(index))} MiB")


if __name__ == "__main__":
    main()
