"""`rolloupe metrics`."""

import csv
import io
from pathlib import Path

import pytest

from rolloupe import Recorder
from tests.cli.support import FORBIDDEN, HOSTILE, on_terminal, rolloupe


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    with Recorder(tmp_path / "run", code=None) as recorder:
        recorder.metrics(0, {"optim/loss": 0.5, "odd, name": 1, HOSTILE: 2})
        recorder.metrics(1, {"optim/loss": float("nan")})
        recorder.metrics(None, {"gpu": 0.25})
        recorder.sample(step=0, prompt="p", response="r", reward=1.0)
    return tmp_path / "run"


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
    assert done.code == 2 and "no metric 'nothing'; there are: optim/loss, odd, name" in done.err
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
    assert "1 of 3 rows have no elapsed_s" in done.err
    (only,) = rolloupe("metrics", logged, "optim/loss", "--x", "odd, name", "--json").lines
    assert only == {"step": 0, "odd, name": 1.0, "optim/loss": 0.5}
    done = rolloupe("metrics", logged, "--x", "optim/los")
    assert done.code == 2 and "did you mean 'optim/loss'" in done.err


def test_a_run_without_metrics_says_what_to_do_next_and_a_tracker_has_them(run: Path, tmp_path: Path) -> None:
    done = rolloupe("metrics", run)
    assert (done.code, done.out) == (1, "") and "--metrics PATH" in done.err
    (tmp_path / "curves.csv").write_text("step,loss,time_s\n3,0.25,7\n")
    assert rolloupe("metrics", run, "--metrics", tmp_path / "curves.csv", "--json").lines == [{"step": 3, "loss": 0.25}]


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
