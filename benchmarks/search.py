"""How quickly texts are searched, beside reading and decompressing the same texts alone.

    python benchmarks/search.py WORK_DIR [--shape short|long] [--rounds 5]

`short`: 10,000,000 samples of 300 bytes in 5,000 files (6 GB, half an hour the first time; `--samples` for fewer).
`long`: 102,400 samples of 4 kB in 200 files. Prints medians in milliseconds, interleaved, files in the page cache: to
the first progress, to the first hit, to the total, and of the processor, which others that use it delay less; and both
rates as parts of those of plain decompression. In `long` one sample in a hundred has a needle, in `short` two in a
hundred are asked "Question 42".
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
from generate import text_pool
from lists import written

from rolloupe.index import Library, OpenRun
from rolloupe.index.segments.texts import text_of
from rolloupe.query import SampleQuery
from rolloupe.query.search import Search, SearchOptions, TextQuery
from rolloupe.query.search.run_search import threads

STEPS, GROUPS, GROUP_SIZE, CHARS = 200, 64, 8, 4000

QUERIES = {
    "a word in 1 % of the samples": "needle",
    "a word that nothing has": "absent",
    "a word in all samples": "the",
    "a pattern in 1 %": "need(le|y)",
}


def long_run(folder: Path) -> Path:
    """Responses of 4 kB; one in a hundred holds a needle."""
    place = folder / "rollout_result/train"
    if not place.is_dir():
        place.mkdir(parents=True)
        rng = random.Random(3)
        pool = text_pool(rng)
        for step in range(STEPS):
            with (place / f"{step}.jsonl").open("w") as file:
                for index in range(GROUPS * GROUP_SIZE):
                    start = rng.randrange(len(pool) - CHARS)
                    response = pool[start : start + CHARS] + (" Needle" if rng.random() < 0.01 else "")
                    row = {
                        "rollout_id": step, "sample_index": index, "group_index": index // GROUP_SIZE,
                        "prompt": f"Question {index // GROUP_SIZE} of {step}?", "response": response,
                        "reward": rng.random(), "status": "completed",
                    }  # fmt: skip
                    file.write(json.dumps(row) + "\n")
    return folder


def short_run(folder: Path, samples: int) -> Path:
    """The many short samples of `benchmarks/lists.py`; what one in a hundred has is a number."""
    return written(folder, 5000, 5000, samples)


def plain(files: list[Path]) -> Callable[[], None]:
    """Read and decompress both texts of all files, in as many threads as a search has."""

    def one(path: Path) -> None:
        with pq.ParquetFile(path) as file:
            for _ in file.iter_batches(columns=["prompt", "response"], use_threads=False):
                pass

    def run() -> None:
        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(one, files))

    return run


def timed(run: OpenRun, query: TextQuery) -> tuple[float, float, float, float, int]:
    """Milliseconds to the first progress, the first hit and the end, of the processor, and how many were found."""
    began, cpu = time.perf_counter(), time.process_time()
    first_progress = first_hit = 0.0
    found = 0
    for one in Search(run, query, SampleQuery(), SearchOptions(limit=100, reserve=1900)):
        now = (time.perf_counter() - began) * 1000
        first_progress = first_progress or now
        if one.hits and not first_hit:
            first_hit = now
        found = one.progress.found
    spent = (time.process_time() - cpu) * 1000
    return first_progress, first_hit, (time.perf_counter() - began) * 1000, spent, found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--shape", choices=["short", "long"], default="long")
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    short = given.shape == "short"
    folder = given.work / (f"short-{given.samples}" if short else "long")
    path = short_run(folder, given.samples) if short else long_run(folder)
    with Library([path], index_dir=given.work / "index") as library:
        run = library.runs[0]
        run.wait_all()
        files = [text_of(segment.path) for segment in run.snapshot().segments]
        size = sum(pq.read_metadata(file).row_group(0).total_byte_size for file in files)
        queries = {name: TextQuery(text=text, regex="(" in text) for name, text in QUERIES.items()}
        if short:
            queries["a word in 1 % of the samples"] = TextQuery(text="Question 42 ", roles=("prompt",))
        queries["capitals matter, 1 %"] = TextQuery(text="Needle", case=True)
        decompress = plain(files)
        limits: list[tuple[float, float]] = []
        taken: dict[str, list[tuple[float, float, float, float, int]]] = {name: [] for name in queries}
        for _ in range(given.rounds + 1):
            began, cpu = time.perf_counter(), time.process_time()
            decompress()
            limits.append(((time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000))
            for name, query in queries.items():
                taken[name].append(timed(run, query))
    wall, cpu = (statistics.median(one[place] for one in limits[1:]) for place in range(2))
    print(f"{len(files)} files, {size / 1e6:,.0f} MB; decompression alone {wall:,.0f} ms, of the processor {cpu:,.0f}")
    heads = ("first progress", "first hit", "total", "processor", "part, wall", "part, cpu", "found")
    print(f"{'ms':32}" + "".join(f"{head:>16}" for head in heads))
    for name, rounds in taken.items():
        progress, hit, total, spent = (statistics.median(one[place] for one in rounds[1:]) for place in range(4))
        figures = f"{progress:16,.0f}{hit:16,.0f}{total:16,.0f}{spent:16,.0f}{wall / total:16.2f}{cpu / spent:16.2f}"
        print(f"{name:32}{figures}{rounds[0][4]:16,}")


if __name__ == "__main__":
    main()
