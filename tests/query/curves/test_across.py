"""Curves across time, tokens and other metrics: joined by step, as pandas joins them."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rolloupe
from rolloupe import Recorder
from rolloupe.api import Run
from rolloupe.errors import BadQuery
from rolloupe.query import CurveOptions, CurveQuery
from tests.query.curves.test_catalogue import RUNS

START_S = 1.7e9


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run that logs a time with every other step, and a learning rate that rises and falls."""
    folder = tmp_path_factory.mktemp("run")
    with Recorder(folder / "run", code=None) as recorder:
        for step in range(8):
            recorder.sample(
                step=step, prompt="p", response="r", reward=step % 3, prompt_tokens=10, response_tokens=step
            )
    rows: list[dict[str, float]] = [{"step": step, "loss": 1 / (step + 1), "lr": abs(4 - step)} for step in range(8)]
    rows[0]["far"], rows[1]["far"], rows[2]["far"] = 1e308, -1e308, float("-inf")
    rows[1]["_timestamp"] = 1e12  # no time
    for row in rows[::2]:
        row["_timestamp"] = START_S + 100 * row["step"] - (250 if row["step"] == 6 else 0)  # a clock that was set back
    rows[3]["lr"] = float("nan")
    (folder / "curves.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with rolloupe.open(folder / "run", metrics=[folder / "curves.jsonl"], index_dir=folder / "index") as runs:
        yield runs[0]


LOSS = CurveQuery(kind="trainer", name="loss")


def test_elapsed_time_begins_at_the_first_point_and_steps_without_a_time_are_counted(run: Run) -> None:
    (by_time,) = run.curves([CurveQuery(kind="trainer", name="loss", x=CurveQuery(kind="elapsed"))])
    assert by_time.x is not None and by_time.x_start_s == START_S and by_time.without_x == 4
    assert (by_time.steps.tolist(), by_time.x.tolist()) == ([0, 2, 4, 6], [0, 200, 400, 350])
    (alone,) = run.curves([CurveQuery(kind="elapsed")])
    assert alone.values.tolist() == [0, 200, 400, 350] and alone.x is None


def test_a_difference_that_no_float_holds_is_the_largest_one(run: Run) -> None:
    (far,) = run.curves([CurveQuery(kind="trainer", name="far", options=CurveOptions(from_zero=True))])
    assert far.values.tolist() == [0, -np.finfo(np.float64).max, -np.inf]


def test_a_metric_across_is_joined_by_step_and_changes_no_average(run: Run) -> None:
    options = CurveOptions(smooth=5)
    across, plain = run.curves(
        [
            CurveQuery(kind="trainer", name="loss", options=options, x=CurveQuery(kind="trainer", name="lr")),
            CurveQuery(kind="trainer", name="loss", options=options),
        ]
    )
    table = run.metrics_table().to_pandas().set_index("step")
    joined = table.dropna(subset="lr")
    assert across.steps.tolist() == joined.index.tolist() and across.without_x == 1
    assert across.x is not None and across.x.tolist() == joined["lr"].tolist()
    assert across.values.tolist() == joined["loss"].tolist()
    assert across.smooth is not None and plain.smooth is not None
    assert across.smooth.tolist() == plain.smooth[plain.steps != 3].tolist()


def test_tokens_so_far_are_a_running_sum(run: Run) -> None:
    entry = next(one for one in run.catalogue() if one.title == "Tokens so far")
    (by_tokens,) = run.curves([CurveQuery(kind="sample", name="reward", x=entry.query)])
    items = pd.DataFrame([(one.key.step, one.total_tokens) for one in run.samples()], columns=["step", "tokens"])
    assert by_tokens.x is not None and by_tokens.x.tolist() == items.groupby("step")["tokens"].sum().cumsum().tolist()


def test_a_range_of_x_keeps_its_neighbours(run: Run) -> None:
    def steps(low: float | None, high: float | None, x: CurveQuery | None = None) -> list[int]:
        options = CurveOptions(x_min=low, x_max=high)
        (found,) = run.curves([CurveQuery(kind="trainer", name="loss", options=options, x=x)])
        assert found.points == len(found.steps)
        return [int(step) for step in found.steps]

    assert steps(2.5, 4.5) == [2, 3, 4, 5] and steps(None, 0) == [0, 1] and steps(6.5, None) == [6, 7]
    assert steps(3.5, 9, CurveQuery(kind="trainer", name="lr")) == [0, 7], "x falls, and step 0 alone is in the range"
    assert steps(300, 360, CurveQuery(kind="elapsed")) == [2, 4, 6]


def test_what_cannot_stand_across_is_refused(run: Run) -> None:
    nested = CurveQuery(kind="trainer", name="lr", x=LOSS)
    for x, message in (
        (nested, "no x of its own"),
        (CurveQuery(kind="trainer", name="los"), "did you mean 'loss'"),
        (CurveQuery(kind="trainer", name="lr", stat="mean"), "no statistic"),
    ):
        with pytest.raises(BadQuery, match=message):
            run.curves([CurveQuery(kind="trainer", name="loss", x=x)])
    with pytest.raises(BadQuery, match="x_min is nan"):
        run.curves([CurveQuery(kind="trainer", name="loss", options=CurveOptions(x_min=float("nan")))])


def test_a_run_without_times_says_so(demo_index: Path) -> None:
    with rolloupe.open(RUNS["tinker"], index_dir=demo_index) as runs:
        assert "Elapsed time" not in {one.title for one in runs[0].catalogue()}
        with pytest.raises(BadQuery, match="logged no times"):
            runs[0].curves([CurveQuery(kind="elapsed")])


@given(st.data())
def test_fewer_points_across_a_metric_keep_the_least_and_the_greatest(run: Run, data: st.DataObject) -> None:
    most = data.draw(st.integers(5, 12))
    name = data.draw(st.sampled_from(["lr", "loss"]))
    asked = CurveQuery(kind="trainer", name="loss", x=CurveQuery(kind="trainer", name=name))
    (whole,), (few,) = run.curves([asked]), run.curves([asked], points=most)
    assert len(few.steps) <= most and few.points == whole.points
    assert {np.min(whole.values), np.max(whole.values)} <= set(few.values.tolist())
    assert few.x is not None and whole.x is not None
    assert {whole.x.min(), whole.x.max()} <= set(few.x.tolist())
