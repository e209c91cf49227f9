"""The arrays of one sample: copied, counted, and placed among its tokens."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from rolloupe import tokens
from rolloupe.record.arrays import Array, array

IDS = "token_ids"
MASK = "loss_mask"
RESERVED = ("uid",)


def series_of(token_ids: Any, series: Mapping[str, Any] | None) -> dict[str, Array]:
    """Copy the arrays of a sample, `token_ids` first. Raises `TypeError` and `ValueError`, naming the series."""
    given = {**({} if token_ids is None else {IDS: token_ids}), **(series or {})}
    found = {}
    for name, values in given.items():
        if values is None:
            continue
        try:
            copied = array(values)
        except (TypeError, ValueError) as error:
            raise type(error)(f"series {name!r}: {error}") from None
        if len(copied):
            found[f"series.{name}" if name in RESERVED else str(name)] = copied
    return found


def counts_of(
    arrays: Mapping[str, Array], prompt_tokens: int | None, response_tokens: int | None, pieces: Sequence[str] | None
) -> dict[str, int]:
    """Count tokens: a series that is shorter than `token_ids` belongs to the last of them, the response."""
    ids = arrays.get(IDS)
    others = {name: values for name, values in arrays.items() if name != IDS}
    shortest = min((len(values) for values in others.values()), default=None)
    response = response_tokens if response_tokens is not None else len(pieces) if pieces is not None else shortest
    if response is None and ids is not None and prompt_tokens is not None:
        response = len(ids) - prompt_tokens
    prompt = prompt_tokens
    if prompt is None and ids is not None and response is not None and response < len(ids):
        prompt = len(ids) - response
    counts = {"prompt_tokens": prompt, "response_tokens": response}
    return {name: count for name, count in counts.items() if count is not None}


def facts(arrays: Mapping[str, Array]) -> dict[str, list[float]]:
    """Return count, sum, m2, min, min_at, max, max_at of the finite values under the loss mask, by series."""
    mask = arrays.get(MASK)
    by_length: dict[int, dict[str, tokens.Floats]] = {}
    for name, values in arrays.items():
        if name == IDS:
            continue
        counted = values.astype(np.float64)
        if mask is not None and name != MASK and len(values) <= len(mask):
            counted[mask[len(mask) - len(values) :] == 0] = np.nan
        by_length.setdefault(len(values), {})[name] = counted
    found = {name: one for group in by_length.values() for name, one in tokens.facts_of(group).items()}
    return {name: [*msgspec.structs.astuple(found[name])] for name in arrays if name in found}
