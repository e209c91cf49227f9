"""The parts of a reward by sample, and the formulas that fit them among siblings.

A fit selects features one after the other, each in the form that fits best. Terms are chosen in one half of the groups,
and R² is measured in the other, so that chance choices explain nothing.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.features import BLOCK_SAMPLES, Floats, Grouping, divided
from rolloupe.index import OpenRun
from rolloupe.query.evals.grader import CORRECTNESS, bare
from rolloupe.query.run_features import SampleWords, sample_metric

Mask = NDArray[np.bool_]

REWARD = "reward"

PREFIX = "reward."
"""The prefix that formats give to the parts of a reward."""

_WORDED = re.compile(r"(^|[_/.])rewards?(_func|_fn)?$|^rewards?/", re.IGNORECASE)
_WHOLE = frozenset({"raw_reward", "normalized_reward", "final_reward", "ref_reward", "total_reward", "reward"})


def parts_of(run: OpenRun, metrics: Sequence[str]) -> list[str]:
    """Return the sample metrics that are parts of the reward, in their order.

    They are called `reward.NAME`. Without any, they are those that the run declares with a range, and those whose name
    ends with reward or says correctness.
    """
    named = [name for name in metrics if name.startswith(PREFIX)]
    declared = {name for name, _, _ in run.info.metric_ranges}
    return named or [
        name
        for name in metrics
        if name.lower() not in _WHOLE and (name in declared or _WORDED.search(name) or bare(name) in CORRECTNESS)
    ]


MOST_SAMPLES = 2 * BLOCK_SAMPLES
"""How many samples are fitted at most, half of them to choose terms."""

FLAT = 1e-9
"""A smaller number is a rounding error."""


class PartValues(NamedTuple):
    """A part of the reward for each sample: arrays of shape (N,)."""

    name: str
    values: Floats
    """NaN if a sample has no value."""
    centred: Floats
    """Values less the mean of the group; 0 in groups where a sample has no value."""
    known: Mask
    """True in groups where each sample has a value."""

    def groups(self, grouping: Grouping) -> Mask:
        """Return True for the groups where it varies, shape (G,)."""
        varies: Mask = grouping.sums(self.centred**2) > FLAT
        return varies

    def spread(self, grouping: Grouping) -> float:
        """Return the standard deviation among siblings, over the groups where each sample has a value."""
        freedom = int(self.known.sum()) - len(np.unique(grouping.numbers[self.known]))
        return math.sqrt(float(self.centred @ self.centred) / freedom) if freedom else 0.0


def some_groups(of: SampleWords) -> SampleWords:
    """Return at most `MOST_SAMPLES` of the samples: whole groups, evenly over all of them."""
    if of.size <= MOST_SAMPLES:
        return of
    stride = -(-of.size // MOST_SAMPLES)
    return of.at((np.arange(len(of.grouping)) % stride == 0)[of.grouping.numbers])


def values_of(run: OpenRun, of: SampleWords, name: str) -> PartValues:
    """Return a part of the reward of some samples, by the name of the metric. Raises as `database.ask`."""
    values = sample_metric(run, run.snapshot(), of, name)
    centred = of.grouping.centred(values)
    known = np.isfinite(centred)
    return PartValues(name, values, np.where(np.abs(centred) > FLAT, np.nan_to_num(centred), 0), known)


def reward_of(of: SampleWords) -> PartValues:
    """Return the reward as a whole; its values are centred."""
    return PartValues(REWARD, of.rewards, of.rewards, np.ones(of.size, np.bool_))


MAX_TERMS = 3
MIN_SHARE = 0.01
"""The least share of the variance that each additional term explains."""

SIMPLER = 0.003
"""A simpler form, or a shorter phrase, wins even if it explains less of the variance by at most this share."""

MOST_ALIKE = 8

COLLINEAR = 0.02
"""A column is dropped if the terms leave less than this share of it unexplained."""

CAPS = (2, 3, 4, 5, 6, 8, 10, 12, 16)


class Form(NamedTuple):
    """A function of the count or value of a feature."""

    name: str
    of: Callable[[Floats], Floats]


FORMS = (
    Form("has", lambda values: (values > 0).astype(np.float64)),
    Form("uses", lambda values: values),
    *(Form(f"{cap}", lambda values, cap=cap: np.minimum(values, cap)) for cap in CAPS),
    Form("log", lambda values: np.log2(1 + values)),
)
"""The simplest first."""

_FIRST = (FORMS[0], FORMS[1], FORMS[-1])


class Term(NamedTuple):
    """A feature in a form."""

    feature: int
    form: Form
    share: float
    """The share of the variance that it explains beside the terms before it."""


class Fit(NamedTuple):
    """A sum of terms."""

    terms: Sequence[Term]
    weights: Floats
    """One for each term, fitted in all groups."""
    r2: float
    """Measured in the groups that the terms were not chosen on."""


class Features:
    """The features of samples; `chosen` is true for the half of the groups to choose terms on."""

    def __init__(self, counts: Sequence[Floats], chosen: Mask, grouping: Grouping) -> None:
        self.counts, self.chosen, self.grouping = counts, chosen, grouping
        self.columns = np.empty((int(chosen.sum()), len(_FIRST) * len(counts)), np.float32)
        """Each feature in the first forms for that half, centred within groups."""
        for number, values in enumerate(counts):
            for nth, form in enumerate(_FIRST):
                self.columns[:, len(_FIRST) * number + nth] = grouping.centred(form.of(values))[chosen]

    def column(self, number: int, form: Form) -> Floats:
        """Return a feature in a form for all samples, centred within groups."""
        return self.grouping.centred(form.of(self.counts[number]))


def fit_of(features: Features, part: PartValues, least_z: float, shortest: Callable[[Sequence[int]], int]) -> Fit:
    """Fit a part with at most `MAX_TERMS` features, in the groups where each sample has it.

    `shortest` chooses among features that fit alike.
    """
    own, others = features.chosen & part.known, ~features.chosen & part.known
    y = part.centred[own]
    y = y / max(float(np.sqrt(y @ y)), 1e-150)  # so that squares are shares
    basis: list[Floats] = []
    terms: list[Term] = []
    fitted: list[Floats] = []
    columns = features.columns if part.known.all() else features.columns[part.known[features.chosen]]
    squares_of_all = np.einsum("ij,ij->j", columns, columns).astype(np.float64)
    squares, explained = squares_of_all.copy(), 0.0
    freedom = float(len(y) - len(np.unique(features.grouping.numbers[own])))
    while len(terms) < MAX_TERMS:
        products = (columns.T @ y.astype(np.float32)).astype(np.float64)
        is_left = squares > COLLINEAR * squares_of_all
        shares = divided(products**2, np.where(is_left, squares, 0))
        for term in terms:
            shares[len(_FIRST) * term.feature :][: len(_FIRST)] = 0
        best = float(shares.max(initial=0))
        if best < MIN_SHARE or best * freedom < least_z**2 * max(1e-9, 1 - explained - best):
            break
        ranked = np.argsort(-shares, kind="stable")
        alike = list(dict.fromkeys((ranked[shares[ranked] >= best - SIMPLER] // len(_FIRST)).tolist()))[:MOST_ALIKE]
        column, term = _in_best_form(features, shortest(alike) if len(alike) > 1 else alike[0], own, basis, y)
        terms.append(term)
        fitted.append(column)
        explained += term.share
        direction = _beside(column[own], basis)
        basis.append(direction / max(float(np.sqrt(direction @ direction)), 1e-12))
        squares -= (columns.T @ basis[-1].astype(np.float32)).astype(np.float64) ** 2
        y = _beside(y, basis)
    if not terms:
        return Fit((), np.zeros(0), 0.0)
    x = np.stack(fitted, axis=1)
    weights = np.linalg.lstsq(x[own], part.centred[own], rcond=None)[0]
    rest = part.centred[others]
    missed = rest - x[others] @ weights
    r2 = 1 - float(missed @ missed) / float(rest @ rest) if rest.any() else 0.0
    weights = np.linalg.lstsq(x[part.known], part.centred[part.known], rcond=None)[0]
    return Fit(terms, weights.astype(np.float64), max(0.0, r2))


def _beside(values: Floats, basis: Sequence[Floats]) -> Floats:
    """Return values less their parts along some directions."""
    for direction in basis:
        values = values - direction * float(direction @ values)
    return values


def _in_best_form(
    features: Features, feature: int, own: Mask, basis: Sequence[Floats], y: Floats
) -> tuple[Floats, Term]:
    """Return the simplest form of a feature that explains nearly as much as any beside the basis, and its term."""
    columns = [features.column(feature, form) for form in FORMS]
    left = [_beside(column[own], basis) for column in columns]
    shares = [float((values @ y) ** 2 / max(float(values @ values), 1e-12)) for values in left]
    number = next(number for number, share in enumerate(shares) if share >= max(shares) - SIMPLER)
    return columns[number], Term(feature, FORMS[number], shares[number])
