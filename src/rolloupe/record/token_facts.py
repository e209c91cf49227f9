"""The token series of one sample: its token counts, and the statistics that its line stores."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from rolloupe import tokens
from rolloupe.record.values.arrays import Array

IDS = "token_ids"
MASK = "loss_mask"


def counts_of(
    arrays: Mapping[str, Array], prompt_tokens: int | None, response_tokens: int | None, pieces: Sequence[str] | None
) -> dict[str, int]:
    """Return `prompt_tokens` and `response_tokens`, as given or derived from the arrays.

    A series shorter than `token_ids` covers the response; if all have the same length, the loss mask shows where the
    response begins.
    """
    ids, mask = arrays.get(IDS), arrays.get(MASK)
    lengths = [len(values) for name, values in arrays.items() if name != IDS]
    shortest = min(lengths, default=None)
    if ids is not None and shortest is not None and shortest > len(ids):
        shortest = None  # a series longer than all tokens tells nothing about a part of them
    response = response_tokens if response_tokens is not None else len(pieces) if pieces is not None else None
    if response is None and ids is not None and prompt_tokens is not None:
        response = len(ids) - prompt_tokens
    if response is None and mask is not None and shortest == len(mask) and mask.any():
        response = len(mask) - int(np.argmax(mask != 0))
    response = shortest if response is None else response
    prompt, whole = prompt_tokens, max(lengths, default=0) if ids is None else len(ids)
    if prompt is None and response is not None and response < whole:
        prompt = whole - response
    counts = {"prompt_tokens": prompt, "response_tokens": response}
    return {name: count for name, count in counts.items() if count is not None and count >= 0}


def lengths_of(arrays: Mapping[str, Array], counts: Mapping[str, int]) -> tuple[frozenset[int], bool]:
    """Return the valid lengths of a sample's series (all tokens, or the response), and whether they are certain."""
    prompt, response = counts.get("prompt_tokens"), counts.get("response_tokens")
    both = None if prompt is None or response is None else prompt + response
    whole = len(arrays[IDS]) if IDS in arrays else both or max(map(len, arrays.values()), default=None)
    fits = response is not None and (IDS not in arrays or response <= len(arrays[IDS]))
    found = frozenset(length for length in (whole, response if fits else None) if length is not None)
    return found, IDS in arrays or both is not None


def uneven(arrays: Mapping[str, Array], lengths: frozenset[int]) -> list[str]:
    """Return the names of the series of any other length; none if the valid lengths are unknown."""
    return [name for name, values in arrays.items() if lengths and len(values) not in lengths]


def facts(arrays: Mapping[str, Array]) -> dict[str, list[float]]:
    """Return count, sum, m2, min, min_at, max, max_at of the finite values by series.

    Those under the loss mask count, or without one those under the attention mask.
    """
    mask = tokens.mask_of(arrays)
    by_length: dict[int, dict[str, tokens.Floats]] = {}
    for name, values in arrays.items():
        if name != IDS:
            counted = tokens.under_mask(values, None if name in tokens.MASKS else mask)
            by_length.setdefault(len(values), {})[name] = counted
    found = {name: one for group in by_length.values() for name, one in tokens.facts_of(group).items()}
    return {name: [*msgspec.structs.astuple(found[name])] for name in arrays if name in found}
