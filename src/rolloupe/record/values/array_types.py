"""Converts arrays of any library and device to one-dimensional NumPy arrays.

It never imports torch: it calls the methods that detach, move and convert an array, if the array has them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rolloupe.tokens import Flags, Floats

Ints = NDArray[np.int64]


def array_of(value: Any) -> NDArray[Any]:
    """Return an array, tensor, list or number as a NumPy array of shape (N,); bfloat16 becomes float32."""
    if callable(getattr(value, "detach", None)):
        value = value.detach()
    if callable(getattr(value, "cpu", None)):
        value = value.cpu()
    if callable(getattr(value, "numpy", None)):
        try:
            value = value.numpy()
        except TypeError:  # torch: NumPy has no bfloat16
            value = value.float().numpy()
    return np.asarray(value).reshape(-1)


def floats_of(value: Any) -> Floats:
    """Return numbers as float64, rounded to the float32 that trainers compute in, shape (N,); None becomes NaN."""
    with np.errstate(over="ignore"):
        return array_of(value).astype(np.float64).astype(np.float32).astype(np.float64)


def ints_of(value: Any) -> Ints:
    """Return whole numbers, shape (N,)."""
    return array_of(value).astype(np.int64)


def flags_of(value: Any) -> Flags:
    """Return truth values, shape (N,)."""
    return array_of(value).astype(np.bool_)


def numbers(values: Floats) -> list[float | None]:
    """Return numbers for JSON: finite ones as the shortest text of their float64, the others as null."""
    found: list[float | None] = values.tolist()
    if np.isfinite(values).all():
        return found
    return [value if finite else None for value, finite in zip(found, np.isfinite(values).tolist(), strict=True)]
