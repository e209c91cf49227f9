"""How fast a run is indexed, as a ratio to a scan for newlines, which is the least that any reader does.

    python benchmarks/index.py WORK_DIR [--rounds 7] [--megabytes 400] [--only WORD]

Writes two runs of the shapes that trainers write: light (18 kB of text a line) and heavy (six arrays with a number a
token), which is read both with aggregates (as RLLoggingBoard) and without any (as plain JSON lines). Then times,
interleaved, a newline scan, the scalar index with one process and with two that have started already, and plain
parsers on the same files. Prints medians, ratios, and the peak memory of the processes that scan. Files are in the
page cache.

After them come the lines that people have, an eighth as many bytes of each: of 0.7, 5 and 19.5 kB with escapes, and of
5 kB in Chinese, in UTF-8 and escaped, with prompts shared by groups of eight; as Relax, verl and plain logs write them.
Each stands beside `json.loads` in CPU time, with the bytes of its index. `--only` measures titles with this word.
"""

import argparse
import importlib.util
import json
import random
import resource
import shutil
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from statistics import median

import generate

from rolloupe.formats import by_name, discover
from rolloupe.index.execution import InlineExecutor, JobReply, ProcessExecutor, ScanJob
from rolloupe.index.segments.parts import parts_of
from rolloupe.model import Reading

WORDS = "the sum of both roots is seven so we check that by substitution and it holds for every integer ".split()
SERIES = ("logprobs", "ref_logprobs", "values", "token_rewards", "advantages", "entropy")
FILES = 8
TYPICAL = {
    # The bytes of a line, its words, and whether what ASCII lacks is escaped.
    "0.7 kB": (700, generate.WORDS, True),
    "5 kB": (5000, generate.WORDS, True),
    "19.5 kB": (19500, generate.WORDS, True),
    "5 kB CJK": (5000, generate.CJK_WORDS, False),
    "5 kB CJK escaped": (5000, generate.CJK_WORDS, True),
}
KEYS = {
    "relax": {},
    "verl": {"prompt": "input", "response": "output", "label": "gts", "reward": "score", "rollout_id": "step"},
    "generic": {"rollout_id": "step", "group_index": "prompt_id"},
}
"""The names of Relax's keys in each format."""
SCAN, ONE, TWO, PYTHON = "newline scan", "index, 1 process", "index, 2 processes", "json.loads"


def words(rng: random.Random, count: int) -> str:
    """A text of so many words."""
    return " ".join(rng.choices(WORDS, k=count))


def light(rng: random.Random, step: int, index: int) -> dict[str, object]:
    """A sample of text, about 18 kB."""
    return {
        "rollout_id": step, "sample_index": index, "group_index": index // 8, "prompt": words(rng, 60),
        "response": words(rng, 3800), "reward": rng.random(), "response_length": 3800,
        "status": "completed",
    }  # fmt: skip


def heavy(rng: random.Random, step: int, index: int) -> dict[str, object]:
    """A sample with six arrays of 4,000 numbers, about 500 kB."""
    return {
        "prompt": words(rng, 60), "response": words(rng, 3000),
        "reward": rng.random(), "step": step, "ground_truth": str(index),
        **{name: [rng.random() * -3 for _ in range(4000)] for name in SERIES},
    }  # fmt: skip


def written(folder: Path, make: Callable[[random.Random, int, int], dict[str, object]], size: int) -> Path:
    """A run of about so many bytes, in files of one step each; made once."""
    place = folder / "rollout_result/train" if make is light else folder
    if not place.is_dir():
        place.mkdir(parents=True)
        rng = random.Random(0)
        for step in range(FILES):
            with (place / f"{step}.jsonl").open("w") as file:
                index = 0
                while file.tell() < size // FILES:
                    file.write(json.dumps(make(rng, step, index)) + "\n")
                    index += 1
    return folder


def typical(folder: Path, format: str, shape: str, size: int) -> Path:
    """A run of about so many bytes, of lines that people have; made once."""
    line_bytes, vocabulary, escaped = TYPICAL[shape]
    place = folder / "rollout_result/train" if format == "relax" else folder
    if not place.is_dir():
        place.mkdir(parents=True)
        rng = random.Random(0)
        pool = generate.text_pool(rng, vocabulary, " " if vocabulary is generate.WORDS else "")
        char_bytes = len(json.dumps(pool, ensure_ascii=escaped).encode()) / len(pool)
        for step in range(FILES):
            with (place / f"{step}.jsonl").open("wb") as file:
                index = 0
                while file.tell() < size // FILES:
                    row = generate.record(rng, pool, step, index, 8, 500 + int((line_bytes - 480) / char_bytes), FILES)
                    if format != "relax":
                        row |= row.pop("reward")
                        row["reward"] = row.pop("score")
                    row = {KEYS[format].get(key, key): value for key, value in row.items()}
                    file.write(json.dumps(row, ensure_ascii=escaped).encode() + b"\n")
                    index += 1
    return folder


def newlines(run: Path) -> None:
    """Find every newline."""
    buffer = bytearray(2**20)
    for path in run.rglob("*.jsonl"):
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                at = buffer.find(b"\n", 0, count)
                while at >= 0:
                    at = buffer.find(b"\n", at + 1, count)


def parsed(run: Path, loads: Callable[[bytes], object]) -> None:
    """Parse every line."""
    for path in run.rglob("*.jsonl"):
        with path.open("rb") as file:
            for line in file:
                loads(line)


def duck(run: Path) -> None:
    """Read all rows with DuckDB's own reader, on one thread."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        sql = "SELECT count(*), avg(reward) FROM read_ndjson(?, maximum_object_size = 67108864)"
        connection.execute(sql, [str(run / "**/*.jsonl")]).fetchall()


def jobs_of(run: Path, work: Path, format: str) -> list[ScanJob]:
    """A job for each part of a run's files."""
    (info,) = discover([run], Reading(format=format)).runs
    reader = by_name(info.format)
    return [
        ScanJob(folder=str(work), run=info, source=source, part=part)
        for source in reader.sources(info)
        for part in range(parts_of(reader.splittable, Path(source.path).stat().st_size))
    ]


def indexed(jobs: list[ScanJob], submit: Callable[[ScanJob], Future[JobReply]]) -> None:
    """Make the scalar index from nothing."""
    shutil.rmtree(jobs[0].folder, ignore_errors=True)
    for reply in [submit(job) for job in jobs]:
        assert not reply.result().error


def rivals(run: Path) -> dict[str, Callable[[], None]]:
    """Other ways to read the same files."""
    found = {"DuckDB read_ndjson": lambda: duck(run), PYTHON: lambda: parsed(run, json.loads)}
    if importlib.util.find_spec("orjson"):
        import orjson

        found["orjson.loads"] = lambda: parsed(run, orjson.loads)
    return found


def measured(title: str, run: Path, tasks: dict[str, Callable[[], None]], rounds: int) -> None:
    """Time tasks in turn, and print their medians; by this process's CPU time, too, which other work disturbs less."""
    size = sum(path.stat().st_size for path in run.rglob("*.jsonl")) / 1e6
    wall: dict[str, list[float]] = {name: [] for name in tasks}
    cpu: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            began, began_cpu = time.perf_counter(), time.process_time()
            task()
            wall[name].append(time.perf_counter() - began)
            cpu[name].append(time.process_time() - began_cpu)
    print(f"{title}: {size:.0f} MB, medians of {rounds}; rate, and how it stands to the newline scan")
    for name in tasks:
        told = [f"{size / (it := median(of[name])):7.0f} MB/s 1/{it / median(of[SCAN]):.1f}" for of in (wall, cpu)]
        print(f"  {name:20} {told[0]}" + ("" if name == TWO else f"   of CPU time {told[1]}"))
    if PYTHON in cpu:
        pairs = zip(cpu[PYTHON], cpu[ONE], strict=True)
        print(f"  of CPU time in turn: {ONE} {median(theirs / ours for theirs, ours in pairs):.2f} x {PYTHON}")


def beside_json(title: str, run: Path, jobs: list[ScanJob], inline: InlineExecutor, rounds: int) -> None:
    """Time the scalar index and `json.loads` in turn, and print a line."""
    tasks = {ONE: lambda: indexed(jobs, inline.submit), PYTHON: lambda: parsed(run, json.loads)}
    cpu: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            began = time.process_time()
            task()
            cpu[name].append(time.process_time() - began)
    size, index = (
        sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        for folder in (run, Path(jobs[0].folder))
    )
    rates = "".join(f"{size / 1e6 / median(cpu[name]):12.0f}" for name in tasks)
    ratio = median(theirs / ours for theirs, ours in zip(cpu[PYTHON], cpu[ONE], strict=True))
    print(f"  {title:26}{rates}{ratio:10.2f}{index / size:10.2%}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--only", default="", metavar="WORD")
    given = parser.parse_args()
    workers = ProcessExecutor(2)
    inline = InlineExecutor(0, workers)
    for title, make, named in (
        ("light", light, ""),
        ("heavy, with aggregates", heavy, ""),
        ("heavy, scalars alone", heavy, "generic"),
    ):
        if given.only not in title:
            continue
        run = written(given.work / make.__name__, make, given.megabytes * 10**6)
        jobs = jobs_of(run, given.work / "index", named)
        indexed(jobs, workers.submit)  # both have started when all is done
        ours: dict[str, Callable[[], None]] = {
            SCAN: lambda run=run: newlines(run),
            ONE: lambda jobs=jobs: indexed(jobs, inline.submit),
            TWO: lambda jobs=jobs: indexed(jobs, workers.submit),
        }
        measured(title, run, ours | ({} if named else rivals(run)), given.rounds)
    print(f"MB/s of CPU time{ONE[:5]:>24}{PYTHON:>12}{'ratio':>10}{'index':>10}")
    for name in KEYS:
        for shape in TYPICAL:
            title = f"{name} {shape}"
            if given.only in title:
                run = typical(given.work / title.replace(" ", "-"), name, shape, given.megabytes * 10**6 // 8)
                jobs = jobs_of(run, given.work / "index", name)
                beside_json(title, run, jobs, inline, given.rounds)
    workers.close()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory of a process that scans: {peak:.0f} MiB")


if __name__ == "__main__":
    main()
