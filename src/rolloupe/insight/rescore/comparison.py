"""Compares old rewards with new scores, group by group; keeps no sample."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from rolloupe.insight.rescore.process import Graded

TOLERANCE = 1e-9
"""Rewards that differ by less, relative to the larger, are equal: sums of parts round differently."""


class RewardChange(Struct, frozen=True, kw_only=True):
    """How new scores differ from the rewards of the run, over the samples that have both, finite."""

    samples: int
    equal: float | None
    """The share of samples whose score is the reward."""
    correlation: float | None
    """Pearson's r; None if the rewards or the scores never vary."""
    sign_changes: float | None
    """The share of samples, in groups of two and more, whose centred reward has another sign: +, 0 or -."""
    groups: int
    """The groups of two and more."""
    dead_before: int
    """The groups in which all rewards are equal."""
    dead_after: int
    first_steps: tuple[int, int] | None
    """The first tenth of the steps: its first and its last one."""
    last_steps: tuple[int, int] | None
    old_first: float | None
    """The mean reward over the first tenth of the steps."""
    old_last: float | None
    new_first: float | None
    new_last: float | None
    grader_share: float | None
    """The part of the gain that was the old grader's: 1 - (gain of the score) / (gain of the reward).

    None unless the reward rose.
    """


class Comparison:
    """Adds groups up to a `RewardChange`. `steps` are all steps of the comparison, in order."""

    def __init__(self, steps: Sequence[int]) -> None:
        tenth = math.ceil(len(steps) / 10)
        self._ends = (steps[:tenth], steps[-tenth:]) if len(steps) > 1 else ((), ())
        self._sums = np.zeros((2, 2))
        """The sums of rewards and scores, in the first and in the last tenth of the steps."""
        self._counts = np.zeros(2)
        self._mean, self._moments = np.zeros(2), np.zeros((2, 2))
        """The mean reward and score, and the sums of the products of their deviations (Welford)."""
        self._samples = self._equal = self._compared = self._changed = 0
        self._groups = self._dead_before = self._dead_after = 0

    def add(self, group: Sequence[Graded]) -> None:
        """Add the samples of one group."""
        both = [(graded.item.reward, graded.verdict.score) for graded in group]
        pairs = [(old, new) for old, new in both if old is not None and new is not None and math.isfinite(old)]
        if not pairs:
            return
        values, before = np.array(pairs), self._samples
        for end, steps in enumerate(self._ends):
            if group[0].item.step in steps:
                self._sums[end] += values.sum(axis=0)
                self._counts[end] += len(pairs)
        self._samples += len(pairs)
        self._equal += sum(is_same(old, new) for old, new in pairs)
        mean = values.mean(axis=0)
        centred, gap = values - mean, mean - self._mean
        self._mean += gap * len(pairs) / self._samples
        self._moments += centred.T @ centred + np.outer(gap, gap) * len(pairs) * before / self._samples
        if len(pairs) > 1:
            old_signs, new_signs = (signs(column) for column in values.T.tolist())
            self._groups += 1
            self._dead_before += not any(old_signs)
            self._dead_after += not any(new_signs)
            self._compared += len(pairs)
            self._changed += sum(old != new for old, new in zip(old_signs, new_signs, strict=True))

    def change(self) -> RewardChange:
        """Return the change over all groups."""
        first, last = ((steps[0], steps[-1]) if steps else None for steps in self._ends)
        ends = zip(self._sums.tolist(), self._counts.tolist(), strict=True)
        means = [total / count if count else None for totals, count in ends for total in totals]
        old_first, new_first, old_last, new_last = means
        scale = float(np.prod(np.sqrt(np.diag(self._moments))))
        return RewardChange(
            samples=self._samples, equal=self._equal / self._samples if self._samples else None,
            correlation=max(-1.0, min(1.0, float(self._moments[0, 1]) / scale)) if scale > 0 else None,
            sign_changes=self._changed / self._compared if self._compared else None,
            groups=self._groups, dead_before=self._dead_before, dead_after=self._dead_after,
            first_steps=first, last_steps=last, old_first=old_first, old_last=old_last,
            new_first=new_first, new_last=new_last,
            grader_share=grader_share(old_first, old_last, new_first, new_last),
        )  # fmt: skip


def grader_share(
    old_first: float | None, old_last: float | None, new_first: float | None, new_last: float | None
) -> float | None:
    """Return the part of the gain that was the old grader's; None unless the old reward rose."""
    if old_first is None or old_last is None or new_first is None or new_last is None:
        return None
    if old_last <= old_first or is_same(old_first, old_last):
        return None
    return 1 - (new_last - new_first) / (old_last - old_first)


def signs(rewards: Sequence[float]) -> list[int]:
    """Return the signs of the rewards of a group, centred; 0 for all if the rewards are equal."""
    least, most = min(rewards), max(rewards)
    if is_same(least, most):
        return [0] * len(rewards)
    mean = least + sum(reward - least for reward in rewards) / len(rewards)
    near = TOLERANCE * (most - least)
    return [(reward - mean > near) - (reward - mean < -near) for reward in rewards]


def is_same(one: float, other: float) -> bool:
    """Return whether two numbers differ by rounding at most."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
