"""Which token of a sample a value belongs to: every writer cuts arrays and token strings by this rule.

Positions count from the first of `token_ids`. A series begins at its `offset`; the token strings, those of the
response, end at the last token. Values move as a block, and gaps stay gaps.
"""

from typing import NamedTuple

import numpy as np

from rolloupe import tokens
from rolloupe.model import Sample, TokenSeries


class ResponseExtent(NamedTuple):
    """Where the response begins and ends among the tokens of a sample."""

    start: int
    stop: int


def spread(series: TokenSeries, size: int, start: int = 0) -> tokens.Floats:
    """Return the values of the tokens `start` to `start + size`, NaN for missing ones, shape (size,)."""
    found = np.full(size, np.nan)
    first, last = max(series.offset, start), min(series.offset + len(series.values), start + size)
    if first < last:
        found[first - start : last - start] = series.values[first - series.offset : last - series.offset]
    return found


def length_of(sample: Sample) -> int:
    """Return the number of tokens of a sample: of its ids, else of its series."""
    return len(sample.token_ids) or max((one.offset + len(one.values) for one in sample.series), default=0)


def response_of(sample: Sample) -> ResponseExtent:
    """Return the extent of the response: of its token strings, else of all after the prompt, else of all tokens."""
    size, row = length_of(sample), sample.row
    if sample.token_strings:
        start = max(0, size - len(sample.token_strings))
        return ResponseExtent(start, start + len(sample.token_strings))
    if sample.token_ids and row.prompt_tokens is not None:
        return ResponseExtent(min(row.prompt_tokens, size), size)
    mask = next((one for one in sample.series if one.name == "loss_mask"), None)
    sampled = np.flatnonzero(spread(mask, size) == 1) if mask is not None else np.zeros(0, np.int64)
    if sampled.size:
        return ResponseExtent(int(sampled[0]), size)
    if sample.token_ids and row.response_tokens is not None:
        return ResponseExtent(max(0, size - row.response_tokens), size)
    return ResponseExtent(0, size)
