"""What recording costs a training loop, and what it leaves on disk, against JSON of the same rows.

    python benchmarks/record.py WORK_DIR [--rounds 9]

A step is 512 samples of 4,096 tokens with six float series. The loop trains a two-layer perceptron on every token, in
NumPy on one thread. It runs without a recorder, with one given arrays, and with one given lists, in turn; after each
call the buffers are overwritten. Then the same rows are written with `json` and `orjson`. Beside medians stand the
quickest rounds: what else the machine does only adds to a round.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rolloupe.record import Recorder

SAMPLES, TOKENS, WIDTH = 512, 4096, 128
SERIES = ("logprobs", "trainer_logprobs", "ref_logprobs", "entropy", "advantages", "importance_ratio")
TEXT = "so we add both sides and find that the sum is seven, which is what was asked for, and then check it. " * 160

Give = Callable[[int, dict[str, Any]], None]


def rollout(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Series as a trainer has them: logprobs mostly near zero, ratios near one, one advantage for all tokens."""
    logprobs = -rng.exponential(0.35, TOKENS).astype(np.float32)
    noise = [rng.normal(0, 0.02, TOKENS).astype(np.float32) for _ in range(2)]
    trained, reference = logprobs + noise[0], logprobs + noise[1]
    return {
        "logprobs": logprobs, "trainer_logprobs": trained, "ref_logprobs": reference,
        "entropy": rng.exponential(0.4, TOKENS).astype(np.float32),
        "advantages": np.full(TOKENS, rng.normal(), np.float32), "importance_ratio": np.exp(trained - logprobs),
    }  # fmt: skip


def train(given: list[dict[str, np.ndarray]], give: Give | None) -> tuple[float, float, float]:
    """One step over all samples; returns its seconds, and those of CPU time of the process and of this thread."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(TOKENS, WIDTH)).astype(np.float32)
    first, second = (rng.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 10 for _ in range(2))
    buffers = {name: np.empty(TOKENS, np.float32) for name in SERIES}
    began, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
    for index, series in enumerate(given):
        hidden = np.maximum(inputs @ first, 0)
        error = hidden @ second - inputs
        second -= 1e-6 * (hidden.T @ error)
        first -= 1e-6 * (inputs.T @ ((error @ second.T) * (hidden > 0)))
        for name, values in series.items():
            buffers[name][:] = values
        if give is not None:
            give(index, dict(buffers))
    return time.perf_counter() - began, time.process_time() - cpu, time.thread_time() - own


class Loop:
    """A training loop with a recorder, a step at a time: the first step is not counted, as that of no long run is."""

    def __init__(self, path: Path, given: list[Any], *, is_lists: bool) -> None:
        shutil.rmtree(path, ignore_errors=True)
        self._given, self._step = given, -1
        self._lists = [{name: v.tolist() for name, v in series.items()} for series in given] if is_lists else None
        self.recorder = Recorder(path, code=None, strict=True, capacity_bytes=2**31)
        self.step()

    def step(self) -> tuple[float, float, float, float]:
        """Seconds of the loop, until all is written, of CPU time until then, and of the loop's own."""
        self._step += 1
        began, cpu = time.perf_counter(), time.process_time()
        loop, _, own = train(self._given, self._give)
        self.recorder.step_end(self._step)
        took, spent = time.perf_counter() - began, time.process_time() - cpu
        assert not self.recorder.failures
        return loop, took, spent, own

    def _give(self, index: int, buffers: dict[str, Any]) -> None:
        series = buffers if self._lists is None else self._lists[index]
        group, place = divmod(index, 8)
        self.recorder.sample(
            step=self._step, group=group, index=place, prompt="What?", response=TEXT, reward=1.0, series=series
        )


def dumped(path: Path, given: list[dict[str, np.ndarray]], dumps: Callable[[Any], bytes]) -> tuple[float, int]:
    """Write the rows as JSON lines; returns seconds of CPU time, and bytes."""
    cpu = time.process_time()
    with path.open("wb") as file:
        for index, series in enumerate(given):
            row = {"step": 0, "group": index // 8, "index": index % 8, "prompt": "What is it?", "response": TEXT}
            file.write(dumps({**row, **{name: values.tolist() for name, values in series.items()}}) + b"\n")
    return time.process_time() - cpu, path.stat().st_size


def size_of(folder: Path) -> int:
    """Bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    given = [rollout(rng) for _ in range(SAMPLES)]
    train(given[:20], None)
    given_arrays = Loop(args.work / "arrays", given, is_lists=False)
    given_lists = Loop(args.work / "lists", given, is_lists=True)
    bare, arrays, lists = [], [], []
    for _ in range(args.rounds):
        bare.append(train(given, None))
        arrays.append(given_arrays.step())
        lists.append(given_lists.step())
    for loop in (given_arrays, given_lists):
        loop.recorder.close()
    base, base_cpu, base_own = (statistics.median(column) for column in zip(*bare, strict=True))
    quickest = min(one[0] for one in bare)
    print(f"a step of {SAMPLES} x {TOKENS} tokens x {len(SERIES)} series, without a recorder: {base:.2f} s", end=" ")
    print(f"({quickest:.2f} to {max(one[0] for one in bare):.2f})")
    for name, taken in (("arrays", arrays), ("lists", lists)):
        once, whole, cpu, own = (statistics.median(column) for column in zip(*taken, strict=True))
        least, least_whole = (min(column) for column in list(zip(*taken, strict=True))[:2])
        print(
            f"  recorder given {name:6}: loop {once / base - 1:+.1%} (quickest {least / quickest - 1:+.1%}), "
            f"with step_end {whole / base - 1:+.1%} ({least_whole / quickest - 1:+.1%}), CPU time of the loop's thread "
            f"{own / base_own - 1:+.1%} ({own - base_own:.2f} s), CPU of recording {cpu - base_cpu:.2f} s"
        )
    here = size_of(args.work / "arrays") / (args.rounds + 1)
    print(f"  on disk: {here / 1e6:.1f} MB, {here / SAMPLES / TOKENS:.1f} bytes a token for six series and the text")
    rivals: dict[str, Callable[[Any], bytes]] = {"json": lambda row: json.dumps(row).encode()}
    try:
        import orjson

        rivals["orjson"] = orjson.dumps
    except ImportError:
        pass
    for name, dumps in rivals.items():
        cpu, size = dumped(args.work / f"{name}.jsonl", given, dumps)
        print(f"  {name}: {cpu:.2f} s of CPU, {size / 1e6:.1f} MB: {size / here:.1f} times as much on disk")


if __name__ == "__main__":
    main()
