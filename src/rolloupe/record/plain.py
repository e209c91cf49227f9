"""What a trainer hands over, as plain values that are its own: nothing here keeps a reference to a caller's buffer.

NumPy and torch are known by what their objects can do, not by name, so neither needs to be there.
"""

import dataclasses
import enum
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32] | NDArray[np.int32]

MAX_DEPTH = 50
MAX_LISTED = 10_000
"""Longer lists in a configuration or a loop state are told by their length."""


def array(values: object) -> Array:
    """Copy numbers, one a token, to float32, or to int32 where they are whole numbers or truth values; shape (T,).

    Takes lists, NumPy and torch arrays of any type and device; None among the numbers becomes NaN. Raises `TypeError`
    and `ValueError` for what holds no numbers, or has more than one axis of a length other than 1.
    """
    if hasattr(values, "detach"):  # torch, wherever the tensor lies
        tensor: Any = values.detach()
        values = (tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy()
    if isinstance(values, list | tuple) and None in values:
        values = [np.nan if value is None else value for value in values]
    found = np.asarray(values)
    if found.ndim != 1:
        found = found.reshape(-1) if found.size == max(found.shape, default=1) else _refused(found)
    if found.dtype.kind in "iub" and (found.dtype.itemsize < 4 or _fits(found)):
        return found.astype(np.int32)
    if found.dtype.kind not in "fiub" and found.size:
        raise TypeError(f"an array of {found.dtype} holds no numbers")
    with np.errstate(over="ignore"):
        return found.astype(np.float32)


def _refused(found: NDArray[Any]) -> NDArray[Any]:
    raise ValueError(f"an array of shape {found.shape}: one number a token is wanted")


def _fits(found: NDArray[Any]) -> bool:
    limits = np.iinfo(np.int32)
    return not found.size or bool(found.min() >= limits.min and found.max() <= limits.max)


def scalar(value: object) -> Any:
    """Return a number of NumPy or torch as Python's own, anything else as it is."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", None) is not None:
        try:
            return item()
        except (TypeError, ValueError, RuntimeError):  # more than one element
            return value
    return value


def number(value: object) -> float | None:
    """Return a number as a float; None for None. Raises `TypeError` for what is none."""
    value = scalar(value)
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"a number is wanted, not {type(value).__qualname__}")
    return None if value is None else float(value)


def numbers(values: Mapping[Any, object] | None) -> dict[str, float]:
    """Return what is a number among named values, with names as texts."""
    found = {str(name): scalar(value) for name, value in (values or {}).items()}
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def jsonable(value: object, depth: int = MAX_DEPTH) -> Any:
    """Return any object as what JSON can hold: functions and classes by their qualified names, nothing as `{}`."""
    value = scalar(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if depth <= 0:
        return "(nested too deeply)"
    if isinstance(value, enum.Enum):
        return jsonable(value.value, depth - 1)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {_key(key): jsonable(member, depth - 1) for key, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        if len(value) > MAX_LISTED:
            return f"({len(value)} values)"
        return [jsonable(member, depth - 1) for member in value]
    return _object(value, depth)


def _object(value: object, depth: int) -> Any:
    """An object by what it says of itself: its name, its fields, its shape, or its text."""
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return qualified(value)
    func = getattr(value, "func", None)
    if func is not None and hasattr(value, "keywords"):  # functools.partial
        named = jsonable(getattr(value, "keywords", {}), depth - 1)
        return {"partial": qualified(func), "args": jsonable(getattr(value, "args", ()), depth - 1), **named}
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"array of {value.dtype}, shape {tuple(value.shape)}"
    fields = _fields(value)
    if fields is None:
        return str(value)
    return {"class": qualified(type(value)), **{name: jsonable(member, depth - 1) for name, member in fields.items()}}


def _fields(value: object) -> dict[str, object] | None:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    for method in ("model_dump", "to_dict"):  # pydantic, transformers
        dump = getattr(value, method, None)
        if callable(dump):
            found = dump()
            return {str(key): member for key, member in found.items()} if isinstance(found, Mapping) else None
    names = getattr(value, "__struct_fields__", None) or (vars(value) if hasattr(value, "__dict__") else ())
    found = {str(name): getattr(value, name, None) for name in names if not str(name).startswith("_")}
    return found or None


def qualified(value: object) -> str:
    """Return the name by which an object can be imported."""
    module = getattr(value, "__module__", "") or ""
    name = getattr(value, "__qualname__", "") or type(value).__qualname__
    return f"{module}.{name}" if module and module != "builtins" else name


def _key(key: object) -> str:
    key = scalar(key)
    return key if isinstance(key, str) else qualified(key) if hasattr(key, "__qualname__") else str(key)


def weight(value: object) -> int:
    """Return about how many bytes a plain value takes in memory."""
    if isinstance(value, str):
        return 50 + len(value)
    if isinstance(value, dict):
        return 100 + sum(weight(key) + weight(member) for key, member in value.items())
    return 60 + sum(map(weight, value)) if isinstance(value, list) else 30
