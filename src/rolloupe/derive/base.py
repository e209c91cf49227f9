"""`DerivedMetric`: one number that follows from a sample; its input, and functions that many metrics share."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import re2
from numpy.typing import NDArray

from rolloupe import text
from rolloupe.derive.blocks import TaggedBlock, blocks_in_turns, blocks_of, may_exceed_parts, places_of
from rolloupe.derive.text_array import Letters, Sentences, TextArray, encoded, letters_of, sentences_of
from rolloupe.model import LARGEST, SampleRow, Turn
from rolloupe.text.blocks import CHANNEL, is_stripped
from rolloupe.tokens import Floats, Reduced, TokenBatch

Value: TypeAlias = float | None
"""A number, or None if the metric does not apply to a sample."""

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
    def written(self) -> list[str]:
        """The responses; of one that is recorded as messages, what the model wrote, not users and tools."""
        return [view.response if view.row.messages is None else _written(view.turns) for view in self.views]

    @cached_property
    def prompts(self) -> tuple[list[SampleRow], NDArray[np.int64]]:
        """A sample of each prompt, as siblings share one, and the number of the prompt of each sample, shape (N,)."""
        firsts, numbers = list[SampleRow](), list[int]()
        for row in self.rows:
            if not firsts or (row.question, row.prompt) != (firsts[-1].question, firsts[-1].prompt):
                firsts.append(row)
            numbers.append(len(firsts) - 1)
        return firsts, np.array(numbers, np.int64)

    @cached_property
    def joined(self) -> TextArray:
        """`written` as one array."""
        return TextArray(self.written)

    @cached_property
    def sentences(self) -> Sentences:
        """The long sentences in `written`."""
        return sentences_of(self.joined)

    @cached_property
    def letters(self) -> Letters:
        """The numbers of letters in each of `written`."""
        return letters_of(self.joined)

    @cached_property
    def matching(self) -> Mapping[int, list[int]]:
        """By the number of a matcher, the indices of the samples in which it matches what the model wrote."""
        matches = _all_matchers(len(Matcher.expressions)).Match
        matching = defaultdict[int, list[int]](list)
        for index, written in enumerate(self.joined.encoded):
            for number in matches(written) or ():
                matching[number].append(index)
        return matching

    @cached_property
    def apart(self) -> list[int]:
        """The indices of the samples to read turn by turn: samples recorded as messages, and a few unclear texts."""
        return [number for number, blocks in enumerate(self._blocks) if blocks is None]

    @cached_property
    def blocks(self) -> dict[int, list[TaggedBlock]]:
        """The think blocks, tool calls and results in the other responses, by row; omits rows without any."""
        return {number: blocks for number, blocks in enumerate(self._blocks) if blocks}

    @cached_property
    def _blocks(self) -> list[list[TaggedBlock] | None]:
        return [_blocks_of(row, own) for row, own in zip(self.rows, places_of(self.joined), strict=True)]


def _written(turns: Sequence[Turn]) -> str:
    parts = (part for turn in turns if turn.role not in ("user", "tool", "system", "developer") for part in turn.parts)
    own = (part for part in parts if part.kind != "tool_result")
    return "\n".join(part.text if part.raw is None else part.raw for part in own)


def _blocks_of(row: SampleRow, places: Sequence[int]) -> list[TaggedBlock] | None:
    response = row.response
    is_bare = text.is_bare(response) or is_stripped(response) or text.has_bare_turns(response, row.prompt)
    if row.messages is not None or is_bare or (places and may_exceed_parts(response)):
        return None
    if places and CHANNEL in response:  # harmony names a call in its header
        return None
    for at in places:
        if text.begins_turn(response, at):
            return blocks_in_turns(response, places, at)
    return blocks_of(response, places) if places else []


class DerivedMetric(NamedTuple):
    """A derived metric. Give one of the functions, or `of_sample` and `of_batch`, which then must agree."""

    name: str  # Letters, digits and `_`; people ask for `derived.NAME`
    version: int  # raise it when values change: only this metric is computed again
    label: str
    unit: str = ""
    of_sample: Callable[[SampleView], Value] | None = None
    of_batch: Callable[[SampleBatch], Floats | Sequence[Value]] | None = None
    """A value for each of many samples, NaN for None: for metrics that are faster on arrays."""
    of_tokens: Callable[[TokenBatch], Floats] | None = None
    """A value for each sample from its token series, NaN for None. A pass of its own computes them."""
    behaviour: str = ""
    """The habit that a high value shows, in a few words; findings check whether the reward pays for it."""
    pattern: str = ""
    """A case-insensitive RE2 expression that matches the habit in a response; empty if no expression can."""
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
    """Return the largest value of each sample; an infinite value becomes the largest float, which columns can sort."""
    return np.clip(reduced.maxima, -LARGEST, LARGEST)


def mean(reduced: Reduced) -> Floats:
    """Return the mean of each sample."""
    return reduced.means


class Matcher:
    """Counts the matches of a case-insensitive expression, which must not match the empty text.

    `of_batch` reads the first `first_chars` characters of each response; None for all. One search of a text for the
    expressions of all matchers takes as long as a search for one; those that match are then counted.
    """

    expressions: ClassVar[list[str]] = []
    """The expressions of all matchers, by their numbers."""

    def __init__(self, *alternatives: str, first_chars: int | None = None) -> None:
        self._first_chars = first_chars
        self.expression = "|".join(alternatives)
        self._pattern = re2.compile(_insensitive(self.expression))
        self._number = len(self.expressions)
        self.expressions.append(self.expression)

    def samples(self, batch: SampleBatch) -> list[int]:
        """Return the indices of the samples in which it matches what the model wrote."""
        return batch.matching.get(self._number, [])

    def of_batch(self, batch: SampleBatch, measure: Callable[[list[bytes]], float] = len) -> NDArray[np.float64]:
        """Return how many matches each sample has in what the model wrote, or another measure of its matches."""
        values = np.zeros(len(batch))
        for index in self.samples(batch):
            written = batch.joined.encoded[index]
            if self._first_chars is not None:
                written = encoded(batch.written[index][: self._first_chars])
            values[index] = measure([match[0] for match in self._pattern.finditer(written)])
        return values


def _insensitive(expression: str) -> bytes:
    return f"(?i)(?:{expression})".encode()


@cache
def _all_matchers(count: int) -> "re2.Set":
    """Return the first matchers as a set that tells which of them match a text."""
    found = re2.Set.SearchSet()
    for expression in Matcher.expressions[:count]:
        found.Add(_insensitive(expression))
    found.Compile()
    return found


def phrase_metric(
    name: str, version: int, label: str, *phrases: str, unit: str, behaviour: str, first_chars: int | None = None
) -> DerivedMetric:
    """Return a metric that counts phrases (RE2 expressions) in a response, or in its first characters."""
    matcher = Matcher(*phrases, first_chars=first_chars)
    pattern, of_batch = matcher.expression, matcher.of_batch
    return DerivedMetric(name, version, label, unit=unit, of_batch=of_batch, behaviour=behaviour, pattern=pattern)
