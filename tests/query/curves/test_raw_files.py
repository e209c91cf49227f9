"""The numbers of curves equal what pandas and brute force make of the raw files, which nothing of ours has read."""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import rolloupe
from rolloupe.api import Run
from rolloupe.demo import RUNS
from rolloupe.query import Curve, CurveOptions, CurveQuery
from tests.query.curves.raw_rows import DATA, SOURCES, TEXTS, lines
from tests.query.curves.raw_trackers import trackio_metrics
from tests.thoroughness import slow_unless

QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
SPAN = 10
FACTOR = 0.4
"""A small one, so that something is left out, and not a round one, as the bounds of two points would be the points."""
CORRECT = 0.75
"""The least value of a right answer here."""

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def index(demo_index: Path) -> Path:
    """The index of all these runs."""
    return demo_index


@cache
def table_of(name: str) -> pd.DataFrame:
    """The samples of a run, as its files have them; a number that is not finite is none."""
    source = SOURCES[name]
    table = pd.DataFrame(list(source.rows(source.path))).replace([math.inf, -math.inf], math.nan)
    return table.assign(discarded=table["discarded"].fillna("") if "discarded" in table else "")


def opened(name: str, index: Path) -> rolloupe.Runs:
    """That run alone."""
    source = SOURCES[name]
    return rolloupe.open(source.path, index_dir=index, run=source.run)


def metrics(table: pd.DataFrame) -> Iterator[tuple[str, str, "pd.core.groupby.SeriesGroupBy"]]:
    """Each split and metric with its numbers by step."""
    for split, samples in table.groupby("split"):
        for name in samples.columns.difference(TEXTS):
            if len(numbers := samples[["step", name]].dropna()):
                yield str(split), name, numbers.groupby("step")[name]


def average(steps: Floats, values: Floats, span: int) -> list[float]:
    """The moving average by its formula: the mean with weights that fall by the distance in steps."""
    keep = 1 - 2 / (span + 1)
    return [
        float(np.average(values[: at + 1], weights=keep ** (steps[at] - steps[: at + 1]))) for at in range(len(steps))
    ]


def check_points(whole: pd.Series, smooth: Curve, inner: Curve) -> None:
    """The average of a curve, and what Tukey's rule leaves of it; where quartiles are equal, it leaves all."""
    assert smooth.steps.tolist() == whole.index.tolist() and smooth.values.tolist() == pytest.approx(whole.tolist())
    assert smooth.smooth is not None
    expected = average(whole.index.to_numpy(float), whole.to_numpy(), SPAN)
    assert smooth.smooth.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if whole.max() - whole.min() < 1e-9:  # nothing but roundings
        return
    first, third = whole.quantile(0.25), whole.quantile(0.75)
    far = FACTOR * (third - first) or math.inf
    is_in = (whole >= first - far) & (whole <= third + far)
    kept = whole[is_in | ~is_in.cummax()]  # what it begins with stays
    assert inner.steps.tolist() == kept.index.tolist() and inner.left_out == len(whole) - len(kept)


NOTHING = CurveOptions()
CHECKED = (CurveOptions(smooth=SPAN), CurveOptions(outliers=FACTOR))


def asked(query: CurveQuery, stat: str = "", options: CurveOptions = NOTHING) -> CurveQuery:
    return CurveQuery(kind=query.kind, name=query.name, source=query.source, stat=stat, options=options)


def check_samples(run: Run, table: pd.DataFrame) -> None:
    """Fail where a curve of a run differs from what pandas makes of the table of its samples."""
    seen = 0
    for split, metric, by_step in metrics(table[table["discarded"] == ""]):
        stats = {
            "mean": by_step.mean(), "std": by_step.std(ddof=0), "min": by_step.min(), "max": by_step.max(),
            "count": by_step.count(), **{stat: by_step.quantile(share) for stat, share in QUANTILES.items()},
        }  # fmt: skip
        query = CurveQuery(kind="sample", name=metric, source=split)
        options = [asked(query, options=one) for one in CHECKED]
        *curves, smooth, inner = run.curves([*(asked(query, stat) for stat in stats), *options])
        for stat, curve in zip(stats, curves, strict=True):
            assert curve.steps.tolist() == stats[stat].index.tolist(), (split, metric, stat)
            assert curve.values.tolist() == pytest.approx(stats[stat].tolist(), rel=1e-9, abs=1e-12), stat
        check_points(stats["mean"], smooth, inner)
        seen += 1
    assert seen


@pytest.mark.parametrize("name", [slow_unless(name != "tiny_grpo", name) for name in SOURCES])
def test_numbers_of_samples(name: str, index: Path) -> None:
    with opened(name, index) as runs:
        check_samples(runs.only(), table_of(name))


def same(run: Run, query: CurveQuery, expected: pd.Series) -> None:
    """Fail where a curve differs from a series by step."""
    curve = run.curve(query)
    assert curve.steps.tolist() == expected.index.tolist(), query
    assert curve.values.tolist() == pytest.approx(expected.astype(float).tolist(), rel=1e-9, abs=1e-12), query


def shares_of_groups(samples: pd.DataFrame, name: str) -> dict[str, pd.Series]:
    """The shares of the groups with several rewards."""
    of_group = samples.dropna(subset=["reward"]).assign(env=samples.get("env", "")).groupby(["step", "group"])
    groups = of_group.agg(low=("reward", "min"), high=("reward", "max"), size=("reward", "size"), env=("env", "first"))
    groups = groups[groups["size"] > 1]
    worst, best = np.array([RANGES.get((name, env), (0, 1)) for env in groups["env"]], float).reshape(-1, 2).T
    fits = {
        "all_best": groups["low"] >= best, "all_worst": groups["high"] <= worst,
        "without_spread": groups["low"] == groups["high"], "mixed": groups["low"] < groups["high"],
    }  # fmt: skip
    return {share: of.groupby("step").mean() for share, of in fits.items()}


RANGES = {
    ("tiny_grpo", ""): (0, 1.6099999999999999),
    ("telescope", "countdown"): (0, 2),
    ("telescope", "shop_agent"): (-0.3, 1.2),
}
"""Of the rewards, where a run declares them."""


@pytest.mark.parametrize("name", [slow_unless(name in ("relax", "telescope"), name) for name in SOURCES])
def test_shares_lengths_and_sums(name: str, index: Path) -> None:
    """Of a split: groups, statuses, discards by reason, advantages of zero, correlation, outcomes, tokens so far."""
    table = table_of(name)
    with opened(name, index) as runs:
        run = runs.only()
        for split, samples in table.groupby("split"):
            of = str(split)
            same(run, CurveQuery(kind="samples", source=of), samples.groupby("step").size())
            trained = samples[samples["discarded"] == ""]
            if not samples["group"].isna().any():
                for share, expected in shares_of_groups(samples, name).items():
                    same(run, CurveQuery(kind="group", name=share, source=of), expected)
            for status in samples.get("status", pd.Series(dtype=str)).unique():
                expected = samples.groupby("step")["status"].agg(lambda one, word=status: (one == word).mean())
                same(run, CurveQuery(kind="share", name=status, source=of), expected)
            for reason in ("", *samples["discarded"].unique()):
                fits = samples["discarded"] == reason if reason else samples["discarded"] != ""
                query = CurveQuery(kind="share", name="discarded", source=of, options=CurveOptions(reason=reason))
                same(run, query, fits.groupby(samples["step"]).mean())
            if "advantage" in samples:
                known = trained.dropna(subset=["advantage"])
                expected = (known["advantage"].abs() <= 1e-6).groupby(known["step"]).mean()
                same(run, CurveQuery(kind="share", name="zero_advantage", source=of), expected)
            if "response_tokens" in samples:
                check_lengths(run, of, samples, trained)


def check_lengths(run: Run, split: str, samples: pd.DataFrame, trained: pd.DataFrame) -> None:
    """Fail where lengths by outcome, their correlation with the reward, or the tokens so far differ."""
    by_step = trained.dropna(subset=["reward", "response_tokens"]).groupby("step")
    with np.errstate(invalid="ignore", divide="ignore"):
        found = {step: of["reward"].corr(of["response_tokens"]) for step, of in by_step}
    correlation = pd.Series(found, dtype=float).dropna()
    same(run, CurveQuery(kind="correlation", name="response_tokens", source=split), correlation)
    sums = trained.groupby("step")["response_tokens"].sum(min_count=1).dropna().cumsum()
    same(run, CurveQuery(kind="cumulative", name="response_tokens", source=split), sums)
    graded = samples.dropna(subset=[metric := "correct" if "correct" in samples else "reward"])
    for word, fits in (("right", graded[metric] >= 1), ("wrong", graded[metric] < 1)):
        of = graded[fits].groupby("step")["response_tokens"]
        same(run, CurveQuery(kind="outcome", name=f"length_{word}", source=split), of.mean().dropna())
        counts = fits.groupby(graded["step"]).sum()
        same(run, CurveQuery(kind="outcome", name=word, source=split), counts)


EVALUATED = (
    "relax", "tiny_grpo", "native", "nemo_rl", "resumed tinker", "verifiers",
)  # fmt: skip
KS = (1, 2, 3)


def share_of(values: pd.Series, k: int, is_enough: Callable[[Iterable[bool]], bool]) -> float:
    """The share of all ways to draw so many answers in which enough are right."""
    ways = list(combinations((values >= CORRECT).tolist(), k))
    return sum(map(is_enough, ways)) / len(ways)


@pytest.mark.parametrize("name", [slow_unless(name != "tiny_grpo", name) for name in EVALUATED])
def test_pass_at_k_equals_all_ways_to_draw(name: str, index: Path) -> None:
    table = table_of(name)
    metric = "correct" if "correct" in table else "reward"
    evaluated = table[table["split"].str.startswith("eval/")].dropna(subset=["group", metric])
    assert len(evaluated)
    with opened(name, index) as runs:
        for split, own in evaluated.groupby("split"):
            query = CurveQuery(kind="eval", name=metric, source=str(split))
            for stat, is_enough in (("pass_at", any), ("pass_all", all)):
                options = [CurveOptions(k=k, threshold=CORRECT) for k in KS]
                curves = runs.only().curves([asked(query, stat, one) for one in options])
                for k, curve in zip(KS, curves, strict=True):
                    groups = own.groupby(["step", "group"])[metric].filter(lambda one, k=k: len(one) >= k)
                    drawn = own.loc[groups.index].groupby(["step", "group"])[metric]
                    shares = drawn.agg(lambda one, k=k, enough=is_enough: share_of(one, k, enough))
                    expected = shares.groupby("step").mean() if len(shares) else shares
                    assert curve.steps.tolist() == expected.index.tolist()
                    assert curve.values.tolist() == pytest.approx(expected.tolist())


def logged(path: Path) -> Iterator[tuple[str, int, float]]:
    """What trainers logged: their numbers by name and step, in the order of the file; a sum without a count is one."""
    for one in lines(path):
        for name, (total, count) in one.get("sums", {}).items():
            yield name, one["step"], total / count if count else total
        for name, value in one.get("values", one).items():
            if name not in ("step", "time") and isinstance(value, int | float) and not isinstance(value, bool):
                yield name, one["step"], float(value)


def logged_by_prime_rl(path: Path) -> Iterator[tuple[str, int, float]]:
    """A row without a step is of the clock."""
    for one in lines(path):
        if one["step"] is not None:
            yield from ((name, one["step"], one[name]) for name in one if name not in ("step", "time", "producer"))


LOGS: dict[str, Callable[[], Iterator[tuple[str, int, float]]]] = {
    "tiny_grpo": lambda: logged(RUNS / "tiny_grpo/metrics/rank0.jsonl.zst"),
    "resumed tinker": partial(logged, DATA / "tinker/sync_run/metrics.jsonl"),
    "prime_rl traces": lambda: logged_by_prime_rl(SOURCES["prime_rl traces"].path / "monitors/file/metrics.jsonl"),
    **{
        f"trackio {run}": partial(trackio_metrics, DATA / "trackio" / file, name)
        for run, file, name in (
            ("async-grpo-a", "trl_async.db", "async-grpo-a"),
            ("verl", "verl_demo.db", "grpo-a"),
            ("trl", "trl_tables.db", "grpo-c"),
        )
    },
}


@pytest.mark.parametrize("name", [slow_unless(name != "tiny_grpo", name) for name in LOGS])
def test_numbers_of_the_trainer(name: str, index: Path) -> None:
    """The last value of a step counts."""
    table = pd.DataFrame(LOGS[name](), columns=["name", "step", "value"])
    curves = {str(key): rows.groupby("step")["value"].last(skipna=False) for key, rows in table.groupby("name")}
    assert curves
    with opened(name, index) as runs:
        run = runs.only()
        assert {one for one in run.metric_names() if len(run.metrics(one))} - {"time"} == curves.keys()
        for key, whole in curves.items():
            queries = [CurveQuery(kind="trainer", name=key, options=one) for one in CHECKED]
            smooth, inner = run.curves(queries)
            assert smooth.steps.tolist() == whole.index.tolist()
            assert smooth.values.tolist() == pytest.approx(whole.tolist(), nan_ok=True)
            if np.isfinite(whole).all():
                check_points(whole, smooth, inner)


def tokens_of_board(run: Path) -> Iterator[tuple[int, str, list[float]]]:
    """The token series of each sample, by step and name."""
    for path in sorted(run.glob("*.jsonl*")):
        for one in lines(path):
            yield from ((one["step"], name, one[name]) for name in ("logprobs", "ref_logprobs", "values"))
            ratios = (np.array(one["logprobs"]) - np.array(one["ref_logprobs"])).tolist()
            yield one["step"], "log_ratio", ratios


OF_EXPORTS = {
    "logprobs": "inference_logprobs", "trainer_logprobs": "trainer_logprobs", "entropy": "entropy",
    "mismatch_kl": "mismatch_kl", "importance_ratio": "importance_ratio", "prob_delta": "prob_delta",
}  # fmt: skip
"""The series of the exports by the names in Rolloupe."""


def tokens_of_exports(run: Path) -> Iterator[tuple[int, str, list[float]]]:
    """Outside the loss mask are not values."""
    for path in sorted(run.glob("token_exports/step_*/rank_*.jsonl")):
        for one in lines(path):
            for name, own in OF_EXPORTS.items():
                masked = zip(one[own], one["loss_mask"], strict=True)
                yield one["export_step"], name, [value for value, is_trained in masked if is_trained]


TOKENS = {"gen_train_toy": tokens_of_board, "prime_rl exports": tokens_of_exports}


@pytest.mark.parametrize("name", TOKENS)
def test_numbers_of_tokens(name: str, index: Path) -> None:
    found = [
        {"step": step, "name": series, "value": value}
        for step, series, values in TOKENS[name](SOURCES[name].path)
        for value in values
    ]
    table = pd.DataFrame(found)
    with opened(name, index) as runs:
        run = runs.only()
        run.wait(texts=True)
        for key, rows in table.groupby("name"):
            by_step = rows.groupby("step")["value"]
            stats = {
                "mean": by_step.mean(), "std": by_step.std(ddof=0), "min": by_step.min(), "max": by_step.max(),
                "count": by_step.count(),
            }  # fmt: skip
            for stat, expected in stats.items():
                same(run, CurveQuery(kind="token", name=str(key), source="train", stat=stat), expected)
