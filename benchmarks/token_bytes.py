"""Time the answer with all tokens of one long sample, from a recorded run and from a JSON line.

    python benchmarks/token_bytes.py WORK_DIR [--tokens 131072] [--rounds 9]

Writes a sample with token strings and six series twice: with the recorder, and as one line of JSON in the layout of
RLLoggingBoard. For each it prints the CPU time, best of the rounds, to read the sample, to gather its series with the
derived ones, and to encode the bytes that the server sends; for the line also that of `json.loads`, in turn. Deletes
what it wrote. The aims are 150 ms for the recorded run, and 1.3 times `json.loads` for the line.
"""

import argparse
import json
import shutil
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import rolloupe
from rolloupe import query
from rolloupe.index import IndexWork, Library
from rolloupe.wire import token_bytes

SERIES = ("logprobs", "ref_logprobs", "entropy", "values", "token_rewards", "advantages")
AIM_S, AIM_RATIO = 0.150, 1.3


def numbers(count: int) -> dict[str, Any]:
    """Six series of random numbers."""
    rng = np.random.default_rng(1)
    return {name: -rng.exponential(size=count) for name in SERIES}


def recorded(run: Path, count: int) -> None:
    """Record the sample."""
    strings = [f" {number % 977}" for number in range(count)]
    with rolloupe.Recorder(run, code=None) as recorder:
        recorder.sample(step=0, prompt="p", response="".join(strings), tokens=strings, series=numbers(count))


def as_line(run: Path, count: int) -> bytes:
    """Write the sample as a line of JSON, and return the line."""
    strings = [f" {number % 977}" for number in range(count)]
    series = {name: values.tolist() for name, values in numbers(count).items()}
    record = {"prompt": "p", "response": "".join(strings), "response_tokens": strings, "step": 0, "reward": 1.0}
    line = json.dumps({**record, **series}).encode()
    run.mkdir(parents=True)
    (run / "data.jsonl").write_bytes(line + b"\n")
    return line


def timed(run: Path, rounds: int, line: bytes = b"0") -> tuple[list[float], float, int]:
    """Answer so many times; returns the best CPU seconds to read, gather and encode, of `json.loads`, and the bytes."""
    stages, loads, size = [], [], 0
    with Library([run], index_dir=run / ".index", work=IndexWork(processes=1)) as library:
        (opened,) = library.runs
        assert opened.wait_all(600)
        (item,) = query.every(opened, query.SampleQuery())
        for _ in range(rounds):
            marks = [time.process_time()]
            json.loads(line)
            marks.append(time.process_time())
            sample = query.sample(opened, item.key)
            marks.append(time.process_time())
            page = query.token_page(sample)
            marks.append(time.process_time())
            size = len(token_bytes.encoded(str(item.key), page))
            marks.append(time.process_time())
            loads.append(marks[1] - marks[0])
            stages.append([stop - start for start, stop in pairwise(marks[1:])])
    return min(stages, key=sum), min(loads), size


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--tokens", type=int, default=131_072)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    run = given.work / "run"
    try:
        recorded(run, given.tokens)
        stages, _, size = timed(run, given.rounds)
        report("recorded", stages, size)
        print(f"  aim {AIM_S * 1e3:.0f} ms: {'met' if sum(stages) <= AIM_S else 'MISSED'}")
        shutil.rmtree(run)
        line = as_line(run, given.tokens)
        stages, loads, size = timed(run, given.rounds, line)
        report(f"a line of {len(line) / 1e6:.1f} MB", stages, size)
        ratio = sum(stages) / loads
        print(f"  json.loads {loads * 1e3:.0f} ms, ratio {ratio:.2f}; aim {AIM_RATIO}: ", end="")
        print("met" if ratio <= AIM_RATIO else "MISSED")
    finally:
        shutil.rmtree(run, ignore_errors=True)


def report(title: str, stages: list[float], size: int) -> None:
    """Print one row."""
    read, gather, encode = (f"{one * 1e3:.0f}" for one in stages)
    print(
        f"{title}: {sum(stages) * 1e3:.0f} ms (read {read}, gather {gather}, encode {encode}), {size / 1e6:.1f} MB sent"
    )


if __name__ == "__main__":
    main()
