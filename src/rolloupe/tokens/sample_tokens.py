"""The tokens of one sample as arrays over all of its tokens."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rolloupe.model import Sample, TokenSeries
from rolloupe.tokens.arrays import MASKS, Floats, beside, mask_of, packed, under_mask

T = TypeVar("T")

MAX_TOKENS = 2**21
"""Tokens of one sample that are read: compression lets a file of a kilobyte claim millions."""

MAX_VALUES = 2**24
"""Values in all recorded series of one sample: with many series, fewer tokens are read."""


def most_tokens(series: int) -> int:
    """Return how many tokens of a sample with so many series are read."""
    return min(MAX_TOKENS, MAX_VALUES // max(1, series))


class SampleTokens(NamedTuple):
    """The token series of a sample that its record holds, each of shape (T,) with NaN for a token without a value."""

    total: int
    """T."""
    series: Mapping[str, Floats]
    derived: frozenset[str] = frozenset()
    """The series that the format computed."""
    ids: NDArray[np.int64] | None = None
    """The ids of the first tokens; None if the record holds none."""
    strings: Sequence[str] = ()
    """The strings of the last tokens."""
    advantage: float | None = None
    """The advantage of the sample; None if that of its row counts."""


def hide_masked(series: Sequence[TokenSeries], masks: Sequence[str] = MASKS) -> None:
    """Blank the values of series where the first of some masks among them is 0; `stored` has all of them.

    A token that was not sampled, or padding, has no meaningful logprob.
    """
    mask = mask_of({one.name: np.array(one.values) for one in series if one.name in masks}, masks)
    for one in series:
        if mask is not None and one.name not in MASKS:
            stored = np.array(one.values if one.stored is None else one.stored)
            values = under_mask(np.array(one.values), mask)
            one.stored, one.values = beside(stored, values), packed(values)


def token_count(sample: Sample) -> int:
    """Return the number of tokens of a sample, as far as its ids, its strings and its series show it."""
    ends = (one.offset + len(one.values) for one in sample.series)
    return max(len(sample.token_ids), len(sample.token_strings), *ends, 0)


def cut_tokens(sample: Sample) -> None:
    """Leave out the tokens beyond those that are read, with a note."""
    total, most = token_count(sample), most_tokens(len(sample.series))
    if total <= most:
        return
    sample.notes.append(f"the record holds {total:,} tokens: the first {most:,} are shown")
    sample.unread_tokens = total - most
    sample.token_ids = sample.token_ids[:most]
    sample.token_strings = _of_last(sample.token_strings, total, most)
    sample.top_logprobs = _of_last(sample.top_logprobs, total, most)
    sample.series = [one for one in sample.series if one.offset < most]
    for one in sample.series:
        one.values = one.values[: most - one.offset]
        one.stored = None if one.stored is None else one.stored[: most - one.offset]


def first_tokens(found: SampleTokens) -> SampleTokens:
    """Return the tokens of a sample that are read, the others left out."""
    most = most_tokens(len(found.series))
    if found.total <= most:
        return found
    return found._replace(
        total=most,
        series={name: values[:most] for name, values in found.series.items()},
        ids=None if found.ids is None else found.ids[:most],
        strings=_of_last(found.strings, found.total, most),
    )


def _of_last(some: Sequence[T], total: int, most: int) -> list[T]:
    """What belongs to the last of `total` tokens, for those among the first `most`."""
    return [*some[: max(0, most - (total - len(some)))]]


def tokens_of(sample: Sample) -> SampleTokens:
    """Return the tokens of a whole sample."""
    total = token_count(sample)
    return SampleTokens(
        total,
        {one.name: values_between(one, 0, total) for one in sample.series},
        frozenset(one.name for one in sample.series if one.is_derived),
        np.array(sample.token_ids, np.int64) if sample.token_ids else None,
        sample.token_strings,
        sample.row.advantage,
    )


def values_between(series: TokenSeries, start: int, stop: int) -> Floats:
    """Return the values of the tokens `start` to `stop`, NaN where the series has none."""
    values = np.full(stop - start, np.nan)
    first, last = max(series.offset, start), min(series.offset + len(series.values), stop)
    if first < last:
        values[first - start : last - start] = np.asarray(series.values)[first - series.offset : last - series.offset]
    return values
