"""How a feature changes over the steps, whether correctness follows it, its class, and what a search finds."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from msgspec import Struct, field

from rolloupe.errors import BadQuery
from rolloupe.features import Floats, Places
from rolloupe.index import OpenRun, Snapshot
from rolloupe.query.evals.grader import CORRECTNESS, bare

FindingClass = Literal["suspect", "unverified", "earned", "watch", "drift"]

MEANINGS: Mapping[str, str] = {
    "suspect": "paid and on the rise, though the answers are no more often correct",
    "unverified": "paid and on the rise, in a run that does not say which answers are correct",
    "earned": "paid, and correct answers have more of it, too",
    "watch": "paid, without a clear rise",
    "drift": "on the rise, but not clearly paid",
}
"""What each class means, in the order of a list. Every face of findings uses these words."""

CLASSES: tuple[FindingClass, ...] = get_args(FindingClass)


class Prevalence(Struct, frozen=True):
    """How common a feature is over the steps, in at most 40 bins of steps."""

    steps: list[int]
    """The first step of each bin."""
    shares: list[float]
    """The share of the samples that have the feature."""
    means: list[float]
    """Its mean: uses for each sample, or the value of the behaviour."""
    effects: list[float | None]
    """The reward over siblings for each unit; None if the feature does not vary among siblings."""


class ReadingList(Struct, frozen=True):
    """The samples that show a finding, by id; empty for none."""

    pairs: list[tuple[str, str]] = []
    """Two siblings. The first has more of the feature, or less if it is punished, and the better reward, but it is no
    more correct, if the run says what is correct."""
    earliest: str = ""
    """The first sample that has the feature."""
    counterexample: str = ""
    """A sample that has the feature, or less of it if it is punished, and a worse reward than its siblings."""

    def ids(self) -> list[str]:
        """Return all samples, each once."""
        every = [name for pair in self.pairs for name in pair]
        return list(dict.fromkeys(name for name in (*every, self.earliest, self.counterexample) if name))


class Finding(Struct, frozen=True, kw_only=True):
    """Something that the reward pays for, or that rises unpaid."""

    text: str
    """A sentence with the numbers that matter, and one with what else is on the card."""
    kind: FindingClass = field(name="class")
    phrase: str = ""
    """The words, as a sample has them in lower case; empty for a behaviour."""
    behaviour: str = ""
    """The derived metric, such as `derived.repeated_4grams`; empty for a phrase."""
    title: str = ""
    """The phrase in quotation marks, or the behaviour in a few words."""
    pattern: str = ""
    """A regular expression for RE2 and JavaScript that finds it in any case; empty for most behaviours."""
    where: str = ""
    """A filter that lists the samples with much of a behaviour; empty for a phrase, which a search finds."""
    effect: float
    """The reward over siblings without it; of an amount that nearly all samples have, for each doubling."""
    z: float
    correctness: float | None = None
    """The same effect on correctness; None if the run has no such metric."""
    first: float
    """The share of the samples that have it in the first third of the steps."""
    last: float
    """The share in the last third."""
    rise: float
    """The t statistic of the rise of its mean from the first third of the steps to the last."""
    prevalence: Prevalence
    samples: ReadingList
    also: list[str] = []
    """The titles of findings on the same card: nearly the same samples have them, or they say the same."""

    @property
    def name(self) -> str:
        """What identifies it from one search to the next: its behaviour or its phrase."""
        return self.behaviour or self.phrase


class RunFindings(Struct, frozen=True, kw_only=True):
    """The findings of a window of a run, and what was searched."""

    findings: list[Finding]
    """Those that matter most first."""
    meanings: dict[str, str] = field(default_factory=lambda: dict(MEANINGS))
    """What each class means, in a few words."""
    split: str
    env: str | None
    step_min: int | None
    step_max: int | None
    samples: int
    """The number of samples in the steps."""
    scanned: int
    """How many samples with a reward were scanned."""
    pending: int
    """How many samples the index has not reached."""
    read: int
    """How many samples were read again, to tell features apart."""
    groups: int
    """The number of groups whose rewards differ: only they can show anything."""
    tested: int
    """The number of features tested."""
    expected: float
    """How many of them would pass by chance."""
    least_z: float
    largest_z: float
    correct: str
    """The metric that counts as correctness; empty without one."""
    metrics: list[str]
    """The sample metrics that a person may name as correctness."""
    smallest: float | None
    """The smallest effect for each use that a phrase in a tenth of the samples could show; None if too few vary."""
    note: str
    """Says in sentences what was searched, and without findings, what could have been found."""


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
