"""What grows with the samples and files of a run, and so what a run of 10⁸ samples in 20,000 files takes.

    python benchmarks/many_samples.py WORK_DIR [--shapes 200x5000,600x5000,2000x5000,20000x50] [--rounds 5]

For each shape (files × samples in each), writes a run and its index, measures, and deletes both. The reduction: the
first file is scanned as usual; every other one is that file with another step, and its segment the same rows with
another step, written by the index's own writer, as are the packs. There are no texts, and pages are in the page cache.
Nothing is indexed behind the numbers while questions are asked, but is while a file is appended. Figures are
milliseconds, processor first, then the clock: medians of the rounds. The law `a + b files + c samples` is fitted to
each by least squares, with no negative part and fewer parts than shapes, and its value at 20,000 files and 10⁸ samples
printed.
"""

import argparse
import random
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from pathlib import Path
from unittest import mock

import msgspec
import numpy as np
import pyarrow as pa
from benchmarks.lists import forgetting
from msgspec.structs import replace

from rolloupe import query
from rolloupe.index import IndexWork, Library, OpenRun, compaction
from rolloupe.index.fingerprint import state_of, state_of_source, take
from rolloupe.index.run_indexer import RunIndexer
from rolloupe.index.segments import pack
from rolloupe.index.segments.kind import SegmentMeta
from rolloupe.index.segments.parts import scan
from rolloupe.index.segments.segment import build, numbers_of, parquet_of
from rolloupe.index.segments.step_stats import encoded
from rolloupe.model import RunInfo, Source
from rolloupe.query import Condition, SampleQuery
from rolloupe.storage import atomic

STEP = 100_000
"""The first step: all have as many digits, so that a sample is at the same place in each file."""

AIM_FILES, AIM_SAMPLES = 20_000, 100_000_000
Times = dict[str, tuple[float, float]]
"""Milliseconds of the processor and of the clock."""


def first_file(samples: int) -> bytes:
    """A step in Relax's keys, in short lines."""
    rng = random.Random(0)
    return b"".join(
        b'{"rollout_id": %d, "sample_index": %d, "group_index": %d, "prompt": "%d", "response": "x", '
        b'"reward": %.6f, "response_length": %d, "status": "completed"}\n'
        % (STEP, i, i // 8, i // 8, rng.random(), rng.randrange(4000))
        for i in range(samples)
    )


def write_others(folder: Path, run: RunInfo, first: Source, meta: SegmentMeta, steps: range) -> None:
    """Write the files and the segments of some steps."""
    contents = Path(first.path).read_bytes()
    table, _ = scan(run, first, 0, len(contents)).as_stored()
    for step in steps:
        path = Path(first.path).with_name(f"{step}.jsonl")
        path.write_bytes(contents.replace(b'"rollout_id": %d,' % STEP, b'"rollout_id": %d,' % step))
        name = first.name.replace(str(STEP), str(step))
        state = state_of(path)
        assert state is not None
        with path.open("rb") as file:
            print_ = take(file, state, state.size)
        rows = table
        for column, value in {"step": step, "source": name}.items():
            field = table.schema.field(column)
            values = pa.array([value] * table.num_rows, field.type)
            rows = rows.set_column(rows.schema.get_field_index(column), field, values)
        numbers = parquet_of(rows)
        own = replace(
            meta, source=name, fingerprint=print_, step_stats=[replace(s, step=step) for s in meta.step_stats],
            scalar_bytes=numbers.nbytes,
        )  # fmt: skip
        place = numbers_of(folder, own)
        atomic.write(place, numbers)
        atomic.write(place.with_suffix(".meta"), encoded(own))


def written(work: Path, files: int, samples: int) -> Path:
    """Write a run and its index."""
    root = work / "run"
    place = root / "rollout_result/train"
    place.mkdir(parents=True)
    (place / f"{STEP}.jsonl").write_bytes(first_file(samples))
    library = Library([root], index_dir=work / "index", work=IndexWork(budget_bytes=0))
    run = library.runs[0]
    run.wait()
    folder, info = run.catalog.folder, run.info
    (source,) = run.format.sources(info)
    library.close()
    meta = build(folder, info, source, 0)
    assert meta is not None
    with ProcessPoolExecutor(2) as pool:
        spans = [range(at, min(at + 100, STEP + files)) for at in range(STEP + 1, STEP + files, 100)]
        list(pool.map(partial(write_others, folder, info, source, meta), spans))
        with Library([root], index_dir=work / "index", work=IndexWork(budget_bytes=0)) as library:
            run = library.runs[0]
            run.wait()
            run.close()
            packs = [(pack.path_of(folder, some), some) for some in compaction.plan(run.catalog.segments())]
        jobs = [pool.submit(pack.write, path, pack.members_of(some), is_derived=False) for path, some in packs]
        assert all(job.result() for job in jobs)
    return root


def timed(asked: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The median time of a question."""
    taken = []
    for _ in range(rounds):
        cpu, clock = time.process_time(), time.perf_counter()
        asked()
        taken.append(((time.process_time() - cpu) * 1000, (time.perf_counter() - clock) * 1000))
    return statistics.median(t[0] for t in taken), statistics.median(t[1] for t in taken)


def sample_of_step(run: OpenRun, step: int) -> object:
    """What a click on a step asks for: its page, and the first sample of it."""
    page = query.samples(run, SampleQuery(splits=("train",), step_min=step, step_max=step, limit=100))
    return query.sample(run, page.samples[0].key)


def appended(run: OpenRun, place: Path, step: int) -> None:
    """Add a file, and wait until its samples are in the index."""
    contents = (place / f"{STEP}.jsonl").read_bytes()
    (place / f"{step}.jsonl").write_bytes(contents.replace(b'"rollout_id": %d,' % STEP, b'"rollout_id": %d,' % step))
    while ("train", step) not in run.snapshot().steps:
        time.sleep(0.01)


def first_progress(asked: Callable[[], object]) -> tuple[float, float]:
    """The time until whoever waits for the answer to a question sees how far it is."""
    cpu, clock, progress = time.process_time(), time.perf_counter(), query.Progress()

    def ask() -> None:
        with query.watched(progress):
            forgetting(asked)

    asking = threading.Thread(target=ask)
    asking.start()
    while asking.is_alive() and not progress.done:
        time.sleep(0.005)
    found = (time.process_time() - cpu) * 1000, (time.perf_counter() - clock) * 1000
    asking.join()
    return found


def memory_mib() -> tuple[float, float]:
    """The most memory that this process has taken."""
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return taken, taken


def measured(work: Path, rounds: int) -> Times:
    """Open the run of a folder, and measure."""
    times = asked_of(work, rounds)
    place = work / "run/rollout_result/train"
    files = len(list(place.iterdir()))
    with (
        mock.patch.object(RunIndexer, "_write_behind"),  # as if all of that were there
        Library([work / "run"], index_dir=work / "index", follow=True, work=IndexWork(budget_bytes=0)) as library,
    ):
        run = library.runs[0]
        run.wait_all()
        new = iter(range(STEP + files, STEP + files + rounds))
        times["appended file shows"] = timed(lambda: appended(run, place, next(new)), rounds)
    return times


def asked_of(work: Path, rounds: int) -> Times:
    """Open the run of a folder, and ask."""
    root, times = work / "run", {}
    files = len(list((root / "rollout_result/train").iterdir()))
    cpu, clock = time.process_time(), time.perf_counter()
    with Library([root], index_dir=work / "index", work=IndexWork(budget_bytes=0)) as library:
        run = library.runs[0]
        run.wait()
        run.snapshot()
        run.close()  # nothing is indexed behind the numbers
        times["open the index"] = (time.process_time() - cpu) * 1000, (time.perf_counter() - clock) * 1000
        steps = iter(range(STEP + files // 2, STEP + files))
        page = SampleQuery(splits=("train",), sort="reward", limit=100)
        narrow = SampleQuery(limit=100, where=(Condition("response_tokens", ">", 3900),))
        by_reward = SampleQuery(sort="reward", descending=True, limit=100)
        in_the_middle = SampleQuery(limit=100, offset=query.samples(run, SampleQuery(limit=1)).total // 2)

        deep = replace(by_reward, offset=in_the_middle.offset)

        def whole_step(step: int) -> SampleQuery:
            return SampleQuery(splits=("train",), step_min=step, step_max=step, limit=100)

        def a_step() -> object:
            step = next(steps)
            return query.samples(run, replace(page, step_min=step, step_max=step))

        def snapshot() -> object:
            run.catalog.touch()
            return run.snapshot()

        times["page of a step"] = timed(a_step, rounds)
        times["step to sample"] = timed(lambda: sample_of_step(run, next(steps)), rounds)
        filtered: dict[str, Callable[[], object]] = {
            "filter": lambda: query.samples(run, narrow),
            "filter, by groups": lambda: query.groups_page(run, replace(narrow, splits=("train",))),
            "filter, by reward": lambda: query.samples(run, replace(narrow, sort="reward")),
        }
        times["groups of a step"] = timed(lambda: query.groups_page(run, whole_step(next(steps))), rounds)
        for name, one in filtered.items():
            times[name] = timed(partial(forgetting, one), rounds)
        times["filter, without packs"] = timed(partial(unpacked, run, filtered["filter"]), rounds)
        times["filter, first progress"] = first_progress(filtered["filter"])
        times["first page by reward"] = timed(lambda: forgetting(lambda: query.samples(run, by_reward)), rounds)
        times["middle of the run"] = timed(lambda: query.samples(run, in_the_middle), rounds)
        times["curve"] = timed(lambda: query.series(run, "reward", "train"), rounds)
        times["snapshot"] = timed(snapshot, rounds)
        times["poll"] = timed(lambda: [state_of_source(one) for one in run.format.sources(run.info)], rounds)
        times["memory, MiB"] = memory_mib()
        times["list of all by reward"] = timed(lambda: forgetting(lambda: query.samples(run, deep)), 1)
        times["memory with it, MiB"] = memory_mib()
    return times


def unpacked(run: OpenRun, asked: Callable[[], object]) -> None:
    """Ask with every segment read alone."""
    packs = {segment.pack for segment in run.snapshot().segments if segment.pack}
    for one in packs:
        one.is_good = False
    forgetting(asked)
    for one in packs:
        one.is_good = True


def at_the_aim(shapes: list[tuple[int, int]], values: list[float]) -> tuple[float, tuple[float, ...]]:
    """The value that the law gives for the aim, and its parts: constant, per file, per sample."""
    terms = np.array([(1.0, files, files * samples) for files, samples in shapes])
    weights = 1 / np.maximum(1e-9, values)
    best: tuple[float, np.ndarray] = (float("inf"), np.zeros(3))
    for kept in (list(some) for count in (1, 2, 3)[: len(shapes) - 1] for some in combinations(range(3), count)):
        found, *_ = np.linalg.lstsq(terms[:, kept] * weights[:, None], np.ones(len(values)), rcond=None)
        error = float(np.sum((terms[:, kept] @ found * weights - 1) ** 2))
        if (found >= 0).all() and error < best[0]:
            law = np.zeros(3)
            law[kept] = found
            best = error, law
    return float(best[1] @ (1.0, AIM_FILES, AIM_SAMPLES)), tuple(map(float, best[1]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--shapes", default="200x5000,600x5000,2000x5000,20000x50")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help="measure the run of WORK_DIR, and print it as JSON")
    given = parser.parse_args()
    if given.measure:
        print(msgspec.json.encode(measured(given.work, given.rounds)).decode())
        return
    shapes = [(int(f), int(s)) for f, s in (one.split("x") for one in given.shapes.split(","))]
    results: list[Times] = []
    for files, samples in shapes:
        work = given.work / f"{files}x{samples}"
        try:
            written(work, files, samples)
            size = sum(path.stat().st_size for path in (work / "index").rglob("*") if path.is_file())
            print(f"{files} files of {samples}: index of {size / files / samples:.1f} bytes a sample", flush=True)
            command = [sys.executable, "-m", "benchmarks.many_samples", str(work), "--measure"]
            done = subprocess.run([*command, "--rounds", str(given.rounds)], check=True, stdout=subprocess.PIPE)
            results.append(msgspec.json.decode(done.stdout, type=Times))
            for what, (cpu, clock) in results[-1].items():
                print(f"  {what:24}{cpu:10.1f}{clock:10.1f}", flush=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    if len(shapes) < 3:
        return
    print(f"at {AIM_FILES} files and {AIM_SAMPLES} samples (constant, for 1,000 files, for 10⁶ samples)")
    for what in results[0]:
        for which, name in enumerate(("processor", "clock")):
            value, (constant, by_file, by_sample) = at_the_aim(shapes, [times[what][which] for times in results])
            parts = f"{constant:.1f}, {by_file * 1e3:.2f}, {by_sample * 1e6:.3f}"
            print(f"  {what:24}{name:10}{value:12.1f}   ({parts})")


if __name__ == "__main__":
    main()
