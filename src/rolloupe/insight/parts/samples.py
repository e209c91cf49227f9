"""The parts of the reward, and the samples that explain them."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.features import BLOCK_SAMPLES, Floats, Grouping
from rolloupe.index import OpenRun
from rolloupe.insight.findings.correctness import NAMES, bare
from rolloupe.query import SampleWords

REWARD = "reward"

PREFIX = "reward."
"""What formats put before the parts that a framework calls so."""

_WORDED = re.compile(r"(^|[_/.])rewards?(_func|_fn)?$|^rewards?/", re.IGNORECASE)
_WHOLE = frozenset({"raw_reward", "normalized_reward", "final_reward", "ref_reward", "total_reward", "reward"})


def parts_of(run: OpenRun, metrics: Sequence[str]) -> list[str]:
    """The sample metrics that are parts of the reward, in their order.

    Those called `reward.NAME`; without any, those that the run declares with a range, whose name ends with reward, or
    whose name says correctness.
    """
    named = [name for name in metrics if name.startswith(PREFIX)]
    declared = {name for name, _, _ in run.info.metric_ranges}
    return named or [
        name
        for name in metrics
        if name.lower() not in _WHOLE and (name in declared or _WORDED.search(name) or bare(name) in NAMES)
    ]


MOST_SAMPLES = 2 * BLOCK_SAMPLES
"""The most samples to fit, half of them for the choice of terms."""

FLAT = 1e-9
"""Less is a rounding error."""


class PartValues(NamedTuple):
    """A part of the reward for each sample: arrays of shape (N,)."""

    name: str
    values: Floats
    """NaN for none."""
    centred: Floats
    """Less the mean of the group; 0 in groups where a sample has none."""
    known: NDArray[np.bool_]
    """True in groups where each sample has one."""

    def groups(self, grouping: Grouping) -> NDArray[np.bool_]:
        """True for the groups where it varies, shape (G,)."""
        varies: NDArray[np.bool_] = grouping.sums(self.centred**2) > FLAT
        return varies

    def spread(self, grouping: Grouping) -> float:
        """The standard deviation among siblings, over the groups where each sample has it."""
        freedom = int(self.known.sum()) - len(np.unique(grouping.numbers[self.known]))
        return math.sqrt(float(self.centred @ self.centred) / freedom) if freedom else 0.0


def some_groups(of: SampleWords) -> SampleWords:
    """At most `MOST_SAMPLES` of the samples: whole groups, evenly over all of them."""
    if of.size <= MOST_SAMPLES:
        return of
    stride = -(-of.size // MOST_SAMPLES)
    kept = (np.arange(len(of.grouping)) % stride == 0)[of.grouping.numbers]
    number = np.cumsum(kept) - 1
    words = kept[of.samples]
    return SampleWords(
        of.pieces, of.piece[kept], of.row[kept], of.step[kept], Grouping(of.grouping.numbers[kept]),
        of.advantages[kept], of.rewards[kept], of.words[words], number[of.samples[words]],
        {name: values[kept] for name, values in of.behaviours.items()},
    )  # fmt: skip


def values_of(run: OpenRun, of: SampleWords, name: str) -> PartValues:
    """A part of the reward of some samples, by the name of the metric. Raises as `database.ask`."""
    values = query.sample_metric(run, run.snapshot(), of, name)
    centred = of.grouping.centred(values)
    known = np.isfinite(centred)
    return PartValues(name, values, np.where(np.abs(centred) > FLAT, np.nan_to_num(centred), 0), known)


def reward_of(of: SampleWords) -> PartValues:
    """The reward as a whole; its values are known but for the mean of each group."""
    return PartValues(REWARD, of.rewards, of.rewards, np.ones(of.size, np.bool_))
