"""The tokens of one sample as arrays over all of its tokens."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.model import Sample, TokenSeries
from rolloupe.tokens.arrays import MASKS, Floats, beside, mask_of, packed, under_mask


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
