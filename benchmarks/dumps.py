"""How long the first sample of a run of slime's dumps takes, and the next, beside `torch.load` of the newest dump.

    build/frameworks/bin/python benchmarks/dumps.py WORK_DIR --steps 200 --samples 256 --tokens 2200

Needs PyTorch (`make test-frameworks` sets up an environment with it), which writes the dumps. Each round starts a fresh
process for Rolloupe, on a run that was never indexed, and one for PyTorch, in turn; Python's own start counts for both.
PyTorch reads with `weights_only=True`, and then has all samples of one dump in memory; nothing of the other dumps.
"""

import argparse
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NEXT = 20
"""Samples to show after the first."""


def sample(rng: random.Random, index: int, tokens: int) -> dict[str, Any]:
    """A sample as slime dumps it."""
    response = tokens - 100
    return {
        "group_index": index // 8, "index": index, "prompt": f"<|im_start|>user\nQuestion {index}?<|im_end|>\n",
        "tokens": [rng.randrange(152_000) for _ in range(tokens)], "response": "because of that " * (tokens // 4),
        "response_length": response, "label": "1", "reward": rng.random(), "loss_mask": [1] * response,
        "rollout_log_probs": [-rng.random() for _ in range(response)], "status": "completed", "metadata": {},
    }  # fmt: skip


def written(folder: Path, steps: int, samples: int, tokens: int) -> Path:
    """A run of so many dumps, of the same samples; made once."""
    import torch

    dumps = folder / "rollout_data"
    if not dumps.is_dir():
        dumps.mkdir(parents=True)
        rng = random.Random(0)
        some = [sample(rng, index, tokens) for index in range(samples)]
        for step in range(steps):
            torch.save({"rollout_id": step, "samples": some}, dumps / f"{step}.pt")
    return folder


def with_rolloupe(run: Path, index: Path, last: int) -> dict[str, float]:
    """Open a run that was never indexed, show a sample of its last step, then others."""
    began = time.perf_counter()
    import rolloupe

    with rolloupe.open(run, index_dir=index, wait=False) as runs:
        while True:
            try:
                assert runs.runs[0].sample(f"train/{last}/0/0").token_ids
                break
            except rolloupe.NotFound:
                time.sleep(0.005)
        first = time.perf_counter() - began
        began = time.perf_counter()
        for position in range(1, NEXT + 1):
            assert runs.runs[0].sample(f"train/{last}/{position // 8}/{position}").token_ids
        return facts(first, time.perf_counter() - began)


def with_torch(run: Path, _: Path, last: int) -> dict[str, float]:
    """Load the last dump, and take the same arrays of samples."""
    import numpy as np

    began = time.perf_counter()
    import torch

    found = torch.load(run / f"rollout_data/{last}.pt", weights_only=True)["samples"]  # noqa: TID251 - what is timed
    keys = ("tokens", "loss_mask", "rollout_log_probs")
    assert all(len(np.asarray(found[0][key])) for key in keys)
    first = time.perf_counter() - began
    began = time.perf_counter()
    for position in range(1, NEXT + 1):
        assert all(len(np.asarray(found[position][key])) for key in keys)
    return facts(first, time.perf_counter() - began)


def facts(first_s: float, next_s: float) -> dict[str, float]:
    """Seconds to the first sample and for each of the next, and the peak of memory."""
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())  # `ru_maxrss` counts the parent's
    return {"first": first_s, "next": next_s / NEXT, "MiB": int(peak) / 1024}


READERS = {"rolloupe": with_rolloupe, "torch": with_torch}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=2200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    run, index, last = args.work / "dumps", args.work / "dumps-index", args.steps - 1
    if args.reader:
        print(json.dumps(READERS[args.reader](run, index, last)))
        return
    written(run, args.steps, args.samples, args.tokens)
    size = sum(path.stat().st_size for path in run.rglob("*.pt")) / 2**20
    print(f"{args.steps} dumps of {args.samples} samples, {size:,.0f} MiB; medians of {args.rounds}")
    found: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
    for _ in range(args.rounds):
        for reader, measured in found.items():
            shutil.rmtree(index, ignore_errors=True)
            command = [sys.executable, __file__, str(args.work), "--steps", str(args.steps), "--reader", reader]
            measured.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    for reader, measured in found.items():
        median = {name: statistics.median(one[name] for one in measured) for name in measured[0]}
        print(
            f"{reader:<9} first {median['first']:.2f} s  next {median['next'] * 1000:.1f} ms  {median['MiB']:.0f} MiB"
        )


if __name__ == "__main__":
    main()
