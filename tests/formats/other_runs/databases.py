"""Runs in databases: trackio, tviz, MLflow."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.formats.other_runs.writing import ANSWERS, EACH, PROMPTS, REWARDS, Holds, asked, case, chat, places

TRACKIO = {
    "0.20": (
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT, run_name TEXT, step INTEGER, "
        "metrics TEXT)"
    ),
    "0.30": (
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT, timestamp TEXT, run_name TEXT, step "
        "INTEGER, metrics TEXT); CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at "
        "TEXT); CREATE TABLE traces (id TEXT PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, step INTEGER, "
        "key TEXT, trace_index INTEGER, messages TEXT, metadata TEXT, search_text TEXT)"
    ),
}


def database(path: Path, schema: str, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    """Write a database with rows of all columns but an `id` that counts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(schema)
        for insert, values in rows.items():
            opened.executemany(f"INSERT INTO {insert} VALUES ({', '.join('?' * len(values[0]))})", values)
        opened.commit()


def trace(prompt: int, sample: int) -> tuple[str, str]:
    """The messages and the metadata of a trace of TRL."""
    meta = {"reward": REWARDS[sample], "group_id": prompt, "advantage": 0.1, "rewards/acc": REWARDS[sample], "step": 4}
    return json.dumps(chat(asked(prompt), ANSWERS[sample])), json.dumps(meta)


@case(Holds("trackio", 3, 12))
def trackio_0_30_with_traces_in_a_table(folder: Path) -> None:
    """No spans, no log_id; values as bytes."""
    traces = [
        (f"r:{n}", "r1", "2026-05-01T00:00:00", "grpo", 4, "rollouts", n, *(one.encode() for one in trace(*place)), "")
        for n, place in enumerate(places())
    ]
    metrics = [("r1", "2026-05-01T00:00:00", "grpo", 0, json.dumps({"train/reward": 0.5}).encode())]
    database(folder / "hf/trackio/my-project.db", TRACKIO["0.30"], {
        "traces": traces, "metrics (run_id, timestamp, run_name, step, metrics)": metrics,
    })  # fmt: skip


@case(Holds("trackio", 3, 12))
def trackio_0_20_with_traces_among_the_metrics(folder: Path) -> None:
    """Before 0.26 traces are values of metrics, in a list; there is no run_id."""
    logged = [
        {"_type": "trackio.trace", "messages": json.loads(messages), "metadata": json.loads(metadata)}
        for messages, metadata in (trace(*place) for place in places())
    ]
    rows = [("2025-11-01T00:00:00", "grpo", 4, json.dumps({"rollouts": logged, "loss": 0.5}))]
    columns = "metrics (timestamp, run_name, step, metrics)"
    database(folder / "trackio/old.db", TRACKIO["0.20"], {columns: rows})


@case(Holds("trackio", 3, 12))
def trackio_0_20_with_a_table_of_trl(folder: Path) -> None:
    """A table among the metrics; the step is a column, as trackio counts calls."""
    rows = [
        {"step": 30, "prompt": asked(prompt), "completion": ANSWERS[sample], "acc": REWARDS[sample], "advantage": 0.1}
        for prompt, sample in places()
    ]
    table = {"completions": {"_type": "trackio.table", "_value": rows}}
    logged = [("t", "grpo", 0, json.dumps({"loss": 0.5})), ("t", "grpo", 1, json.dumps(table))]
    columns = "metrics (timestamp, run_name, step, metrics)"
    database(folder / "cache/trackio/tables.db", TRACKIO["0.20"], {columns: logged})


@case(Holds("trackio", 3, 12, 0.75))
def trackio_of_slime_with_rewards_as_objects_and_none(folder: Path) -> None:
    """Keys of slime; a reward that is an object, one that is none, one that is not a number."""
    rewards = [{"score": 1.0, "format": 0.5}, 0.5, None, "NaN"]
    traces = []
    for n, (prompt, sample) in enumerate(places()):
        meta = {
            "step": 2, "group_index": prompt, "sample_index": n, "reward": rewards[sample], "split": "rollout",
            "rollout_id": 2, "status": "completed", "response_length": 3,
        }  # fmt: skip
        messages = json.dumps(chat(asked(prompt), ANSWERS[sample]))
        traces.append((f"t{n}", "r", "t", "slime", 0, "rollout/trajectories", n, messages, json.dumps(meta), ""))
    database(folder / "trackio/slime.db", TRACKIO["0.30"], {"traces": traces})


TVIZ = """
CREATE TABLE runs (id TEXT PRIMARY KEY, name TEXT, type TEXT, modality TEXT, config TEXT, started_at TEXT,
    ended_at TEXT);
CREATE TABLE steps (id INTEGER PRIMARY KEY, run_id TEXT, step INTEGER, reward_mean REAL, loss REAL, extras TEXT);
CREATE TABLE rollouts (id INTEGER PRIMARY KEY, run_id TEXT, step INTEGER, group_idx INTEGER, prompt_text TEXT,
    prompt_tokens TEXT, mean_reward REAL, best_reward REAL);
CREATE TABLE trajectories (id INTEGER PRIMARY KEY, rollout_id INTEGER, trajectory_idx INTEGER, reward REAL,
    output_text TEXT, output_tokens TEXT, logprobs TEXT, step_rewards TEXT);
"""


@case(Holds("tviz", 3, 12))
def tviz_with_fewer_columns(folder: Path) -> None:
    """An older version without columns for images and places."""
    groups = [(prompt + 1, "r9", 2, prompt, asked(prompt), "[1, 2]", 0.5, 1.0) for prompt in range(PROMPTS)]
    each = [
        (
            prompt * EACH + sample + 1,
            prompt + 1,
            sample,
            REWARDS[sample],
            ANSWERS[sample],
            "[3, 4]",
            "[-0.5, -0.25]",
            None,
        )
        for prompt, sample in places()
    ]
    database(folder / "home/tviz.db", TVIZ, {
        "runs": [("r9", "geo", "rl", "text", '{"lr": 1}', "2026-01-01", None)],
        "rollouts": groups, "trajectories": each,
    })  # fmt: skip


MLFLOW = """
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT, lifecycle_stage TEXT);
CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT, experiment_id INTEGER, status TEXT, start_time BIGINT,
    end_time BIGINT, lifecycle_stage TEXT);
CREATE TABLE metrics (key TEXT, value REAL, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN);
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE trace_info (request_id TEXT PRIMARY KEY, experiment_id INTEGER, timestamp_ms BIGINT, status TEXT);
CREATE TABLE trace_tags (key TEXT, value TEXT, request_id TEXT);
CREATE TABLE trace_request_metadata (key TEXT, value TEXT, request_id TEXT);
CREATE TABLE spans (trace_id TEXT, experiment_id INTEGER, span_id TEXT, parent_span_id TEXT, name TEXT, type TEXT,
    status TEXT, start_time_unix_nano BIGINT, end_time_unix_nano BIGINT, content TEXT);
"""


@case(Holds("mlflow", 3, 12, None))
def mlflow_traces_of_another_agent_loop(folder: Path) -> None:
    """verl's traces of a tool agent; nothing holds a reward."""
    tags, spans = [], []
    for number, (prompt, sample) in enumerate(places()):
        name = f"tr-{number}"
        facts = {"sample_index": prompt, "step": 6, "rollout_n": sample, "validate": False}
        tags += [(key, str(value), name) for key, value in facts.items()]
        given = {"kwargs": {"raw_prompt": chat(asked(prompt))}, "sampling_params": {"temperature": 1.0}}
        gave = {"prompt_ids": [1, 2], "response_ids": [3, 4], "response_mask": [1, 1], "num_turns": 2}
        gave |= {"prompt_text": asked(prompt), "response_text": ANSWERS[sample]}
        attributes = {"mlflow.spanInputs": json.dumps(given), "mlflow.spanOutputs": json.dumps(gave)}
        content = json.dumps({"name": "ToolAgentLoop.run", "attributes": attributes})
        spans.append((name, 1, f"s{number}", None, "ToolAgentLoop.run", "UNKNOWN", "OK", number, number + 1, content))
    database(folder / "tmp/mlruns.db", MLFLOW, {
        "experiments": [(1, "verl-project", "active")],
        "runs": [("u1", "grpo-b", 1, "RUNNING", 0, None, "active")],
        "trace_info": [(f"tr-{n}", 1, n, "OK") for n in range(12)], "trace_tags": tags, "spans": spans,
        "metrics": [("actor/loss", 0.5, 0, "u1", 6, False)],
    })  # fmt: skip
