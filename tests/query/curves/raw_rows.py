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
from typing import NamedTuple

import pyarrow.parquet as pq

from rolloupe.demo import RUNS
from tests.query.curves.raw_trackers import (
    Row,
    swanlab_verl,
    trackio_traces,
    trl_tables,
    wandb_openrlhf,
    wandb_prime_rl,
    wandb_trl,
    wandb_verl,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DATA = Path(__file__).parents[2] / "data"

TEXTS = ("split", "step", "group", "env", "status", "discarded")
"""The columns of a row that are not metrics; where `group` is there, samples of one are answers to one prompt."""


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
            more = {"response_tokens": one["response_token_count"], "total_tokens": one["total_token_count"]}
            yield row(split, one["rollout_id"], reward, one["group_index"], status=one["status"], **more)


def native(run: Path) -> Iterator[Row]:
    """A sample that is written again replaces itself; annotations say what came later, such as why it was discarded."""
    samples = {one["uid"]: one for path in sorted(run.glob("samples/*")) for one in lines(path)}
    for path in sorted(run.glob("annotations/*")):
        for one in lines(path):
            samples[one["uid"]].update((key, one[key]) for key in ("discarded", "advantage") if key in one)
    for one in samples.values():
        more = {"advantage": one.get("advantage"), **(one.get("metrics") or {})}
        if "prompt_tokens" in one:
            more["total_tokens"] = one["prompt_tokens"] + one["response_tokens"]
            more["response_tokens"] = one["response_tokens"]
        words = {"status": one.get("status") or "unknown", "discarded": one.get("discarded") or ""}
        yield row(one["split"], one["step"], one.get("reward"), one["group"], **words, **more)


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
    """Archives of steps overlap; that of discarded samples and cancelled ones has them all."""
    samples: dict[tuple[int, ...], Row] = {}
    for path in sorted(run.glob("steps/*.zip")):
        envs = {(one["step"], one["group_id"]): one["env"] for one in _table(path, "prompts.parquet")}
        for one in _table(path, "samples_data.parquet"):
            group = (one["step"], one["group_id"])
            more = {"advantage": one["advantage"], "env": envs[group]}
            samples[*group, one["sample_id"]] = row("train", one["step"], one["reward"], one["group_id"], **more)
    yield from samples.values()
    for kind in ("discarded", "cancelled"):
        events = run / "events/block_live.zip"
        envs = {one["group_id"]: one["env"] for one in _table(events, f"prompts_{kind}.parquet")}
        for one in _table(events, f"samples_data_{kind}.parquet"):
            words = {"discarded": one["discard_reason"], "env": envs[one["group_id"]]}
            more = {"advantage": one.get("advantage"), **words}
            reward = one["reward"] if kind == "discarded" else None  # what was cancelled has no answer
            yield row("train", one["trainer_step"], reward, f"{kind} {one['group_id']}", **more)


def _table(path: Path, name: str) -> list[Row]:
    with zipfile.ZipFile(path) as archive:
        rows: list[Row] = pq.read_table(io.BytesIO(archive.read(name))).to_pylist()
        return rows


def verifiers(run: Path) -> Iterator[Row]:
    for one in lines(run / "results.jsonl"):
        yield row("eval/math-python", 0, one["reward"], one["id"])


def prime_rl_traces(run: Path) -> Iterator[Row]:
    """The reward is the sum of its parts by their weights; what the orchestrator made of it comes later."""
    folder = run / "monitors/file/traces"
    orchestrated = {one["trace_id"]: one["info"] for one in lines(folder / "annotations/orch/00000.jsonl")}
    for episode in lines(folder / "stream/00000.jsonl"):
        for trace in episode["traces"]:
            parts = {f"reward.{name}": part["score"] for name, part in trace["rewards"].items()}
            reward = sum(part["score"] * part["weight"] for part in trace["rewards"].values())
            advantage, step = orchestrated[trace["id"]]["advantage"], episode["run"]["work"]["step"]
            yield row("train", step, reward, episode["group"]["id"], advantage=advantage, **trace["metrics"], **parts)


def prime_rl_exports(run: Path) -> Iterator[Row]:
    for path in sorted(run.glob("token_exports/step_*/rank_*.jsonl")):
        for one in lines(path):
            (reward,) = set(one["rewards"])
            yield row("train", one["export_step"], reward)


def own(run: Path) -> Iterator[Row]:
    for one in lines(run / "samples.jsonl"):
        yield row("train", one["iteration"], one["score"], one["prompt_id"])


def inspect(run: Path) -> Iterator[Row]:
    log = json.loads((run / "inspect-ai-eval.json").read_text())
    for one in log["samples"]:
        (score,) = one["scores"].values()
        yield row("eval/dependency-policy", 0, score["value"], one["id"])


def tviz(run: Path) -> Iterator[Row]:
    query = "SELECT step, reward FROM rollouts JOIN trajectories ON rollouts.id = rollout_id"
    for step, reward in sqlite3.connect(f"file:{run / 'tviz.db'}?immutable=1", uri=True).execute(query):
        yield row("train", step, reward)


SWANLAB = ("v0.7_local", "v0.10_offline")


class RawRun(NamedTuple):
    """A run, and how to read its files."""

    path: Path
    rows: Callable[[Path], Iterator[Row]]
    run: str | None = None
    """Which of the runs of a file or a folder."""


def _in_project(path: str, run: str, rows: Callable[[Path, str], Iterator[Row]] = trackio_traces) -> RawRun:
    return RawRun(DATA / "trackio" / path, lambda path: rows(path, run), run)


SOURCES: dict[str, RawRun] = {
    "relax": RawRun(RUNS / "other_formats/relax", relax),
    "tiny_grpo": RawRun(RUNS / "tiny_grpo", native),
    "gen_train_toy": RawRun(RUNS / "other_formats/rl_logging_board/gen_train_toy", rl_logging_board),
    "verl_math": RawRun(RUNS / "other_formats/verl_math", verl),
    "trl": RawRun(RUNS / "other_formats/trl", trl),
    "native": RawRun(DATA / "native/small", native),
    "own": RawRun(DATA / "generic/own", own),
    "areal": RawRun(DATA / "areal", areal),
    "open_instruct": RawRun(DATA / "open_instruct/run", open_instruct),
    "roll": RawRun(DATA / "roll/run", roll),
    "nemo_rl": RawRun(DATA / "nemo_rl/exp_001", nemo_rl),
    "resumed tinker": RawRun(DATA / "tinker/sync_run", tinker),
    "odd tinker": RawRun(DATA / "tinker/quirks", tinker, "quirks"),
    "ms_swift": RawRun(DATA / "ms_swift/run", ms_swift),
    "nemo_gym": RawRun(DATA / "nemo_gym/results", nemo_gym),
    "skyrl": RawRun(DATA / "skyrl/dumped_evals", skyrl),
    "art": RawRun(DATA / "art/.art/toy-project/models/tiny", art),
    "telescope": RawRun(DATA / "telescope/run_default", telescope),
    "verifiers": RawRun(DATA / "verifiers", verifiers),
    "tviz": RawRun(DATA / "tviz", tviz),
    "prime_rl traces": RawRun(DATA / "prime_rl/traces/run_wordle", prime_rl_traces),
    "prime_rl exports": RawRun(DATA / "prime_rl/exports/v4_pr2641/run_alpha", prime_rl_exports),
    "inspect": RawRun(DATA / "inspect", inspect),
    **{f"trackio {run}": _in_project("pr_shapes.db", run) for run in ("slime", "tunix")},
    "trackio async-grpo-a": _in_project("trl_async.db", "async-grpo-a"),
    "trackio verl": _in_project("verl_demo.db", "grpo-a"),
    "trackio trl": _in_project("trl_tables.db", "grpo-c", trl_tables),
    "wandb trl": RawRun(DATA / "wandb/offline-run-20261122_020830-trldemo1", wandb_trl),
    "wandb verl": RawRun(DATA / "wandb/offline-run-20261122_020830-verldemo", wandb_verl),
    "wandb openrlhf": RawRun(DATA / "wandb/offline-run-20261122_020830-ordemo01", wandb_openrlhf),
    "wandb prime_rl": RawRun(DATA / "wandb/offline-run-20261122_021219-primedm1", wandb_prime_rl),
    **{f"swanlab {name}": RawRun(DATA / "swanlab" / name, swanlab_verl) for name in SWANLAB},
}
"""The runs, each with its reader: of each format those that differ, but none without a reward, nor the `.pt` dumps of
slime, miles and Relax, which `tests/frameworks` reads with torch."""
