"""How long the first sample of a run that was never indexed takes, and the next, beside what people read it with.

    build/frameworks/bin/python benchmarks/formats.py WORK_DIR [--shapes parquet one-parquet sqlite dumps] [--rounds 5]

Writes 2 GB for each shape (made once): the completions that TRL logs, as 200 files and as one; a database of trackio
with a million traces; 200 dumps as slime writes them. Beside Rolloupe stand pandas, `sqlite3` and `torch.load` with
`weights_only=True`, each on the file with the newest step. Needs PyTorch and pandas (`make test-frameworks` sets up an
environment with both). Each reader is a fresh process, in turn; Python's own start counts. Memory is the most that
any of the processes took, those that index as well; last, once, until all is indexed.
"""

import argparse
import contextlib
import json
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from generate import text_pool

NEXT = 20
"""Samples to show after the first."""

STEPS = 200
TRACES, TRACES_A_STEP = 1_000_000, 1000
GROUP = 8
LINES = ("prompt", "completion", "accuracy_reward", "format_reward", "advantage")
TABLES = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
    config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
CREATE TABLE traces (id TEXT PRIMARY KEY, run_id TEXT NOT NULL, timestamp TEXT NOT NULL, run_name TEXT NOT NULL,
    step INTEGER NOT NULL, key TEXT NOT NULL, trace_index INTEGER, messages TEXT NOT NULL, metadata TEXT NOT NULL,
    search_text TEXT NOT NULL, log_id TEXT, space_id TEXT, spans TEXT NOT NULL DEFAULT '[]');
"""
INDEXES = """
CREATE INDEX idx_metrics_run_step ON metrics(run_id, step);
CREATE INDEX idx_traces_run_step ON traces(run_id, step);
CREATE INDEX idx_traces_run_timestamp ON traces(run_id, timestamp);
CREATE INDEX idx_traces_search ON traces(search_text);
"""


class Times(NamedTuple):
    """When a reader had its first sample, and how long the others took: by the clock, and of the process itself."""

    first_s: float
    next_s: float
    first_cpu_s: float
    next_cpu_s: float


class Watch:
    """Two clocks: that of the wall, and what the processor spent on this process since its start."""

    def __init__(self) -> None:
        self._began, self._cpu = time.perf_counter(), 0.0
        self._first: tuple[float, float] = (0, 0)

    def first(self) -> None:
        """The first sample is there."""
        self._first = time.perf_counter() - self._began, time.process_time()
        self._began, self._cpu = time.perf_counter(), time.process_time()

    def others(self) -> Times:
        """All others are there."""
        took = time.perf_counter() - self._began, time.process_time() - self._cpu
        return Times(self._first[0], took[0], self._first[1], took[1])


def noise(rng: random.Random) -> str:
    """A text that compresses little: words in hexadecimal."""
    return " ".join(rng.randbytes(rng.randrange(1, 6)).hex() for _ in range(400_000))


def completions(rng: random.Random, pool: str, step: int, samples: int) -> dict[str, list[Any]]:
    """The columns of TRL for a step."""
    starts = [rng.randrange(len(pool) // 2) for _ in range(samples)]
    return {
        "step": [step] * samples,
        "prompt": [f"Question {i // GROUP} of step {step}?" for i in range(samples)],
        "completion": [pool[start : start + 8000] for start in starts],
        "accuracy_reward": [rng.random() for _ in starts], "format_reward": [1.0] * samples,
        "advantage": [rng.gauss(0, 1) for _ in starts],
    }  # fmt: skip


def write_parquet(run: Path, files: int) -> None:
    """The completions of all steps in so many files, with pandas, as TRL does."""
    import pandas as pd

    rng = random.Random(0)
    pool, samples = noise(rng), 1280
    if files > 1:
        for step in range(STEPS):
            pd.DataFrame(completions(rng, pool, step, samples)).to_parquet(run / f"completions_{step:05d}.parquet")
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = pa.table(completions(rng, pool, 0, samples))
    with pq.ParquetWriter(run / "completions_00000.parquet", first.schema) as writer:
        for start in range(0, STEPS, 8):
            steps = [pa.table(completions(rng, pool, step, samples)) for step in range(start, start + 8)]
            writer.write_table(pa.concat_tables(steps).combine_chunks())


def trace(rng: random.Random, pool: str, number: int) -> tuple[Any, ...]:
    """A trace with the columns that trackio stores."""
    step, at = divmod(number, TRACES_A_STEP)
    start = rng.randrange(len(pool) // 2)
    asked, answered = f"Question {at // GROUP} of step {step}?", pool[start : start + 500]
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    metadata = {"reward": rng.random(), "group_id": number // GROUP, "sample_index": at, "completion_tokens": 120}
    return (
        f"r:{number}", "r", "2026-11-22T02:08:26.896586+00:00", "grpo", step, "rollouts", at, json.dumps(messages),
        json.dumps(metadata), f"r:{number} rollouts user {asked} assistant {answered}".lower(), f"{step}", None, "[]",
    )  # fmt: skip


def write_sqlite(run: Path) -> None:
    """A project of trackio with one run."""
    rng = random.Random(0)
    pool = text_pool(rng)
    database = sqlite3.connect(run / "project.db")
    database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + TABLES)
    question_marks = ", ".join("?" * 13)
    traces = (trace(rng, pool, number) for number in range(TRACES))
    database.executemany(f"INSERT INTO traces VALUES ({question_marks})", traces)
    database.executescript(INDEXES)
    database.commit()
    database.close()


def dumped(rng: random.Random, index: int, tokens: int) -> dict[str, Any]:
    """A sample as slime dumps it."""
    response = tokens - 100
    return {
        "group_index": index // GROUP, "index": index, "prompt": f"<|im_start|>user\nQuestion {index}?<|im_end|>\n",
        "tokens": [rng.randrange(152_000) for _ in range(tokens)], "response": "because of that " * (tokens // 4),
        "response_length": response, "label": "1", "reward": rng.random(), "loss_mask": [1] * response,
        "rollout_log_probs": [-rng.random() for _ in range(response)], "status": "completed", "metadata": {},
    }  # fmt: skip


def write_dumps(run: Path) -> None:
    """A dump for each step, of the same samples."""
    import torch

    (run / "rollout_data").mkdir()
    rng = random.Random(0)
    some = [dumped(rng, index, 2200) for index in range(256)]
    for step in range(STEPS):
        torch.save({"rollout_id": step, "samples": some}, run / f"rollout_data/{step}.pt")


def with_rolloupe(run: Path, index: Path, last: int) -> Times:
    """Open a run that was never indexed, show a sample of its last step, then others."""
    watch = Watch()
    import rolloupe

    with rolloupe.open(run, index_dir=index, wait=False) as runs:
        one = runs.only()
        while not (page := list(one.samples(step=last, limit=NEXT + 1))):
            time.sleep(0.005)
        assert one.sample(page[0].key).response_text
        watch.first()
        while len(page) <= NEXT:
            page = list(one.samples(step=last, limit=NEXT + 1))
        for item in page[1:]:
            assert one.sample(item.key).response_text
        return watch.others()


def until_indexed(run: Path, index: Path, _: int) -> Times:
    """Open a run and wait until its numbers are indexed."""
    watch = Watch()
    import rolloupe

    with rolloupe.open(run, index_dir=index) as runs:
        assert list(runs.only().samples(limit=1))
        watch.first()
        return watch.others()


def with_pandas(run: Path, _: Path, last: int) -> Times:
    """Read the newest file, and take samples of its last step."""
    watch = Watch()
    import pandas as pd

    table = pd.read_parquet(max(run.glob("*.parquet")))
    rows = table[table["step"] == last]
    assert rows.iloc[0]["completion"]
    watch.first()
    assert all(rows.iloc[number]["completion"] for number in range(1, NEXT + 1))
    return watch.others()


def with_sqlite3(run: Path, _: Path, last: int) -> Times:
    """Ask for the traces of the last step, in the order of rewards as a list of samples has them."""
    watch = Watch()
    database = sqlite3.connect(run / "project.db")
    wanted = "SELECT rowid FROM traces WHERE run_id = 'r' AND step = ? ORDER BY json_extract(metadata, '$.reward')"
    numbers = [number for (number,) in database.execute(wanted, (last,))]

    def shown(number: int) -> Any:
        (found,) = database.execute("SELECT messages FROM traces WHERE rowid = ?", (number,)).fetchone()
        return json.loads(found)[1]["content"]

    assert shown(numbers[0])
    watch.first()
    assert all(map(shown, numbers[1 : NEXT + 1]))
    return watch.others()


def with_torch(run: Path, _: Path, last: int) -> Times:
    """Load the last dump, and take the same arrays of samples."""
    watch = Watch()
    import numpy as np
    import torch

    found = torch.load(run / f"rollout_data/{last}.pt", weights_only=True)["samples"]  # noqa: TID251 - what is timed
    keys = ("tokens", "loss_mask", "rollout_log_probs")
    assert all(len(np.asarray(found[0][key])) for key in keys)
    watch.first()
    for position in range(1, NEXT + 1):
        assert all(len(np.asarray(found[position][key])) for key in keys)
    return watch.others()


class Shape(NamedTuple):
    """A run to write, its last step, and what people read it with."""

    write: Callable[[Path], None]
    last: int
    rival: str


SHAPES = {
    "parquet": Shape(lambda run: write_parquet(run, STEPS), STEPS - 1, "pandas"),
    "one-parquet": Shape(lambda run: write_parquet(run, 1), STEPS - 1, "pandas"),
    "sqlite": Shape(write_sqlite, TRACES // TRACES_A_STEP - 1, "sqlite3"),
    "dumps": Shape(write_dumps, STEPS - 1, "torch"),
}
READERS = {
    "rolloupe": with_rolloupe, "pandas": with_pandas, "sqlite3": with_sqlite3, "torch": with_torch,
    "all indexed": until_indexed,
}  # fmt: skip


class Memory(threading.Thread):
    """The peak of memory of this process, or of one that it started: `ru_maxrss` counts the parent's."""

    mib = 0.0

    def __init__(self) -> None:
        super().__init__(daemon=True)

    def run(self) -> None:
        """Look, again and again."""
        while True:
            self.look()
            time.sleep(0.1)

    def look(self) -> float:
        """Return the peak until now."""
        for one in ("self", *(name for task in Path("/proc/self/task").iterdir() for name in self.started(task))):
            with contextlib.suppress(OSError):
                peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{one}/status").read_text())
                self.mib = max(self.mib, int(peak[1]) / 1024 if peak else 0)
        return self.mib

    @staticmethod
    def started(task: Path) -> list[str]:
        """Return the ids of the processes that a thread started."""
        with contextlib.suppress(OSError):
            return (task / "children").read_text().split()
        return []


def read(name: str, run: Path, index: Path, last: int) -> dict[str, float]:
    """What a reader takes, from within its process."""
    memory = Memory()
    memory.start()
    times = READERS[name](run, index, last)
    first, next_ms = {"first": times.first_s, "cpu": times.first_cpu_s}, 1000 / NEXT
    return first | {"ms": times.next_s * next_ms, "cpu_ms": times.next_cpu_s * next_ms, "MiB": memory.look()}


def measured(shape: str, work: Path, reader: str) -> dict[str, float]:
    """What a reader takes, in a process of its own, without an index."""
    shutil.rmtree(work / "index", ignore_errors=True)
    command = [sys.executable, __file__, str(work), "--shapes", shape, "--reader", reader]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--shapes", choices=SHAPES, nargs="+", default=[*SHAPES])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    for name in given.shapes:
        shape, run = SHAPES[name], given.work / name
        if given.reader:
            print(json.dumps(read(given.reader, run, given.work / "index", shape.last)))
            return
        if not run.is_dir():
            run.mkdir(parents=True)
            shape.write(run)
        files = [path for path in run.rglob("*") if path.is_file()]
        size_mib = sum(path.stat().st_size for path in files) / 2**20
        print(f"{name}: {len(files)} files, {size_mib:,.0f} MiB; medians of {given.rounds}, worst first in brackets")
        found: dict[str, list[dict[str, float]]] = {reader: [] for reader in ("rolloupe", shape.rival)}
        for _ in range(given.rounds):
            for reader, results in found.items():
                results.append(measured(name, given.work, reader))
        for reader, results in found.items():
            tell(reader, results)
        tell("all indexed", [measured(name, given.work, "all indexed")])


def tell(reader: str, results: list[dict[str, float]]) -> None:
    """Print the medians of what a reader took."""
    median = {key: statistics.median(one[key] for one in results) for key in results[0]}
    print(
        f"  {reader:<12} first {median['first']:6.2f} s ({max(one['first'] for one in results):.2f}), "
        f"processor {median['cpu']:5.2f} s  next {median['ms']:6.2f} ms, processor {median['cpu_ms']:6.2f} ms  "
        f"{median['MiB']:.0f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    main()
