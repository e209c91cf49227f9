"""Copies a trainer's numbers, so that the recorder keeps no reference to the caller's buffers.

It recognises NumPy and torch by the methods of their objects, so torch need not be installed.
"""

import struct
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32] | NDArray[np.int32]


def array(values: object) -> Array:
    """Copy one number for each token to float32, or to int32 for whole numbers and truth values; shape (T,).

    Takes lists, and NumPy and torch arrays of any type and device; None among the numbers becomes NaN. Raises
    `TypeError` and `ValueError` for other values, and for more than one axis of a length other than 1.
    """
    if hasattr(values, "detach"):  # torch, wherever the tensor lies
        tensor: Any = values.detach()
        values = (tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy()
    if isinstance(values, list) and values and type(values[0]) is float and (quick := _floats(values)) is not None:
        return quick
    found = np.asarray(values)
    if found.dtype == object and isinstance(values, list | tuple):
        found = np.asarray([np.nan if value is None else value for value in values])
    if found.ndim != 1:
        found = found.reshape(-1) if found.size == max(found.shape, default=1) else _refused(found)
    if found.dtype.kind in "iub" and (found.dtype.itemsize < 4 or _fits(found)):
        return found.astype(np.int32)
    if found.dtype == np.float32:
        return found.copy()
    if found.dtype.kind not in "fiub" and found.size:
        raise TypeError(f"an array of {found.dtype} holds no numbers")
    with np.errstate(over="ignore"):
        return found.astype(np.float32)


def _floats(values: list[Any]) -> NDArray[np.float32] | None:
    """Convert a list that begins with a float, twice as fast as NumPy; None if not all are numbers."""
    try:
        exact = np.frombuffer(struct.pack(f"{len(values)}d", *values))
    except Exception:
        return None
    with np.errstate(over="ignore"):
        return exact.astype(np.float32)


def _refused(values: NDArray[Any]) -> NDArray[Any]:
    raise ValueError(f"an array of shape {values.shape}: expected one number for each token")


def _fits(values: NDArray[Any]) -> bool:
    limits = np.iinfo(np.int32)
    return not values.size or bool(values.min() >= limits.min and values.max() <= limits.max)


def weight(value: object) -> int:
    """Return the approximate size of a plain value in memory, in bytes."""
    if isinstance(value, dict):
        return sys.getsizeof(value) + sum(weight(key) + weight(member) for key, member in value.items())
    return sys.getsizeof(value) + (sum(map(weight, value)) if isinstance(value, list) else 0)
