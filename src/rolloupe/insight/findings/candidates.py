"""Which features are worth a closer look: those that go with a better or a worse reward than that of siblings."""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.features import Floats, divided
from rolloupe.query import FeatureSums, Hashes, WindowFacts

MIN_Z = 5.0
FALSE_SHARE = 0.005
"""The probability of a false one among all features tested (Bonferroni), where that asks for more than `MIN_Z`."""

MIN_EFFECT = 0.1
"""The least effect, in standard deviations of the advantage among siblings."""

MIN_SHARE = 0.003
"""A phrase in fewer of the samples is left out."""

MAX_CANDIDATES = 300

SHOWN_DIGITS = 9
"""Of a z, so many digits behind the point are the same in whichever order it was added up."""


class Candidates(NamedTuple):
    """The phrases to look at, and how they were chosen."""

    hashes: Hashes
    """One of each kind: phrases with the same sums are in the same samples, such as the parts of one sentence."""
    features: FeatureSums
    """The sums of the candidates."""
    twins: Hashes
    """All the phrases, the surest first."""
    stands: NDArray[np.int64]
    """The number of the candidate that stands for each of them."""
    tested: int
    """The number of features that were looked at."""
    z: float
    """The least z."""
    best: float
    """The largest |z| of all."""

    @property
    def expected(self) -> float:
        """How many of the features tested would reach `z` by chance."""
        return self.tested * 2 * (1 - NormalDist().cdf(self.z))


def candidates(features: FeatureSums, facts: WindowFacts) -> Candidates:
    """The phrases that go with the reward, the surest first."""
    is_phrase = features.hashes % np.uint64(2) == 0
    often = features.samples >= MIN_SHARE * facts.samples
    some = features.at(np.flatnonzero(is_phrase & often))
    tested = len(some.hashes) + int((~is_phrase).sum())
    least = least_z(tested)
    z = np.abs(some.sums.z)
    is_large = np.abs(divided(some.sums.s, some.sums.d)) >= MIN_EFFECT * spread(facts.advantage_squares, facts.freedom)
    chosen = np.flatnonzero((z >= least) & is_large)
    chosen = chosen[np.lexsort((some.hashes[chosen], -_rounded(z[chosen])))]
    twins = some.at(chosen)
    first, stands = _distinct(twins)
    found = twins.at(first[:MAX_CANDIDATES])
    kept = stands < MAX_CANDIDATES
    named = np.abs(features.at(np.flatnonzero(~is_phrase)).sums.z)
    best = round(float(max(z.max(initial=0), named.max(initial=0))), SHOWN_DIGITS)
    return Candidates(found.hashes, found, twins.hashes[kept], stands[kept], tested, least, best)


def _distinct(features: FeatureSums) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of all features with the same sums, in order, and the number of such a first for each feature."""
    if not len(features.hashes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sums = _rounded(np.stack([features.samples, *features.sums], axis=1))
    _, first, kind = np.unique(sums, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[kind.reshape(-1)]


def _rounded(sums: Floats) -> NDArray[np.float32]:
    """Sums without their last digits, which depend on the order of what was added."""
    return sums.astype(np.float32)


def least_z(tested: int) -> float:
    """The |z| that a feature must reach if so many are tested."""
    return max(MIN_Z, NormalDist().inv_cdf(1 - FALSE_SHARE / max(1, tested) / 2))


def spread(squares: float, freedom: float) -> float:
    """The standard deviation among siblings."""
    return math.sqrt(squares / freedom) if freedom else 0.0


def smallest_effect(facts: WindowFacts, least: float, share: float) -> float | None:
    """The least reward over siblings, by a use, that a feature which `share` of the samples have once would show.

    None where no siblings differ.
    """
    varying = facts.freedom * share * (1 - share)
    if not varying:
        return None
    return max(least / math.sqrt(varying), MIN_EFFECT) * spread(facts.reward_squares, facts.freedom)
