"""Which of two runs is better, how sure that is, and from which step on they part: against planted truth."""

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.errors import BadQuery, NotFound
from rolloupe.insight.comparison import mean_interval, parting_place, prompt_interval, welch_interval
from rolloupe.mcp.tools import TOOLS
from rolloupe.mcp.tools.insight import CompareRewardsArguments
from rolloupe.query.prompts import PromptMeans
from rolloupe.tokens import Floats
from tests.cli.support import rolloupe as command
from tests.insight.briefed import write
from tests.thoroughness import amount, each

STEPS = 200
PAIRS = amount(100, 2000)
"""Simulated pairs of each autocorrelation: 2,000 are asked for, which take a minute."""
PROMPT_PAIRS = amount(300, 2000)
"""Simulated pairs of evaluations of each size."""
SLACK = 1.0 if PAIRS >= 2000 else 2.5
"""With few pairs the share itself is uncertain."""
FEW_PAIRS = amount(60, 400)
"""Simulated pairs of which the place is looked for."""


def noise(random: np.random.Generator, correlation: float, pairs: int, count: int = STEPS) -> Floats:
    """Autoregressive noise of deviation 1, a row for each pair."""
    values = random.standard_normal((pairs, count + 100))
    for place in range(1, values.shape[1]):
        values[:, place] = correlation * values[:, place - 1] + np.sqrt(1 - correlation**2) * values[:, place]
    return values[:, 100:]


@each("correlation", [0.0, 0.5, 0.9])
def test_the_interval_covers_the_truth_as_often_as_it_says(correlation: float) -> None:
    differences = 0.05 + 0.1 * noise(np.random.default_rng(4), correlation, PAIRS, STEPS // 2)
    intervals = map(mean_interval, differences)
    covered = sum(interval.low <= 0.05 <= interval.high for interval in intervals)
    assert 0.95 - 0.02 * SLACK <= covered / PAIRS <= 0.95 + 0.02 * SLACK


@each(("prompts", "samples"), [(30, 8), (400, 1)])
def test_the_interval_over_prompts_covers_the_truth_as_often_as_it_says(prompts: int, samples: int) -> None:
    """Of prompts of every difficulty; each answer is right or wrong, and of seven right ones the other run has four."""
    random, covered = np.random.default_rng(8), 0
    steps = np.zeros(prompts, np.int64)
    for _ in range(PROMPT_PAIRS):
        rate, names = random.random(prompts), random.permutation(prompts)
        right = (random.binomial(samples, share * rate) / samples for share in (0.7, 0.4))
        first, second = (PromptMeans(steps, np.arange(prompts), means, steps + samples) for means in right)
        interval, number = prompt_interval(first, second.rows(names), steps[:1])
        assert interval is not None and number == prompts
        covered += interval.low <= 0.15 <= interval.high
    assert 0.95 - 0.02 * SLACK <= covered / PROMPT_PAIRS <= 0.95 + 0.02 * SLACK


@each("correlation", [0.0, 0.5, 0.9])
def test_runs_part_where_they_do(correlation: float) -> None:
    """At once, or along a line of at most 15% of the steps; a slower line in slow noise cannot be seen so early."""
    random = np.random.default_rng(5)
    right = 0
    for pair, left in enumerate(noise(random, correlation, FEW_PAIRS)):
        start = int(random.integers(STEPS // 10, 3 * STEPS // 4))
        rise = 1 if pair % 2 else 0.15 * STEPS * (correlation < 0.9)
        height = np.clip((np.arange(STEPS) - start + 1) / max(1, rise), 0, 1) * 0.25
        found = parting_place(height + 0.05 * left)
        right += found is not None and abs(found - start) <= 0.05 * STEPS
    assert right >= 0.9 * FEW_PAIRS


@each("correlation", [0.0, 0.5, 0.9])
def test_runs_that_do_not_part_are_said_to_part_seldom(correlation: float) -> None:
    differences = 0.05 * noise(np.random.default_rng(6), correlation, FEW_PAIRS)
    assert sum(parting_place(one) is not None for one in differences) <= 0.05 * FEW_PAIRS


def test_few_or_equal_values_have_an_interval_too() -> None:
    assert mean_interval(np.full(9, 0.25)) == (0.25, 0.25, 0.25)
    assert parting_place(np.zeros(20)) is None and parting_place(np.ones(3)) is None
    assert parting_place(np.ones(20)) == 0
    mean, low, high = welch_interval(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    assert (mean, round(low, 3), round(high, 3)) == (1.0, -1.267, 3.267)  # Student's t of 4 degrees: 2.776


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs: two alike, and one that is better from step 12 on."""
    folder = tmp_path_factory.mktemp("compared")
    write(folder / "plain", 1, rate=lambda step: 0.4)
    write(folder / "again", 2, rate=lambda step: 0.4)
    write(folder / "better", 3, rate=lambda step: 0.4 if step < 12 else 0.7)
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of these runs."""
    return tmp_path_factory.mktemp("index")


def test_two_runs_are_compared_in_words_and_numbers(pair: Path, index: Path) -> None:
    with rolloupe.open(pair, index_dir=index) as runs:
        plain, again, better = (runs.run(name) for name in ("plain", "again", "better"))
        found = rolloupe.compare_rewards(plain, better)
        assert found.better == better.id and found.paired and found.steps == (20, 39)
        assert found.difference is not None and found.low is not None and found.high is not None
        assert 0 < found.low < found.difference < found.high and abs(found.difference - 0.3) < 0.1
        assert found.since is not None and abs(found.since - 12) <= 2
        assert found.text.startswith("better earns ") and "these two runs" in found.text
        means = [step.reward.mean for step in plain.steps("train")]
        assert np.allclose(found.curves[0].means, np.array(means, float))
        assert not rolloupe.compare_rewards(plain, again).better
        groups = rolloupe.compare_rewards([plain, again], [better])
        assert groups.better == better.id and not groups.paired
        assert rolloupe.compare_rewards(plain, better, step_max=11).better == ""
        with pytest.raises(BadQuery, match="two different runs"):
            rolloupe.compare_rewards(plain, [better, plain])
        with pytest.raises(NotFound, match="no split 'eval'; there are: train"):
            rolloupe.compare_rewards(plain, better, split="eval")
        with pytest.raises(BadQuery, match="ends at step 3, before it begins at step 8"):
            rolloupe.compare_rewards(plain, better, step_min=8, step_max=3)
        assert "common, or none in this window" in rolloupe.compare_rewards(plain, better, step_min=900).text
        early = rolloupe.compare_rewards(plain, better, step_min=0, step_max=20)
        assert early.since is None or early.since <= 20
        assert "One seed on one side: this is about these runs, not their recipes." in groups.text


def test_few_steps_prompts_that_are_shared_in_part_and_huge_rewards_are_compared_too(tmp_path: Path) -> None:
    for name, level, shared in (("a", 0.0, 12), ("b", 1.0, 8)):
        with Recorder(tmp_path / name, code=None) as run:
            for step, group in itertools.product(range(12), range(4)):
                prompt = f"{step if step < shared else -step} {group}"
                reward = level + 0.1 * (group % 2)
                run.sample(step=step, group=str(group), index=0, prompt=prompt, response="x", reward=reward)
    with rolloupe.open(tmp_path, index_dir=tmp_path / "index") as runs:
        found = rolloupe.compare_rewards(runs.run("a"), runs.run("b"))
    assert (found.better, found.steps, found.paired) == ("b", (0, 11), False)
    assert found.difference == pytest.approx(1) and len(found.curves[0].steps) == 12
    interval = mean_interval(np.array([0.0, 1.0, 1e160] * 4))
    assert interval.low < interval.mean < interval.high and np.isfinite(interval).all()


def test_evaluations_of_one_step_are_compared_by_their_prompts(tmp_path: Path) -> None:
    numbers = np.arange(40)
    a, b = np.where(numbers % 2, 1.0, 0.15), np.where(numbers, 0.15, 1.0)
    c, d = 0.1 * (numbers % 3), 0.1 * ((numbers + 1) % 3)
    for name, rewards in {"a": a, "b": b, "c": c, "again": c, "d": d, "few": a[:29]}.items():
        with Recorder(tmp_path / name, code=None) as run:
            for number, reward in enumerate(rewards.tolist()):
                run.sample(step=0, group=str(number), index=0, prompt=f"{number}?", response="x", reward=reward)
    with rolloupe.open(tmp_path, index_dir=tmp_path / "index") as runs:
        pairs = [("b", "a"), ("d", "c"), ("c", "d"), ("c", "again"), ("a", "few")]
        found, *others = (rolloupe.compare_rewards(runs.run(one), runs.run(other)) for one, other in pairs)
    assert (found.better, found.prompts, found.since, found.paired, found.steps) == ("a", 40, None, True, (0, 0))
    mean, error = (a - b).mean(), 2.0227 * (a - b).std(ddof=1) / np.sqrt(40)  # Student's t of 39 degrees
    assert (found.difference, found.low, found.high) == pytest.approx((mean, mean - error, mean + error), abs=1e-4)
    scope = " One seed each: this is about these two runs, not their recipes."
    interval = f"(95% interval {found.low:+.3g} to {found.high:+.3g})"
    assert found.text == f"a earns 0.404 more than b over 40 shared prompts at one step {interval}.{scope}"
    neither = "Neither run is better over 40 shared prompts at one step"
    assert [one.text.partition(" (")[0] for one in others] == [
        f"{neither}: d earns 0.0025 more than c",
        f"{neither}: c earns 0.0025 less than d",
        f"{neither}: c earns as much as again",
        "Too few common steps to compare a and few at step 0: at least 8 are needed, or 30 prompts that both answer.",
    ]


def test_all_evaluations_together_are_those_that_both_runs_have(tmp_path: Path) -> None:
    steps_of = {"a": range(12), "b": range(12), "c": range(12), "d": range(20, 24)}
    for name, level, evals in (("a", 0.0, "xy"), ("b", 1.0, "yz"), ("c", 1.0, "z"), ("d", 0.0, "y")):
        with Recorder(tmp_path / name, code=None) as run:
            for step, of in itertools.product(steps_of[name], evals):
                reward = level + 0.1 * (step % 2) + (5 if of == "x" else 0)
                run.sample(step=step, group="0", index=0, prompt=of, response="r", reward=reward, split=f"eval/{of}")
    with rolloupe.open(tmp_path, index_dir=tmp_path / "index") as runs:
        a, b, c, d = (runs.run(name) for name in "abcd")
        found = rolloupe.compare_rewards(a, b, split="eval")
        with pytest.raises(NotFound, match="no evaluation in common"):
            rolloupe.compare_rewards(a, c, split="eval")
        apart = rolloupe.compare_rewards(a, d, split="eval")
    assert (found.better, found.paired) == ("b", True) and found.difference == pytest.approx(1)
    assert found.text.endswith(" Compared on eval/y.")
    assert apart.text == "a and d have no step of eval in common, or none in this window."


def test_the_command_compares_two_runs(pair: Path, index: Path) -> None:
    of_index = ("--index-dir", index)
    told = command("compare", pair / "plain", pair / "better", *of_index)
    assert told.code == 0 and told.out.startswith("better earns ")
    of_two = ("--run", "plain", "--run", "better", "--json", *of_index)
    (found,) = command("compare", pair, *of_two).lines
    assert (found["better"], found["paired"]) == ("better", True) and len(found["curves"]) == 2
    (early,) = command("compare", pair, *of_two, "--steps", "2:12").lines
    assert early["steps"] == [2, 12]
    refused = command("compare", pair, *of_index)
    assert refused.code == 2 and "choose two runs, or runs of two recipes, not 3 runs of 3 recipes" in refused.err
    assert "not 1 run of 1 recipe." in command("compare", pair / "plain", *of_index).err


def _constant(rate: float, step: int) -> float:
    del step
    return rate


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recipes of two seeds each, and a run without a configuration."""
    folder = tmp_path_factory.mktemp("seeds")
    for rate, lr in ((0.3, "1e-6"), (0.7, "3e-6")):
        for seed in (1, 2):
            name = f"lr{lr}-s{seed}"
            config = {"optim": {"lr": lr}, "trainer": {"seed": seed, "output_dir": f"/out/{name}"}}
            write(folder / name, seed, rate=partial(_constant, rate), steps=20, config=config)
    return folder


def test_runs_that_differ_in_their_seeds_alone_are_one_recipe(seeds: Path, tmp_path: Path) -> None:
    told = command("compare", seeds, "--index-dir", tmp_path)
    assert told.code == 0 and told.out.startswith("The recipe of lr3e-6-s1 (2 seeds) earns ")
    with rolloupe.open(seeds, index_dir=tmp_path) as runs:
        one, two, three, four = runs
        found = rolloupe.compare_rewards([one, two], [three, four])
        assert found.recipes and found.better == three.id and "not their recipes" not in found.text
        mixed = rolloupe.compare_rewards([one, three], [two, four])
        assert not mixed.recipes
        alone = rolloupe.compare_rewards([one, two], [three])
        assert not alone.recipes and "recipe of" not in alone.text
        page = TOOLS["compare_rewards"].answer(runs, CompareRewardsArguments())
        assert page.facts["text"] == found.text and len([*page.rows]) == 20
