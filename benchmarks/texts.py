"""What the second pass of the index costs, which writes texts and derived metrics, as a ratio to an older Rolloupe.

    python benchmarks/texts.py WORK_DIR --against CHECKOUT [--rounds 7] [--only NAME ...]

`CHECKOUT` is a work tree of Rolloupe; 5debd3b is the last commit that wrote texts alone. Writes a run of each shape,
and measures this Rolloupe and the other in turn, each time in a fresh process that writes the numbers first, and then
texts and derived metrics, whose CPU time counts. Prints the medians, and which of them exceed the limit. Files are in
the page cache.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

WORDS = (
    "therefore the sum of both roots equals seven so we check again by substitution and find that this holds for every "
    "positive integer except perhaps the last one which needs a separate argument about parity let me verify"
).split()
CHINESE = "我们先看第一个方程的两根之和等于七所以代入原式检验对每个正整数都成立除了最后一个需要单独讨论奇偶性因此答案是"
MEGABYTES = 40
LIMIT = 1.25
"""What the ratio is to be at most."""


def written(rng: random.Random, chars: int) -> str:
    """A text in which a tenth of the words is rare."""
    size, found = 0, []
    while size < chars:
        word = rng.choice(WORDS) if rng.random() < 0.9 else f"{rng.randrange(10**6):x}"
        found.append(word)
        size += len(word) + 1
    return " ".join(found)[:chars]


def chinese(rng: random.Random, chars: int) -> str:
    """A text in Chinese with some Latin letters and digits."""
    pieces = (rng.choice(CHINESE) if rng.random() < 0.95 else f"，x={rng.randrange(100)}。" for _ in range(chars))
    return "".join(pieces)


def maths(rng: random.Random, chars: int) -> str:
    """A thought that goes in circles, with formulas and code, and an answer."""
    lines = [f"Wait, {written(rng, 60)} \\[ x^2 - {n}x < {n + 1} \\]" for n in range(12)]
    code = "```python\nfor i in range(10):\n    if a[i] < b[i]:\n        print(a[i], b[i])\n```"
    body: list[str] = []
    while sum(map(len, body)) < chars:
        body += [*rng.choices(lines, k=4), code if rng.random() < 0.2 else written(rng, 80)]
    thought = "\n".join(body)
    return f"<think>\n{thought}\n</think>\n\nThe answer is \\boxed{{{rng.randrange(100)}}}."


def conversation(rng: random.Random) -> list[dict[str, Any]]:
    """Eight messages: the assistant calls a tool three times."""
    found: list[dict[str, Any]] = []
    for n in range(4):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "run", "arguments": '{"code": "1 + 1"}'}}
        found.append(
            {"role": "assistant", "content": f"<think>{written(rng, 500)}</think>I look.", "tool_calls": [call]}
        )
        found.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"{written(rng, 300)}\n[{n}] <b>ok</b>"})
    return found


def templated(rng: random.Random) -> str:
    """The same as one text, in ChatML."""
    call = '<tool_call>\n{"name": "run", "arguments": {"code": "1 + 1"}}\n</tool_call>'
    turns = (
        f"<think>{written(rng, 500)}</think>I look.\n{call}<|im_end|>\n"
        f"<|im_start|>user\n<tool_response>\n{written(rng, 300)}\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
        for _ in range(4)
    )
    return "".join(turns)


def plain(rng: random.Random, step: int, response: object) -> dict[str, Any]:
    """A record of no particular framework."""
    return {"step": step, "prompt": written(rng, 200), "response": response, "reward": rng.random()}


def relax(rng: random.Random, step: int, response: object) -> dict[str, Any]:
    """A record of Relax."""
    return {
        "rollout_id": step, "sample_index": rng.randrange(10**9), "group_index": rng.randrange(64),
        "prompt": f"<|im_start|>user\n{written(rng, 200)}<|im_end|>\n<|im_start|>assistant\n", "response": response,
        "reward": {"score": rng.random(), "acc": 1.0, "format": 1.0}, "prompt_length": 50, "response_length": 700,
        "total_length": 750, "agent_turns": 1, "status": "completed", "label": "7",
    }  # fmt: skip


Make = Callable[[random.Random, int], dict[str, Any]]


def lines_of(make: Make, megabytes: float, seed: int) -> Iterator[str]:
    """Lines of so many MB."""
    rng, size = random.Random(seed), 0
    while size < megabytes * 1e6:
        line = json.dumps(make(rng, seed), ensure_ascii=False) + "\n"
        size += len(line.encode())
        yield line


def in_files(make: Make, files: int, megabytes: float = MEGABYTES, folder: str = "") -> Callable[[Path], None]:
    """Writes a run of JSON lines."""

    def write(run: Path) -> None:
        place = run / folder
        place.mkdir(parents=True)
        for step in range(files):
            place.joinpath(f"{step}.jsonl").write_text("".join(lines_of(make, megabytes / files, step)))

    return write


def recorded(run: Path) -> None:
    """A run of the recorder, with token series."""
    import numpy as np

    from rolloupe import Recorder

    rng, numbers = random.Random(0), np.random.default_rng(0)
    with Recorder(run) as recorder:
        for step in range(40):
            for index in range(128):
                series = {name: numbers.random(600, np.float32) for name in ("logprobs", "entropy", "advantages")}
                recorder.sample(
                    step=step, group=str(index // 8), index=str(index % 8), prompt=written(rng, 200),
                    response=written(rng, 3000), reward=rng.random(), series=series,
                )  # fmt: skip
            recorder.step_end(step)


SHAPES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "small": (
        "400 files of 54 short texts (300 B)",
        in_files(lambda rng, step: relax(rng, step, written(rng, 300)), 400, 18, "rollout_result/train"),
    ),
    "long": ("one file, 4 kB", in_files(lambda rng, step: plain(rng, step, written(rng, 4000)), 1)),
    "maths": ("one file, 8 kB in circles", in_files(lambda rng, step: plain(rng, step, maths(rng, 8000)), 1)),
    "messages": ("one file, 8 messages", in_files(lambda rng, step: plain(rng, step, conversation(rng)), 1)),
    "templated": ("one file, texts of 8 turns", in_files(lambda rng, step: plain(rng, step, templated(rng)), 1)),
    "relax": (
        "Relax, 40 files, 3 kB",
        in_files(lambda rng, step: relax(rng, step, written(rng, 3000)), 40, MEGABYTES, "rollout_result/train"),
    ),
    "native": ("recorded, three series, 3 kB", recorded),
    "chinese": (
        "one file, 2,000 characters of Chinese",
        in_files(lambda rng, step: plain(rng, step, chinese(rng, 2000)), 1),
    ),
}  # fmt: skip


def pass_seconds(path: Path, folder: Path) -> float:
    """The CPU time of the second pass over a run, in this process. Works with older versions, too."""
    from rolloupe.formats import by_name, discover
    from rolloupe.index.scans import parts_of
    from rolloupe.index.segments import segment
    from rolloupe.model import Reading

    (run,) = discover([path], Reading()).runs
    reader = by_name(run.format)
    places = [
        (source, segment.build(folder, run, source, part))
        for source in reader.sources(run)
        for part in range(parts_of(reader.splittable, Path(source.path).stat().st_size))
    ]
    write = _writer(folder, run)
    began = time.process_time()
    for source, meta in places:
        if meta is not None and meta.rows:
            write(source, meta)
    return time.process_time() - began


def _writer(folder: Path, run: Any) -> Callable[[Any, Any], object]:
    from rolloupe.index.segments import segment

    if hasattr(segment, "build_text"):  # until 5debd3b
        return lambda source, meta: segment.build_text(folder, run, source, meta)
    from rolloupe.index.execution import BackfillJob, perform
    from rolloupe.index.segments.kinds import KINDS

    of_tokens = "tokens"  # a pass of its own, which benchmarks/tokens.py measures
    kinds = [kind.name for kind in KINDS if kind.name != of_tokens]

    def write(source: Any, meta: Any) -> None:
        assert not perform(BackfillJob(folder=str(folder), run=run, source=source, meta=meta, kinds=kinds)).error

    return write


def measured(checkout: Path, run: Path) -> float:
    """The same in a fresh process of a checkout."""
    with tempfile.TemporaryDirectory(dir=run.parent) as folder:
        command = [sys.executable, __file__, folder, "--measure", str(run)]
        result = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": str(checkout / "src")}, check=True, capture_output=True, text=True
        )
    return float(result.stdout)


def report(work: Path, names: Iterable[str], other: Path, rounds: int) -> None:
    """Write the runs, measure in turn, and print."""
    ours = Path(__file__).parents[1]
    print(f"{'shape':40} {'this':>7} {'other':>7}  ratio of a pair (quartiles)")
    for name in names:
        title, write = SHAPES[name]
        run = work / name
        if not run.exists():
            write(run)
        pairs = [(measured(ours, run), measured(other, run)) for _ in range(rounds)]
        here, there = (median(some) for some in zip(*pairs, strict=True))
        ratios = sorted(a / b for a, b in pairs)
        verdict = "" if median(ratios) <= LIMIT else f": more than {LIMIT}"
        quartiles = f"{ratios[rounds // 4]:.2f} to {ratios[-1 - rounds // 4]:.2f}"
        print(f"{title:40} {here:6.3f}s {there:6.3f}s  {median(ratios):.2f} ({quartiles}){verdict}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(pass_seconds(given.measure, given.work))
    else:
        given.work.mkdir(parents=True, exist_ok=True)
        report(given.work, given.only, given.against.resolve(), given.rounds)


if __name__ == "__main__":
    main()
