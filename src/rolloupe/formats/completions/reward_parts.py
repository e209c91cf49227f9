"""Rows with a column for each reward function and none for their sum, as TRL and ms-swift log completions."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.model import Locator, Sample, SampleRow

UNWEIGHTED = "the reward is the sum of its parts without weights: the file holds neither a total nor weights"

_MEAN = re.compile(r"(?:train/|eval/|eval_)?rewards/(?P<name>.+)/mean")
"""The metric of a reward function in TRL."""

_LEFT_OUT = dict.fromkeys(("messages", "score", "group", "env", "status_key"))


class RewardFunctions(NamedTuple):
    """What a run says about its reward functions."""

    weights: Sequence[float] | None = None
    """In the order of their columns; empty: 1 for each; None: unknown."""
    names: Sequence[str] = ()
    """Empty: unknown."""

    def among(self, columns: Sequence[str]) -> list[str]:
        """Return the reward functions among the columns of numbers behind the completion; others may follow them."""
        return [one for one in columns if one in self.names] or [*columns[: len(self.weights or columns)]]

    def fit(self, names: Sequence[str]) -> bool:
        """Tell whether the weights are those of these functions; what an environment adds has none, and counts 1."""
        return self.weights is not None and len(self.weights) <= len(names)

    def total(self, names: Sequence[str], parts: Mapping[str, float]) -> float | None:
        """Return the sum by weight of the parts that are numbers, as TRL's `nansum`."""
        weights = dict(zip(names, self.weights or (), strict=False)) if self.fit(names) else {}
        finite = [value * weights.get(name, 1.0) for name, value in parts.items() if value == value]
        return sum(finite) if finite else None


def reward_functions(config: object, metrics: Iterable[Iterable[str]]) -> RewardFunctions:
    """Return what TRL's configuration and the names of the metrics in its first rows say."""
    found = config.get("reward_weights", 0) if isinstance(config, dict) else 0
    weights = [fields.number(one) for one in found] if isinstance(found, list) else [] if found is None else [None]
    named = ([match["name"] for one in row if (match := _MEAN.fullmatch(one))] for row in metrics)
    known = [one for one in weights if one is not None and math.isfinite(one)]
    return RewardFunctions(
        tuple(known) if len(known) == len(weights) else None, tuple(next((names for names in named if names), ()))
    )


class RewardParts(NamedRows):
    """A format whose rows have prompt, completion and the values of reward functions."""

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: the trainer's own names, whatever reward functions and extra columns are called."""
        found = super().roles(record)
        own = {role: key for role, key in _OWN.items() if key in record}
        return found._replace(**(dict.fromkeys(_OWN) | own | _LEFT_OUT), counts={})

    def summed(
        self, row: SampleRow, names: Sequence[str], values: dict[str, Any], known: RewardFunctions | None = None
    ) -> SampleRow:
        """Make the reward functions of a row parts of its reward, by weight if those are known."""
        parts = {name: value for name in names if (value := fields.number(values.get(name))) is not None}
        row.metrics = {name: value for name, value in row.metrics.items() if name not in names}
        row.metrics |= {f"reward.{name}": value for name, value in parts.items()}
        row.reward = (known or RewardFunctions()).total(names, parts)
        return row

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`."""
        sample = super().sample(record, row, locator)
        parts = {name for name in sample.extra if f"reward.{name}" in row.metrics}
        sample.extra = {name: value for name, value in sample.extra.items() if name not in parts}
        if row.reward is not None:
            sample.notes.append(UNWEIGHTED)
        return sample


_OWN = {"prompt": "prompt", "response": "completion", "step": "step"}
