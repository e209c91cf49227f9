"""How a feature changes over the steps, whether correctness follows it, and its class."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rolloupe.errors import BadQuery
from rolloupe.features import Floats, Places
from rolloupe.index import OpenRun, Snapshot
from rolloupe.insight.findings.records import FindingClass, Prevalence
from rolloupe.query.evals.grader import CORRECTNESS, bare

MIN_T, MIN_RISE = 6.0, 0.2
"""A feature rises if its mean in the last third of the steps exceeds that in the first by at least this many standard
errors, and this many standard deviations of the feature.
"""

MIN_STEPS = 3
"""How many steps a third needs."""

FOLLOWS = 0.3
"""Correctness follows if it gains this share of what the reward gains, each in its standard deviations."""

NEARLY_ALL = 0.995

MAX_BINS = 40
MAX_T = 1000.0
"""Stands for infinity, if no step differs from others of its third."""


class Trend(NamedTuple):
    """The change of a feature from the first third of the steps to the last."""

    t: float
    size: float
    """In standard deviations of the feature over all samples."""
    first: float
    """The share of the samples that have it in the first third."""
    last: float
    early: float = 0.0
    """The typical amount in the first third, with and without it: uses, or the value of a behaviour."""
    late: float = 0.0

    @property
    def is_common(self) -> bool:
        """True if nearly all samples have it, early and late: then its amount says more than their share."""
        return min(self.first, self.last) >= NEARLY_ALL

    def is_rising(self, sign: float) -> bool:
        """Return whether it moves the way that the reward pays for."""
        return sign * self.t >= MIN_T and sign * self.size >= MIN_RISE


def trend_of(x: Floats, steps: Places) -> Trend:
    """Return the trend of a feature, with steps as units: the samples of a step share its policy."""
    names, number = np.unique(steps, return_inverse=True)
    counts = np.bincount(number)
    means, shares = (np.bincount(number, values) / counts for values in (x, x > 0))
    third = len(names) // 3
    ends = max(1, third)
    first, last = float(shares[:ends].mean()), float(shares[-ends:].mean())
    typical = [2 ** float(third_means.mean()) - 1 for third_means in (means[:ends], means[-ends:])]
    if third < MIN_STEPS:
        return Trend(0.0, 0.0, first, last, *typical)
    early, late = means[:third], means[-third:]
    gap = float(late.mean() - early.mean())
    error = math.sqrt((early.var(ddof=1) + late.var(ddof=1)) / third)
    size = gap / float(x.std()) if x.std() else 0.0
    t = gap / error if error else math.copysign(MAX_T, gap) if gap else 0.0
    return Trend(max(-MAX_T, min(MAX_T, t)), size, first, last, *typical)


def class_of(sign: float, trend: Trend, follows: bool | None) -> FindingClass:
    """Return the class of a feature that the reward pays for (`sign` 1) or punishes (-1).

    `follows` says whether correctness follows it; None if the run does not say what is correct.
    """
    if follows:
        return "earned"
    if not trend.is_rising(sign):
        return "watch"
    return "unverified" if follows is None else "suspect"


def follows(x: Floats, rewards: Floats, correct: Floats) -> tuple[float, bool]:
    """Return the effect of a feature on correctness, and whether it follows the reward; all are centred."""
    known = np.isfinite(correct)
    own = float(x[known] @ x[known])
    effect = float(x[known] @ correct[known]) / own if own else 0.0
    paid = float(x[known] @ rewards[known]) / own if own else 0.0
    sizes = [math.sqrt(float(values[known] @ values[known])) for values in (correct, rewards)]
    if not all(sizes) or not paid:
        return effect, False
    return effect, effect / sizes[0] / (paid / sizes[1]) >= FOLLOWS


def prevalence_of(x: Floats, centred: Floats, rewards: Floats, steps: Places) -> Prevalence:
    """Return how common a feature is, and what it earns, in bins of steps."""
    names, number = np.unique(steps, return_inverse=True)
    bins = min(MAX_BINS, len(names))
    of_step = np.arange(len(names)) * bins // max(1, len(names))
    of = of_step[number]
    counts = np.bincount(of, minlength=bins)
    shares, means = (np.bincount(of, values, bins) / counts for values in (x > 0, 2.0**x - 1))
    d, r = np.bincount(of, centred * centred, bins), np.bincount(of, centred * rewards, bins)
    effects = [float(a / b) if b > 1e-9 else None for a, b in zip(r, d, strict=True)]
    first = names[np.searchsorted(of_step, np.arange(bins))]
    return Prevalence(first.tolist(), shares.tolist(), means.tolist(), effects)


def metrics_of(snapshot: Snapshot, split: str) -> list[str]:
    """Return the sample metrics of a split."""
    return list(dict.fromkeys(name for piece in snapshot.holding((split,)) for name in piece.metrics))


def correctness_of(run: OpenRun, known: Sequence[str], named: str) -> str:
    """Return the metric that a person names, or else one whose name says correctness; empty without any.

    Raises `BadQuery` for a metric that no sample has.
    """
    if named:
        meant = [name for name in known if name == named] or [name for name in known if bare(name) == named.lower()]
        if not meant:
            raise BadQuery(f"no sample metric {named[:80]!r}; there are: {', '.join(known[:40]) or 'none'}")
        return meant[0]
    declared = {name for name, _, _ in run.info.metric_ranges}
    possible = [name for name in known if bare(name) in CORRECTNESS]
    return min(possible, key=lambda name: (name not in declared, CORRECTNESS.index(bare(name)), name), default="")
