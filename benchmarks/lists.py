"""How long lists and curves of large runs take: the same samples in many small files and in few large ones.

    python benchmarks/lists.py WORK_DIR [--samples 1000000] [--files 5000] [--rounds 9]

Writes both runs (about 300 bytes a line, made once), indexes them, and times, interleaved: a page of 100 of a step, the
middle one of the whole run in its order, one of the whole run sorted by reward for the first time (a list that was made
is kept) and its middle page afterwards, a page that a condition narrows, a curve by step, and the groups of a step with
their rewards and with the columns of a list whose reader chose none. The many files are asked a second time without
packs. Beside it stands a plain DuckDB statement for the same page over one Parquet file with the same rows, as the
limit.
Prints medians in milliseconds, files in the page cache. Ten million samples take 6 GB and half an hour.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
from msgspec.structs import replace

from rolloupe import query
from rolloupe.index import Library, OpenRun
from rolloupe.query import Condition, SampleQuery
from rolloupe.query.engine.caches import AnswerCache
from rolloupe.query.samples import groups, listing

LARGE_FILES = 8
WORDS = "so the sum of both roots is seven and we check that by substitution for every integer".split()


def lines(rng: random.Random, step: int, count: int) -> str:
    """A step in Relax's keys."""
    text = " ".join(rng.choices(WORDS, k=12))
    return "".join(
        f'{{"rollout_id": {step}, "sample_index": {i}, "group_index": {i // 8}, '
        f'"prompt": "Question {i // 8} of {step}?", '
        f'"response": "{text}", "reward": {{"score": {rng.random():.6f}, "format": {i % 2}.0}}, '
        f'"prompt_length": 12, "response_length": {rng.randrange(4000)}, "status": "completed"}}\n'
        for i in range(count)
    )


def written(folder: Path, files: int, steps: int, samples: int) -> Path:
    """A run of so many samples, evenly over steps and files."""
    place = folder / "rollout_result/train"
    if not place.is_dir():
        place.mkdir(parents=True)
        rng = random.Random(0)
        for step in range(steps):
            with (place / f"{step * files // steps}.jsonl").open("a") as file:
                file.write(lines(rng, step, samples // steps))
    return folder


def one_file(run: OpenRun, place: Path) -> Path:
    """All rows of a run in one Parquet file, in step order."""
    if not place.exists():
        segments = [str(segment.path) for segment in run.snapshot().segments]
        with duckdb.connect() as connection:
            sql = f"COPY (FROM read_parquet(?) ORDER BY step, ordinal) TO '{place}' (FORMAT parquet, COMPRESSION zstd)"
            connection.execute(sql, [segments])
    return place


def questions(run: OpenRun, middle: int) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    by_reward = SampleQuery(sort="reward", descending=True, limit=100)
    deep = replace(by_reward, offset=query.samples(run, by_reward).total // 2)
    middle_page = SampleQuery(limit=100, offset=deep.offset)
    step = SampleQuery(splits=("train",), step_min=middle, step_max=middle, sort="reward", limit=100)
    whole_step = replace(step, sort="index")
    narrow = SampleQuery(sort="reward", limit=100, where=(Condition("response_tokens", ">", 3900),))
    return {
        "page of a step": lambda: query.samples(run, step),
        "middle page of the run": lambda: query.samples(run, middle_page),
        "page of the run by reward": lambda: forgetting(lambda: query.samples(run, by_reward)),
        "its middle page, then": lambda: query.samples(run, deep),
        "page of the run, a condition": lambda: forgetting(lambda: query.samples(run, narrow)),
        "curve of reward": lambda: query.series(run, "reward", "train"),
        "groups of a step": lambda: query.groups_page(run, whole_step),
        "groups, usual columns": lambda: query.groups_page(run, whole_step, query.usual_columns(run, "train")),
    }


def forgetting(asked: Callable[[], object]) -> object:
    """Ask as if no list had been made."""
    for kept in [one for module in (listing, groups) for one in vars(module).values()]:
        if isinstance(kept, AnswerCache):
            kept.clear()
    return asked()


def plain(parquet: Path, middle: int, samples: int) -> dict[str, Callable[[], object]]:
    """The same pages, asked of one file."""
    connection = duckdb.connect(config={"threads": 2})
    best = (
        "WITH found AS (SELECT ordinal, step FROM read_parquet(?) WHERE {} ORDER BY {} LIMIT 100 OFFSET {}) "
        "SELECT * FROM read_parquet(?) SEMI JOIN found USING (step, ordinal)"
    )
    name = str(parquet)

    def asked(where: str, order: str, offset: int = 0) -> Callable[[], object]:
        return lambda: connection.execute(best.format(where, order, offset), [name, name]).fetchall()

    statistics_of = "count(*), avg(reward), stddev_pop(reward), min(reward), max(reward)"
    members = f"SELECT grp, {statistics_of}, list(reward){{}} FROM read_parquet(?) WHERE step = {middle} GROUP BY grp"
    usual = members.format(", list(response_tokens)")
    curve = f"SELECT step, {statistics_of} FROM read_parquet(?) GROUP BY step"
    return {
        "page of a step": asked(f"step = {middle}", "reward, ordinal"),
        "middle page of the run": asked("true", "step, ordinal", samples // 2),
        "page of the run by reward": asked("true", "reward DESC, step, ordinal"),
        "its middle page, then": asked("true", "reward DESC, step, ordinal", samples // 2),
        "page of the run, a condition": asked("response_tokens > 3900", "reward, step, ordinal"),
        "curve of reward": lambda: connection.execute(curve, [name]).fetchall(),
        "groups of a step": lambda: connection.execute(members.format(""), [name]).fetchall(),
        "groups, usual columns": lambda: connection.execute(usual, [name]).fetchall(),
    }


def without_packs(run: OpenRun, asked: Callable[[], object]) -> Callable[[], float]:
    """Time a question with every segment read alone."""
    packs = {segment.pack for segment in run.snapshot().segments if segment.pack}

    def timed() -> float:
        for pack in packs:
            pack.is_good = False
        took_ms = milliseconds(asked)
        for pack in packs:
            pack.is_good = True
        return took_ms

    return timed


def milliseconds(asked: Callable[[], object]) -> float:
    """How long a question takes."""
    began = time.perf_counter()
    asked()
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--many-alone", action="store_true", help="leave the few large files out, and the plain statement"
    )
    given = parser.parse_args()
    shapes = {"many": given.files} if given.many_alone else {"many": given.files, "few": LARGE_FILES}
    tasks: dict[str, dict[str, Callable[[], float]]] = {}
    for name, files in shapes.items():
        path = written(given.work / f"{name}-{given.samples}-{given.files}", files, given.files, given.samples)
        began = time.perf_counter()
        library = Library([path], index_dir=given.work / "index")
        run = library.runs[0]
        run.wait()
        ready_s = time.perf_counter() - began
        run.wait_all()
        took_s, segments = time.perf_counter() - began, len(run.snapshot().segments)
        print(f"{name}: {segments} segments, scalars ready after {ready_s:.1f} s, all after {took_s:.1f} s")
        asked = questions(run, given.files // 2)
        tasks[f"{name} files"] = {what: partial(milliseconds, one) for what, one in asked.items()}
        if name == "many":
            tasks["without packs"] = {what: without_packs(run, one) for what, one in asked.items()}
        else:
            parquet = one_file(run, given.work / f"{given.samples}-{given.files}.parquet")
            limit = plain(parquet, given.files // 2, given.samples)
            tasks["one Parquet file"] = {what: partial(milliseconds, one) for what, one in limit.items()}
    print(f"{'ms':30}" + "".join(f"{name:>18}" for name in tasks))
    for what in tasks["many files"]:
        taken: dict[str, list[float]] = {name: [] for name in tasks}
        for _ in range(given.rounds + 1):
            for name, timed in tasks.items():
                taken[name].append(timed[what]())
        print(f"{what:30}" + "".join(f"{statistics.median(ms[1:]):18.1f}" for ms in taken.values()))


if __name__ == "__main__":
    main()
