"""Chooses the few features that explain the many: forward selection, echoes folded into what they echo, a look back.

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
"""A behaviour with a name wins over a phrase that is little better."""

ECHO, ECHO_LEFT = 0.4, 0.5
"""An echo is a feature so correlated with a chosen one, of whose z less than this share is left."""

SAME = 0.75
"""A feature so correlated with a chosen one is an echo, whatever is left: presence and count of one thing differ."""

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
        rank = np.abs(left.z) * np.where(evidence.named, PREFERENCE, 1.0)
        chosen.append(int(np.argmax(np.where(possible, rank, -1))))
    while chosen:
        z = np.abs(partial_z(evidence, chosen))
        if z.min() >= least_z:
            break
        del chosen[int(z.argmin())]
    return chosen


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
