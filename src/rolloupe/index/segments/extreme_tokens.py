"""The most extreme tokens of a step, by token series: a few of the lowest and a few of the highest.

A scan gives the lowest and the highest token of each sample, and of these the most extreme `KEPT` are kept: so that
they are of as many samples, which is what a person wants to look into. They are packed, since a run of thousands of
steps has hundreds of thousands of them, and are put together over the pieces of a step only when they are asked for.
"""

import heapq
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from rolloupe.index.segments.index_row import IndexRow

KEPT = 16
"""More than a person looks into at a time; few enough to be held for every step of a run."""

_PLACE = struct.Struct("<dqq")
"""Value, token and first byte of the sample."""


class Extreme(NamedTuple):
    """A value, the token of a sample at which it stands, and where that sample lies."""

    value: float
    token: int
    start: int
    part: str
    source: str = ""


class Extremes(Struct, array_like=True, frozen=True):
    """A few tokens of samples of one source, the most extreme first."""

    packed: bytes = b""
    parts: list[str] = []
    """One for each, or none where all are empty."""

    def unpacked(self, source: str) -> Iterator[Extreme]:
        """The tokens one by one."""
        for number, (value, token, start) in enumerate(_PLACE.iter_unpack(self.packed)):
            yield Extreme(value, token, start, self.parts[number] if self.parts else "", source)


def most_extreme(found: Iterable[Extreme], *, highest: bool) -> list[Extreme]:
    """The most extreme of some tokens, the first in the order of the files where values are equal."""
    sign = -1.0 if highest else 1.0
    return heapq.nsmallest(KEPT, found, key=lambda one: (sign * one.value, one.source, one.start, one.part))


def extremes_of(entries: Iterable[IndexRow], name: str, *, highest: bool) -> Extremes:
    """The most extreme tokens of a series among samples of one source."""
    found = []
    for row, *_ in entries:
        if (facts := row.series.get(name)) is not None:
            value, token = (facts.max, facts.max_at) if highest else (facts.min, facts.min_at)
            found.append(Extreme(value, token, row.start, row.part))
    kept = most_extreme(found, highest=highest)
    parts = [one.part for one in kept]
    return Extremes(b"".join(_PLACE.pack(*one[:3]) for one in kept), parts if any(parts) else [])
