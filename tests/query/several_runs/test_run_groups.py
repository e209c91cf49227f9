"""Curves over the runs that share a value of their configurations, against pandas."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

import rolloupe
from rolloupe import Recorder
from rolloupe.errors import BadQuery
from rolloupe.query import CurveOptions, CurveQuery, Range, group_curve
from rolloupe.record.folder import own_launches
from tests.index.support import opened

LOSS = CurveQuery(kind="trainer", name="loss", options=CurveOptions(smooth=5))


def record(folder: Path) -> pd.DataFrame:
    """Runs of two learning rates with other steps each, values that are not finite, and one run without the key."""
    random, rows = np.random.default_rng(5), []
    for number, (rate, steps) in enumerate([(1e-5, 12), (3e-6, 9), (1e-5, 7), (3e-6, 12), (1e-5, 12), (None, 4)]):
        own_launches.clear()  # as another process would
        config = {"seed": number} if rate is None else {"optim": {"lr": rate}, "seed": number}
        with Recorder(folder / f"run{number}", code=None, config=config) as run:
            for step in range(0, steps, 1 + number % 2):
                loss = float(random.choice([np.nan, np.inf])) if random.random() < 0.2 else float(random.normal())
                run.metrics(step, {"loss": loss})
                rows.append({"run": f"run{number}", "lr": rate, "step": step, "loss": loss})
                run.sample(step=step, group="0", index=0, prompt="?", response="!", reward=number, env="ab"[number % 2])
    return pd.DataFrame(rows)


def test_the_mean_over_runs_of_one_value_is_that_of_pandas(tmp_path: Path) -> None:
    table = record(tmp_path / "runs")
    table["loss"] = table["loss"].where(np.isfinite(table["loss"]))
    with rolloupe.open(tmp_path / "runs", index_dir=tmp_path / "index") as runs:
        groups = rolloupe.compare_curves(list(runs), LOSS, group_by="optim.lr")
        assert [(one.value, len(one.runs)) for one in groups] == [("3e-06", 2), ("1e-05", 3), (None, 1)]
        for group in groups:
            by_step = table[table["run"].isin(group.runs)].groupby("step")["loss"]
            assert group.steps.tolist() == sorted(by_step.groups)
            expected = by_step.agg(["mean", lambda one: one.std(ddof=0), "min", "max", "count"]).to_numpy(float).T
            for array, values in zip(
                (group.mean, group.std, group.min, group.max, group.counts), expected, strict=True
            ):
                np.testing.assert_allclose(array, values, rtol=1e-12, atol=1e-15)
            assert group.smooth is not None and len(group.smooth) == len(group.steps)
        only = CurveQuery(kind="sample", name="reward", options=CurveOptions(where="env = a"))
        rewards = rolloupe.compare_curves(list(runs), only, group_by="optim.lr")
        assert [one.mean.tolist() for one in rewards] == [[], [2.0] * 12, []]
        with pytest.raises(BadQuery, match=r"none of the runs has 'optim\.rate'"):
            rolloupe.compare_curves(list(runs), LOSS, group_by="optim.rate")
        with pytest.raises(BadQuery, match="loss"):
            rolloupe.compare_curves(list(runs), CurveQuery(kind="trainer", name="lss"), group_by="optim.lr")


def test_a_part_of_a_group_is_a_part_of_the_whole_and_its_extremes_survive(tmp_path: Path) -> None:
    """Seeds at other speeds: of a range of x, each has other steps."""
    random = np.random.default_rng(6)
    for seed, speed in enumerate((7.0, 10.0, 13.0)):
        own_launches.clear()  # as another process would
        with Recorder(tmp_path / f"runs/run{seed}", code=None, config={"lr": 1e-5, "seed": seed}) as run:
            for step in range(200):
                loss = {70: 50.0, 140: -49.0}.get(step + seed - 1, float(random.normal(step / 50, 1)))
                run.metrics(step, {"loss": loss, "s": speed * step})
    x = CurveQuery(kind="trainer", name="s")
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        runs = library.runs
        options = CurveOptions(smooth=30)

        def ask(across: CurveQuery | None = x, **bounds: float) -> CurveQuery:
            return CurveQuery(kind="trainer", name="loss", options=replace(options, **bounds), x=across)

        whole = group_curve(runs, ask()).curve
        parts = [
            group_curve(runs, ask(x_min=1000.0, x_max=1500.0)),
            group_curve(runs, ask(None), Range(None, 100, 150)),
            group_curve(runs, ask(None), Range(20)),
        ]
        for part, _, _, _, counts in parts:
            at = np.searchsorted(whole.steps, part.steps)
            assert 10 < len(at) < 60 and counts.tolist() == [3] * len(at)
            for name in ("values", "low", "high", "smooth"):
                np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[at])
            assert part.x is None or part.x.tolist() == [10.0 * step for step in part.steps.tolist()]
        assert (parts[-1].low.min(), parts[-1].high.max()) == (-49.0, 50.0)
        with pytest.raises(BadQuery, match="at least 5 points"):
            group_curve(runs, ask(), Range(2))
