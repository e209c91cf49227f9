"""Rows with a column for each reward function and none for their sum, as TRL and ms-swift log completions."""

from collections.abc import Sequence
from typing import Any

from rolloupe.formats.generic.keys import Roles
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import Record
from rolloupe.model import Locator, Sample, SampleRow

UNWEIGHTED = "the reward is the sum of its parts without weights: the file holds neither a total nor weights"

_LEFT_OUT = dict.fromkeys(("messages", "score", "group", "env", "status_key"))


class RewardParts(NamedRows):
    """A format whose rows have prompt, completion and the values of reward functions."""

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`: the trainer's own names, whatever reward functions and extra columns are called."""
        found = super().roles(record)
        own = {role: key for role, key in _OWN.items() if key in record}
        return found._replace(**(dict.fromkeys(_OWN) | own | _LEFT_OUT), counts={})

    def summed(
        self, row: SampleRow, names: Sequence[str], values: dict[str, Any], weights: Sequence[float] = ()
    ) -> SampleRow:
        """Make the reward functions of a row parts of its reward, by weight if there are any."""
        parts = {name: value for name in names if (value := fields.number(values.get(name))) is not None}
        by_name = dict(zip(names, weights, strict=False))
        finite = [value * by_name.get(name, 1.0) for name, value in parts.items() if value == value]  # as in nansum
        row.metrics = {name: value for name, value in row.metrics.items() if name not in names}
        row.metrics |= {f"reward.{name}": value for name, value in parts.items()}
        row.reward = sum(finite) if finite else None
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
