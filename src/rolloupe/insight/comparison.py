"""Which of two runs earns the higher reward, how sure that is, and the step at which they part.

A step gives one difference: the mean over the prompts that both runs answer there, if these are most prompts of both,
else that of the means of all samples. Neighbouring steps are alike, so the interval of the mean difference comes from a
first-order autoregressive model: Bayesian, with a flat prior of the mean, 1/σ of the deviation, and one of the
correlation that favours slow noise. Where each side has several runs, such as seeds, the interval is Welch's over the
means of the runs. With few common steps, such as one evaluation each, it is Student's over the prompts of both runs.
"""

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.insight.curves import counted, scale_of
from rolloupe.model import LARGEST, Real
from rolloupe.query.curves.points import Ints
from rolloupe.query.engine.names import is_asked
from rolloupe.query.prompts import PromptMeans, prompt_means
from rolloupe.tokens import Floats

LEVEL = 0.95
PARTED = 4.5
"""Two runs part if their difference rises by at least this many standard errors, measured at the best of all steps."""
MOST_PLACES = 300
"""A longer series is averaged to at most this many values before the search for its parting."""
RISES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""How long the difference of two runs may rise, as shares of the series."""
MOST_CORRELATED, TINY = 0.97, 1e-12
LEAST_STEPS, LEAST_PROMPTS = 8, 30
"""Fewer common steps have no interval over steps, and fewer shared prompts none over prompts."""
SHARED = 0.5
"""Pairs by prompt are used at a step if both runs share at least this share of their prompts there."""
PRIOR = 0.25
"""Each correlation ρ weighs (1 - ρ²) to the power of minus this; with 0, intervals cover slow noise too seldom."""
CORRELATIONS = np.concatenate([np.linspace(-0.5, 0.95, 59), [0.96, 0.97, 0.98, 0.985, 0.99]])
POINTS = 4001


class Interval(NamedTuple):
    """A mean, and the ends of its interval."""

    mean: float
    low: float
    high: float


class RewardComparison(Struct, frozen=True, kw_only=True):
    """The rewards of two runs, or of two groups of runs, compared over a window of steps."""

    runs: list[list[str]] = []
    """The ids of the runs of both sides; empty for runs of one recipe, or of more than two."""
    recipes: bool = False
    """True if each side is several runs of one recipe: their configurations differ in their seeds alone."""
    text: str = ""
    """What it says, in one sentence or two."""
    better: str = ""
    """The first run of the side with the higher mean reward; empty if the interval includes zero."""
    difference: Real | None = None
    """The mean reward of the better side less that of the other; of the first less the second if neither is better."""
    low: Real | None = None
    high: Real | None = None
    """The ends of its 95% interval; None with too few steps and prompts."""
    prompts: int = 0
    """How many prompts that both runs answer the interval is over; 0 for an interval over steps or runs."""
    since: int | None = None
    """The step from which the two differ for good; None if they do not."""
    split: str
    steps: tuple[int, int] | None = None
    """The first and the last step of the window; None without a common step."""
    paired: bool = False
    """True if only prompts that both sides answer at a step are compared."""
    curves: list["SideCurve"] = []


class SideCurve(Struct, frozen=True, kw_only=True):
    """The mean reward of one side at each common step."""

    steps: list[int]
    means: list[float]


class CommonSteps(NamedTuple):
    """The mean rewards of two sides at each common step."""

    steps: Ints
    means: Floats
    """A row for each side."""
    paired: bool


def mean_interval(values: Floats, level: float = LEVEL) -> Interval:
    """Return the mean of a stationary series with its interval: neighbouring values may be correlated.

    For each correlation the mean has Student's distribution (the exact likelihood, mean and deviation integrated out);
    the interval is that of the mixture over `CORRELATIONS`.
    """
    size = float(np.abs(values).max())
    values = values / (size or 1.0)
    if np.ptp(values) < TINY:
        return Interval(*[size * float(values[0])] * 3)
    count, rho = len(values), CORRELATIONS
    precision = 1 - rho**2 + (count - 1) * (1 - rho) ** 2
    innovations = values[1:] - rho[:, None] * values[:-1]
    centers = ((1 - rho**2) * values[0] + (1 - rho) * innovations.sum(axis=1)) / precision
    residuals = innovations - ((1 - rho) * centers)[:, None]
    squares = (1 - rho**2) * (values[0] - centers) ** 2 + (residuals**2).sum(axis=1)
    degrees = count - 1
    weights = np.log(np.gradient(rho)) + (0.5 - PRIOR) * np.log(1 - rho**2)
    weights -= 0.5 * np.log(precision) + degrees / 2 * np.log(squares)
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    scales = np.sqrt(squares / degrees / precision)
    likely = weights > 1e-6
    ends = centers[likely], 12 * scales[likely]
    places = np.linspace((ends[0] - ends[1]).min(), (ends[0] + ends[1]).max(), POINTS)
    squared = ((places - centers[:, None]) / scales[:, None]) ** 2
    density = (weights / scales) @ np.exp(-(degrees + 1) / 2 * np.log1p(squared / degrees))
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], _below(density), places)
    return Interval(size * float(weights @ centers), size * float(low), size * float(high))


def parting_place(values: Floats) -> int | None:
    """Return the place at which a series begins to differ from zero for good, None if it does not.

    Before it the series is zero; then it rises along a line and stays where it is. The place and the length of the line
    are those of the least squares, given the correlation of what is left, which is estimated three times.
    """
    if len(values) < LEAST_STEPS:
        return None
    binned = -(-len(values) // MOST_PLACES)
    series = values[: len(values) // binned * binned].reshape(-1, binned).mean(axis=1)
    count = len(series)
    starts = np.arange(count - LEAST_STEPS + 1)
    rises = np.unique(np.maximum(1, np.outer(RISES, count).astype(int)))
    since = np.arange(count) - starts[:, None, None] + 1
    shapes = np.clip(since / rises[:, None], 0, 1).reshape(-1, count)
    correlation = 0.0
    for _ in range(3):
        whitened, series_now = (_whitened(one, correlation) for one in (shapes, series))
        power = (whitened**2).sum(axis=1)
        fits = whitened @ series_now
        best = int((fits**2 / power).argmax())
        height = fits[best] / power[best]
        left = series - height * shapes[best]
        correlation = min(MOST_CORRELATED, max(0.0, float(left[1:] @ left[:-1] / max(left @ left, TINY))))
    noise = math.sqrt(float(((series_now - height * whitened[best]) ** 2).sum()) / (count - 3))
    if abs(height) <= PARTED * noise / math.sqrt(power[best]):
        return None
    return int(starts[best // len(rises)]) * binned


def _whitened(series: Floats, correlation: float) -> Floats:
    """Return one or more series without the correlation of each value with the previous one."""
    first = series[..., :1] * math.sqrt(1 - correlation**2)
    return np.concatenate([first, series[..., 1:] - correlation * series[..., :-1]], axis=-1)


def common_steps(first: PromptMeans, second: PromptMeans) -> CommonSteps:
    """Return the mean rewards of two runs at each common step: over its shared prompts if most of them are shared."""
    steps = np.intersect1d(first.steps, second.steps)
    sides = [side.rows(np.isin(side.steps, steps)) for side in (first, second)]
    pairs = _pairs(*sides)
    *prompts, common = (
        np.bincount(np.searchsorted(steps, side.steps), minlength=len(steps)) for side in (*sides, pairs[0])
    )
    paired = common >= np.maximum(1, SHARED * np.maximum(*prompts))
    shared, every = ([_step_means(side, steps) for side in both] for both in (pairs, sides))
    return CommonSteps(steps, np.where(paired, shared, every), bool(len(steps)) and bool(paired.all()))


def _pairs(first: PromptMeans, second: PromptMeans) -> list[PromptMeans]:
    """Return the rows of the prompts that both runs answer at a step; each counts once."""
    sides = (first, second)
    mine, theirs = (np.stack([side.steps, side.prompts], axis=1).view("i8,i8").ravel() for side in sides)
    _, *shared = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    return [side.rows(kept)._replace(counts=np.ones_like(kept)) for side, kept in zip(sides, shared, strict=True)]


def _step_means(side: PromptMeans, steps: Ints) -> Floats:
    """Return the mean of each of these steps, weighted by the counts."""
    side = side.rows(np.isin(side.steps, steps))
    places = np.searchsorted(steps, side.steps)
    sums, counts = (np.bincount(places, column, len(steps)) for column in (side.means * side.counts, side.counts))
    with np.errstate(invalid="ignore"):  # a step without a shared prompt
        return np.asarray(sums / counts, np.float64)


def compare_rewards(
    first: Sequence[OpenRun], second: Sequence[OpenRun], *, split: str = "train",
    step_min: int | None = None, step_max: int | None = None,
) -> RewardComparison:  # fmt: skip
    """Compare the rewards of two runs, or of two groups of runs that differ by their seeds alone.

    Without a first or a last step, the window is the second half of the common steps, which shows where a training
    leads, or all of them if that has too few. Raises `BadQuery` without runs on both sides, for a run on both, and for
    a window that ends before it begins; `NotFound` for a split that a run lacks. `eval` is all evaluations that every
    run has.
    """
    if not first or not second or {run.id for run in first} & {run.id for run in second}:
        raise BadQuery("compare two different runs, or two groups of runs")
    if step_min is not None and step_max is not None and step_min > step_max:
        raise BadQuery(f"the window ends at step {step_max}, before it begins at step {step_min}")
    splits = _shared_splits([*first, *second], split)
    sides = [[prompt_means(run, splits) for run in side] for side in (first, second)]
    scale = scale_of(*(run.means for side in sides for run in side))  # no sum and no square overflows
    sides = [[run._replace(means=run.means / scale) for run in side] for side in sides]
    whole = common_steps(sides[0][0], sides[1][0]) if len(first) == len(second) == 1 else _of_groups(sides)
    differences = whole.means[0] - whole.means[1]
    inside = _window(whole.steps, step_min, step_max)
    steps = whole.steps[inside]
    interval, prompts = _interval(sides, steps, differences[inside])
    place = None if prompts else parting_place(differences[: inside.stop])
    better = ""
    if interval is not None:
        mean, low, high = (max(-LARGEST, min(LARGEST, scale * value)) for value in interval)
        better = first[0].id if low > 0 else second[0].id if high < 0 else ""
        interval = Interval(-mean, -high, -low) if high < 0 else Interval(mean, low, high)
    difference, low, high = interval or (None, None, None)
    result = RewardComparison(
        runs=[[run.id for run in side] for side in (first, second)], better=better,
        recipes=all(len(side) > 1 and len(query.recipes(side)) == 1 for side in (first, second)),
        difference=difference, low=low, high=high,
        prompts=prompts, since=None if place is None or not better else int(whole.steps[place]), split=split,
        steps=(int(steps[0]), int(steps[-1])) if len(steps) else None, paired=whole.paired or prompts > 0,
        curves=[SideCurve(steps=whole.steps.tolist(), means=(scale * side).tolist()) for side in whole.means],
    )  # fmt: skip
    about = "" if splits == [split] or result.steps is None else f" Compared on {', '.join(splits)}."
    return replace(result, text=_text(result, first, second) + about)


def _shared_splits(runs: Sequence[OpenRun], asked: str) -> list[str]:
    """The splits that every run has and that are asked for: one, or all evaluations. Raises `NotFound` without any."""
    shared: list[str] = []
    for number, run in enumerate(runs):
        names = [known.name for known in query.splits(run, quick=True)]
        found = [asked] if asked in names else [name for name in names if is_asked(name, asked)]
        if not found:
            raise NotFound(f"run {run.id!r} has no split {asked[:40]!r}; there are: {', '.join(names[:40])}")
        shared = [name for name in found if not number or name in shared]
    if not shared:
        raise NotFound("the runs have no evaluation in common")
    return shared


def sides_of(runs: Sequence[OpenRun]) -> list[list[OpenRun]]:
    """Return the sides of a comparison: two runs, or the runs of two recipes. Raises `BadQuery` for other runs."""
    sides = [[run] for run in runs] if len(runs) == 2 else query.recipes(runs)
    if len(sides) != 2:
        given = f"{counted(len(runs), 'run')} of {counted(len(sides), 'recipe')}"
        raise BadQuery(f"choose two runs, or runs of two recipes, not {given}")
    return sides


def _of_groups(sides: Sequence[Sequence[PromptMeans]]) -> CommonSteps:
    """Return the mean over the runs of each side at the steps that all of them have."""
    steps = reduce(np.intersect1d, [run.steps for side in sides for run in side])
    means = [np.mean([_step_means(run, steps) for run in side], axis=0) for side in sides]
    return CommonSteps(steps, np.array(means), paired=False)


def _window(steps: Ints, step_min: int | None, step_max: int | None) -> slice:
    """Return the places of the steps to compare."""
    if step_min is step_max is None:
        return slice(len(steps) // 2 if len(steps) >= 2 * LEAST_STEPS else 0, len(steps))
    stop = len(steps) if step_max is None else int(np.searchsorted(steps, step_max, "right"))
    return slice(0 if step_min is None else int(np.searchsorted(steps, step_min)), stop)


def _interval(sides: Sequence[Sequence[PromptMeans]], steps: Ints, values: Floats) -> tuple[Interval | None, int]:
    """Return the interval over runs if both sides have several, else over steps, or over prompts, with their number."""
    if all(len(side) > 1 for side in sides):
        means = [[_step_means(run, steps).mean() for run in side] for side in sides]
        return welch_interval(np.array(means[0]), np.array(means[1])) if len(steps) else None, 0
    if len(steps) >= LEAST_STEPS:
        return mean_interval(values), 0
    return prompt_interval(sides[0][0], sides[1][0], steps) if len(sides[0]) == len(sides[1]) else (None, 0)


def prompt_interval(first: PromptMeans, second: PromptMeans, steps: Ints) -> tuple[Interval | None, int]:
    """Return the mean difference of two runs over the prompts that both answer at these steps, and their number.

    A prompt counts once, at however many steps they answer it; None and 0 for fewer prompts than `LEAST_PROMPTS`.
    """
    mine, theirs = _pairs(*(side.rows(np.isin(side.steps, steps)) for side in (first, second)))
    _, places, counts = np.unique(mine.prompts, return_inverse=True, return_counts=True)
    if len(counts) < LEAST_PROMPTS:
        return None, 0
    values = np.bincount(places, mine.means - theirs.means) / counts
    return welch_interval(values, np.zeros(2)), len(values)  # Student's: zeros have no variance


def welch_interval(first: Floats, second: Floats, level: float = LEVEL) -> Interval:
    """Return the difference of the means of two samples of unequal variances, with its interval (Welch 1947)."""
    errors = [side.var(ddof=1) / len(side) for side in (first, second)]
    mean, error = float(first.mean() - second.mean()), math.sqrt(sum(errors))
    if error == 0:
        return Interval(mean, mean, mean)
    degrees = sum(errors) ** 2 / sum(e**2 / (len(side) - 1) for e, side in zip(errors, (first, second), strict=True))
    grid = np.linspace(-12, 12, POINTS)
    places = np.sinh(grid)  # dense at zero, and far
    density = np.cosh(grid) * (1 + places**2 / degrees) ** (-(degrees + 1) / 2)
    high = float(np.interp((1 + level) / 2, _below(density), places)) * error
    return Interval(mean, mean - high, mean + high)


def _below(density: Floats) -> Floats:
    """Return the share of a distribution below each of its places."""
    shares: Floats = (np.cumsum(density) - density / 2) / density.sum()
    return shares


def _text(result: RewardComparison, first: Sequence[OpenRun], second: Sequence[OpenRun]) -> str:
    """Say which side is better and how sure that is."""
    names = [_name(side, is_recipe=result.recipes) for side in (first, second)]
    if result.steps is None:
        return f"{names[0]} and {names[1]} have no step of {result.split} in common, or none in this window."
    low, high = result.steps
    over = f"at step {low}" if low == high else f"over steps {low} to {high}"
    alone = len(first) == len(second) == 1
    if result.difference is None or result.low is None or result.high is None:
        needed = f"at least {LEAST_STEPS} are needed" + f", or {LEAST_PROMPTS} prompts that both answer" * alone
        return f"Too few common steps to compare {names[0]} and {names[1]} {over}: {needed}."
    if result.prompts:
        over = f"over {result.prompts:,} shared prompts at {'one step' if low == high else f'steps {low} to {high}'}"
    interval = f"95% interval {result.low:+.3g} to {result.high:+.3g}"
    if not result.better:
        noun = "recipe" if result.recipes else "run" if alone else "side"
        than = f"{abs(result.difference):.3g} {'more' if result.difference > 0 else 'less'} than"
        earned = f"{names[0]} earns {than if result.difference else 'as much as'} {names[1]}"
        return f"Neither {noun} is better {over}: {earned} ({interval})."
    if result.better == second[0].id:
        names.reverse()
    since = "" if result.since is None else f"; they part for good at step {result.since}"
    scope = " This is about these runs, not their recipes: the configurations of a side differ in more than the seed."
    if result.recipes:
        scope = ""
    elif alone:
        scope = " One seed each: this is about these two runs, not their recipes."
    elif len(first) == 1 or len(second) == 1:
        scope = " One seed on one side: this is about these runs, not their recipes."
    better = names[0][:1].upper() + names[0][1:] if result.recipes else names[0]
    return f"{better} earns {result.difference:.3g} more than {names[1]} {over} ({interval}){since}.{scope}"


def _name(side: Sequence[OpenRun], *, is_recipe: bool) -> str:
    name = side[0].info.name
    if is_recipe:
        return f"the recipe of {name} ({len(side)} seeds)"
    return name if len(side) == 1 else f"{name} and {len(side) - 1} more"
