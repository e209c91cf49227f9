"""The most extreme tokens of a step, by token series: a few of the lowest and a few of the highest.

A scan yields the lowest and the highest token of each sample, and the index keeps the `MAX_TOKENS` most extreme of
these: each belongs to another sample, as a person wants to see different samples. They are stored in packed form, since
a run of thousands of steps has hundreds of thousands of them; a query merges those of the pieces of one step.
"""

import heapq
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from rolloupe.model import SampleRow

MAX_TOKENS = 16
"""More than a person looks into at a time; few enough to keep in memory for every step of a run."""

_PLACE = struct.Struct("<dqq")
"""Value, token, and first byte of the sample."""


class Extreme(NamedTuple):
    """A value, the number of its token, and the location of the sample."""

    value: float
    token: int
    start: int
    part: str
    source: str = ""


class Extremes(Struct, array_like=True, frozen=True):
    """A few tokens from samples of one source, the most extreme first."""

    packed: bytes = b""
    parts: list[str] = []
    """The part of each token's sample; empty if all are empty."""

    def unpacked(self, source: str) -> Iterator[Extreme]:
        """The tokens one by one."""
        for number, (value, token, start) in enumerate(_PLACE.iter_unpack(self.packed)):
            yield Extreme(value, token, start, self.parts[number] if self.parts else "", source)


def most_extreme(tokens: Iterable[Extreme], *, highest: bool) -> list[Extreme]:
    """The most extreme of some tokens; those of equal value in the order of the files."""
    sign = -1.0 if highest else 1.0
    return heapq.nsmallest(MAX_TOKENS, tokens, key=lambda one: (sign * one.value, one.source, one.start, one.part))


def extremes_of(rows: Iterable[SampleRow], name: str, *, highest: bool) -> Extremes:
    """The most extreme tokens of a series among samples of one source."""
    candidates = []
    for row in rows:
        if (facts := row.series.get(name)) is not None:
            value, token = (facts.max, facts.max_at) if highest else (facts.min, facts.min_at)
            candidates.append(Extreme(value, token, row.start, row.part))
    tokens = most_extreme(candidates, highest=highest)
    parts = [token.part for token in tokens]
    return Extremes(b"".join(_PLACE.pack(*token[:3]) for token in tokens), parts if any(parts) else [])
