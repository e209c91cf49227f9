"""Where the gradient of a run came from: a sample pulls by the square of its advantage."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.features import Floats, Grouping, Places, divided
from rolloupe.index import OpenRun
from rolloupe.index.features import LARGEST
from rolloupe.insight.findings.trend import correctness_of, metrics_of
from rolloupe.query import SampleQuery
from rolloupe.query.engine.names import qualified
from rolloupe.query.filter.parser import quoted
from rolloupe.query.samples.pages import GROUP, sample_arrays
from rolloupe.questions import GradientQuery, GridQuery
from rolloupe.tokens.series import EQUAL


class GradientShare(Struct, frozen=True, kw_only=True):
    """Some of the samples, and their share of Σa² over all of them."""

    name: str
    where: str = ""
    """A filter that lists them; empty for what no filter can say."""
    samples: int
    groups: int
    """The groups that have some of them."""
    on_rewards: float
    """The share of Σa² if a is the reward less the mean of the group."""
    on_std: float
    """The share if that is divided by the standard deviation of the group, as GRPO does."""
    recorded: float | None
    """The share by the advantages that the trainer recorded; None if a sample has none."""


class StepGroups(Struct, frozen=True):
    """The groups of a step."""

    step: int
    groups: int
    dead: int
    """How many of them have equal rewards, and no gradient."""


def in_bins(steps: Sequence[StepGroups], most: int) -> list[StepGroups]:
    """Return the sums over at most `most` ranges of steps; `step` is the first of each range."""
    bins = min(most, len(steps))
    parts = [steps[len(steps) * n // bins : len(steps) * (n + 1) // bins] for n in range(bins)]
    return [StepGroups(part[0].step, sum(of.groups for of in part), sum(of.dead for of in part)) for part in parts]


class PromptCounts(Struct, frozen=True, kw_only=True):
    """How prompts fared that were asked at several steps."""

    metric: str
    """The metric that decides whether an answer is right. A prompt does well at a step if more than half of its answers
    are right.
    """
    once: int
    """Prompts of one step alone; the others are counted below."""
    always: int
    """They did well at every step."""
    never: int
    """No answer was ever right."""
    solved: int
    """They do well at the last step, but did not at every step."""
    lost: int
    """They did well before, but not at the last step."""
    mixed: int
    """They never did well, with some right answers."""


class RunGradient(Struct, frozen=True, kw_only=True):
    """Where the gradient of the trained samples of a window came from."""

    step_min: int | None
    step_max: int | None
    env: str | None
    samples: int = 0
    """Trained samples with a reward."""
    discarded: int = 0
    """Samples with a reward that were not trained on: nothing but `groups`, `dead` and `single` counts them."""
    groups: int = 0
    """Groups with a reward, those that were discarded too."""
    dead: int = 0
    """How many of them have equal rewards, and no gradient."""
    single: int = 0
    """How many of the groups have one sample, and no siblings."""
    effective: float = 0.0
    """The effective number of groups: (Σw)²/Σw² of w = Σa² on rewards. This many groups of equal weight would pull
    alike.
    """
    by_step: list[StepGroups] = []
    """A step each, or as many ranges of steps as were asked for."""
    correct: str = ""
    """The metric that counts as correctness; empty without one."""
    all_right: int = 0
    """Groups whose trained samples are all right; 0 without a metric of correctness."""
    all_wrong: int = 0
    """Groups whose trained samples are all wrong. A group with a sample without the metric is neither."""
    shaping: GradientShare | None = None
    """Groups all right or all wrong, whose rewards differ by other parts only; None without correctness."""
    shaping_samples: list[str] = []
    """A sample each of those of these groups that pull most after the division."""
    dead_samples: list[str] = []
    """A sample each of the latest dead groups."""
    by_env: list[GradientShare] = []
    by_length: list[GradientShare] = []
    by_outcome: list[GradientShare] = []
    prompts: PromptCounts | None = None
    """None for one environment alone."""
    note: str = ""
    """Why nothing has a gradient; empty if something has one."""


Mask = NDArray[np.bool_]
_Value = TypeVar("_Value", np.float64, np.bool_)

COLUMNS = ("step", "reward", "advantage", "env", "status", "discarded", "response_tokens", "response_chars")


class Pulls:
    """Samples with a reward, group by group: arrays of shape (N,), or (G,) by group. Only trained samples pull."""

    def __init__(self, run: OpenRun, scope: SampleQuery, env: str | None, correct: str) -> None:
        self._run = run
        self._arrays = sample_arrays(run, scope, [*COLUMNS, *([correct] if correct else [])])
        kept = np.abs(self._arrays.numbers("reward")) < LARGEST
        if env is not None:
            kept &= self._arrays.words("env") == env
        self._own = np.flatnonzero(kept)
        self.grouping = Grouping(self._arrays.table[GROUP].to_numpy().astype(np.uint64).view(np.int64)[self._own])
        self.trained: Mask = self.words("discarded") == ""
        rewards = self.numbers("reward")
        gaps = self.grouping.centred(rewards)
        equal = EQUAL * self._extreme(np.maximum, np.abs(rewards))
        apart = self._extreme(np.maximum, rewards) - self._extreme(np.minimum, rewards)
        self.is_dead: Mask = apart <= equal
        """By group: all rewards are equal, those of discarded samples too."""
        self.sizes = self.sums(self.trained)
        """By group, the number of trained samples."""
        means = divided(self.sums(np.where(self.trained, gaps, 0)), self.sizes)
        self.on_rewards = np.where(self.trained, gaps - self.spread(means), 0) ** 2
        self.on_rewards[self.spread(self.is_dead) | (self.on_rewards <= self.spread(equal**2))] = 0
        variances = divided(self.sums(self.on_rewards), self.sizes)
        self.on_std = divided(self.on_rewards, self.spread(variances))
        advantages = np.where(self.trained, self.numbers("advantage"), 0)
        self.recorded = advantages**2 if (np.abs(advantages) < LARGEST).all() and advantages.any() else None

    def _extreme(self, which: np.ufunc, values: Floats) -> Floats:
        extremes: Floats = which.reduceat(values, self.grouping.starts) if len(values) else values
        return extremes

    def sums(self, values: Floats | Mask) -> Floats:
        """Return the sums over each group."""
        return self.grouping.sums(values.astype(np.float64))

    def spread(self, of_groups: NDArray[_Value]) -> NDArray[_Value]:
        """Return for each sample the value of its group."""
        return of_groups[self.grouping.numbers]

    def numbers(self, name: str) -> Floats:
        """Return a column of numbers; NaN for none."""
        return self._arrays.numbers(name)[self._own]

    def words(self, name: str) -> NDArray[np.object_]:
        """Return a column of words; empty for none."""
        return self._arrays.words(name)[self._own]

    def ids(self, groups: Places) -> list[str]:
        """Return the id of one sample of each of these groups."""
        return self._arrays.ids(self._run, self._own[self.grouping.starts[groups]].tolist())

    def share(self, name: str, some: Mask, where: str = "") -> GradientShare:
        """Return the share of some samples; samples that were not trained on do not count."""
        some = some & self.trained
        recorded = None if self.recorded is None else _part(self.recorded, some)
        return GradientShare(
            name=name, where=where, samples=int(some.sum()), groups=int((self.sums(some) > 0).sum()),
            on_rewards=_part(self.on_rewards, some), on_std=_part(self.on_std, some), recorded=recorded,
        )  # fmt: skip


def _part(pulls: Floats, some: Mask) -> float:
    whole = float(pulls.sum())
    return float(pulls[some].sum()) / whole if whole else 0.0


MOST_ENVS = 40
"""How many environments are listed: the largest."""


def by_env(pulls: Pulls) -> list[GradientShare]:
    """Return the shares of the environments, the largest first."""
    envs = pulls.words("env")
    names, counts = np.unique(envs[pulls.trained].astype(str), return_counts=True)
    largest = names[np.argsort(-counts, kind="stable")][:MOST_ENVS].tolist()
    if len(names) == 1:
        return []
    return [pulls.share(env, envs == env, f"env = {quoted(env)}" if env else "env is null") for env in largest]


def by_length(pulls: Pulls) -> list[GradientShare]:
    """Return the shares of quarters of the responses, the shortest first: by tokens, or without them by characters."""
    column, unit = "response_tokens", "tokens"
    if not np.isfinite(pulls.numbers(column)[pulls.trained]).any():
        column, unit = "response_chars", "characters"
    lengths = pulls.numbers(column)
    known = lengths[np.isfinite(lengths) & pulls.trained]
    if not len(known):
        return []
    inner = np.floor(np.quantile(known, [0.25, 0.5, 0.75])).astype(np.int64).tolist()
    bounds = sorted({int(known.min()) - 1, *inner, int(known.max())})
    if len(bounds) < 3:
        return []
    return [
        pulls.share(
            f"{low + 1:,} to {high:,} {unit}", (lengths > low) & (lengths <= high),
            f"{column} > {low} and {column} <= {high}",
        )
        for low, high in pairwise(bounds)
    ]  # fmt: skip


class Correctness(NamedTuple):
    """The samples that a metric rates, and the right ones among them: masks of shape (N,)."""

    is_known: Mask
    is_right: Mask
    where: str
    """A filter that lists the right ones."""
    where_wrong: str


def by_outcome(pulls: Pulls, correct: Correctness | None) -> list[GradientShare]:
    """Return the shares of truncated samples, and of the others: right and wrong ones, if the run tells them apart."""
    is_cut = pulls.words("status") == "truncated"
    parts = [("truncated", is_cut, "status = truncated")]
    rest = "status != truncated"
    if correct is None:
        parts.append(("not truncated", ~is_cut, rest))
    else:
        is_known, is_right, where, wrong = correct
        parts += [
            ("right", ~is_cut & is_right, f"{rest} and {where}"),
            ("not right", ~is_cut & is_known & ~is_right, f"{rest} and {wrong}"),
            ("unknown", ~is_cut & ~is_known, f"{rest} and not ({where} or {wrong})"),
        ]
    shares = [share for part in parts if (share := pulls.share(*part)).samples]
    return shares if len(shares) > 1 else []


WHOLE_RUN = GradientQuery()
MOST_SAMPLES = 3
TOLERANCE = 1e-9

TRAIN = "train"
"""Only its samples are trained on."""


def gradient(run: OpenRun, asked: GradientQuery = WHOLE_RUN) -> RunGradient:
    """Add up the pulls of the trained samples of a window. Raises `BadQuery` for an unknown metric."""
    splits = [split.name for split in query.splits(run, quick=True)]
    if splits and TRAIN not in splits:
        return _nothing(asked, f"the run has evaluations only ({', '.join(splits[:5])}), so it has no gradient")
    correct = correctness_of(run, metrics_of(run.snapshot(), TRAIN), asked.correct)
    scope = SampleQuery(splits=(TRAIN,), step_min=asked.step_min, step_max=asked.step_max)
    pulls = Pulls(run, scope, asked.env, correct)
    if not pulls.trained.any():
        return _nothing(asked, "no trained sample there has a reward")
    steps = pulls.numbers("step")[pulls.grouping.starts].astype(np.int64)
    names, number = np.unique(steps, return_inverse=True)
    counts, dead = np.bincount(number), np.bincount(number[pulls.is_dead], minlength=len(names))
    by_step = [StepGroups(*row) for row in zip(names.tolist(), counts.tolist(), dead.tolist(), strict=True)]
    dead_groups = np.flatnonzero(pulls.is_dead)
    latest_dead = dead_groups[np.argsort(-steps[dead_groups], kind="stable")][:MOST_SAMPLES]
    known = _correctness(run, pulls, correct) if correct else None
    all_right, all_wrong = _all_alike(pulls, known)
    prompts: PromptCounts | None = None
    if asked.env is None:  # prompts are counted over all environments
        window = GridQuery(split=TRAIN, metric=correct, step_min=asked.step_min, step_max=asked.step_max, limit=0)
        grid = query.grid(run, window)
        fared = {name: count for name, count in grid.counts.items() if name != "unbeaten"}
        prompts = PromptCounts(metric=grid.metric, once=grid.once, **fared)
    weights = pulls.sums(pulls.on_rewards)
    shaped = weights * (all_right | all_wrong)
    return RunGradient(
        step_min=asked.step_min, step_max=asked.step_max, env=asked.env,
        samples=int(pulls.trained.sum()), discarded=int((~pulls.trained).sum()),
        groups=len(pulls.grouping), dead=int(pulls.is_dead.sum()),
        single=int((pulls.grouping.sizes == 1).sum()),
        effective=float(weights.sum() ** 2 / (weights @ weights)) if weights.any() else 0.0,
        by_step=in_bins(by_step, asked.bins) if asked.bins else by_step, correct=correct,
        all_right=int(all_right.sum()), all_wrong=int(all_wrong.sum()),
        shaping=pulls.share("shaping", pulls.spread(shaped) > 0) if correct else None,
        shaping_samples=pulls.ids(largest_pushes(shaped)), dead_samples=pulls.ids(latest_dead),
        by_env=by_env(pulls), by_length=by_length(pulls), by_outcome=by_outcome(pulls, known),
        prompts=prompts,
    )  # fmt: skip


def _nothing(asked: GradientQuery, note: str) -> RunGradient:
    return RunGradient(step_min=asked.step_min, step_max=asked.step_max, env=asked.env, note=note)


def _correctness(run: OpenRun, pulls: Pulls, metric: str) -> Correctness:
    bar = query.evals_bar(run, metric, None)
    values = pulls.numbers(metric) * (-1 if bar.falls else 1)
    least = -bar.value if bar.falls else bar.value
    is_right: Mask = values >= least - TOLERANCE * max(1.0, abs(least))
    right, wrong = ("<=", ">") if bar.falls else (">=", "<")
    filters = (f"{quoted(qualified(metric, 'metric'))} {sign} {bar.value:g}" for sign in (right, wrong))
    return Correctness(~np.isnan(values), is_right, *filters)


def _all_alike(pulls: Pulls, correct: Correctness | None) -> tuple[Mask, Mask]:
    """Return the groups whose trained samples are all right, and those whose samples are all wrong."""
    if correct is None:
        return np.zeros(len(pulls.sizes), np.bool_), np.zeros(len(pulls.sizes), np.bool_)
    right, known = (pulls.sums(mask & pulls.trained) for mask in (correct.is_right, correct.is_known))
    is_known = (pulls.sizes > 0) & (known == pulls.sizes)
    return is_known & (right == pulls.sizes), is_known & (right == 0)


def largest_pushes(weights: Floats) -> Places:
    """Return the groups with the largest weights above 0."""
    largest = np.argsort(-weights, kind="stable")[:MOST_SAMPLES]
    return largest[weights[largest] > 0]
