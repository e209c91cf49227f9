"""Curves that trackers keep in a run, beside it, or where a person says."""

import json
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from rolloupe.demo import RUNS
from rolloupe.errors import NotFound, UnreadablePath
from rolloupe.formats import curve_files
from rolloupe.formats.curve_files import CurveFile, read_curves
from rolloupe.formats.reading import files
from rolloupe.formats.reading.trackers.curves import LoggedRun, LogReader
from rolloupe.index import OpenRun
from rolloupe.model import MetricRow
from rolloupe.query import CurveQuery, CurveSource
from rolloupe.query.run import trainer_files
from rolloupe.query.run.trainer_files import MetricTable, time_of
from tests.formats.reading.trackers.test_databases import log, project
from tests.formats.reading.trackers.test_trackers import record, scalar
from tests.index.support import opened

DATA = Path(__file__).parents[2] / "data"
TRACKERS = DATA / "trackers"


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run of a recorder with a metric of its own."""
    with rolloupe.Recorder(tmp_path / "exp1", code=None) as recorder:
        for step in (1, 2, 3):
            recorder.sample(step=step, prompt="p", response="r", reward=1.0)
            recorder.metrics(step=step, values={"own": float(step), "train/reward": -1.0})
            assert recorder.step_end(step)
    return tmp_path / "exp1"


def read(folder: Path, **how: object) -> tuple[dict[int | None, dict[str, float]], Sequence[CurveSource]]:
    with rolloupe.open(folder, index_dir=folder.parent / "index", **how) as runs:  # type: ignore[pyrefly:bad-argument-type]
        return {row.step: row.values for row in runs[0].metric_rows()}, runs[0].curve_sources()


def test_what_a_tracker_wrote_into_the_folder_of_a_run_is_found_and_the_runs_own_metric_wins(run_folder: Path) -> None:
    shutil.copytree(TRACKERS / "tensorboard/openrlhf", run_folder / "tensorboard/a/b")
    (run_folder / "wandb/offline-run-1").mkdir(parents=True)
    shutil.copy(TRACKERS / "wandb/run-trldemo1.wandb", run_folder / "wandb/offline-run-1")
    rows, (events, offline) = read(run_folder)
    assert [*rows] == [1, 2, 3]
    assert rows[3]["own"] == 3 and rows[3]["train/reward"] == -1.0
    assert rows[3]["eval/acc"] == 0.5 and rows[1]["train/kl"] == pytest.approx(0.01) and rows[1]["train/loss"] == 0.1
    assert (events.kind, events.names, events.step_name) == ("TensorBoard", ["train/kl", "eval/acc"], "")
    assert (offline.kind, offline.run, offline.step_name) == ("Weights & Biases", "grpo-trl", "train/global_step")


def test_beside_a_run_only_what_has_its_name_counts(run_folder: Path) -> None:
    beside = run_folder.parent
    shutil.copytree(TRACKERS / "tensorboard/openrlhf", beside / "tensorboard_log/project/exp1")
    shutil.copytree(TRACKERS / "tensorboard/v2_scalars", beside / "tensorboard_log/project/exp2")
    (beside / "trackio").mkdir()
    with project(beside / "trackio/project.db") as database:
        log(database, "c", 1, {"of c": 4})
        database.execute("UPDATE metrics SET run_name = 'exp1' WHERE run_id = 'c'")
    rows, sources = read(run_folder)
    assert [(one.kind, one.names) for one in sources] == [
        ("TensorBoard", ["train/kl", "eval/acc"]), ("trackio", ["of c"]),
    ]  # fmt: skip
    assert rows[1]["of c"] == 4 and "reward/mean" not in rows[1] and "loss" not in rows[1]


TABLE = '{"step": 1, "of table": 0.5}\n{"step": 2, "of table": 0.25}\n'


@pytest.mark.parametrize(("run", "inside"), [("verl_math", "rollouts"), ("relax/rollout_result", "rollout_result")])
def test_around_a_folder_of_samples_everything_counts_and_is_no_run_of_its_own(
    run: str, inside: str, tmp_path: Path
) -> None:
    home = tmp_path / "runs/exp7"
    shutil.copytree(RUNS / "other_formats" / run, home / inside)
    (home / "metrics.jsonl").write_text(TABLE)
    shutil.copytree(TRACKERS / "tensorboard/openrlhf", home / "tb")
    shutil.copytree(TRACKERS / "tensorboard/v2_scalars", tmp_path / "runs/tensorboard/exp7")
    shutil.copytree(TRACKERS / "tensorboard/v2_scalars", tmp_path / "runs/tensorboard/exp8")
    for place in (tmp_path / "runs", home, home / inside):
        with rolloupe.open(place, index_dir=tmp_path / "index") as runs:
            found = runs if place == tmp_path / "runs" else [runs.only()]
            (mine,) = (one for one in found if one.name == "exp7")
            rows = {row.step: row.values for row in mine.metric_rows()}
            assert rows[1]["of table"] == 0.5 and rows[1]["train/kl"] == pytest.approx(0.01)
            assert "reward/mean" in {name for row in rows.values() for name in row}
            assert [one.name for one in found if one.name != "exp7"] in ([], ["exp8"])
            assert not any("metrics.jsonl" in note.reason for note in runs.notes)


def test_a_table_that_the_format_reads_itself_is_not_read_twice(tmp_path: Path) -> None:
    shutil.copytree(DATA / "tinker/flat_run", tmp_path / "run")
    assert (tmp_path / "run/metrics.jsonl").exists()
    rows, sources = read(tmp_path / "run")
    assert rows and not sources


def test_of_other_formats_the_table_in_the_folder_of_a_run_counts(tmp_path: Path) -> None:
    shutil.copytree(RUNS / "other_formats/trl", tmp_path / "run")
    (tmp_path / "run/metrics.jsonl").write_text(TABLE)
    rows, (source,) = read(tmp_path / "run")
    assert rows[2]["of table"] == 0.25 and source.kind == "JSON lines"


def test_files_that_a_person_names_and_the_step_to_read_them_by(run_folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "curves.csv"
    table.write_text("\ufeffstep,global_step,loss,note,_timestamp\n10,1,0.5,x,1795313315\n20,2,NaN,,\n30,3,,y,\n")
    rows, (source,) = read(run_folder, metrics=[table])
    assert (source.kind, source.step_name) == ("CSV", "global_step") and rows[1]["loss"] == 0.5
    rows, (source,) = read(run_folder, metrics=[table], metrics_step="tracker")
    assert rows[10]["loss"] == 0.5 and [*rows] == [1, 2, 3, 10, 20, 30] and source.step_name == ""
    lines = tmp_path / "exp.jsonl"
    lines.write_text(
        '\ufeff{"step": 2, "data": {"critic/score": 1.5}}\nnothing\n{"step": 3, "data": {"a": {"b": "Infinity"}}}\n'
    )
    rows, (source,) = read(run_folder, metrics=[lines])
    assert rows[2]["critic/score"] == 1.5 and rows[3]["a/b"] == float("inf")
    assert source.names == ["critic/score", "a/b"] and source.note.endswith("not JSON objects: 1")
    state = tmp_path / "trainer_state.json"
    state.write_text(
        json.dumps({"log_history": [{"step": 2, "loss": 0.25, "epoch": 0.5}, {"step": 2, "eval_loss": 1}]})
    )
    rows, _ = read(run_folder, metrics=[state])
    assert rows[2]["loss"] == 0.25 and rows[2]["eval_loss"] == 1
    rows, sources = read(run_folder, metrics=[TRACKERS / "swanlab"])
    assert rows[2]["actor/pg_loss"] == -0.02 and [one.kind for one in sources] == ["SwanLab", "SwanLab"]
    with pytest.raises(UnreadablePath, match="does not exist"):
        read(run_folder, metrics=[tmp_path / "nothing"])


def test_of_several_runs_each_named_file_counts_for_the_run_whose_name_it_has(run_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(run_folder, tmp_path / "exp2")
    (tmp_path / "csv/exp2").mkdir(parents=True)
    (tmp_path / "csv/exp1.csv").write_text("step,first\n1,0.5\n")
    (tmp_path / "csv/exp2/metrics.csv").write_text("step,second\n1,0.5\n")
    (tmp_path / "exp1/mine.csv").write_text("step,third\n1,0.5\n")
    shutil.copytree(TRACKERS / "tensorboard/v2_scalars", tmp_path / "curves/exp2")
    named = [tmp_path / "csv", tmp_path / "curves", tmp_path / "exp1/mine.csv"]
    paths, index = [tmp_path / "exp1", tmp_path / "exp2"], tmp_path / "index"
    with rolloupe.open(paths, index_dir=index, metrics=named) as runs:
        sources = {run.name: [one.names for one in run.curve_sources()] for run in runs}
    assert sources == {"exp1": [["first"], ["third"]], "exp2": [["second"], ["reward/mean"]]}
    (tmp_path / "other.csv").write_text("step,loss\n1,0.5\n")
    with pytest.raises(UnreadablePath, match=r"other\.csv has the name of none of the 2 runs .*\(exp1, exp2\)"):
        rolloupe.open(paths, index_dir=index, metrics=[tmp_path / "other.csv"])
    with rolloupe.open(paths[0], index_dir=index, metrics=[tmp_path / "other.csv"]) as runs:
        assert runs[0].curve_sources()[0].names == ["loss"], "of one run it is nobody else's"
    with rolloupe.open(paths, run="exp2", index_dir=index, metrics=[tmp_path / "other.csv"]) as runs:
        assert [run.id for run in runs] == ["exp2"] and runs.curve_sources()[0].names == ["loss"], "nor of a named one"
    with pytest.raises(NotFound, match="no run 'exp3' is open; open runs: exp1, exp2"):
        rolloupe.open(paths, run="exp3", index_dir=index)
    with project(tmp_path / "p.db") as _, pytest.raises(UnreadablePath, match=r"p\.db has the name of none"):
        rolloupe.open(paths, index_dir=index, metrics=[tmp_path / "p.db"])


def test_what_is_left_out_of_a_named_file_is_a_problem_with_its_reason(run_folder: Path, tmp_path: Path) -> None:
    tables = {
        "same.csv": "step,own,train/reward,new\n1,5,6,7\n", "loose.csv": "n,val\n1,0.5\n2,0.25\n", "empty.csv": "",
        "odd.csv": "step;loss, train\n1;0,5\n", "whole.tsv": "step\tfine\n1\t0.5\n",
    }  # fmt: skip
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "nothing").mkdir()
    named = [tmp_path / name for name in (*tables, "nothing")]
    with rolloupe.open(run_folder, index_dir=tmp_path / "index", metrics=named) as runs:
        reasons = {Path(one.source).name: one.reason for one in runs.problems()}
        assert runs.problem_count() == 5
        sources = {Path(one.path).name: one for one in runs.curve_sources()}
        assert (sources["whole.tsv"].names, sources["whole.tsv"].note) == (["fine"], "")
        values = {row.step: row.values for row in runs.metric_rows()}
    assert reasons == {
        "same.csv": "CSV: metrics left out because the run has others of their names: 2 (own, train/reward)",
        "loose.csv": "CSV: rows without a step, which no chart shows: 2 (n, val); Next: --metrics-step NAME",
        "empty.csv": "CSV: it is empty so far",
        "odd.csv": "CSV: it is uncertain whether commas or semicolons separate its cells",
        "nothing": "it holds no curves",
    }
    expected = {"own": 1.0, "train/reward": -1.0, "new": 7.0, "fine": 0.5}
    assert expected.items() < values[1].items() and values[None] == {"n": 2, "val": 0.25}
    with rolloupe.open(run_folder, index_dir=tmp_path / "index", metrics=named[1:2], metrics_step="n") as runs:
        assert runs.problems() == [] and [one.value for one in runs.metrics("val")] == [0.5, 0.25]
    with rolloupe.open(run_folder, index_dir=tmp_path / "index", metrics=named[1:2], metrics_step="m") as runs:
        assert runs.problems()[0].reason.endswith("2 (n, val); no row before them has a step in 'm'")
    shutil.copy(tmp_path / "same.csv", run_folder / "metrics.csv")
    with rolloupe.open(run_folder, index_dir=tmp_path / "index") as runs:
        assert runs.problems() == [], "what is found by itself may repeat what the run records"
    with rolloupe.open(run_folder, index_dir=tmp_path / "index", metrics=[run_folder / "metrics.csv"]) as runs:
        assert runs.problem_count() == len(runs.curve_sources()) == 1, "a file that is found and named is read once"


def test_a_database_of_several_runs_says_which_it_has_and_a_damaged_file_why_it_was_not_read(
    run_folder: Path, tmp_path: Path
) -> None:
    project(tmp_path / "p.db").close()
    rows, (source,) = read(run_folder, metrics=[tmp_path / "p.db"])
    assert source.note == "it holds 2 runs, and none is named 'exp1': name of a, name of b" and source.names == []
    assert rows[1]["own"] == 1.0 and "loss" not in rows[1]
    (run_folder / "run-x.wandb").write_bytes(b"damaged")
    (run_folder / "events.out.tfevents.1").write_bytes(b"\xff" * 100)
    (run_folder / "run.swanlab").touch()
    (run_folder / "linked.db").symlink_to(tmp_path / "p.db")
    rows, (damaged, torn, empty) = read(run_folder)
    assert empty.note == "it is empty so far"
    assert "events.out.tfevents.1: at byte 0" in damaged.note and torn.note == "it is not a run of Weights & Biases"
    with rolloupe.open(run_folder, index_dir=run_folder.parent / "index") as runs:
        problems = {one.source: one.reason for one in runs[0].problems()}
        assert runs[0].problem_count() == len(problems) == 2, "an empty file is none"
    assert problems["run-x.wandb"] == "Weights & Biases: it is not a run of Weights & Biases"
    assert problems["events.out.tfevents.1"].startswith("TensorBoard: events.out.tfevents.1: at byte 0 it is damaged")


def test_steps_that_are_too_large_are_left_out_and_names_are_cut_and_cleaned(run_folder: Path) -> None:
    event = b"\x10" + b"\xff" * 9 + b"\x7f" + b"\x2a\x0a\x0a\x08\x0a\x01x\x15" + bytes(4)
    (run_folder / "events.out.tfevents.1").write_bytes(
        scalar("good", 2, 0.5, 0.0) + record(event) + scalar("good", 3, 0.5, 1.7e9)
    )
    long = "x" * 9_000
    lines = [{"step": 10**30, "huge": 1}, {"step": 2**53, "edge": 1}, {"step": 1, f"{long}a": 1, f"{long}b": 2}]
    lines += [{"step": 3, "\ud800": 3}]
    (run_folder / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rows, (events, named) = read(run_folder, metrics=[run_folder / "lines.jsonl"], metrics_step="tracker")
    assert [*rows] == [1, 2, 3, 2**53, None] and rows[2]["good"] == 0.5 and rows[3]["\ufffd"] == 3
    assert events.note == "rows left out because their step is too large: 1"
    assert named.note == "rows without a step, which no chart shows: 1 (step, huge); Next: --metrics-step NAME"
    first, second = (name for name in rows[1] if name.startswith("xxx"))
    assert len(first) == len(second) == 200 and (rows[1][first], rows[1][second]) == (1, 2)
    with rolloupe.open(run_folder, index_dir=run_folder.parent / "index") as runs:
        assert [point.value for point in runs[0].metrics("good")] == [0.5, 0.5]
        (elapsed,) = runs[0].curves([CurveQuery(kind="elapsed")])
        assert elapsed.steps.tolist() == [1, 2, 3], "the clock of the run itself counts"
        (problem,) = (one for one in runs[0].problems() if one.source == "events.out.tfevents.1")
        assert problem.reason == f"TensorBoard: {events.note}"
    assert time_of(MetricRow(step=2, values={}, time_s=0.0)) is None, "a clock at 0 tells no time"


def test_files_that_did_not_change_are_read_once_and_folders_listed_once_for_many_curves(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(TRACKERS / "tensorboard/openrlhf", run_folder / "tensorboard")
    read_files: list[CurveFile] = []
    listed: list[str] = []
    own_read, own_list, asking = read_curves, files.list_entries, threading.get_ident()

    def read_one(file: CurveFile, *reader: LogReader) -> list[LoggedRun]:
        read_files.append(file)
        return own_read(file, *reader)

    def list_one(folder: str, *how: Any) -> list[files.FolderEntry]:
        if threading.get_ident() == asking:  # the index looks for files as well
            listed.append(folder)
        return own_list(folder, *how)

    monkeypatch.setattr(curve_files, "read_curves", read_one)
    monkeypatch.setattr(files, "list_entries", list_one)
    with rolloupe.open(run_folder, index_dir=run_folder.parent / "index") as runs:
        assert runs[0].metric_rows() == runs[0].metric_rows() and len(read_files) == 1
        listed.clear()
        runs[0].curves([CurveQuery(kind="trainer", name=name) for name in ("own", "train/kl", "eval/acc")])
        assert str(run_folder) in listed and len(listed) == len(set(listed))
        with (run_folder / "tensorboard" / "events.out.tfevents.2").open("wb") as file:
            file.write(scalar("later", 2, 0.5, 9.0))
        assert [one.value for one in runs[0].metrics("later")] == [0.5] and len(read_files) == 2


def test_a_log_that_takes_long_to_read_keeps_no_other_run_waiting(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run_folder, run_folder.parent / "exp2")
    began, go_on = threading.Event(), threading.Event()
    read_now = trainer_files.read_table

    def slow(run: OpenRun, version: str) -> MetricTable:
        if run.info.name == "exp1":
            began.set()
            assert go_on.wait(60)
        return read_now(run, version)

    monkeypatch.setattr(trainer_files, "read_table", slow)
    with opened(run_folder.parent, run_folder.parent / "index") as library:
        first, second = library.runs
        reader = threading.Thread(target=trainer_files.metric_table, args=[first])
        reader.start()
        assert began.wait(60) and "own" in trainer_files.metric_table(second).columns
        go_on.set()
        reader.join()


def test_a_tracker_that_goes_on_is_read_again(run_folder: Path) -> None:
    with (
        project(run_folder / "live.db") as database,
        rolloupe.open(run_folder, index_dir=run_folder.parent / "index") as runs,
    ):
        database.execute("DELETE FROM metrics WHERE run_id = 'b'")
        database.commit()
        before = runs[0].metrics("loss")
        log(database, "a", 5, {"loss": 9.0, "train/global_step": 3})
        database.commit()
        assert runs[0].metrics("loss")[-1].value == 9.0 and len(runs[0].metrics("loss")) == len(before) + 1
