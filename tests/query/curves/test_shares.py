"""Shares that say what is lost to learning: discards by reason, advantages of zero, clipped updates; against pandas."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.errors import BadQuery
from rolloupe.query import CurveOptions, CurveQuery

SPLIT = "train"


def record(folder: Path) -> None:
    """Samples with advantages, some of zero and some missing, discards of two reasons, and tokens under PPO."""
    random = np.random.default_rng(5)
    with Recorder(folder, code=None, config={"clip_low": 0.2, "clip_high": 0.2}) as run:
        for step in range(6):
            for index in range(24):
                advantage = [None, float("nan"), 0.0, 1.0, -1.0][random.choice(5, p=[0.1, 0.05, 0.25, 0.3, 0.3])]
                old, new = -random.random((2, 9))
                run.sample(
                    step=step, group=str(index // 4), index=index, prompt="?", response="r", reward=random.random(),
                    advantage=advantage, discarded=["", "stale", "too easy"][random.choice(3, p=[0.7, 0.2, 0.1])],
                    tokens=["t"] * 9, series={"logprobs": old, "trainer_logprobs": new},
                )  # fmt: skip


def values(run: rolloupe.Run, query: CurveQuery) -> pd.Series:
    curve = run.curve(query)
    return pd.Series(curve.values, index=curve.steps)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shares")
    record(folder / "run")
    return folder


def test_discards_by_reason_and_advantages_of_zero_equal_pandas(folder: Path) -> None:
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        run = runs.only()
        table = run.samples(split=SPLIT).arrow().to_pandas()
        entries = {one.title: one.query for one in run.catalogue()}
        for reason in ("stale", "too easy"):
            expected = table.groupby("step")["discarded"].agg(lambda one, reason=reason: (one == reason).mean())
            found = values(run, entries[f"Discarded: {reason}"])
            assert found.to_dict() == pytest.approx(expected.to_dict())
        for where, of in (("", table), ("reward < 0.5", table[table["reward"] < 0.5])):
            has_advantage = (of["discarded"] == "") & np.isfinite(of["advantage"].astype(float))
            counted = of[has_advantage].groupby("step")["advantage"]
            query = CurveQuery(kind="share", name="zero_advantage", source=SPLIT, options=CurveOptions(where=where))
            assert values(run, query).to_dict() == pytest.approx(counted.agg(lambda one: (one == 0).mean()).to_dict())
            assert values(run, query).min() < values(run, query).max() < 1
        assert entries["Zero advantage"].name == "zero_advantage"


def test_the_update_that_is_lost_to_clipping_equals_numpy(folder: Path) -> None:
    with rolloupe.open(folder / "run", index_dir=folder / "index") as runs:
        run = runs.only()
        run.wait(texts=True)
        (query,) = (one.query for one in run.catalogue() if one.query.kind == "mask")
        assert query.name == "ppo"
        found = values(run, query)
        for step in range(6):
            lost = update = 0.0
            for item in run.samples(split=SPLIT, step=step, trained=True):
                if item.advantage is None or not np.isfinite(item.advantage):
                    continue
                series = {one.name: np.asarray(one.values, float) for one in run.sample(item.id).series}
                ratio = np.exp(series["trainer_logprobs"] - series["logprobs"])
                push = np.abs(item.advantage * ratio)
                is_clipped = (ratio > 1.2) if item.advantage > 0 else (ratio < 0.8)
                lost += push[is_clipped].sum()
                update += push.sum()
            assert found[step] == pytest.approx(lost / update, rel=1e-5)
        with pytest.raises(BadQuery, match="no filter of samples applies"):
            values(run, CurveQuery(kind="mask", name="ppo", options=CurveOptions(where="reward > 0")))


def test_a_metric_that_annotations_may_change_is_in_the_catalogue(short_grpo: Path, demo_index: Path) -> None:
    with rolloupe.open(short_grpo, index_dir=demo_index) as runs:
        assert "Advantage" in {one.title for one in runs.only().catalogue()}
