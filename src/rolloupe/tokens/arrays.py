"""Per-token arrays as frameworks store them, read from decoded JSON and without padding."""

import contextlib
import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T")
_ARRAYS = (list, np.ndarray)
"""A tuple, which no call has to make, as it makes `list | np.ndarray`."""
_PLAIN = {float, int, bool, type(None)}


def read_floats(value: object) -> Floats | None:
    """Return a decoded JSON array of numbers as float64, shape (T,); None if it is not an array or is empty.

    An element that is not a number (null, text, a list) becomes NaN; an integer beyond a float becomes an infinity. An
    array that a scan has already read is returned as it is.
    """
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, list) or not value:
        return None
    try:
        return np.frombuffer(array("d", value))
    except (TypeError, OverflowError):
        pass
    if set(map(type, value)) <= _PLAIN:  # NumPy reads None as NaN, but also parses texts as numbers
        with contextlib.suppress(OverflowError):
            return np.array(value, dtype=np.float64)
    return np.array([_float(element) for element in value], dtype=np.float64)


def length(value: object) -> int | None:
    """Return the length of an array, decoded or already read; None for anything else."""
    return len(value) if isinstance(value, _ARRAYS) else None


def _float(element: object) -> float:
    if not isinstance(element, int | float):
        return math.nan
    try:
        return float(element)
    except OverflowError:
        return math.inf if element > 0 else -math.inf


def unpadded_length(tokens: Sequence[object], pad: str) -> int:
    """Return the number of tokens before the padding: up to the first pad token, if the last one is a pad token.

    Source: RLLoggingBoard's "drop padding token". Without padding at the end, nothing is dropped.
    """
    if not tokens or tokens[-1] != pad:
        return len(tokens)
    return tokens.index(pad)


UNEQUAL = "of unequal length"
"""In a note about arrays that were cut."""


def aligned(lengths: Mapping[str, int]) -> tuple[int, list[str]]:
    """Return the length that arrays have in common, aligned at their starts, and a note if some are cut to it.

    `lengths` are those of the arrays by name; the shortest decides.
    """
    shortest = min(lengths.values(), default=0)
    cut = ", ".join(f"{name} has {length}" for name, length in lengths.items() if length > shortest)
    return shortest, [f"arrays {UNEQUAL}, shown up to the shortest ({shortest}): {cut}"] if cut else []


MASKS = ("loss_mask", "attention_mask")
"""Series that say which tokens count, beginning with what wins; statistics leave them out."""


def mask_of(arrays: Mapping[str, T], masks: Sequence[str] = MASKS) -> T | None:
    """Return the first of some masks that is among the arrays; None without one."""
    return next((arrays[name] for name in masks if name in arrays), None)


def counts(mask: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which tokens count under a mask, shape (T,): those above 0. A weight counts its token, NaN does not."""
    with np.errstate(invalid="ignore"):
        above: NDArray[np.bool_] = mask > 0
    return above


def under_mask(values: NDArray[Any], mask: NDArray[Any] | None) -> Floats:
    """Return values as float64, shape (T,), NaN where the mask counts no token; without a mask, all of them.

    The two are aligned at their ends, since the response is last: values before the start of a mask do not count.
    """
    found = values.astype(np.float64)
    if mask is not None:
        covered = min(len(found), len(mask))
        found[: len(found) - covered] = np.nan
        found[len(found) - covered :][~counts(mask[len(mask) - covered :])] = np.nan
    return found


def beside(values: Floats, shown: Floats) -> "array[float] | None":
    """Return the full values if a mask hides some of them; None if it hides nothing."""
    if np.count_nonzero(~np.isnan(values)) == np.count_nonzero(~np.isnan(shown)):
        return None
    return packed(values)


def same_end(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return two arrays cut to the length of the shorter one, aligned at their ends."""
    length = min(len(one), len(other))
    return one[len(one) - length :], other[len(other) - length :]


def finite(values: Floats) -> Floats:
    """Return the finite values."""
    finite_values: Floats = values[np.isfinite(values)]
    return finite_values


def packed(values: Floats) -> "array[float]":
    """Return values as a standard library array of doubles, without a Python object for each value."""
    return array("d", values.astype(np.float64, copy=False).tobytes())
