"""`rolloupe metrics`."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest

import rolloupe as rolloupe_package
from rolloupe import Recorder
from rolloupe.index import OpenRun
from rolloupe.query import CurveQuery
from tests.cli.support import FORBIDDEN, HOSTILE, on_terminal, rolloupe


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logged") / "run"
    with Recorder(folder, code=None) as recorder:
        recorder.metrics(0, {"optim/loss": 0.5, "odd, name": 1, HOSTILE: 2})
        recorder.metrics(1, {"optim/loss": float("nan")})
        recorder.metrics(None, {"gpu": 0.25})
        recorder.sample(step=0, prompt="p", response="r", reward=1.0)
    return folder


def test_the_list_has_each_metric_with_its_last_step_and_value(logged: Path) -> None:
    done = rolloupe("metrics", logged)
    assert done.code == 0 and not set(done.out) & set(FORBIDDEN)
    lines = [line.split() for line in done.out.splitlines()]
    assert ["2", "1", "NaN", "optim/loss"] in lines and ["1", "-", "0.25", "gpu"] in lines


def test_names_have_their_values_by_step_and_unknown_ones_are_refused(logged: Path) -> None:
    done = rolloupe("metrics", logged, "optim/loss", "gpu")
    rows = [line.split() for line in done.out.splitlines()[1:]]
    assert rows == [["0", "0.5", "-"], ["1", "NaN", "-"], ["-", "-", "0.25"]]
    done = rolloupe("metrics", "--data-dir", logged, "nothing")
    assert done.code == 2 and "no metric 'nothing'; there are: " in done.err
    assert done.err.index("gpu") < done.err.index("odd, name") < done.err.index("optim/loss"), "in order"
    assert "no metric 'gpus'; did you mean 'gpu'?" in rolloupe("metrics", logged, "gpus", "--x", "elapsed").err
    assert rolloupe("metrics", logged / "nowhere").code == 3


def test_json_has_an_object_for_each_step_and_csv_every_column(logged: Path) -> None:
    first, second, loose = rolloupe("metrics", logged, "--json").lines
    assert (first["step"], first["optim/loss"], first["odd, name"], first[HOSTILE]) == (0, 0.5, 1.0, 2.0)
    assert second["optim/loss"] == "NaN" and loose["step"] is None and loose["gpu"] == 0.25 and loose["time_s"] > 1e9
    (only, other) = rolloupe("metrics", logged, "optim/loss", "--json").lines[:2]
    assert [*only] == ["step", "optim/loss"] and other["step"] == 1
    code, written = on_terminal("metrics", logged, "--csv")
    assert code == 0 and "optim/loss" in written and not set(written) & set(FORBIDDEN)
    assert HOSTILE in rolloupe("metrics", logged, "--csv").out, "a program gets the names as they are"
    rows = [*csv.DictReader(io.StringIO(rolloupe("metrics", logged, "--csv").out))]
    assert rows[0]["odd, name"] == "1.0" and rows[1]["optim/loss"] == "NaN" and rows[2]["step"] == ""
    done = rolloupe("metrics", logged, "--csv", "--json")
    assert done.code == 2 and "exclude each other" in done.err


def test_another_number_stands_beside_each_step(logged: Path) -> None:
    done = rolloupe("metrics", logged, "optim/loss", "--x", "elapsed")
    head, first, second = (line.split() for line in done.out.splitlines())
    assert (head, first[:2], second[0]) == (["step", "elapsed_s", "optim/loss"], ["0", "0"], "1")
    assert "1 of 3 rows have no elapsed_s" in rolloupe("metrics", logged, "--x", "elapsed").err
    (only,) = rolloupe("metrics", logged, "optim/loss", "--x", "odd, name", "--json").lines
    assert only == {"step": 0, "odd, name": 1.0, "optim/loss": 0.5}
    done = rolloupe("metrics", logged, "--x", "optim/los")
    assert done.code == 2 and "did you mean 'optim/loss'" in done.err


def test_a_run_without_metrics_says_what_to_do_next_and_a_tracker_has_them(run: Path, tmp_path: Path) -> None:
    done = rolloupe("metrics", run)
    assert (done.code, done.out) == (1, "") and "--metrics PATH" in done.err
    (tmp_path / "curves.csv").write_text("step,loss,time_s\n3,0.25,7\n")
    assert rolloupe("metrics", run, "--metrics", tmp_path / "curves.csv", "--json").lines == [{"step": 3, "loss": 0.25}]


def test_what_is_left_out_of_a_named_file_is_said_on_standard_error(logged: Path, tmp_path: Path) -> None:
    table = tmp_path / "curves.csv"
    table.write_text("step;optim/loss;val/loss\n0;9;0,5\n")
    for command in (["metrics", "val/loss"], ["check"], ["query"]):
        done = rolloupe(command[0], logged, *command[1:], "--metrics", table)
        assert f"{table}: metrics left out because the run has others of their names: 1 (optim/loss)" in done.err
    assert rolloupe("metrics", logged, "val/loss", "optim/loss", "--metrics", table, "--json").lines[0] == {
        "step": 0, "val/loss": 0.5, "optim/loss": 0.5,
    }  # fmt: skip


def test_of_several_runs_the_file_is_of_the_one_that_is_named(logged: Path, tmp_path: Path) -> None:
    (tmp_path / "curves.csv").write_text("step,val/loss\n0,0.25\n")
    with Recorder(tmp_path / "other", code=None) as recorder:
        recorder.metrics(0, {"loss": 1})
    files = ("--data-dir", tmp_path / "other", "--metrics", tmp_path / "curves.csv")
    words = ("metrics", logged, *files, "val/loss", "--json")
    assert "Next: choose one with --run" in rolloupe(*words).err
    assert rolloupe(*words, "--run", "other").lines[0] == {"step": 0, "val/loss": 0.25}
    done = rolloupe(*words, "--run", "none")
    assert done.code == 1 and "no run 'none' is open; open runs: run, other" in done.err


def test_a_run_with_metrics_alone_says_so(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.metrics(0, {"loss": 0.5})
    for command in ("ls", "doctor"):
        assert "no samples, 2 metrics by step" in rolloupe(command, tmp_path / "run").out


def test_all_curves_have_names_of_their_own(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for step in range(2):
            for index in range(4):
                recorder.sample(
                    step=step, group="g", index=index, prompt="p", response="r", reward=1.0, advantage=0.0,
                    discarded="stale" if index == 3 else "",
                )  # fmt: skip
            recorder.metrics(step, {"optim/loss": 0.5})
        recorder.sample(step=1, split="eval/math", prompt="p", response="r", reward=1.0)
    lines = [line.split() for line in rolloupe("metrics", tmp_path / "run", "--curves").out.splitlines()]
    for name, value in (("share/zero_advantage", "1"), ("share/discarded/stale", "0.25"), ("group/all_best", "1")):
        assert ["2", "1", value, name] in lines
    assert ["1", "1", "1", "eval/math"] in lines and ["2", "1", "0.5", "optim/loss"] in lines
    first, _ = rolloupe("metrics", tmp_path / "run", "share/discarded/stale", "--curves", "--json").lines
    assert first == {"step": 0, "share/discarded/stale": 0.25}


def test_a_curve_named_like_a_metric_of_the_trainer_stands_beside_it(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.metrics(1, {"sample/reward": -9})
        recorder.sample(step=1, prompt="p", response="r", reward=0.5)
    (line,) = rolloupe("metrics", tmp_path / "run", "--curves", "--json").lines
    assert (line["sample/reward"], line["curve/sample/reward"]) == (-9, 0.5)


def test_patterns_name_several_metrics_and_steps_without_any_of_them_are_left_out(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for step in range(4):
            recorder.metrics(step, {"eval/b": step, "eval/a": -step} if step % 2 else {"loss [x]": 0.5})
    place = tmp_path / "run"
    assert rolloupe("metrics", place, "eval/*", "--json").lines == [
        {"step": 1, "eval/a": -1, "eval/b": 1}, {"step": 3, "eval/a": -3, "eval/b": 3},
    ]  # fmt: skip
    assert rolloupe("metrics", place, "*/[b]", "eval/?", "--csv").out == "step,eval/b,eval/a\n1,1.0,-1.0\n3,3.0,-3.0\n"
    assert [line.split() for line in rolloupe("metrics", place, "eval/a").out.splitlines()] == [
        ["step", "eval/a"], ["1", "-1"], ["3", "-3"],
    ]  # fmt: skip
    assert len(rolloupe("metrics", place, "eval/a", "--x", "elapsed", "--json").lines) == 2
    assert [one["step"] for one in rolloupe("metrics", place, "loss [x]", "--json").lines] == [0, 2], "a name, exactly"
    done = rolloupe("metrics", place, "evil/*")
    assert done.code == 2 and "no metric 'evil/*'; " in done.err


def test_metrics_wait_for_no_index_and_need_no_database(logged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> bool:
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(OpenRun, "wait", never)
        patch.setattr(OpenRun, "wait_all", never)
        assert "optim/loss" in rolloupe("metrics", logged).out
    code = "import sys; from rolloupe.cli import main; code = main(standalone_mode=False); "
    code += "assert {'duckdb', 'pandas'}.isdisjoint(sys.modules); sys.exit(code)"
    words = [sys.executable, "-c", code, "metrics", str(logged), "optim/loss"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "0.5" in done.stdout


def test_curves_of_a_file_stand_across_the_time_of_the_run(logged: Path, tmp_path: Path) -> None:
    """Each point of a named file has the x of its step: the time, or another metric."""
    (tmp_path / "curves.csv").write_text("step,val/loss,seen,_timestamp\n0,0.5,10,1795313315\n1,0.25,20,1795313375\n")
    words = (logged, "val/loss", "--metrics", tmp_path / "curves.csv", "--json")
    assert rolloupe("metrics", *words, "--x", "seen").lines == [
        {"step": 0, "seen": 10, "val/loss": 0.5}, {"step": 1, "seen": 20, "val/loss": 0.25},
    ]  # fmt: skip
    by_time = [
        (one["step"], one["elapsed_s"], one["val/loss"]) for one in rolloupe("metrics", *words, "--x", "elapsed").lines
    ]
    with rolloupe_package.open(logged, metrics=tmp_path / "curves.csv") as run:
        curve = run.curve(CurveQuery(kind="trainer", name="val/loss", x=CurveQuery(kind="elapsed")))
        assert curve.x is not None
        assert [*zip(curve.steps.tolist(), curve.x.tolist(), curve.values.tolist(), strict=True)] == by_time
        own = [one.value for one in run.metrics("time")]
        assert curve.x.tolist() == [0.0, own[1] - own[0]], "the clock of the run itself"
    bare = tmp_path / "bare"
    with Recorder(bare, code=None) as recorder:
        recorder.sample(step=0, prompt="p", response="r", reward=1.0)
    lines = rolloupe("metrics", bare, *words[1:], "--x", "elapsed").lines
    assert [(one["elapsed_s"], one["val/loss"]) for one in lines] == [(0, 0.5), (60, 0.25)]
