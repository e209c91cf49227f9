"""Which token of a sample a value belongs to: the one rule by which every writer cuts arrays and tokens, or neither.

Places count from the first of `token_ids`. A series begins at its `offset`, and the token strings, which are those of
the response, end where the tokens end. Values are moved as a block, never closed up where some are absent.
"""

from typing import NamedTuple

import numpy as np

from rolloupe import tokens
from rolloupe.model import Sample, TokenSeries


class ResponseExtent(NamedTuple):
    """Where the response of a sample begins and ends among its tokens."""

    start: int
    stop: int


def spread(series: TokenSeries, size: int, start: int = 0) -> tokens.Floats:
    """Return the values of the tokens `start` to `start + size`, NaN where there are none, shape (size,)."""
    found = np.full(size, np.nan)
    first, last = max(series.offset, start), min(series.offset + len(series.values), start + size)
    if first < last:
        found[first - start : last - start] = series.values[first - series.offset : last - series.offset]
    return found


def length_of(sample: Sample) -> int:
    """Return how many tokens a sample has, as far as its ids, or else its series, say."""
    return len(sample.token_ids) or max((one.offset + len(one.values) for one in sample.series), default=0)


def response_of(sample: Sample) -> ResponseExtent:
    """Return the extent of the response: of its token strings, else of what follows the prompt, else of everything."""
    size, row = length_of(sample), sample.row
    if sample.tokens:
        start = max(0, size - len(sample.tokens))
        return ResponseExtent(start, start + len(sample.tokens))
    if sample.token_ids and row.prompt_tokens is not None:
        return ResponseExtent(min(row.prompt_tokens, size), size)
    mask = next((one for one in sample.series if one.name == "loss_mask"), None)
    sampled = np.flatnonzero(spread(mask, size) == 1) if mask is not None else np.zeros(0, np.int64)
    if sampled.size:
        return ResponseExtent(int(sampled[0]), size)
    if sample.token_ids and row.response_tokens is not None:
        return ResponseExtent(max(0, size - row.response_tokens), size)
    return ResponseExtent(0, size)
