"""The samples of a window, and how much each pulls."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.features import Floats, Grouping, Places, divided
from rolloupe.index import OpenRun
from rolloupe.index.features import LARGEST
from rolloupe.insight.gradient.records import GradientShare
from rolloupe.query import GROUP, SampleQuery
from rolloupe.tokens.ratios import EQUAL

Mask = NDArray[np.bool_]
_Value = TypeVar("_Value", np.float64, np.bool_)

COLUMNS = ("step", "reward", "advantage", "env", "status", "discarded", "response_tokens", "response_chars")


class Pulls:
    """Samples with a reward, group by group: arrays of shape (N,), or (G,) by group.

    A trained sample pulls by the square of its advantage, one that was discarded not at all.
    """

    def __init__(self, run: OpenRun, scope: SampleQuery, env: str | None, correct: str) -> None:
        self._run = run
        self._arrays = query.sample_arrays(run, scope, [*COLUMNS, *([correct] if correct else [])])
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
        """The largest or the least value of each group."""
        found: Floats = which.reduceat(values, self.grouping.starts) if len(values) else values
        return found

    def sums(self, values: Floats | Mask) -> Floats:
        """The sums over each group."""
        return self.grouping.sums(values.astype(np.float64))

    def spread(self, of_groups: NDArray[_Value]) -> NDArray[_Value]:
        """To each sample the value of its group."""
        return of_groups[self.grouping.numbers]

    def numbers(self, name: str) -> Floats:
        """A column of numbers; NaN for none."""
        return self._arrays.numbers(name)[self._own]

    def words(self, name: str) -> NDArray[np.object_]:
        """A column of words; empty for none."""
        return self._arrays.words(name)[self._own]

    def ids(self, groups: Places) -> list[str]:
        """The id of a sample of each of some groups."""
        return self._arrays.ids(self._run, self._own[self.grouping.starts[groups]].tolist())

    def share(self, name: str, some: Mask, where: str = "") -> GradientShare:
        """The share of some samples, as far as they were trained on."""
        some = some & self.trained
        return GradientShare(
            name=name, where=where, samples=int(some.sum()), groups=int((self.sums(some) > 0).sum()),
            on_rewards=_part(self.on_rewards, some), on_std=_part(self.on_std, some),
            recorded=None if self.recorded is None else _part(self.recorded, some),
        )  # fmt: skip


def _part(pulls: Floats, some: Mask) -> float:
    whole = float(pulls.sum())
    return float(pulls[some].sum()) / whole if whole else 0.0
