"""What the pass over tokens costs, and how long the worst tokens of a run take.

    python benchmarks/tokens.py WORK_DIR [--tokens 100_000_000] [--exports 5_000_000] [--against CHECKOUT]

Writes a recorded run with so many tokens and a prime-rl export with so many, indexes each in a fresh process, one part
after the other, and prints the CPU time of the numbers and of the pass over tokens, with the tokens a second. Then it
opens the index and asks for the worst tokens of the run and for the statistics of a series, three times with other
series. With `--against`, the numbers are also written by another work tree of Rolloupe, in turn. Deletes what it wrote.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

TOKENS_A_SAMPLE = 1_000
SAMPLES_A_STEP = 512


def recorded(run: Path, count: int) -> None:
    """A run of the recorder with ids and four series; the logprobs of the policies differ by a little noise."""
    import numpy as np

    from rolloupe import Recorder

    rng = np.random.default_rng(0)
    pool = [_policies(rng, TOKENS_A_SAMPLE) for _ in range(256)]
    text = "so we check again by substitution and find that this holds " * (4 * TOKENS_A_SAMPLE // 60)
    with Recorder(run) as recorder:
        for number in range(count // TOKENS_A_SAMPLE):
            step = number // SAMPLES_A_STEP
            sampling, trainer, ref, entropy = pool[rng.integers(len(pool))]
            recorder.sample(
                step=step, group=str(number % SAMPLES_A_STEP // 8), index=str(number % 8), prompt="p", response=text,
                reward=float(number % 2), advantage=float(number % 2) - 0.5,
                series={
                    "token_ids": _ids(rng, TOKENS_A_SAMPLE).astype(np.int32), "logprobs": sampling,
                    "trainer_logprobs": trainer, "ref_logprobs": ref, "entropy": entropy,
                },
            )  # fmt: skip
            if number % SAMPLES_A_STEP == SAMPLES_A_STEP - 1:
                assert recorder.step_end(step)


def _policies(rng: Any, count: int) -> tuple[Any, ...]:
    import numpy as np

    sampling = -rng.exponential(0.5, count)
    trainer = np.minimum(0, sampling + rng.normal(0, 0.02, count) * (rng.random(count) < 0.3))
    ref = np.minimum(0, sampling + rng.normal(0, 0.1, count))
    return tuple(one.astype(np.float32) for one in (sampling, trainer, ref, rng.exponential(0.4, count)))


def _ids(rng: Any, count: int) -> Any:
    """Ids of a vocabulary of 150,000, as frequent as words are: the nth with a share of about 1 / (n + 3)."""
    import numpy as np

    return np.exp(rng.uniform(np.log(3), np.log(150_003), count)).astype(np.int64) - 3


def exported(run: Path, count: int) -> None:
    """A token export of prime-rl: sequences of 8,000 tokens, of which 7,000 are trained, with all columns."""
    import numpy as np

    from rolloupe.tokens import importance_ratio, log_ratio, mismatch_kl, prob_delta

    rng, lines = np.random.default_rng(0), []
    for number in range(32):
        sampling, trainer, _, entropy = (one.astype(np.float64) for one in _policies(rng, 8_000))
        gaps = log_ratio(trainer, sampling)
        columns = {
            "inference_logprobs": sampling, "trainer_logprobs": trainer, "entropy": entropy,
            "advantages": np.full(8_000, number % 2 - 0.5), "log_importance_ratio": gaps,
            "importance_ratio": importance_ratio(gaps), "mismatch_kl": mismatch_kl(gaps),
            "prob_delta": prob_delta(trainer, sampling),
        }  # fmt: skip
        mask = (np.arange(8_000) >= 1_000).astype(int).tolist()
        record = {"token_ids": _ids(rng, 8_000).tolist(), "loss_mask": mask, "env_name": "e"}
        record |= {name: np.float32(values).astype(float).tolist() for name, values in columns.items()}
        record |= {name: [0] * 8_000 for name in ("is_masked", "is_masked_high", "is_masked_low")}
        lines.append(json.dumps(record)[1:])
    for step in range(max(1, count // 8_000 // 128)):
        folder = run / "token_exports" / f"step_{step}"
        folder.mkdir(parents=True)
        with open(folder / "rank_0.jsonl", "w") as file:
            for number in range(min(128, count // 8_000)):
                place = {"export_step": step, "rank": 0, "micro_step": 0, "micro_sequence_idx": 0}
                start = json.dumps({**place, "export_sequence_idx": number})[:-1]
                file.write(f"{start}, {lines[number % len(lines)]}\n")
        (folder / "STABLE").touch()


RUNS = {"recorded, four series and ids": recorded, "prime-rl export, eleven series and ids": exported}


def written(run: Path, folder: Path) -> dict[str, float]:
    """Index a run part by part; returns the CPU seconds of each pass."""
    from rolloupe.formats import by_name, discover
    from rolloupe.index.segments import segment
    from rolloupe.index.segments.parts import parts_of

    (info,) = discover([run]).runs
    form, began = by_name(info.format), time.process_time()
    places = [
        (source, segment.build(folder, info, source, part))
        for source in form.sources(info)
        for part in range(parts_of(form.splittable, os.path.getsize(source.path)))
    ]
    seconds = {"numbers": time.process_time() - began}
    try:
        from rolloupe.index.execution import BackfillJob, perform
        from rolloupe.index.segments.kinds import KINDS
    except ImportError:
        return seconds
    for stage in ("texts", "tokens"):
        kinds = [kind.name for kind in KINDS if kind.stage == stage]
        began = time.process_time()
        for source, meta in places if kinds else ():
            if meta is not None and meta.rows:
                job = BackfillJob(folder=str(folder), run=info, source=source, meta=meta, kinds=kinds)
                assert not perform(job).error
        seconds[stage] = time.process_time() - began
    return seconds


def answered(run: Path, index: Path) -> dict[str, float]:
    """Open an indexed run, and ask; returns the seconds of each question, by the clock."""
    from rolloupe import query
    from rolloupe.index import IndexWork, Library
    from rolloupe.query import SampleQuery

    seconds = {}
    with Library([run], index_dir=index, work=IndexWork(processes=1)) as library:
        (opened,) = library.runs
        assert opened.wait_all(3600)
        for series in ("mismatch_kl", "prob_delta", "importance_ratio"):
            began = time.perf_counter()
            found = query.worst_tokens(opened, SampleQuery(), series, limit=20)
            seconds[f"worst tokens by {series}"] = time.perf_counter() - began
            assert len(found.tokens) == 20 and not found.coverage.pending, found
            began = time.perf_counter()
            assert query.token_stats(opened, SampleQuery(), series).steps
            seconds[f"statistics of {series} by step"] = time.perf_counter() - began
        seconds["index, MB"] = library.index_bytes() / 1e6
        sizes = [path.stat().st_size for path in index.rglob("*.tokens.parquet")]
        seconds["of that tokens, MB"] = sum(sizes) / 1e6
    return seconds


def in_process(checkout: Path, *arguments: object) -> dict[str, float]:
    """Do one of these in a fresh process of a work tree."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, __file__, *map(str, arguments)]
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(result.stdout)
    return found


def report(work: Path, counts: list[int], other: Path | None, rounds: int) -> None:
    """Write the runs, measure, and print."""
    ours = Path(__file__).parents[1]
    for (title, write), count in zip(RUNS.items(), counts, strict=True):
        run = work / "run"
        try:
            write(run, count)
            size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
            print(f"{title}: {count:,} tokens, {size / 1e6:,.0f} MB", flush=True)
            with tempfile.TemporaryDirectory(dir=work) as folder:
                seconds = in_process(ours, folder, "--measure", run)
            for stage, one in seconds.items():
                print(f"  {stage:10} {one:7.2f} s of CPU, {count / max(one, 1e-9) / 1e6:6.2f} M tokens/s", flush=True)
            if other is not None:
                numbers: dict[Path, list[float]] = {ours: [], other: []}
                for checkout in (ours, other) * rounds:
                    with tempfile.TemporaryDirectory(dir=work) as folder:
                        found = in_process(checkout, folder, "--measure", run)
                    numbers[checkout].append(found["numbers"])
                here, there = median(numbers[ours]), median(numbers[other])
                print(f"  numbers alone: {here:.2f} s, before {there:.2f} s, ratio {here / there:.3f}", flush=True)
            with tempfile.TemporaryDirectory(dir=work) as folder:
                for what, one in in_process(ours, folder, "--answer", run).items():
                    print(f"  {what:40} {one:8.3f}", flush=True)
        finally:
            shutil.rmtree(run, ignore_errors=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--tokens", type=int, default=100_000_000)
    parser.add_argument("--exports", type=int, default=5_000_000)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(written(given.measure, given.work)))
    elif given.answer:
        print(json.dumps(answered(given.answer, given.work)))
    else:
        given.work.mkdir(parents=True, exist_ok=True)
        report(given.work, [given.tokens, given.exports], given.against and given.against.resolve(), given.rounds)


if __name__ == "__main__":
    main()
