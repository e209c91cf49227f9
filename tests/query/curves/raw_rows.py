"""The samples of runs, read from their files without Rolloupe, so that curves can be computed again.

Each function takes the folder of a run, and yields the rows of its samples.
"""

import io
import json
import re
import sqlite3
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rolloupe.demo import RUNS

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DATA = Path(__file__).parents[2] / "data"

Row = dict[str, Any]
"""`split`, `step`, `reward` and other numbers of a sample; of an evaluation also the `group`: answers to one prompt."""


def lines(path: Path) -> list[Row]:
    """The objects in a file of JSON lines."""
    data = path.read_bytes()
    return [json.loads(line) for line in (zstd.decompress(data) if path.suffix == ".zst" else data).splitlines()]


def row(split: str, step: int, reward: float | None, group: object = None, **more: object) -> Row:
    """One sample."""
    return {"split": split, "step": step, "reward": reward, "group": group, **more}


def number(path: Path) -> int:
    """The last number in a file's name."""
    return int(re.findall(r"\d+", path.name.partition(".")[0])[-1])


def relax(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("rollout_result/*/*.jsonl")):
        for one in lines(path):
            split = "train" if path.parent.name == "train" else f"eval/{one['dataset']}"
            reward = one["reward"]["score"] if isinstance(one["reward"], dict) else one["reward"]
            yield row(split, one["rollout_id"], reward, one["group_index"], response_tokens=one["response_token_count"])


def native(run: Path) -> Iterator[Row]:
    """A sample that is written again replaces itself; annotations say what came later, such as why it was discarded."""
    samples = {one["uid"]: one for path in sorted(run.glob("samples/*")) for one in lines(path)}
    for path in sorted(run.glob("annotations/*")):
        for one in lines(path):
            samples[one["uid"]].update((key, one[key]) for key in ("discarded", "advantage") if key in one)
    for one in samples.values():
        if not one.get("discarded"):
            yield row(one["split"], one["step"], one.get("reward"), one["group"], **(one.get("metrics") or {}))


def rl_logging_board(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("*.jsonl*")):
        for one in lines(path):
            yield row("train", one["step"], one["reward"], ref_reward=one["ref_reward"])


def verl(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("*.jsonl")):
        for one in lines(path):
            yield row("train", one["step"], one["score"], acc=one.get("acc"))


def areal(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("rollout/*/*.jsonl")):
        for one in lines(path):
            yield row("train", int(path.parent.name), one["reward"])


def open_instruct(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("*_rollouts_*.jsonl")):
        for one in lines(path):
            yield row("train", one["step"], one["reward"], advantage=one["advantage"])


def roll(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("*.jsonl")):
        for batch in lines(path):
            for step, reward in zip(batch["global_step"], batch["scores"], strict=True):
                yield row("train", step, reward)


def tinker(run: Path) -> Iterator[Row]:
    for path in sorted(run.rglob("*_rollout_summaries.jsonl")):
        for one in lines(path):
            split = one["split"].replace("guess number/hard", "guess_number_hard")
            yield row(split, one["iteration"], one["total_reward"], one["group_idx"])


def trl(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("completions/*.parquet")):
        for one in pq.read_table(path).to_pylist():
            parts = {f"reward.{name}": one[name] for name in ("accuracy_reward", "format_reward")}
            yield row("train", one["step"], None, advantage=one["advantage"], **parts)


def nemo_rl(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("*_data_step*.jsonl")):
        split = "train" if path.name.startswith("train") else "eval/validation"
        for one in lines(path):
            for reward in one["rewards"]:
                yield row(split, number(path), reward, str(one["content"][0][:-1]))


def ms_swift(run: Path) -> Iterator[Row]:
    for one in lines(run / "completions.jsonl"):
        for step, accuracy, form in zip(one["step"], one["MathAccuracy"], one["Format"], strict=True):
            yield row("train", int(step), None, **{"reward.MathAccuracy": accuracy, "reward.Format": form})


def nemo_gym(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("*__example_rollouts.jsonl")):
        for line in path.read_text().splitlines():
            if line.startswith("{") and "reward" in (one := json.loads(line)):
                yield row(f"eval/{path.stem}", 0, one["reward"])


def skyrl(run: Path) -> Iterator[Row]:
    """A score is a number, or has a number a token."""
    for path in sorted(run.glob("global_step_*_evals/openai_gsm8k.jsonl")):
        for one in lines(path):
            score = sum(one["score"]) if isinstance(one["score"], list) else one["score"]
            yield row("eval/openai_gsm8k", number(path.parent), score, one["input_prompt"])


def art(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("trajectories/*/*.parquet")):
        split = "eval/val" if path.parent.name == "val" else "train"
        for one in pq.read_table(path, columns=["group_index", "reward"]).to_pylist():
            yield row(split, int(path.stem), one["reward"], one["group_index"])


def telescope(run: Path) -> Iterator[Row]:
    """Archives overlap."""
    samples: dict[tuple[int, ...], Row] = {}
    for path in sorted(run.glob("steps/*.zip")):
        with zipfile.ZipFile(path) as archive:
            for one in pq.read_table(io.BytesIO(archive.read("samples_data.parquet"))).to_pylist():
                key = (one["step"], one["group_id"], one["sample_id"])
                samples[key] = row("train", one["step"], one["reward"])
    yield from samples.values()


def verifiers(run: Path) -> Iterator[Row]:
    for one in lines(run / "results.jsonl"):
        yield row("eval/math-python", 0, one["reward"], one["id"])


def tviz(run: Path) -> Iterator[Row]:
    query = "SELECT step, reward FROM rollouts JOIN trajectories ON rollouts.id = rollout_id"
    for step, reward in sqlite3.connect(f"file:{run / 'tviz.db'}?immutable=1", uri=True).execute(query):
        yield row("train", step, reward)


SOURCES: dict[str, tuple[Path, Callable[[Path], Iterator[Row]]]] = {
    "relax": (RUNS / "relax", relax),
    "tiny_grpo": (RUNS / "tiny_grpo", native),
    "gen_train_toy": (RUNS / "rl_logging_board/gen_train_toy", rl_logging_board),
    "eval_poem_task": (RUNS / "rl_logging_board/eval_poem_task", rl_logging_board),
    "verl_math": (RUNS / "verl_math", verl),
    "trl": (RUNS / "trl", trl),
    "native": (DATA / "native/small", native),
    "verl": (DATA / "generic/verl", verl),
    "verl_v1": (DATA / "generic/verl_v1", verl),
    "areal": (DATA / "areal", areal),
    "open_instruct": (DATA / "open_instruct/run", open_instruct),
    "roll": (DATA / "roll/run", roll),
    "nemo_rl": (DATA / "nemo_rl/exp_001", nemo_rl),
    "flat tinker": (DATA / "tinker/flat_run", tinker),
    "resumed tinker": (DATA / "tinker/sync_run", tinker),
    "asynchronous tinker": (DATA / "tinker/async_run", tinker),
    "ms_swift": (DATA / "ms_swift/run", ms_swift),
    "nemo_gym": (DATA / "nemo_gym/results", nemo_gym),
    "skyrl": (DATA / "skyrl/dumped_evals", skyrl),
    "art": (DATA / "art/.art/toy-project/models/tiny", art),
    "telescope": (DATA / "telescope/run_default", telescope),
    "verifiers": (DATA / "verifiers", verifiers),
    "tviz": (DATA / "tviz", tviz),
}
"""The runs whose files are lines, Parquet or SQLite, and how to read them."""
