"""Curves by their names, and as tables, in Python."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe import Recorder, Runs
from rolloupe.errors import BadQuery
from rolloupe.query import CurveOptions, CurveQuery
from rolloupe.record.folder import own_launches
from tests.thoroughness import each

REWARDS = {0: [0.0, 1.0], 1: [1.0, 1.0], 2: [0.5, 0.0]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp("named")
    for name in ("one", "two"):
        own_launches.clear()  # as another process would
        with Recorder(folder / "runs" / name, code=None) as run:
            for step, rewards in REWARDS.items():
                for index, reward in enumerate(rewards):
                    run.sample(
                        step=step, group="g", index=index, prompt="p", response="a b", reward=reward, tokens=["a", "b"],
                        series={"logprobs": [-1.0, -2.0]}, discarded="stale" if step == 2 and index else "",
                    )  # fmt: skip
                # The samples have rewards, but no advantages.
                run.metrics(step, {"reward": -9, "advantage": step / 4, "optim/loss": 1 / (step + 1)})
                if name == "two":
                    run.metrics(step, {"alone": step})
    with rolloupe.open(folder / "runs", index_dir=folder / "index") as opened:
        yield opened


@each(
    ("name", "kind", "values"),
    [
        ("reward", "sample", [0.5, 1, 0.5]),
        ("advantage", "trainer", [0, 0.25, 0.5]),
        ("optim/loss", "trainer", [1, 1 / 2, 1 / 3]),
        ("token/logprobs", "token", [-1.5, -1.5, -1.5]),
        ("sample/reward", "sample", [0.5, 1, 0.5]),
        ("share/discarded/stale", "share", [0, 0, 0.5]),
        ("group/all_best", "group", [0, 1, 0]),
        ("response_chars", "sample", [3, 3, 3]),
    ],
)
def test_a_name_stands_for_one_curve_and_the_answer_says_which(
    runs: Runs, name: str, kind: str, values: list[float]
) -> None:
    curve = runs.run("one").curve(name)
    assert (curve.query.kind, curve.steps.tolist()) == (kind, [0, 1, 2])
    assert curve.values.tolist() == pytest.approx(values)
    assert curve.values.tolist() == runs.run("one").curve(curve.query).values.tolist()


def test_an_unknown_name_gets_the_nearest(runs: Runs) -> None:
    with pytest.raises(BadQuery, match="no curve 'rewrd' in run 'one'; did you mean 'reward'"):
        runs.run("one").curve("rewrd")
    with pytest.raises(BadQuery, match="did you mean 'optim/loss'"):
        runs.run("one").curves(["reward", "optim/los"])
    assert [one.query.name for one in runs.run("one").curves("optim/loss")] == ["optim/loss"]


def test_a_curve_is_a_table_of_its_points(runs: Runs) -> None:
    options = CurveOptions(spread=True, smooth=2, band="p5-p95")
    across = CurveQuery(kind="trainer", name="optim/loss")
    curve = runs.run("one").curve(CurveQuery(kind="sample", name="reward", options=options, x=across))
    table = curve.arrow()
    assert table.column_names == ["step", "value", "spread", "low", "high", "smooth", "x"]
    for name, array in (("step", curve.steps), ("value", curve.values), ("smooth", curve.smooth), ("x", curve.x)):
        assert table[name].to_pylist() == np.asarray(array).tolist()
    assert curve.pandas()["value"].tolist() == curve.polars()["value"].to_list() == [0.5, 1, 0.5]
    assert repr(runs.run("one").curve("reward")).startswith("<Curve sample/reward: 3 points, steps 0 to 2; ")
    assert "<td" in curve._repr_html_()


def test_runs_are_compared_by_a_name_which_means_the_same_in_all(runs: Runs) -> None:
    groups = rolloupe.compare_curves(runs, "reward")
    assert [(one.value, one.runs, one.mean.tolist()) for one in groups] == [
        ("one", ["one"], [0.5, 1, 0.5]), ("two", ["two"], [0.5, 1, 0.5]),
    ]  # fmt: skip
    table = groups.arrow()
    assert table.column_names == ["value", "step", "mean", "std", "min", "max", "count"] and table.num_rows == 6
    assert table["value"].to_pylist() == ["one"] * 3 + ["two"] * 3 and table["step"].to_pylist() == [0, 1, 2] * 2
    assert [one.value for one in rolloupe.compare_curves(runs, "alone")] == ["two"], "the other run has no such curve"
    with pytest.raises(BadQuery, match="no curve 'none'"):
        rolloupe.compare_curves(runs, "none")


def test_one_file_of_metrics_may_stand_alone(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as run:
        run.sample(step=1, prompt="p", response="r", reward=1.0)
    (tmp_path / "more.csv").write_text("step,val/loss\n1,0.5\n")
    for named in (str(tmp_path / "more.csv"), tmp_path / "more.csv", [tmp_path / "more.csv"]):
        with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index", metrics=named) as opened:
            assert opened.curve("val/loss").values.tolist() == [0.5]
