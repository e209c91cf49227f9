"""`DerivedMetric`: one number or tag that follows from a sample."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from rolloupe.derive.batch import SampleBatch, SampleView
from rolloupe.model import SampleRow
from rolloupe.tokens import Floats, TokenBatch

Value: TypeAlias = float | str | None
"""A number, the text of a tag, or None where the metric says nothing about a sample."""

BatchValues: TypeAlias = NDArray[Any] | Sequence[Value]


def of_rows(value: Callable[[SampleRow], Value]) -> Callable[[SampleBatch], list[Value]]:
    """Make the `of_batch` of a metric from a function of one row."""
    return lambda batch: [value(row) for row in batch.rows]


class DerivedMetric(NamedTuple):
    """A derived metric. Give one of the functions, or `of_sample` and `of_batch`, which then must agree."""

    name: str
    """Letters, digits and `_`; people ask for `derived.NAME`."""
    version: int
    """Raise it when values change: those of this metric, and no others, are computed again."""
    label: str
    unit: str = ""
    kind: str = "number"
    """`number` or `tag`."""
    of_sample: Callable[[SampleView], Value] | None = None
    of_batch: Callable[[SampleBatch], BatchValues] | None = None
    """A value for each of many samples, NaN for None: for metrics that arrays compute quicker."""
    of_siblings: Callable[[Sequence[SampleView]], Sequence[Value]] | None = None
    """A value for each sample of a group at a step. A group that lies in several parts of a file has none."""
    of_tokens: Callable[[TokenBatch], Floats] | None = None
    """A value for each sample from its token series, NaN for None. A pass of its own computes them."""
    behaviour: str = ""
    """The habit that a high value shows, in a few words: findings look whether the reward pays for it."""
    pattern: str = ""
    """An expression of RE2 for the places of the response that count, in any case; empty where none shows them."""
    reads_turns: bool = False
    """True if `of_batch` reads `SampleBatch.blocks` alone: the samples in `SampleBatch.apart` go to `of_sample`."""
