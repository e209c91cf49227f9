"""The types of tensors as NumPy has them, and the reading of a tensor from its storage.

NumPy lacks three kinds of floats: they become float32, which holds each of their values.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rolloupe.formats.reading.pickles.values import MAX_VALUES, Tensor
from rolloupe.formats.reading.pickles.window import UnreadablePickle

STORAGES: Final = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "UntypedStorage": "uint8",
}  # fmt: skip
"""PyTorch's classes of storages, with the type of their values."""

STORED_AS: Final = {
    **{one: one for one in ("float32", "float64", "float16", "complex64", "complex128", "bool")},
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bfloat16": "uint16", "float8_e5m2": "uint8", "float8_e4m3fn": "uint8",
}  # fmt: skip
"""Types of tensors, with the NumPy type that has their bytes."""


def width_of(kind: str) -> int:
    """Return the bytes of a value of a type."""
    return np.dtype(STORED_AS[kind]).itemsize


def read_view(tensor: Tensor) -> NDArray[Any]:
    """Read the values of a tensor, and none of its storage beyond them. Raises `UnreadablePickle`."""
    if tensor.size > MAX_VALUES:
        raise UnreadablePickle(f"a tensor of {tensor.size:,} values: not read")
    native = np.dtype(STORED_AS[tensor.kind])
    stored = native.newbyteorder(tensor.storage.order)
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.strides, strict=True))
    count = last + 1 if tensor.size else 0
    start = tensor.offset * stored.itemsize
    if start + count * stored.itemsize > tensor.storage.size_bytes or min((*tensor.strides, tensor.offset)) < 0:
        raise UnreadablePickle("a tensor reaches beyond its storage")
    data = tensor.storage.read(start, count * stored.itemsize) if count else b""
    if len(data) < count * stored.itemsize:
        raise UnreadablePickle("the file ends in the middle of a tensor")
    flat = np.frombuffer(data, stored).astype(native, copy=False)
    steps = [stride * stored.itemsize for stride in tensor.strides]
    try:
        view = np.lib.stride_tricks.as_strided(flat, tensor.shape, steps, writeable=False) if tensor.size else flat
        return _widened(view.reshape(tensor.shape), tensor.kind)
    except (ValueError, OverflowError) as error:
        raise UnreadablePickle(f"a tensor that NumPy cannot hold: {error}") from None


def _widened(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Values of a type that NumPy lacks as float32; all others copied as they are."""
    if kind == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    if kind == "float8_e5m2":  # the upper half of a float16
        return (values.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    if kind == "float8_e4m3fn":
        return np.asarray(_E4M3[values])
    return values.copy()


def _e4m3() -> NDArray[np.float32]:
    """The 256 values of float8_e4m3fn: 4 bits of exponent with bias 7, no infinity, one NaN of each sign."""
    codes = np.arange(256)
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    small = np.ldexp(mantissa / 8, -6)
    found = np.where(exponent == 0, small, np.ldexp(1 + mantissa / 8, exponent - 7))
    found[(codes & 127) == 127] = np.nan
    return np.where(codes >= 128, -found, found).astype(np.float32)


_E4M3 = _e4m3()
