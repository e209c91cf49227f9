"""MLflow: the traces of verl's agent loops in its SQLite, by experiment and by the run that they name."""

import json
import math
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import rolloupe
from rolloupe.formats import by_name, discover
from rolloupe.formats.reading.trackers import sqlite
from rolloupe.formats.trackers import mlflow
from rolloupe.model import Location, Problem
from rolloupe.text import digest
from tests.formats.support import items, only_run, rows, samples
from tests.formats.trackers.support import means

DATA = Path(__file__).parents[2] / "data/mlflow/mlruns.db"


def changed(folder: Path, *statements: str) -> Path:
    """A copy of the database, changed."""
    path = folder / "mlruns.db"
    shutil.copyfile(DATA, path)
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


def log(path: Path, trace: str, tags: dict[str, str], output: Any, status: str = "OK", experiment: int = 1) -> None:
    """Add the trace of an agent loop."""
    attributes = {"mlflow.spanInputs": json.dumps({"kwargs": {}}), "mlflow.spanOutputs": json.dumps(output)}
    with closing(sqlite3.connect(path)) as database:
        info = "INSERT INTO trace_info (request_id, experiment_id, timestamp_ms, status) VALUES (?, ?, 0, 'OK')"
        database.execute(info, (trace, experiment))
        put = "INSERT INTO trace_tags (key, value, request_id) VALUES (?, ?, ?)"
        database.executemany(put, [(key, value, trace) for key, value in tags.items()])
        database.execute(
            "INSERT INTO spans (trace_id, experiment_id, span_id, name, status, start_time_unix_nano, content) "
            "VALUES (?, ?, 's', 'SingleTurnAgentLoop.run', ?, 0, ?)",
            (trace, experiment, status, json.dumps({"attributes": attributes})),
        )
        database.commit()


def test_traces_of_verl() -> None:
    run = only_run(DATA)
    assert (run.format, run.name, run.within) == ("mlflow", "grpo-a", "1/grpo-a")
    assert means(rows(run)) == {("train", 1): (4, 2, None), ("train", 2): (4, 2, None)}
    first = samples(run)[0]
    assert [(turn.role, turn.origin) for turn in first.turns] == [("user", "prompt"), ("assistant", "response")]
    assert (str(first.key), first.token_ids, first.row.status) == (
        f"train/1/0-{digest(first.row.prompt)}/0",
        [1, 2, 3, 4, 5],
        "completed",
    )
    assert [(one.name, one.offset, list(one.values)) for one in first.series] == [
        ("logprobs", 3, [-0.5, -0.25]), ("loss_mask", 3, [1.0, 1.0]),
    ]  # fmt: skip
    reader = by_name("mlflow")
    assert reader.config(run) == {"trainer.project_name": "rl-demo", "lr": "1e-06"}
    assert [(row.step, row.values["critic/score/mean"]) for row in reader.metrics(run)] == [(1, 0.25), (2, 0.5)]
    assert reader.metrics(run)[1].values["actor/grad_norm"] != reader.metrics(run)[1].values["actor/grad_norm"]


def trace(path: Path, inputs: Any, output: Any, run: str = "r1", **tags: str) -> str:
    """Add the trace of a function, as `mlflow.trace` does, logged in a run of MLflow."""
    attributes = {"mlflow.spanInputs": json.dumps(inputs), "mlflow.spanOutputs": json.dumps(output)}
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE IF NOT EXISTS trace_request_metadata (key TEXT, value TEXT, request_id TEXT)")
        (number,) = database.execute("SELECT count(*) FROM spans").fetchone()
        name = f"own-{number}"
        database.execute("INSERT INTO trace_request_metadata VALUES ('mlflow.sourceRun', ?, ?)", (run, name))
        tags = tags | {"mlflow.artifactLocation": "x"}
        put = "INSERT INTO trace_tags (key, value, request_id) VALUES (?, ?, ?)"
        database.executemany(put, [(key, value, name) for key, value in tags.items()])
        for parent, content in ((None, {"attributes": attributes}), ("0", {})):
            database.execute(
                "INSERT INTO spans (trace_id, experiment_id, span_id, parent_span_id, name, status, "
                "start_time_unix_nano, content) VALUES (?, 1, ?, ?, 'rollout', 'OK', 0, ?)",
                (name, str(parent), parent, json.dumps(content)),
            )
        database.commit()
    return name


def test_traces_of_own_code_are_samples_of_the_run_they_were_logged_in(tmp_path: Path) -> None:
    added = "INSERT INTO runs (run_uuid, name, experiment_id, lifecycle_stage) VALUES ('r1', 'try', 1, 'active')"
    path = changed(
        tmp_path, added, "INSERT INTO metrics VALUES ('loss', 0.5, 9, 'r1', 2, 0)",
        added.replace("'r1', 'try', 1", "'r2', 'numbers', 7"),
        "INSERT INTO metrics VALUES ('loss', 0.25, 9, 'r2', 2, 0)",
        "CREATE TABLE assessments (trace_id TEXT, name TEXT, value TEXT, valid INTEGER, created_timestamp INTEGER)",
    )  # fmt: skip
    asked = [{"role": "system", "content": "s"}, {"role": "user", "content": "1+1?"}]
    said = {"role": "assistant", "content": "2"}
    plain = trace(path, {"question": "1+1?", "lr": 0.5}, {"answer": "2"}, step="4", group="g", split="test")
    trace(path, {"messages": asked, "model": "m"}, {"choices": [{"message": said}]})
    trace(path, {"messages": asked}, {"messages": [*asked, said], "reward": 0.25})
    trace(path, {"state": {"a": 1}}, None)
    trace(path, "p", "r", run="")
    with closing(sqlite3.connect(path)) as database:
        given = [("helpful", "0.75", 1), ("wrong", "9", 0), ("why", '"short"', 1)]
        database.executemany(f"INSERT INTO assessments VALUES ('{plain}', ?, ?, ?, 0)", given)
        database.commit()
    found = {run.name: run for run in discover([tmp_path]).runs}
    assert {*found} == {"grpo-a", "rl-demo", "try", "numbers"} and {run.format for run in found.values()} == {"mlflow"}
    first, second, third, fourth = samples(found["try"])
    assert (first.key.split, first.key.step, first.key.group) == ("eval/test", 4, "g")
    assert (first.row.prompt, first.row.response, first.row.reward) == ("1+1?", "2", 0.75)
    assert (first.row.metrics["lr"], first.row.tags["why"], "wrong" in first.row.metrics) == (0.5, "short", False)
    for sample in (second, third):
        assert [(turn.role, turn.origin) for turn in sample.turns] == [
            ("system", "prompt"), ("user", "prompt"), ("assistant", "response"),
        ]  # fmt: skip
    assert (second.row.reward, third.row.reward, second.row.group == third.row.group) == (None, 0.25, True)
    assert "state" in fourth.row.prompt and fourth.row.response == ""
    assert by_name("mlflow").metrics(found["try"])[0].values == {"loss": 0.5}
    assert [(row.prompt, row.response) for row in rows(found["rl-demo"])] == [("p", "r")]
    with rolloupe.open(path, index_dir=tmp_path / "index") as runs:
        curves = {run.name: [row.values for row in run.metric_rows()] for run in runs}
        assert curves["numbers"] == [{"loss": 0.25}] and curves["try"] == [{"loss": 0.5}]
    assert len(rows(found["grpo-a"])) == 8, "the spans around verl's agent loops are not samples"


def test_runs_by_name_and_a_database_that_grows(tmp_path: Path) -> None:
    path = changed(tmp_path, "INSERT INTO experiments (experiment_id, name) VALUES (2, 'other')")
    tags = {"sample_index": "3", "rollout_n": "1", "step": "4"}
    log(path, "t1", tags | {"experiment_name": "grpo-b", "validate": "True"}, {"reward_score": 0.5})
    log(path, "t2", tags, {"response_text": "c", "reward_score": "NaN"}, "ERROR", experiment=2)
    log(path, "t3", {"experiment_name": "grpo-b"}, {})
    found = {run.name: run for run in discover([tmp_path]).runs}
    assert [*found] == ["grpo-a", "grpo-b", "other"]
    (second, problem) = items(found["grpo-b"])
    assert (str(second.key), second.reward) == ("eval/validation/4/3/1", 0.5)  # type: ignore[pyrefly:missing-attribute]
    assert isinstance(problem, Problem) and "not a sample" in problem.reason
    (third,) = rows(found["other"])
    assert (third.status, third.response, third.reward != third.reward) == ("error", "c", True)
    (before,) = by_name("mlflow").sources(found["other"])
    log(path, "t4", tags | {"rollout_n": "2"}, {}, experiment=2)
    (after,) = by_name("mlflow").sources(found["other"])
    assert before.stream is not None and after.stream is not None
    assert (after.stream.word, after.stream.length > before.stream.length) == (before.stream.word, True)
    assert len(rows(found["other"])) == 2


def test_spans_are_counted_once_and_the_newest_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow, "NEW_ROWS", 3)
    monkeypatch.setattr(mlflow, "ROWS_AT_ONCE", 4)
    path = changed(tmp_path)
    counted: list[tuple[int, int]] = []
    count = mlflow.span_ends

    def seen(database: apsw.Connection, first: int, stop: int) -> Any:
        counted.append((first, stop))
        return count(database, first, stop)

    monkeypatch.setattr(mlflow, "span_ends", seen)
    alone = Location(str(path), str(path))
    (whole,) = mlflow.traced_runs(alone)
    assert len(counted) > 3, "a piece at a time"
    counted.clear()
    tags = {"sample_index": "3", "rollout_n": "1", "step": "4"}
    log(path, "t1", tags, {})
    runs = {run.name: run for run in mlflow.traced_runs(alone)}
    assert (runs["grpo-a"], runs[""].first) == (whole, runs[""].last) and len(counted) == 2
    with closing(sqlite3.connect(path)) as database:
        database.execute("INSERT INTO trace_tags VALUES ('experiment_name', 'grpo-a', 't1')")
        database.commit()
    (longer,) = mlflow.traced_runs(alone)
    assert (longer.first, longer.last) == (whole.first, runs[""].last)


def test_time_that_is_over_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LISTING_S", -1)
    monkeypatch.setattr(sqlite, "STEPS_BETWEEN_LOOKS", 1)
    (note,) = discover([changed(tmp_path)]).notes
    assert "cannot be read: it takes more than -1 seconds" in note.reason


@pytest.mark.parametrize("table", ["metrics", "params", "runs"])
def test_a_view_in_place_of_a_table_is_not_computed(tmp_path: Path, table: str) -> None:
    with closing(sqlite3.connect(DATA)) as database:
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT "
    endless += ", ".join(f'n AS "{name}"' for name in columns) + " FROM r"
    run = only_run(changed(tmp_path, f"ALTER TABLE {table} RENAME TO other", f"CREATE VIEW {table} AS {endless}"))
    reader, began_s = by_name("mlflow"), time.process_time()
    assert len(rows(run)) == 8
    assert table == "metrics" or not reader.config(run)
    assert table == "params" or not reader.metrics(run)
    assert time.process_time() - began_s < 10


def test_a_view_in_place_of_the_traces_is_the_reason(tmp_path: Path) -> None:
    path = changed(tmp_path, "ALTER TABLE spans RENAME TO other", "CREATE VIEW spans AS SELECT * FROM other")
    for place in (path, tmp_path):
        with rolloupe.open(place, index_dir=tmp_path / "index") as runs:
            (problem,) = runs[0].problems()
            assert "a view takes the place of a table: `spans`" in problem.reason
            assert problem.reason.endswith("Next: copy the view into a table of its name")


def test_the_older_store_of_files_says_how_to_migrate_it(tmp_path: Path) -> None:
    (tmp_path / "mlruns/0").mkdir(parents=True)
    meta = tmp_path / "mlruns/0/meta.yaml"
    meta.write_text("artifact_location: file:///mlruns/0\nexperiment_id: '0'\n")
    (note,) = discover([tmp_path]).notes
    assert "Next: mlflow migrate-filestore" in note.reason
    meta.write_text("name: mine\n")
    assert "MLflow" not in discover([tmp_path]).notes[0].reason


def test_metrics_without_samples_are_curves(tmp_path: Path) -> None:
    path = changed(
        tmp_path, "DELETE FROM spans", "UPDATE metrics SET is_nan = 1 WHERE step = 2 AND key = 'actor/grad_norm'",
        *(f"INSERT INTO runs (run_uuid, name, lifecycle_stage, start_time) VALUES ('{n}', '{n}', '{stage}', 1)"
          for n, stage in (("gone", "deleted"), ("other", "active"), ("empty", "active"))),
        *(f"INSERT INTO metrics VALUES ('a', 1.5, 9, '{n}', 4, 0)" for n in ("gone", "other")),
    )  # fmt: skip
    path.rename(tmp_path / "mlflow.sqlite")
    for place in (tmp_path, tmp_path / "mlflow.sqlite"):
        with rolloupe.open(place, index_dir=tmp_path.parent / "index") as runs:
            found = {run.name: [(row.step, row.values) for row in run.metric_rows()] for run in runs}
            configs = {run.name: run.config for run in runs}
            assert [run.format for run in runs] == ["curves", "curves"]
            assert found["other"] == [(4, {"a": 1.5})] and configs["grpo-a"]["lr"] == "1e-06"
            assert [step for step, _ in found["grpo-a"]] == [1, 2]
            assert found["grpo-a"][0][1] == {"critic/score/mean": 0.25, "actor/grad_norm": 0.5}
            assert math.isnan(found["grpo-a"][1][1]["actor/grad_norm"])
    assert [one.name for one in tmp_path.iterdir()] == ["mlflow.sqlite"]
