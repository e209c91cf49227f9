"""Per-token arrays as frameworks store them: read from decoded JSON, and freed of padding."""

import contextlib
import math
from array import array
from collections.abc import Sequence

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
