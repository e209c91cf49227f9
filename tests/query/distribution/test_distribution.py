"""Distributions over the steps and at one step, and quantiles, against NumPy over all samples."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import rolloupe
from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import CurveQuery
from rolloupe.query.curves import distribution as curves_distribution
from rolloupe.query.curves.distribution import MOST_BINS, StepValues, bins_of, step_values
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.questions import StepValueQuery
from tests.index.support import eventually, lines, opened, row, row_count
from tests.query.curves.test_catalogue import RUNS
from tests.thoroughness import slow_unless


def finite(run: rolloupe.Run, name: str, split: str) -> dict[int, NDArray[np.float64]]:
    """The finite values of the trained samples, by step."""
    table = run.samples(split=split, trained=True).arrow().to_pandas()
    if name not in table or not len(table):
        return {}
    values = table[name].astype(float)
    kept = table[np.isfinite(values)]
    return {int(step): one[name].to_numpy(float) for step, one in kept.groupby("step")}


@pytest.mark.parametrize("name", [slow_unless(name == "relax", name) for name in RUNS])
def test_distributions_and_quantiles_equal_those_of_all_samples(name: str, demo_index: Path) -> None:
    with rolloupe.open(RUNS[name], index_dir=demo_index) as runs:
        run = runs[0]
        metrics = run.value_names()[0][:1]
        for split in [one.name for one in run.splits()][:2]:
            for column in ("reward", "response_tokens", *metrics):
                values = finite(run, column, split)
                found = run.distribution(column, split)
                assert found.first_steps.tolist() == found.last_steps.tolist() == sorted(values)
                for step, counts in zip(found.first_steps.tolist(), found.counts, strict=True):
                    expected, _ = np.histogram(values[step], [*found.edges[:-1], np.inf])
                    assert counts.tolist() == expected.tolist()
                for stat, share in (("p5", 0.05), ("median", 0.5), ("p95", 0.95)):
                    (curve,) = run.curves([CurveQuery(kind="sample", name=column, source=split, stat=stat)])
                    assert curve.steps.tolist() == sorted(values)
                    expected_quantiles = [np.quantile(values[step], share) for step in sorted(values)]
                    assert curve.values.tolist() == pytest.approx(expected_quantiles)


@pytest.mark.parametrize(("low", "high"), [(1.7e9, 1.7e9 + 0.05), (1.7e12, 1.7e12 + 100), (0.1, 0.7)])
def test_the_edges_of_bins_differ(low: float, high: float) -> None:
    edges = bins_of(low, high).edges
    assert len({*edges}) == len(edges) and all(len(repr(edge)) < 18 for edge in edges)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40), st.booleans())
def test_each_value_is_in_its_bin(values: list[float], whole: bool) -> None:
    low, high = min(values), max(values)
    bins = bins_of(low, high, whole=whole)
    edges = bins.edges
    assert bins.size <= MOST_BINS and edges == sorted(set(edges)) and np.isfinite(edges).all()
    slack = max(abs(low), abs(high)) * 1e-9
    assert edges[0] <= low + slack and high <= edges[-1] + slack
    if len(set(values)) == 1:
        assert bins.size == 1


@given(st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 2)) | st.integers(-20, 20).map(float), min_size=2))
def test_a_value_on_an_edge_is_in_the_bin_that_begins_there(values: list[float]) -> None:
    bins = bins_of(min(values), max(values))
    listed = ", ".join(f"({value!r}::DOUBLE)" for value in values)
    sql = f"SELECT {bins.exact('v', 'near')} FROM (SELECT v, {bins.near('v')} AS near FROM (VALUES {listed}) AS t(v))"
    found = [place for (place,) in duckdb.execute(sql).fetchall()]
    places = np.clip(np.searchsorted(bins.edges, values, "right") - 1, 0, bins.size - 1)
    assert found == places.tolist()


def test_steps_share_a_column_where_there_are_too_many(short_grpo: Path, demo_index: Path) -> None:
    with rolloupe.open(short_grpo, index_dir=demo_index) as runs:
        run = runs[0]
        whole, few = run.distribution("reward"), run.distribution("reward", columns=2)
        assert len(few.first_steps) <= 2 < len(whole.first_steps)
        assert (few.first_steps[0], few.last_steps[-1]) == (whole.first_steps[0], whole.last_steps[-1])
        assert (few.first_steps[1:] > few.last_steps[:-1]).all()
        assert few.counts.sum(0).tolist() == whole.counts.sum(0).tolist() and few.edges == whole.edges
        assert run.distribution("advantage", "no such split").counts.shape == (0, 0)
        with pytest.raises(BadQuery, match="did you mean 'reward'"):
            run.distribution("rewrad")


def test_only_changed_steps_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run/rollout_result/train"
    folder.mkdir(parents=True)
    for step in range(4):
        (folder / f"{step}.jsonl").write_bytes(lines([row(step, index) for index in range(8)]))
    asked: list[int] = []
    ask = database.ask

    def counted(run: OpenRun, question: Question) -> list[tuple[object, ...]]:
        asked.append(sum(piece.rows for piece in question.pieces))
        return ask(run, question)

    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        median = CurveQuery(kind="sample", name="reward", stat="median")
        mixed = CurveQuery(kind="group", name="mixed", stat="count")
        assert [query.curve(run, one).values.tolist() for one in (median, mixed)] == [[0.5] * 4, [2] * 4]
        assert query.distribution(run, "reward").counts.sum() == 32
        monkeypatch.setattr(database, "ask", counted)
        (folder / "4.jsonl").write_bytes(lines([row(4, index, reward=1.0) for index in range(8)]))
        eventually(lambda: row_count(run) == 40)
        assert [query.curve(run, one).values.tolist() for one in (median, mixed)] == [[0.5] * 4 + [1], [2] * 4 + [0]]
        assert query.distribution(run, "reward").counts.sum(1).tolist() == [8] * 5
        assert asked == [8, 8, 8], "of the eight new samples alone"
        (folder / "1.jsonl").write_bytes(lines([row(1, index, reward=1.0) for index in range(6)]))
        eventually(lambda: row_count(run) == 38)
        assert query.curve(run, median).values.tolist() == [0.5, 1, 0.5, 0.5, 1]


def test_metrics_at_a_step_of_all_evaluations(tmp_path: Path) -> None:
    folder = tmp_path / "run/rollout_result/eval"
    folder.mkdir(parents=True)
    rows = [row(4, index, reward=float(index), dataset="ab"[index % 2]) for index in range(6)]
    (folder / "4.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        found = step_values(library.runs[0], StepValueQuery(split="eval", step=4, names=("reward",)))
        assert (found.total, sum(found.metrics[0].counts), found.metrics[0].stats.count) == (6, 6, 6)


def test_metrics_at_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run/rollout_result/train"
    folder.mkdir(parents=True)
    random = np.random.default_rng(5)
    rewards: dict[int, list[Any]] = {step: [*random.normal(step, 1, 11).tolist(), None] for step in (2, 5)}
    for step, values in rewards.items():
        rows = [row(step, index, reward=one, score=index % 3) for index, one in enumerate(values)]
        (folder / f"{step}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        monkeypatch.setattr(curves_distribution, "MAX_SAMPLES", 10)

        def at(step: int, *names: str, also: tuple[str, ...] = ()) -> StepValues:
            return step_values(run, StepValueQuery(split="train", step=step, names=names, also=also))

        found = at(5, "reward", "score", also=("response_tokens",))
        assert (found.before, found.total, len(found.samples)) == (2, 12, 10)
        reward, score, tokens = found.metrics
        assert tokens.stats.count == 12 and not len(tokens.counts)
        assert reward.stats.mean == pytest.approx(np.mean(rewards[5][:-1])) and reward.stats.count == 11
        assert reward.before is not None and reward.before.mean == pytest.approx(np.mean(rewards[2][:-1]))
        for one, values in ((reward, rewards[5][:-1]), (score, [index % 3 for index in range(12)])):
            expected, _ = np.histogram(values, [*found.edges[:-1], np.inf])
            assert one.counts == expected.tolist()
        by_index = {int(query.sample_key(sample.id).index): sample.values for sample in found.samples}
        assert all(values == [rewards[5][index], index % 3] for index, values in by_index.items())
        assert at(2, "reward").metrics[0].before is None
        with pytest.raises(NotFound, match="no samples at step 3"):
            at(3, "reward")
        with pytest.raises(BadQuery, match="0 metrics were requested"):
            at(5)
