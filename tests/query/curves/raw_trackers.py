"""The samples and metrics that trackers keep, read from their files without Rolloupe."""

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Numbers = tuple[str, int, float]
"""A metric of a trainer: its name, step and value."""


def number(value: object) -> float | None:
    """A number, also one that the tracker writes as a text, such as "NaN"."""
    return None if value is None else float(value)  # type: ignore[pyrefly:bad-argument-type]


def row(split: str, step: int, reward: object, group: object = None, **more: object) -> Row:
    """One sample; see `raw_rows`."""
    numbers = {name: number(value) for name, value in more.items()}
    return {"split": split, "step": step, "reward": number(reward), "group": group, **numbers}


def _rows(path: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
        return list(database.execute(query, values))


def trackio_traces(path: Path, run: str) -> Iterator[Row]:
    """A trace is a sample, with its reward in its metadata; those of verl's calls have theirs in the output."""
    query = "SELECT step, key, metadata FROM traces WHERE run_name = ? ORDER BY rowid"
    for step, key, metadata in _rows(path, query, run):
        of = json.loads(metadata)
        if key == "rollouts":
            yield row("train", step, of["reward"], of["group_id"], advantage=of["advantage"])
        elif key.endswith("/trajectories") or key == "rollout/traces":
            at = of.get("step", of.get("global_step"))
            yield row("train", at, of.get("reward"), of.get("group_index", of.get("trajectory_index")))
        elif key.endswith("Loop.run"):
            output = of.get("output") or {}
            yield row("train", of["step"], output.get("reward_score"))
        elif key == "val/generations":
            yield row("eval/generations", step, of["score"])


def _of_trl(split: str, one: Row) -> Row:
    """The reward is the sum of its parts; one that is not a number counts for nothing."""
    parts = {f"reward.{name}": number(one[name]) for name in ("accuracy_reward", "format_reward")}
    total = sum(value for value in parts.values() if value is not None and not math.isnan(value))
    return row(split, int(one["step"]), total, advantage=one["advantage"], **parts)


def trl_tables(path: Path, run: str) -> Iterator[Row]:
    """A table of completions; that of an evaluation follows its metrics."""
    before: Row = {}
    for (metrics,) in _rows(path, "SELECT metrics FROM metrics WHERE run_name = ? ORDER BY rowid", run):
        logged = json.loads(metrics)
        split = "eval/eval" if any(name.startswith("eval/") for name in before) else "train"
        for one in logged.get("completions", {}).get("_value", ()):
            yield _of_trl(split, one)
        before = logged


def trackio_metrics(path: Path, run: str) -> Iterator[Numbers]:
    """The metrics of calls; a call without the trainer's step belongs to the last one before it that has it."""
    step = None
    for (metrics,) in _rows(path, "SELECT metrics FROM metrics WHERE run_name = ? ORDER BY rowid", run):
        logged = json.loads(metrics)
        step = next((int(logged[name]) for name in logged if name.endswith("/global_step")), step)
        for name, value in logged.items():
            if not (name.endswith("/global_step") or isinstance(value, dict) or step is None):
                yield name, step, float(value)


def _tables(run: Path, pattern: str) -> Iterator[list[Row]]:
    for path in sorted(run.glob(f"files/media/table/{pattern}"), key=lambda path: int(path.name.split("_")[-2])):
        table = json.loads(path.read_text())
        yield [dict(zip(table["columns"], values, strict=True)) for values in table["data"]]


def wandb_trl(run: Path) -> Iterator[Row]:
    for table in _tables(run, "completions_*"):
        for one in table:
            yield _of_trl("train", one)


def wandb_verl(run: Path) -> Iterator[Row]:
    """Each table has the rows of all before it; a row has all samples of a validation."""
    *_, last = _tables(run, "val/generations_*")
    for one in last:
        for place in range(1, 5):
            yield row("eval/generations", int(one["step"]), one[f"score_{place}"])


def wandb_openrlhf(run: Path) -> Iterator[Row]:
    """Each table of rollouts has the rows of all before it; an agent's results, logged at step 10, are JSON texts."""
    *_, last = _tables(run, "train/generated_samples_*")
    for one in last:
        yield row("train", one["global_step"], one["reward"])
    for table in _tables(run, "train/*/full_result_*"):
        for one in table:
            yield row("train", 10, json.loads(str(one["Full result"]))["reward"])


def wandb_prime_rl(run: Path) -> Iterator[Row]:
    for table in _tables(run, "samples_*"):
        for one in table:
            yield row("train", one["step"], one["reward"])


def swanlab_verl(run: Path) -> Iterator[Row]:
    for path in sorted(run.rglob("echarts*/*.json")) or sorted(run.rglob("echarts-*.json")):
        for one in json.loads(path.read_text())["rowData"]:
            yield row("eval/generations", one["step"], one["score"])
