"""Chooses the few features that explain the many: forward selection without echoes, shared words split, a look back.

Works on sums alone, so that a run of any size takes the same time: S (how each feature goes with the advantage), G (how
features go together), V (the variance of S by chance), and the sum of squares of the advantage.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.features import Floats, divided

MIN_GAIN = 0.002
"""The least share of the advantage's variance that a further feature explains."""

PREFERENCE = 1.1
"""What is paid wins over its absence, which is punished as much, and a behaviour with a name over a little more."""

ECHO, ECHO_LEFT = 0.4, 0.5
"""An echo is a feature so correlated with a chosen one, of whose z less than this share is left."""

SAME = 0.75
"""A feature so correlated with a chosen one is an echo, whatever is left: presence and count of one thing differ."""

WHOLE = 0.9
"""Half of a feature is not so correlated with it."""

COLLINEAR = 0.02
"""Of a feature that the chosen ones make up to all but this share, nothing is left to say."""

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
        """Of each feature alone."""
        return divided(self.s, np.sqrt(self.v))

    def correlations(self, number: int) -> Floats:
        """Of one feature with each."""
        sizes = np.sqrt(np.diag(self.gram))
        return divided(self.gram[number], sizes * sizes[number])


class _Left(NamedTuple):
    """What is left of each feature beside the chosen ones."""

    z: Floats
    gain: Floats
    """The share of the advantage's variance that it would explain."""


def choose(evidence: Evidence, least_z: float) -> list[int]:
    """The numbers of the features that explain the advantage, the surest first."""
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
    """Have two features in place of one that both share, such as a word of two phrases, if they explain as much.

    A behaviour gives way only to two that explain more: each of many wordings has a part of it.
    """
    share = np.abs(evidence.correlations(number))
    halves = [one for one in np.flatnonzero((share > ECHO) & (share < WHOLE)).tolist() if one not in chosen]
    if len(halves) < 2:
        return chosen
    others = [one for one in chosen if one != number]
    s, gram = _beside(evidence, others, [number, *halves])
    pair = _best_pair(evidence, halves, s[1:], gram[1:, 1:], least_z)
    more = MIN_GAIN if evidence.named[number] else -MIN_GAIN
    if pair is None or pair.gain < float(s[0] ** 2 / gram[0, 0]) + more * evidence.squares:
        return chosen
    return [*others, pair.first, pair.second]


def _beside(evidence: Evidence, others: list[int], some: list[int]) -> tuple[Floats, Floats]:
    """S and G of some features beside others."""
    gram = evidence.gram[np.ix_(some, some)]
    if not others:
        return evidence.s[some], gram
    across = evidence.gram[np.ix_(others, some)]
    weights = np.linalg.solve(evidence.gram[np.ix_(others, others)], across)
    return evidence.s[some] - evidence.s[others] @ weights, gram - across.T @ weights


class _Pair(NamedTuple):
    first: int
    second: int
    gain: float
    """What both explain of the sum of squares of the advantage."""


def _best_pair(evidence: Evidence, halves: list[int], s: Floats, gram: Floats, least_z: float) -> _Pair | None:
    """The two of some features, far from each other, that together explain most, each by itself beside the other."""
    d = np.maximum(np.diag(gram), 0)
    raw = np.abs(np.stack([evidence.correlations(one)[halves] for one in halves]))
    own = d[:, None] - divided(gram * gram, d[None, :])  # of the row beside the column
    left = s[:, None] - gram * divided(s, d)[None, :]
    ratio = divided(evidence.v, np.diag(evidence.gram))[halves]
    z = np.abs(divided(left, np.sqrt(np.maximum(own, 0) * ratio[:, None])))
    possible = (raw < ECHO) & (z >= least_z) & (least_z <= z.T) & (own > COLLINEAR * d[:, None])
    gain = np.where(possible, divided(s * s, d)[None, :] + divided(left * left, own), -1)
    first, second = (int(one) for one in np.unravel_index(np.argmax(gain), gain.shape))
    return _Pair(halves[first], halves[second], float(gain[first, second])) if possible.any() else None


def _left(evidence: Evidence, chosen: list[int]) -> _Left:
    d = np.diag(evidence.gram)
    weights = np.linalg.solve(evidence.gram[np.ix_(chosen, chosen)], evidence.gram[chosen]) if chosen else None
    s = evidence.s if weights is None else evidence.s - evidence.s[chosen] @ weights
    own = d if weights is None else d - (evidence.gram[chosen] * weights).sum(axis=0)
    explained = _explained(evidence, chosen)
    variance = divided(evidence.v, d) * own * max(1e-6, 1 - explained)
    is_other = (own > COLLINEAR * d) & (d > 0)
    z = np.where(is_other, divided(s, np.sqrt(np.maximum(variance, 0))), 0)
    return _Left(z, np.where(is_other, divided(s * s, own), 0) / max(evidence.squares, 1e-300))


def _explained(evidence: Evidence, chosen: list[int]) -> float:
    if not chosen:
        return 0.0
    s = evidence.s[chosen]
    return float(s @ np.linalg.solve(evidence.gram[np.ix_(chosen, chosen)], s)) / max(evidence.squares, 1e-300)


def _echoes(evidence: Evidence, chosen: list[int], left: _Left) -> NDArray[np.bool_]:
    closest = np.zeros(len(evidence.s))
    for number in chosen:
        np.maximum(closest, np.abs(evidence.correlations(number)), out=closest)
    echoes = (closest > SAME) | ((closest > ECHO) & (np.abs(left.z) < ECHO_LEFT * np.abs(evidence.z)))
    echoes[chosen] = True
    return echoes


def partial_z(evidence: Evidence, chosen: list[int]) -> Floats:
    """The z of each chosen feature beside the others."""
    inverse = np.linalg.inv(evidence.gram[np.ix_(chosen, chosen)])
    weights = inverse @ evidence.s[chosen]
    ratio = divided(evidence.v, np.diag(evidence.gram))[chosen]
    variance = np.diag(inverse) * ratio * max(1e-6, 1 - _explained(evidence, chosen))
    return divided(weights, np.sqrt(variance))
