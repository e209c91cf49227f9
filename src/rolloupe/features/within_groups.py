"""The one statistic of all findings: does a feature of samples go with a better reward than that of their siblings?

For a feature x of a sample and its advantage a, with sums over the samples of groups g, and means within groups:

    S = Σ x·(a − ā_g)               how x goes with a
    D = Σ (x − x̄_g)²                how much x varies among siblings
    V = Σ_g var_g(a)·D_g            the variance of S if the advantages of each group were permuted
    z = S/√V
    effect = Σ x·(r − r̄_g)/D        the reward r over siblings, by a unit of x

V is exact under permutation within groups: the permutation variance of a linear statistic (Hoeffding 1951), stratified.
Difficulty and mixture of prompts cancel, as only siblings are compared. All sums add up over groups, and so over steps.
x is log2(1 + count): a count goes on where presence saturates, and the first use weighs most.
"""

from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rolloupe.features.words import Places

Floats: TypeAlias = NDArray[np.float64]

TINY = 1e-9
"""Less is a rounding error."""


class Grouping:
    """The groups of some samples that come group by group; `groups` has the group of each, shape (N,)."""

    def __init__(self, groups: Places) -> None:
        self.starts = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
        """The first sample of each group, shape (G,)."""
        self.sizes = np.diff(self.starts, append=len(groups))

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def numbers(self) -> Places:
        """The number of the group of each sample, from 0."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def sums(self, values: Floats) -> Floats:
        """The sums over each group of values of shape (N,) or (N, C)."""
        totals: Floats = np.add.reduceat(values, self.starts, axis=0) if len(self) else values[:0]
        return totals

    def centred(self, values: Floats) -> Floats:
        """The values less the mean of their group."""
        means = (self.sums(values) / self.sizes.reshape(-1, *[1] * (values.ndim - 1)))[self.numbers]
        gaps: Floats = np.subtract(values, means, out=means)
        return gaps

    def variances(self, centred: Floats) -> Floats:
        """The unbiased variance in each group of centred values; 0 for groups of one."""
        squares = self.sums(centred * centred)
        squares[squares < TINY * squares.max(initial=0)] = 0
        variances: Floats = squares / np.maximum(self.sizes - 1, 1)
        return variances


class WithinSums(NamedTuple):
    """The sums of some features, each of shape (C,): see the module."""

    groups: Floats
    """The number of groups where x varies and a does."""
    s: Floats
    r: Floats
    """Like S, for the reward in place of the advantage: a trainer may divide advantages by anything."""
    v: Floats
    d: Floats

    @property
    def z(self) -> Floats:
        """By so many standard deviations S is off 0; 0 where nothing varies."""
        return divided(self.s, np.sqrt(self.v))

    @property
    def effect(self) -> Floats:
        """By so much reward a unit of x beats siblings."""
        return divided(self.r, self.d)


def divided(a: Floats, b: Floats) -> Floats:
    """The quotients; 0 where `b` is."""
    quotients: Floats = np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=np.asarray(b) > 0)
    return quotients


def sums_within(x: Floats, advantages: Floats, rewards: Floats, grouping: Grouping) -> WithinSums:
    """The sums of features: `x` has shape (N, C), the others (N,); all are centred within groups already."""
    own = grouping.sums(np.square(x))  # (G, C)
    varies = grouping.variances(advantages)
    own[own < TINY] = 0
    groups = ((own > 0) & (varies > 0)[:, None]).sum(axis=0).astype(np.float64)
    s, r = np.stack([advantages, rewards]) @ x
    return WithinSums(groups, s, r, varies @ own, own.sum(axis=0))
