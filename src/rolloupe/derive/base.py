"""`DerivedMetric`: one number or tag that follows from a sample; its input, and functions that many metrics share."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rolloupe import text
from rolloupe.derive.blocks import TaggedBlock, blocks_in_turns, blocks_of, may_exceed_parts, places_of
from rolloupe.model import LARGEST, SampleRow, Turn
from rolloupe.text.blocks import CHANNEL, is_stripped
from rolloupe.tokens import Floats, Reduced, TokenBatch

Value: TypeAlias = float | str | None
"""A number, the text of a tag, or None where the metric says nothing about a sample."""

BatchValues: TypeAlias = NDArray[Any] | Sequence[Value]
KL = ("kl", "kl_k3")  # the KL to the reference: as the framework recorded it, else k3


class SampleView:
    """One sample, as a metric sees it: its row, with its texts, and its response turn by turn."""

    def __init__(self, row: SampleRow) -> None:
        self.row = row
        self.prompt = row.prompt
        self.response = row.response

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns of the response: the record's own messages, or the turns in its text."""
        messages = self.row.messages
        if messages is None:
            return text.split_response(self.response, prompt=self.prompt)
        turns = [message for message in messages if isinstance(message, Turn)]
        return turns if len(turns) == len(messages) else text.from_messages(messages, "response")


class SampleBatch:
    """Some samples, with their texts."""

    def __init__(self, rows: Sequence[SampleRow]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def views(self) -> list[SampleView]:
        """The samples one by one."""
        return list(map(SampleView, self.rows))

    @cached_property
    def apart(self) -> list[int]:
        """The numbers of the samples to read turn by turn: those recorded as messages, and a few unclear texts."""
        return [number for number, blocks in enumerate(self._blocks) if blocks is None]

    @cached_property
    def blocks(self) -> dict[int, list[TaggedBlock]]:
        """The think blocks, tool calls and results in the other responses, by row; rows without any are left out."""
        return {number: blocks for number, blocks in enumerate(self._blocks) if blocks}

    @cached_property
    def _blocks(self) -> list[list[TaggedBlock] | None]:
        places = places_of([row.response for row in self.rows])
        return [_blocks_of(row, own) for row, own in zip(self.rows, places, strict=True)]


def _blocks_of(row: SampleRow, places: Sequence[int]) -> list[TaggedBlock] | None:
    response = row.response
    is_bare = text.is_bare(response) or is_stripped(response) or text.has_bare_turns(response, row.prompt)
    if row.messages is not None or is_bare or (places and may_exceed_parts(response)):
        return None
    if places and CHANNEL in response:  # calls of harmony have their names in headers
        return None
    for at in places:
        if text.begins_turn(response, at):
            return blocks_in_turns(response, places, at)
    return blocks_of(response, places) if places else []


class DerivedMetric(NamedTuple):
    """A derived metric. Give one of the functions, or `of_sample` and `of_batch`, which then must agree."""

    name: str  # Letters, digits and `_`; people ask for `derived.NAME`
    version: int  # raise it when values change: those of this metric, and no others, are computed again
    label: str
    unit: str = ""
    kind: str = "number"  # `number` or `tag`
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


def of_rows(value: Callable[[SampleRow], Value]) -> Callable[[SampleBatch], list[Value]]:
    """Make the `of_batch` of a metric from a function of one row."""
    return lambda batch: [value(row) for row in batch.rows]


def of_blocks(value: Callable[[list[TaggedBlock]], float]) -> Callable[[SampleBatch], list[float]]:
    """Make the `of_batch` of a metric from a function of the blocks of a response; without any, it is 0."""

    def of_batch(batch: SampleBatch) -> list[float]:
        values = [0.0] * len(batch)
        for number, blocks in batch.blocks.items():
            values[number] = value(blocks)
        return values

    return of_batch


def of_series(names: Sequence[str], value: Callable[[Reduced], Floats]) -> Callable[[TokenBatch], Floats]:
    """Make the `of_tokens` of a metric from the first of these series that samples have; NaN for samples without it."""

    def of_tokens(batch: TokenBatch) -> Floats:
        name = next((name for name in names if name in batch.series), None)
        return np.full(len(batch.rows), np.nan) if name is None else value(batch.reduced(name))

    return of_tokens


def largest(reduced: Reduced) -> Floats:
    """Return the largest value of each sample; an infinite one is the largest number, which columns can sort."""
    return np.clip(reduced.maxima, -LARGEST, LARGEST)


def mean(reduced: Reduced) -> Floats:
    """Return the mean of each sample."""
    return reduced.means
