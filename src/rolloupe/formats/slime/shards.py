"""Pieces of responses, as ranks hold them with context parallelism, put together.

Source: `get_logits_and_tokens_offset_with_cp` of slime and miles. A sequence is cut into twice as many chunks as there
are ranks; rank r holds the chunks r and 2n - 1 - r, so that all have as much to attend to. A logprob belongs to the
token behind its position, hence the 1 in the offsets.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rolloupe import tokens
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.pickles import simple

Lengths = tuple[int | None, int | None]


class Shard(NamedTuple):
    """Which piece of each response a rank holds: all of it if `size` is 1."""

    rank: int = 0
    size: int = 1
    is_known: bool = True
    """False for a dump from before miles recorded it."""

    @classmethod
    def of(cls, root: dict[Any, Any]) -> "Shard":
        """Read it from a dump."""
        rank, size = (fields.count(simple(root.get(key))) for key in ("cp_rank", "cp_size"))
        if rank is None or not size or root.get("qkv_format") not in (None, "thd"):
            return cls(is_known=rank is not None)
        return cls(rank, size)


def whole_response(pieces: Sequence[tuple[Shard, tokens.Floats, Lengths]]) -> tokens.Floats | None:
    """Return the values of a response from the pieces of its ranks; None if some are missing or do not fit."""
    total, response = pieces[0][2]
    for _, values, _ in pieces:
        if response is None or len(values) == response:
            return values
    if total is None or response is None:
        return None
    by_rank = {shard.rank: values for shard, values, _ in pieces}
    size = pieces[0][0].size
    if size < 2 or set(by_rank) != set(range(size)):
        return None
    found = np.full(response, np.nan)
    for rank, values in by_rank.items():
        taken = 0
        for start, stop in offsets(total, response, rank, size):
            count = max(0, stop - start)
            if taken + count > len(values):
                return None
            found[start : start + count] = values[taken : taken + count]
            taken += count
        if taken != len(values):
            return None
    return found


def offsets(total: int, response: int, rank: int, size: int) -> list[tuple[int, int]]:
    """Return where in the response the two pieces of a rank begin and end."""
    chunk = -(-total // (2 * size))
    first = total - response - 1
    found = []
    for number in (rank, 2 * size - 1 - rank):
        start, stop = max(number * chunk, first), min((number + 1) * chunk, total - 1)
        found.append((start - first, max(start, stop) - first))
    return found
