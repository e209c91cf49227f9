"""Curves of the samples that match a filter, against pandas over all samples."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.errors import BadQuery
from rolloupe.query import CurveOptions, CurveQuery
from rolloupe.record.folder import own_launches

STATUSES = ("completed", "truncated")


def record(folder: Path, steps: range, environments: tuple[str, ...] = ("math", "code")) -> None:
    """Groups of six samples with environments, tags, statuses, discards, and rewards that may be missing or NaN."""
    own_launches.clear()  # as another process would
    random = np.random.default_rng(steps.start)
    with Recorder(folder, code=None) as run:
        for step in steps:
            for index in range(24):
                env = environments[index // 12]
                run.sample(
                    step=step, group=str(index // 6), index=index, prompt=f"{env} {index // 6}", env=env,
                    response="word " * int(random.integers(1, 40)) + str(random.integers(3)),
                    reward=[0.0, 0.5, 1.0, float("nan")][random.choice(4, p=[0.4, 0.2, 0.3, 0.1])],
                    status=STATUSES[int(random.random() < 0.3)], tags={"level": ("easy", "hard")[index % 2]},
                    metrics={"score": float(random.normal())},
                    discarded="stale" if random.random() < 0.1 else "",
                )  # fmt: skip
            run.metrics(step, {"loss": 1.0})


def asked(run: rolloupe.Run, kind: str, name: str = "", stat: str = "", **options: object) -> pd.Series:
    """The values of a curve by step."""
    query = CurveQuery(kind=kind, name=name, stat=stat, options=CurveOptions(**options))  # type: ignore[pyrefly:bad-argument-type]
    (curve,) = run.curves([query])
    return pd.Series(curve.values, index=curve.steps, dtype=float)


def agree(found: pd.Series, expected: pd.Series) -> None:
    assert found.index.tolist() == expected.index.tolist()
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(float), rtol=1e-9, atol=1e-12)


def compare(run: rolloupe.Run, where: str) -> None:
    """Every kind of curve with a filter equals that of the samples that the list has with it."""
    every = run.samples(split="train").arrow().to_pandas()
    table = run.samples(split="train", where=where).arrow().to_pandas()
    assert 0 < len(table) < len(every)
    trained = table[table["discarded"] == ""]
    finite = trained[np.isfinite(trained["reward"].astype(float))]
    rewards = finite.groupby("step")["reward"]
    agree(asked(run, "sample", "reward", where=where), rewards.mean())
    agree(asked(run, "sample", "reward", "std", where=where), rewards.std(ddof=0))
    agree(asked(run, "sample", "reward", "count", where=where), rewards.count())
    agree(asked(run, "sample", "reward", "p95", where=where), rewards.quantile(0.95))
    agree(asked(run, "sample", "score", "min", where=where), trained.groupby("step")["score"].min())
    (band,) = run.curves(
        [CurveQuery(kind="sample", name="reward", options=CurveOptions(where=where, band="p5-p95", spread=True))]
    )
    assert band.low is not None and band.high is not None and band.spread is not None
    for array, expected in ((band.low, rewards.quantile(0.05)), (band.high, rewards.quantile(0.95))):
        agree(pd.Series(array, index=band.steps), expected)
    both = finite[["step", "reward", "response_chars"]].astype(float)
    r = both.groupby("step")[["reward", "response_chars"]].apply(lambda one: one["reward"].corr(one["response_chars"]))
    agree(asked(run, "correlation", "response_chars", where=where), r.dropna())
    agree(asked(run, "cumulative", "response_chars", where=where),
          trained.groupby("step")["response_chars"].sum().cumsum())  # fmt: skip
    counts = table.groupby("step").size().reindex(sorted(every["step"].unique()), fill_value=0)
    agree(asked(run, "samples", where=where), counts)
    of = table.groupby("step")
    agree(asked(run, "share", "discarded", where=where), of["discarded"].agg(lambda one: (one != "").mean()))
    agree(asked(run, "share", "truncated", where=where), of["status"].agg(lambda one: (one == "truncated").mean()))
    groups = (
        table[np.isfinite(table["reward"].astype(float))]
        .groupby(["step", "group"])["reward"]
        .agg(["size", "min", "max"])
    )
    several = groups[groups["size"] > 1]
    agree(asked(run, "group", "mixed", where=where), (several["min"] < several["max"]).groupby("step").mean())
    graded = table[np.isfinite(table["reward"].astype(float))]
    agree(asked(run, "outcome", "right", where=where),
          graded.groupby("step")["reward"].agg(lambda one: (one >= 1).sum()))  # fmt: skip
    found = run.distribution("reward", where=where)
    assert found.counts.sum(axis=1).tolist() == rewards.count().tolist()
    assert found.edges == run.distribution("reward").edges


WHERES = ("env = math", "level = hard and derived.non_latin < 0.5 and response_chars > 60", "  not reward = 1 ")


def test_filtered_curves_equal_pandas_while_a_run_grows(tmp_path: Path) -> None:
    for steps in (range(5), range(4, 8)):  # what is known of the first five steps serves again
        record(tmp_path / "run", steps)
        with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
            for where in WHERES:
                compare(runs[0], where)
            assert len(runs[0].steps("train")) == steps.stop


def test_an_environment_that_was_recorded_as_a_tag_is_found_by_its_usual_name(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        for env, reward in (("math", 1.0), ("code", 0.0)):
            recorder.sample(step=0, prompt=env, response="r", reward=reward, tags={"env": env})
        recorder.sample(step=0, prompt="p", response="r", reward=0.5, env="logic", tags={"env": "math"})
        assert recorder.step_end(0)
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        assert asked(runs[0], "sample", "reward", where="env = math").tolist() == [1.0]
        assert asked(runs[0], "samples", where="tag.env = math").tolist() == [2.0]
        assert sorted(row.env for row in runs[0].samples()) == ["code", "logic", "math"]
        (found,) = runs[0].samples(where="env = math")
        assert runs[0].sample(found.id).row.env == "math"


def test_what_has_no_samples_says_so_and_a_filter_that_cannot_be_read_where(tmp_path: Path) -> None:
    record(tmp_path / "run", range(2))
    with rolloupe.open(tmp_path / "run", index_dir=tmp_path / "index") as runs:
        run = runs[0]
        with pytest.raises(BadQuery, match="no filter of samples applies"):
            asked(run, "trainer", "loss", where="env = math")
        assert asked(run, "trainer", "loss", where=" ").tolist() == [1.0, 1.0]
        with pytest.raises(BadQuery, match="no column 'envv'; is it 'env'"):
            asked(run, "sample", "reward", where="envv = math")
        with pytest.raises(BadQuery, match="at character 6 expected"):
            asked(run, "sample", "reward", where="env =")
        with pytest.raises(BadQuery, match="band"):
            asked(run, "sample", "reward", band="p1-p99")
        assert asked(run, "sample", "reward", where="env = nowhere").empty
        assert asked(run, "samples", where="env = nowhere").tolist() == [0.0, 0.0]
