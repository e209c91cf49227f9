"""Per-token arrays as frameworks store them: read from decoded JSON, and freed of padding."""

import contextlib
import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_PLAIN = {float, int, bool, type(None)}


def read_floats(value: object) -> Floats | None:
    """Return a decoded JSON array of numbers as float64, shape (T,); None where it is not an array or is empty.

    An element that is no number (null, text, a list) becomes NaN; an integer beyond a float becomes an infinity. An
    array that a scan has read already is returned as it is.
    """
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, list) or not value:
        return None
    try:
        return np.frombuffer(array("d", value))
    except (TypeError, OverflowError):
        pass
    if set(map(type, value)) <= _PLAIN:  # NumPy reads None as NaN, but texts as the numbers that they spell
        with contextlib.suppress(OverflowError):
            return np.array(value, dtype=np.float64)
    return np.array([_float(element) for element in value], dtype=np.float64)


def length(value: object) -> int | None:
    """Return how many elements an array has, decoded or read already; None for what is no array."""
    return len(value) if isinstance(value, list | np.ndarray) else None


def _float(element: object) -> float:
    if not isinstance(element, int | float):
        return math.nan
    try:
        return float(element)
    except OverflowError:
        return math.inf if element > 0 else -math.inf


def unpadded_length(tokens: Sequence[object], pad: str) -> int:
    """Return how many tokens stand before the padding: up to the first pad token where the last one is a pad token.

    Source: RLLoggingBoard's "drop padding token". Without padding at the end nothing is dropped.
    """
    if not tokens or tokens[-1] != pad:
        return len(tokens)
    return tokens.index(pad)


def under_mask(values: NDArray[Any], mask: NDArray[Any] | None) -> Floats:
    """Return values as float64, shape (T,), NaN where the mask is 0; without a mask all of them.

    The two are aligned at their ends, where the response is: of the values before the begin of a mask none counts.
    """
    found = values.astype(np.float64)
    if mask is not None:
        covered = min(len(found), len(mask))
        found[: len(found) - covered] = np.nan
        found[len(found) - covered :][mask[len(mask) - covered :] == 0] = np.nan
    return found


def beside(values: NDArray[Any], shown: NDArray[Any]) -> "array[float] | None":
    """Return what a file holds in full where a mask hides some of it; None where all that there is is shown."""
    if np.count_nonzero(~np.isnan(values)) == np.count_nonzero(~np.isnan(shown)):
        return None
    return array("d", values.astype(np.float64, copy=False).tobytes())


def same_end(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return two arrays cut to the length of the shorter one, aligned at their ends."""
    length = min(len(one), len(other))
    return one[len(one) - length :], other[len(other) - length :]


def finite(values: Floats) -> Floats:
    """Return the values that are finite."""
    kept: Floats = values[np.isfinite(values)]
    return kept
