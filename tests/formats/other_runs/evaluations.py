"""Evaluations of Inspect and Harbor, and files of no framework."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.formats.other_runs.writing import ANSWERS, REWARDS, Holds, asked, case, chat, document, places


def of_inspect(prompt: int, epoch: int) -> dict[str, Any]:
    """A sample of Inspect."""
    grade = {1.0: "C", 0.0: "I", 0.5: "P"}[REWARDS[epoch]]
    return {
        "id": f"q-{prompt}", "epoch": epoch + 1, "input": asked(prompt), "target": "4", "uuid": f"u{prompt}-{epoch}",
        "messages": chat(asked(prompt), ANSWERS[epoch]), "scores": {"model_graded_qa": {"value": grade}},
        "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": ANSWERS[epoch]}}]},
        "metadata": {}, "store": {}, "events": [], "model_usage": {}, "attachments": {}, "new_key": 1,
    }  # fmt: skip


@case(Holds("inspect", 3, 12))
def inspect_archive_that_still_runs(folder: Path) -> None:
    """No header yet, but the journal's beginning and summaries."""
    path = folder / "logs/2026-04-05T06-07-08+00-00_my-task_AbCdEf.eval"
    path.parent.mkdir(parents=True)
    spec = {"version": 2, "eval": {"task": "my_task", "model": "openai/gpt-5", "task_id": "t", "created": "2026"}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("_journal/start.json", json.dumps(spec | {"plan": {}}))
        for prompt, epoch in places():
            opened.writestr(f"samples/q-{prompt}_epoch_{epoch + 1}.json", json.dumps(of_inspect(prompt, epoch)))
        opened.writestr("_journal/summaries/1.json", "[]")


@case(Holds("inspect", 3, 12))
def inspect_document(folder: Path) -> None:
    """The older format: one document."""
    samples = [of_inspect(*place) for place in places()]
    about: dict[str, Any] = {"task": "suite/other", "model": "anthropic/claude", "dataset": {"samples": 3}}
    log = {"version": 2, "status": "success", "eval": about, "plan": {}, "results": {}, "stats": {}, "samples": samples}
    document(folder / "inspect_logs/2025-09-09T00-00-00_other_x.json", log)


@case(Holds("harbor", 3, 12))
def harbor_job_of_an_older_schema(folder: Path) -> None:
    """ATIF 1.2, four attempts of three tasks, rewards in the results."""
    root = folder / "jobs/2026-05-05__10-10-10"
    document(root / "config.json", {"job_name": "2026-05-05__10-10-10", "n_attempts": 4, "orchestrator": {}})
    document(root / "result.json", {"n_total_trials": 12, "stats": {}})
    for prompt, sample in places():
        trial = root / f"task-{prompt}__Ab{sample}"
        steps = [
            {"step_id": 1, "source": "user", "message": asked(prompt), "timestamp": "2026-05-05T10:10:10Z"},
            {"step_id": 2, "source": "agent", "message": ANSWERS[sample], "model_name": "m"},
        ]
        agent = {"name": "terminus-2", "version": "2.0", "model_name": "m"}
        told = {"schema_version": "ATIF-v1.2", "session_id": "s", "agent": agent, "steps": steps}
        document(trial / "agent/trajectory.json", told)
        result = {
            "task_name": f"task-{prompt}", "trial_name": trial.name, "source": "terminal-bench",
            "agent_info": {"name": "terminus-2"}, "verifier_result": {"rewards": {"reward": REWARDS[sample]}},
            "exception_info": None,
        }  # fmt: skip
        document(trial / "result.json", result)


@case(Holds("harbor", 3, 12, 1.0))
def harbor_job_with_failed_trials(folder: Path) -> None:
    """Trials that failed before the agent began have results without a trajectory."""
    root = folder / "jobs/night-run"
    document(root / "config.json", {"job_name": "night-run", "agents": [{"name": "claude-code"}]})
    for prompt, sample in places():
        trial = root / f"fix-bug-{prompt}__x{sample}"
        result: dict[str, Any] = {"task_name": f"fix-bug-{prompt}", "trial_name": trial.name, "source": "swe"}
        result |= {"agent_info": {"name": "claude-code"}, "config": {}, "id": "i", "started_at": None}
        if sample < 2:
            steps = [
                {"step_id": 1, "source": "user", "message": "fix"},
                {"step_id": 2, "source": "agent", "message": "ok"},
            ]
            told = {"schema_version": "ATIF-v1.5", "agent": {"name": "claude-code", "version": "1"}, "steps": steps}
            document(trial / "agent/trajectory.json", told | {"final_metrics": {"total_prompt_tokens": 5}})
            result |= {"verifier_result": {"rewards": {"reward": 1}}, "exception_info": None}
        else:
            failed = {"exception_type": "EnvironmentStartTimeoutError", "exception_message": "m"}
            result |= {"verifier_result": None, "exception_info": failed}
        document(trial / "result.json", result)


@case(Holds("inspect", 2, 4, 0.625))
def inspect_archive_in_chunks_with_several_scorers(folder: Path) -> None:
    """Two samples in chunks, two in members; scores are numbers and objects."""
    path = folder / "logs/chunked.eval"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for prompt in range(2):
            for epoch in (0, 1):
                one = of_inspect(prompt, epoch) | {
                    "scores": {"f1": {"value": 0.5 + epoch / 4}, "style": {"value": {"a": 1}}}
                }
                name = f"samples/q-{prompt}_epoch_{epoch + 1}"
                if prompt:
                    opened.writestr(f"{name}.json", json.dumps(one))
                    continue
                shell = {key: value for key, value in one.items() if key not in ("messages", "events", "attachments")}
                opened.writestr(f"{name}/sample.json", json.dumps(shell | {"message_refs": [[0, 2]]}))
                for number, message in enumerate(one["messages"]):
                    opened.writestr(f"{name}/messages/{number}.json", json.dumps([message]))
        about = {"eval": {"task": "f1", "model": "m"}, "version": 2, "status": "success"}
        opened.writestr("header.json", json.dumps(about))


@case(Holds("generic", 3, 12))
def generic_csv_with_usual_names(folder: Path) -> None:
    """A table of comma-separated values."""
    path = folder / "results/answers.csv"
    path.parent.mkdir(parents=True)
    rows = [f'"{asked(prompt)}","{ANSWERS[sample]}",{REWARDS[sample]}' for prompt, sample in places()]
    path.write_text("\n".join(["prompt,response,score", *rows]) + "\n")


@case(Holds("generic", 3, 12))
def generic_parquet_of_messages(folder: Path) -> None:
    """Messages and a reward."""
    path = folder / "data/train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    columns = {
        "messages": [chat(asked(prompt), ANSWERS[sample]) for prompt, sample in places()],
        "reward": [REWARDS[sample] for _, sample in places()],
    }
    pq.write_table(pa.table(columns), path)


@case(Holds("generic", 3, 12))
def generic_json_array(folder: Path) -> None:
    """One array of objects."""
    rows = [
        {"question": asked(prompt), "completion": ANSWERS[sample], "reward": REWARDS[sample]}
        for prompt, sample in places()
    ]
    document(folder / "eval/outputs.json", rows)
