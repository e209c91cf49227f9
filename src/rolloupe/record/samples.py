"""The arrays of one sample: copied, counted, and placed among its tokens."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rolloupe.record.plain import Array, array

IDS = "token_ids"
RESERVED = ("uid",)


class Sized(NamedTuple):
    """Counts of tokens by name, as far as they are known; and what a line says of the series."""

    named: dict[str, int]
    series: dict[str, Any]


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


def sized(
    arrays: Mapping[str, Array], prompt_tokens: int | None, response_tokens: int | None, tokens: Sequence[str] | None
) -> Sized:
    """Count tokens: a series that is shorter than `token_ids` belongs to the last of them, the response."""
    ids = arrays.get(IDS)
    others = {name: values for name, values in arrays.items() if name != IDS}
    shortest = min((len(values) for values in others.values()), default=None)
    response = response_tokens if response_tokens is not None else len(tokens) if tokens is not None else shortest
    if response is None and ids is not None and prompt_tokens is not None:
        response = len(ids) - prompt_tokens
    prompt = prompt_tokens
    if prompt is None and ids is not None and response is not None and response < len(ids):
        prompt = len(ids) - response
    counts = {"prompt_tokens": prompt, "response_tokens": response}
    known = {name: count for name, count in counts.items() if count is not None}
    return Sized(known, {"facts": {name: facts(values) for name, values in others.items()}} if others else {})


def facts(values: Array) -> list[float | int | None]:
    """Return count, sum, m2, min, min_at, max, max_at of the finite values; m2 is the centred sum of squares."""
    finite = np.isfinite(values)
    if not finite.any():
        return [0, 0.0, 0.0, None, None, None, None]
    all_ = bool(finite.all())
    kept = values if all_ else values[finite]
    total = float(kept.sum(dtype=np.float64))
    mean = total / len(kept)
    spread = kept - np.float64(mean)
    low, high = (int(find(values if all_ else np.where(finite, values, fill))) for find, fill in _ENDS)
    m2 = float(np.dot(spread, spread))
    return [len(kept), total, m2 if math.isfinite(m2) else None, float(values[low]), low, float(values[high]), high]


_ENDS = ((np.argmin, np.inf), (np.argmax, -np.inf))
