"""Curves that trackers keep in a run, beside it, or where a person says."""

import json
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

import rolloupe
from rolloupe import query
from rolloupe.errors import UnreadablePath
from rolloupe.formats import curve_files
from rolloupe.formats.curve_files import CurveFile, read_curves
from rolloupe.formats.reading import files
from rolloupe.formats.reading.trackers.curves import LoggedRun
from rolloupe.formats.reading.trackers.tensorboard import EventFiles
from rolloupe.query import CurveQuery, CurveSource
from tests.formats.reading.trackers.test_databases import log, project
from tests.formats.reading.trackers.test_trackers import record, scalar

TRACKERS = Path(__file__).parents[2] / "data/trackers"


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
    with rolloupe.open(folder, index_dir=folder.parent / "index", **how) as runs:  # type: ignore[arg-type]
        opened = runs[0]._opened()
        return {row.step: row.values for row in query.metric_rows(opened)}, query.curve_sources(opened)


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


def test_files_that_a_person_names_and_the_step_to_read_them_by(run_folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "curves.csv"
    table.write_text("\ufeffstep,global_step,loss,note,_timestamp\n10,1,0.5,x,1795313315\n20,2,NaN,,\n30,3,,y,\n")
    rows, (source,) = read(run_folder, metrics=[table])
    assert (source.kind, source.step_name) == ("CSV", "global_step") and rows[1]["loss"] == 0.5
    rows, (source,) = read(run_folder, metrics=[table], metrics_step="tracker")
    assert rows[10]["loss"] == 0.5 and [*rows] == [1, 2, 3, 10, 20, 30] and source.step_name == ""
    lines = tmp_path / "exp.jsonl"
    lines.write_text(
        '{"step": 2, "data": {"critic/score": 1.5}}\nnothing\n{"step": 3, "data": {"a": {"b": "Infinity"}}}\n'
    )
    rows, (source,) = read(run_folder, metrics=[lines])
    assert rows[2]["critic/score"] == 1.5 and rows[3]["a/b"] == float("inf")
    assert source.names == ["critic/score", "a/b"]
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
    assert "events.out.tfevents.1: at byte 0" in damaged.note and torn.note == "it is no run of Weights & Biases"


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
    assert events.note == "rows left out because their step is too large: 1" and named.note == ""
    first, second = (name for name in rows[1] if name.startswith("xxx"))
    assert len(first) == len(second) == 200 and (rows[1][first], rows[1][second]) == (1, 2)
    with rolloupe.open(run_folder, index_dir=run_folder.parent / "index") as runs:
        assert [point.value for point in runs[0].metrics("good")] == [0.5, 0.5]
        (elapsed,) = runs[0].curves([CurveQuery(kind="elapsed")])
        assert 3 in elapsed.steps and 2 not in elapsed.steps, "a clock at 0 tells no time"


def test_files_that_did_not_change_are_read_once_and_folders_listed_once_for_many_curves(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(TRACKERS / "tensorboard/openrlhf", run_folder / "tensorboard")
    read_files: list[CurveFile] = []
    listed: list[str] = []
    own_read, own_list, asking = read_curves, files._entries, threading.get_ident()

    def read_one(file: CurveFile, *reader: EventFiles) -> list[LoggedRun]:
        read_files.append(file)
        return own_read(file, *reader)

    def list_one(folder: str, link_root: str) -> list[files.FolderEntry]:
        if threading.get_ident() == asking:  # the index looks for files as well
            listed.append(folder)
        return own_list(folder, link_root)

    monkeypatch.setattr(curve_files, "read_curves", read_one)
    monkeypatch.setattr(files, "_entries", list_one)
    with rolloupe.open(run_folder, index_dir=run_folder.parent / "index") as runs:
        assert runs[0].metric_rows() == runs[0].metric_rows() and len(read_files) == 1
        listed.clear()
        runs[0].curves([CurveQuery(kind="trainer", name=name) for name in ("own", "train/kl", "eval/acc")])
        assert str(run_folder) in listed and len(listed) == len(set(listed))
        with (run_folder / "tensorboard" / "events.out.tfevents.2").open("wb") as file:
            file.write(scalar("later", 2, 0.5, 9.0))
        assert [one.value for one in runs[0].metrics("later")] == [0.5] and len(read_files) == 2


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
