"""Runs of curves alone: which folders are one, and which are not."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.formats import by_name, curve_files, discover
from rolloupe.formats.reading import files
from rolloupe.model import Location, Reading, RunInfo
from rolloupe.state.run_identity import identity_of
from tests.formats.reading.trackers.test_databases import log, project
from tests.formats.support import only_run, write

TRACKERS = Path(__file__).parents[1] / "data/trackers"
EVENTS = TRACKERS / "tensorboard/v2_scalars"
OFFLINE = TRACKERS / "wandb/run-trldemo1.wandb"
TABLE = "step,loss\n1,0.5\n2,0.25\n"
LINES = ({"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25})


def found(path: Path) -> list[tuple[str, str]]:
    """The name of each run at a path, and its files."""
    runs = discover([path]).runs
    assert {run.format for run in runs} <= {"curves"}
    return [(run.name, " ".join(one.name for one in by_name("curves").sources(run))) for run in runs]


def folder(path: Path, **texts: str) -> Path:
    """A folder of files, each given by its name with `_` for the dot."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (path / ".".join(name.rsplit("_", 1))).write_text(text)
    return path


def test_each_kind_of_tracker_makes_a_run_of_a_folder(tmp_path: Path) -> None:
    shutil.copytree(EVENTS, tmp_path / "board/exp1")
    (tmp_path / "wandb/offline-run-1/files").mkdir(parents=True)
    shutil.copy(OFFLINE, tmp_path / "wandb/offline-run-1")
    (tmp_path / "wandb/latest-run").symlink_to("offline-run-1")
    (tmp_path / "swanlog/run-1").mkdir(parents=True)
    shutil.copy(TRACKERS / "swanlab/backup.swanlab", tmp_path / "swanlog/run-1")
    folder(tmp_path / "lightning_logs/version_0", metrics_csv=TABLE)
    write(tmp_path / "own/metrics.jsonl", *LINES)
    write(tmp_path / "verl/math/grpo.jsonl", {"step": 1, "data": {"critic/score": 1}})
    folder(tmp_path / "hf", trainer_state_json=json.dumps({"global_step": 2, "log_history": list(LINES)}))
    assert found(tmp_path) == [
        ("exp1", "events.out.tfevents.1795313315.trainer.26206.0"),
        ("hf", "trainer_state.json"),
        ("version_0", "metrics.csv"),
        ("own", "metrics.jsonl"),
        ("grpo-verl", "backup.swanlab"),
        ("grpo", "grpo.jsonl"),
        ("grpo-trl", "run-trldemo1.wandb"),
    ]
    index = tmp_path / "index"
    for run in discover([tmp_path]).runs:
        with rolloupe.open(run.root, index_dir=index) as runs:
            assert runs[0].metric_rows() and runs[0].problems() == [], run.name
            assert [file.what for file in by_name("curves").files(run)] == [run.reason.split(" of ")[1].split(",")[0]]
            assert bool(runs[0].config) == (run.name == "grpo-trl")
        assert [one.name for one in discover([Path(run.root)]).runs] == [run.name]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("metrics.csv", "name,loss\na,1\n"),
        ("metrics.csv", "step,loss\n1,0.5\nhalf,0.25\n"),
        ("metrics.csv", "step,loss\n0.5,1\n"),
        ("metrics.csv", "step\n1\n2\n"),
        ("metrics.csv", ""),
        ("results.csv", TABLE),
        ("metrics.jsonl", '{"loss": 1}\n'),
        ("metrics.jsonl", '{"step": 1, "loss": 2}\n{"other": "row"}\n{"loss": 3}\n'),
        ("metrics.jsonl", "[" * 9999),
        ("metrics.jsonl", '{"step": 1, "loss": ' * 3),
        ("other.jsonl", '{"step": 1, "loss": 2}\n'),
        ("other.jsonl", '{"step": 1, "data": {"loss": 2}}\n{"step": 1, "data": "text"}\n'),
        ("trainer_state.json", '{"global_step": 1}'),
        ("checkpoint-5/trainer_state.json", '{"global_step": 1, "log_history": [{"step": 1, "loss": 1}]}'),
        ("events.out.tfevents.1", ""),
        ("events.out.tfevents.1", "\0" * 100),
        ("run-1.wandb", "damaged"),
        ("run.swanlab", ""),
        ("project.db", "SQLite format 3\0" + "x" * 5000),
    ],
)
def test_what_only_has_the_name_or_only_the_shape_is_no_run(tmp_path: Path, place: str, text: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(text)
    assert found(tmp_path) == []


@pytest.mark.parametrize("beside", [".git", "pyproject.toml", "__init__.py"])
def test_a_table_in_a_folder_of_source_code_is_a_run_only_if_a_person_names_it(tmp_path: Path, beside: str) -> None:
    folder(tmp_path / "deep/tree", metrics_csv=TABLE)
    (tmp_path / "deep/tree" / beside).touch()
    assert found(tmp_path) == []
    assert found(tmp_path / "deep/tree/metrics.csv") == [("metrics", "metrics.csv")]
    shutil.copytree(EVENTS, tmp_path / "deep/tree", dirs_exist_ok=True)  # nothing else writes these
    assert [name for name, _ in found(tmp_path)] == ["tree"]


def test_folders_of_trackers_in_that_of_a_run_belong_to_it_where_each_holds_one_run(tmp_path: Path) -> None:
    folder(tmp_path / "exp", metrics_csv=TABLE)
    shutil.copytree(EVENTS, tmp_path / "exp/tensorboard/a")
    assert found(tmp_path) == [("exp", "metrics.csv tensorboard/a/events.out.tfevents.1795313315.trainer.26206.0")]
    shutil.copytree(EVENTS, tmp_path / "exp/tensorboard/b")
    assert [name for name, _ in found(tmp_path)] == ["exp", "a", "b"]


def test_samples_in_the_curves_of_a_run_without_others_are_a_run(tmp_path: Path) -> None:
    folder(tmp_path / "rloo", trainer_state_json=json.dumps({"global_step": 2, "log_history": list(LINES)}))
    (offline,) = (TRACKERS.parent / "wandb").glob("*-trldemo1")
    shutil.copytree(offline, tmp_path / "rloo/wandb" / offline.name)
    assert [(run.name, run.format) for run in discover([tmp_path]).runs] == [("rloo", "curves"), ("grpo-trl", "wandb")]


def test_curves_of_a_run_with_samples_are_no_runs_of_their_own(tmp_path: Path) -> None:
    write(tmp_path / "exp1/0.jsonl", {"prompt": "p", "response": "r", "score": 1})
    write(tmp_path / "exp1/metrics.jsonl", *LINES)
    for place in ("exp1/tensorboard/a", "exp1/any/where", "tensorboard_log/project/exp1"):
        shutil.copytree(EVENTS, tmp_path / place)
    assert [run.format for run in discover([tmp_path]).runs] == ["generic"]
    shutil.copytree(EVENTS, tmp_path / "tensorboard_log/project/exp2")
    assert [(run.name, run.format) for run in discover([tmp_path]).runs] == [("exp1", "generic"), ("exp2", "curves")]


def test_each_run_of_a_database_is_a_run(tmp_path: Path) -> None:
    with closing(project(tmp_path / "p.db")) as database:
        log(database, "traces", 0, {})
        log(database, "c", 5, {"loss": 9.0})
        for run in ("b", "traces", "c"):
            row = (run, "name of a" if run == "c" else f"name of {run}", b"{}")
            database.execute("INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, '')", row)
        database.commit()
    assert found(tmp_path) == [("n", "p.db"), ("name of b", "p.db"), ("name of a", "p.db")]
    with rolloupe.open(tmp_path / "p.db", index_dir=tmp_path / "index") as runs:
        losses = {run.name: [row.values["loss"] for row in run.metric_rows()] for run in runs}
        assert losses == {"n": [0.5, -float("inf")], "name of b": [2.0], "name of a": [9.0]}
        assert runs[0].config == {"lr": 1e-6} and runs[1].config == {}
        assert len({identity_of(run.indexed()).path for run in runs}) == 3
        assert len({run.indexed().catalog.folder for run in runs}) == 3
    with closing(sqlite3.connect(tmp_path / "old.db")) as database:
        database.execute("CREATE TABLE metrics (timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)")
        database.execute("INSERT INTO metrics VALUES ('never', 'one', 4, '{\"a\": 1}')")
        database.commit()
    assert found(tmp_path / "old.db") == [("one", "old.db")]


def test_several_offline_runs_in_a_folder_are_runs_each(tmp_path: Path) -> None:
    shutil.copytree(TRACKERS / "wandb", tmp_path / "wandb")
    assert [files for _, files in found(tmp_path)] == sorted(path.name for path in (TRACKERS / "wandb").iterdir())


def test_links_out_of_the_folder_and_pipes_are_no_curves(tmp_path: Path) -> None:
    inside = folder(tmp_path / "inside")
    (inside / "metrics.csv").symlink_to(folder(tmp_path / "out", metrics_csv=TABLE) / "metrics.csv")
    os.mkfifo(inside / "events.out.tfevents.1")
    os.mkfifo(inside / "run-1.wandb")
    assert found(inside) == []
    (run,) = discover([inside], Reading(follow_symlinks=True)).runs
    assert [one.name for one in by_name("curves").sources(run)] == ["metrics.csv"]


def test_discovery_lists_a_folder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("a", "b/c", "d"):
        folder(tmp_path / place, metrics_csv=TABLE, notes_txt="x")
    listed: list[str] = []
    own = files.list_entries

    def list_one(path: str, *how: Any) -> list[files.FolderEntry]:
        listed.append(path)
        return own(path, *how)

    monkeypatch.setattr(files, "list_entries", list_one)
    assert len(discover([tmp_path]).runs) == 3
    looked_into = [path for path in listed if Path(path).is_dir()]
    assert len(looked_into) == len(set(looked_into)) == 5


def test_a_format_that_a_person_names_reads_what_does_not_look_like_it(tmp_path: Path) -> None:
    table = folder(tmp_path, results_csv="epoch,loss\n1,0.5\n") / "results.csv"
    run: RunInfo = only_run(table, format="curves")
    assert (run.name, run.root) == ("results", str(table))


ROWS = [{"prompt": "Q", "response": "A", "reward": 0.5, "step": step} for step in (5, 10)]


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("eval.jsonl", "eval/resolved_rate"), ("eval_hidden.jsonl", "eval/hidden/resolved_rate"),
        ("heldout.jsonl", "eval/heldout/resolved_rate"), ("held_out_math.jsonl", "eval/heldout/math/resolved_rate"),
        ("val.csv", "eval/val/resolved_rate"), ("evals.csv", "eval/evals/resolved_rate"),
    ],
)  # fmt: skip
def test_a_table_of_an_evaluation_holds_curves_that_say_so(tmp_path: Path, name: str, metric: str) -> None:
    run = tmp_path / "run"
    write(run / "rollouts.jsonl", *ROWS)
    scores = [{"step": 5, "resolved_rate": 0.6}, {"step": 10, "resolved_rate": 0.4}]
    if name.endswith(".csv"):
        (run / name).write_text("step,resolved_rate\n5,0.6\n10,0.4\n")
    else:
        write(run / name, *scores)
    write(run / "metrics.jsonl", {"step": 5, "loss": 1.0})
    discovery = discover([run])
    assert [one.name for one in discovery.runs] == ["run"]
    assert not discovery.notes
    with rolloupe.open(run, index_dir=tmp_path / "index") as runs:
        assert {*runs[0].metric_names()} == {metric, "loss"}
        assert list(runs[0].curve(metric).values) == [0.6, 0.4]


BY_PROMPT = [{"prompt": f"Q{i}", "response": "A", "score": 0.5, "step": step} for i in (0, 1) for step in range(20)]
BY_ID = [{"item": i, "score": 0.5, "step": step} for i in (0, 1) for step in range(20)]


@pytest.mark.parametrize(
    "rows",
    [
        [*ROWS, *ROWS], [{"epoch": 1, "score": 0.5}], BY_PROMPT, BY_PROMPT[:20], BY_ID,
        [{"step": step, "score": 0.5, "said": "A" * 300} for step in (5, 10)],
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_samples_and_rows_without_steps_are_no_curves_of_an_evaluation(
    tmp_path: Path, rows: list[Any], ending: str
) -> None:
    write(tmp_path / "run/rollouts.jsonl", *ROWS)
    if ending == "csv":
        lines = [",".join(map(str, cells)) for cells in (rows[0], *(row.values() for row in rows))]
        (tmp_path / "run/eval.csv").write_text("\n".join([*lines, ""]))
    else:
        write(tmp_path / "run/eval.jsonl", *rows)
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert not runs[0].metric_names()


def test_many_files_named_like_evaluations_are_not_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in range(40):
        write(tmp_path / f"run/eval_step_{step}.jsonl", ROWS[0] | {"step": step})
    run = only_run(tmp_path / "run")
    opened: list[str] = []
    own = curve_files.open_binary

    def open_one(location: Location) -> Any:
        opened.append(location.path)
        return own(location)

    monkeypatch.setattr(curve_files, "open_binary", open_one)
    assert curve_files.curve_files(run) == [] and not opened


def test_a_table_of_an_evaluation_may_have_words_and_decimal_commas(tmp_path: Path) -> None:
    write(tmp_path / "run/rollouts.jsonl", *ROWS)
    (tmp_path / "run/eval.csv").write_text("step;set;generation;rate\n5;math;0;0,6\n10;math;1;0,4\n")
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert list(runs[0].curve("eval/rate").values) == [0.6, 0.4]


@pytest.mark.parametrize("name", ["curves.csv", "train_metrics.csv", "train_metrics.jsonl"])
def test_tables_of_a_training_lie_beside_the_folder_of_its_steps(tmp_path: Path, name: str) -> None:
    write(tmp_path / "run/trajectories/step_5.jsonl", *ROWS[:1])
    if name.endswith(".csv"):
        (tmp_path / "run" / name).write_text(TABLE)
    else:
        write(tmp_path / "run" / name, *LINES)
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert [(run.name, [*run.metric_names()]) for run in runs] == [("run", ["loss"])]


def test_scores_of_an_evaluation_leave_other_curves_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "run/logs").mkdir(parents=True)
    (tmp_path / "run/logs/progress.csv").write_text("step,loss\n1,2\n2,1\n")
    (tmp_path / "run/logs/eval.csv").write_text("step,acc\n1,0.2\n2,0.4\n")
    (tmp_path / "run/rollouts.jsonl").write_text('{"step": 1, "prompt": "q", "response": "a", "reward": 1}\n')
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert [*runs.runs[0].metric_names()] == ["eval/acc", "loss"]
