"""Chooses the few features that explain the reward, without echoes, from the features of samples.

`choose` works on sums alone, so that it takes the same time for a run of any size: S (how each feature goes with the
advantage), G (how features go together), V (the variance of S by chance), and the sum of squares of the advantage.
"""

import math
import threading
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.features import FeatureRows, Floats, divided, phrases_of, sums_within
from rolloupe.index.features import hash_of_behaviour
from rolloupe.query.run_features import Hashes, SampleWords, WindowFacts

MIN_Z = 5.0
FALSE_SHARE = 0.005
"""The probability of any false feature among all tested (Bonferroni), if this requires more than `MIN_Z`."""

MIN_EFFECT = 0.1
"""The least effect, in standard deviations of the advantage among siblings."""

MIN_SHARE = 0.003
"""The least share of the samples that have a phrase."""

MAX_CANDIDATES = 300

TYPICAL_SHARE = 0.1
"""The share of the samples with a feature for which the smallest effect is given."""

SHOWN_DIGITS = 9
"""How many decimals of a z do not depend on the order of its summands."""


class Candidates(NamedTuple):
    """The phrases that correlate with the reward, and how they were chosen."""

    hashes: Hashes
    """One for each set of sums: phrases with equal sums are in the same samples, such as the parts of one sentence."""
    twins: Hashes
    """All the phrases, the surest first."""
    stands: NDArray[np.int64]
    """The number of the candidate that stands for each twin."""
    tested: int
    """The number of features that were tested."""
    z: float
    """The least z."""
    best: float
    """The largest |z| of all."""

    @property
    def expected(self) -> float:
        """How many of the features tested would reach `z` by chance."""
        return self.tested * 2 * (1 - NormalDist().cdf(self.z))


def candidates(features: FeatureRows, facts: WindowFacts) -> Candidates:
    """Return the phrases that go with the reward, the surest first."""
    is_phrase = features.hashes % np.uint64(2) == 0
    often = features.samples >= MIN_SHARE * facts.samples
    some = features.at(np.flatnonzero(is_phrase & often))
    tested = len(some.hashes) + int((~is_phrase).sum())
    least = least_z(tested)
    z = np.abs(some.z)
    is_large = np.abs(divided(some.s, some.d)) >= MIN_EFFECT * spread(facts.advantage_squares, facts.freedom)
    chosen = np.flatnonzero((z >= least) & is_large)
    chosen = chosen[np.lexsort((some.hashes[chosen], -_rounded(z[chosen])))]
    twins = some.at(chosen)
    first, stands = _distinct(twins)
    kept = stands < MAX_CANDIDATES
    named = np.abs(features.at(np.flatnonzero(~is_phrase)).z)
    best = round(float(max(z.max(initial=0), named.max(initial=0))), SHOWN_DIGITS)
    return Candidates(twins.hashes[first[:MAX_CANDIDATES]], twins.hashes[kept], stands[kept], tested, least, best)


def _distinct(features: FeatureRows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first feature with each set of sums, in order, and for each feature the number of its first."""
    if not len(features.hashes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sums = _rounded(np.stack(features[1:], axis=1, dtype=np.float64))
    _, first, kind = np.unique(sums, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[kind.reshape(-1)]


def _rounded(sums: Floats) -> NDArray[np.float32]:
    """Return sums without their last digits, which depend on the order of the summands."""
    return sums.astype(np.float32)


def least_z(tested: int) -> float:
    """Return the |z| that a feature must reach if this many are tested."""
    return max(MIN_Z, NormalDist().inv_cdf(1 - FALSE_SHARE / max(1, tested) / 2))


def spread(squares: float, freedom: float) -> float:
    """Return the standard deviation among siblings."""
    return math.sqrt(squares / freedom) if freedom else 0.0


def smallest_effect(facts: WindowFacts, least: float) -> float | None:
    """Return the least effect for each use that a phrase of `TYPICAL_SHARE` shows; None if no siblings differ."""
    varying = facts.freedom * TYPICAL_SHARE * (1 - TYPICAL_SHARE)
    if not varying:
        return None
    return max(least / math.sqrt(varying), MIN_EFFECT) * spread(facts.reward_squares, facts.freedom)


MIN_GAIN = 0.002
"""The least share of the advantage's variance that each additional feature explains."""

PREFERENCE = 1.1
"""The factor by which a paid feature ranks above its absence, punished as much, and a behaviour above a phrase."""

ECHO, ECHO_LEFT = 0.4, 0.5
"""A feature with a higher correlation to a chosen one is an echo of it if it keeps less than `ECHO_LEFT` of its z.
"""

SAME = 0.75
"""A feature with a higher correlation to a chosen one is always an echo: presence and count of one phrase differ."""

WHOLE = 0.9
"""Features with a higher correlation are not halves of each other."""

COLLINEAR = 0.02
"""A feature is dropped if the chosen features leave less than this share of it unexplained."""

MAX_CHOSEN = 20


class Evidence(NamedTuple):
    """The sums over C features."""

    s: Floats
    gram: Floats
    """Shape (C, C)."""
    v: Floats
    squares: float
    named: NDArray[np.bool_]
    """True for behaviours."""

    @property
    def z(self) -> Floats:
        """The z of each feature alone."""
        return divided(self.s, np.sqrt(self.v))

    def correlations(self, number: int) -> Floats:
        """Return the correlations of one feature with each."""
        sizes = np.sqrt(np.diag(self.gram))
        return divided(self.gram[number], sizes * sizes[number])


class _Left(NamedTuple):
    """What each feature adds to the chosen ones."""

    z: Floats
    gain: Floats
    """The share of the advantage's variance that it would explain."""


def choose(evidence: Evidence, least_z: float) -> list[int]:
    """Return the numbers of the features that explain the advantage, the surest first."""
    chosen: list[int] = []
    while len(chosen) < MAX_CHOSEN:
        left = _left(evidence, chosen)
        possible = (np.abs(left.z) >= least_z) & (left.gain >= MIN_GAIN) & ~_echoes(evidence, chosen, left)
        if not possible.any():
            break
        rank = np.abs(left.z) * PREFERENCE ** (evidence.named.astype(np.int64) + (left.z > 0))
        chosen.append(int(np.argmax(np.where(possible, rank, -1))))
    for number in list(chosen):
        chosen = _split(evidence, chosen, number, least_z)
    while chosen:
        z = np.abs(partial_z(evidence, chosen))
        if z.min() >= least_z:
            break
        del chosen[int(z.argmin())]
    return chosen


def _split(evidence: Evidence, chosen: list[int], number: int, least_z: float) -> list[int]:
    """Replace a feature that two others share, such as a word of two phrases, by these if they explain as much.

    Two features replace a behaviour only if they explain more: each of many wordings has a part of it.
    """
    share = np.abs(evidence.correlations(number))
    halves = [half for half in np.flatnonzero((share > ECHO) & (share < WHOLE)).tolist() if half not in chosen]
    if len(halves) < 2:
        return chosen
    others = [other for other in chosen if other != number]
    some = [number, *halves]
    across = evidence.gram[np.ix_(others, some)]
    weights = np.linalg.solve(evidence.gram[np.ix_(others, others)], across)
    # what is left beside the others
    s, gram = evidence.s[some] - evidence.s[others] @ weights, evidence.gram[np.ix_(some, some)] - across.T @ weights
    pair = _best_pair(evidence, halves, s[1:], gram[1:, 1:], least_z)
    more = MIN_GAIN if evidence.named[number] else -MIN_GAIN
    if pair is None or pair.gain < float(s[0] ** 2 / gram[0, 0]) + more * evidence.squares:
        return chosen
    return [*others, pair.first, pair.second]


class _Pair(NamedTuple):
    first: int
    second: int
    gain: float
    """How much of the sum of squares of the advantage both explain."""


def _best_pair(evidence: Evidence, halves: list[int], s: Floats, gram: Floats, least_z: float) -> _Pair | None:
    """Return the two uncorrelated features that together explain most, each in addition to the other."""
    d = np.maximum(np.diag(gram), 0)
    raw = np.abs(np.stack([evidence.correlations(half)[halves] for half in halves]))
    own = d[:, None] - divided(gram * gram, d[None, :])  # of the row beside the column
    left = s[:, None] - gram * divided(s, d)[None, :]
    ratio = divided(evidence.v, np.diag(evidence.gram))[halves]
    z = np.abs(divided(left, np.sqrt(np.maximum(own, 0) * ratio[:, None])))
    possible = (raw < ECHO) & (z >= least_z) & (least_z <= z.T) & (own > COLLINEAR * d[:, None])
    gain = np.where(possible, divided(s * s, d)[None, :] + divided(left * left, own), -1)
    first, second = (int(place) for place in np.unravel_index(np.argmax(gain), gain.shape))
    return _Pair(halves[first], halves[second], float(gain[first, second])) if possible.any() else None


def _left(evidence: Evidence, chosen: list[int]) -> _Left:
    d = np.diag(evidence.gram)
    weights = np.linalg.solve(evidence.gram[np.ix_(chosen, chosen)], evidence.gram[chosen])
    s, own = evidence.s - evidence.s[chosen] @ weights, d - (evidence.gram[chosen] * weights).sum(axis=0)
    explained = _explained(evidence, chosen)
    variance = divided(evidence.v, d) * own * max(1e-6, 1 - explained)
    is_other = (own > COLLINEAR * d) & (d > 0)
    z = np.where(is_other, divided(s, np.sqrt(np.maximum(variance, 0))), 0)
    return _Left(z, np.where(is_other, divided(s * s, own), 0) / max(evidence.squares, 1e-300))


def _explained(evidence: Evidence, chosen: list[int]) -> float:
    s = evidence.s[chosen]
    return float(s @ np.linalg.solve(evidence.gram[np.ix_(chosen, chosen)], s)) / max(evidence.squares, 1e-300)


def _echoes(evidence: Evidence, chosen: list[int], left: _Left) -> NDArray[np.bool_]:
    nothing = np.zeros(len(evidence.s))
    closest = np.max([nothing, *(np.abs(evidence.correlations(n)) for n in chosen)], axis=0)
    echoes: NDArray[np.bool_] = (closest > SAME) | (
        (closest > ECHO) & (np.abs(left.z) < ECHO_LEFT * np.abs(evidence.z))
    )
    echoes[chosen] = True
    return echoes


def partial_z(evidence: Evidence, chosen: list[int]) -> Floats:
    """Return the z of each chosen feature beside the others."""
    inverse = np.linalg.inv(evidence.gram[np.ix_(chosen, chosen)])
    weights = inverse @ evidence.s[chosen]
    ratio = divided(evidence.v, np.diag(evidence.gram))[chosen]
    variance = np.diag(inverse) * ratio * max(1e-6, 1 - _explained(evidence, chosen))
    return divided(weights, np.sqrt(variance))


ONE_LOOK = threading.Lock()
"""Held while a whole run is searched: that may take hundreds of megabytes, so a process does one search at a time."""

PART = 2**18
"""How many words are counted together."""

PREFIX_BITS = 16


def phrase_matrix(of: SampleWords, hashes: Hashes) -> Floats:
    """Return log2(1 + count) of each phrase in each sample, shape (N, C)."""
    order = np.argsort(hashes)
    ordered = hashes[order]
    known = np.zeros(1 << PREFIX_BITS, np.bool_)
    known[(ordered >> np.uint64(64 - PREFIX_BITS)).astype(np.int64)] = True
    counts = np.zeros((of.size, len(hashes)))
    bounds = [0]  # of parts of whole samples
    while bounds[-1] < len(of.words):
        last = min(bounds[-1] + PART, len(of.words)) - 1
        bounds.append(int(np.searchsorted(of.samples, of.samples[last], "right")))
    for part in map(slice, bounds, bounds[1:]):
        words, samples = of.words[part], of.samples[part]
        for _, phrases, first in phrases_of(words, samples):
            some = np.flatnonzero(known[(phrases >> np.uint64(64 - PREFIX_BITS)).astype(np.int64)])
            places = np.searchsorted(ordered, phrases[some])
            places[places == len(ordered)] = 0
            hit = ordered[places] == phrases[some] if len(ordered) else np.zeros(0, np.bool_)
            np.add.at(counts, (samples[first[some[hit]]], order[places[hit]]), 1)
    counts += 1
    return np.log2(counts, out=counts)


class FeatureMatrix(NamedTuple):
    """Features of N samples: C phrases, then B behaviours."""

    of: SampleWords
    hashes: Hashes
    """Of the phrases, shape (C,)."""
    behaviours: Sequence[str]
    x: Floats
    """log2(1 + count), shape (N, C + B)."""
    centred: Floats
    """`x` less the mean of each group."""

    def name(self, number: int) -> str:
        """Return the behaviour of a column; empty for a phrase."""
        return "" if number < len(self.hashes) else self.behaviours[number - len(self.hashes)]


def feature_matrix(of: SampleWords, chosen: Candidates) -> FeatureMatrix:
    """Return the candidates and the behaviours of some samples."""
    phrases, every = phrase_matrix(of, chosen.hashes), of.behaviours.values()
    x = np.concatenate([phrases, *(np.nan_to_num(values)[:, None] for values in every)], axis=1)
    centred = [of.grouping.centred(phrases), *(np.nan_to_num(of.grouping.centred(v))[:, None] for v in every)]
    return FeatureMatrix(of, chosen.hashes, list(of.behaviours), x, np.concatenate(centred, axis=1))


def evidence_of(matrix: FeatureMatrix, features: FeatureRows, squares: float, *, is_whole: bool) -> Evidence:
    """Return the sums that features are chosen by.

    If only some samples were read again, S and V come from the index, and G from these samples, scaled to all.
    """
    of = matrix.of
    own = sums_within(matrix.centred, of.advantages, of.rewards, of.grouping)
    gram: Floats = matrix.centred.T @ matrix.centred
    named = np.array([bool(matrix.name(number)) for number in range(len(gram))], np.bool_)
    if is_whole:
        return Evidence(own.s, gram, own.v, float(of.advantages @ of.advantages), named)
    names = [hash_of_behaviour(name) for name in matrix.behaviours]
    wanted = np.concatenate([matrix.hashes, np.array(names, np.uint64)])
    _, at_wanted, at_known = np.intersect1d(wanted, features.hashes, return_indices=True)
    s, v, d = np.zeros((3, len(wanted)))
    for sums, of_features in ((s, features.s), (v, features.v), (d, features.d)):
        sums[at_wanted] = of_features[at_known]
    scale = np.sqrt(divided(d, own.d))
    return Evidence(s, gram * np.outer(scale, scale), v, squares, named)
