"""Rows of an Arrow table as Python values: the types of JSON, and arrays of numbers."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from rolloupe.formats.reading.records import Record

_PLAIN = frozenset({str, int, bool, type(None)})
_TEXTS = (pa.types.is_string, pa.types.is_large_string)
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_NUMBERS = (pa.types.is_integer, pa.types.is_floating)


def python_rows(batch: pa.RecordBatch, is_array: Callable[[str], bool]) -> Iterator[Record]:
    """Yield the rows of a batch; lists of numbers in columns selected by `is_array` are float64 arrays.

    In a column with invalid UTF-8, U+FFFD replaces unreadable bytes.
    """
    columns = {
        name: _arrays(column) if is_array(name) and _is_numeric_list(column.type) else python_values(column)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def python_values(column: pa.Array) -> list[Any]:
    """The values of a column in the types of JSON; see `python_rows` for invalid UTF-8."""
    try:
        values = column.to_pylist()
    except (UnicodeDecodeError, OverflowError, ValueError):
        values = [_readable(value) for value in column]
    return values if _is_plain(column.type) else [_as_json(value) for value in values]


def _readable(value: pa.Scalar) -> Any:
    """The value of a cell: of invalid UTF-8 the readable part, of a value that contains such text None.

    A date or a duration that Python cannot hold is the number that is stored, with its type.
    """
    try:
        return value.as_py()
    except (OverflowError, ValueError) as error:
        if not isinstance(error, UnicodeDecodeError):
            return f"{getattr(value, 'value', '')} ({value.type})"
        is_text = _is_any(value.type, _TEXTS)
        return value.cast(pa.large_binary()).as_py().decode("utf-8", errors="replace") if is_text else None


def _arrays(column: pa.Array) -> list[Any]:
    found: list[Any] = []
    for value in column:
        numbers = value.values
        with np.errstate(all="ignore"):  # a signalling NaN
            found.append(None if numbers is None else np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64))
    return found


def _as_json(value: Any) -> Any:
    """A value in the types of JSON: maps become objects, bytes and dates texts, decimals numbers."""
    if type(value) in _PLAIN or isinstance(value, float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _as_json(member) for key, member in value.items()}
    if isinstance(value, list) and value and set(map(type, value)) == {tuple}:  # a map
        return {str(key): _as_json(member) for key, member in value}
    if isinstance(value, list):
        return [_as_json(member) for member in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if hasattr(value, "as_integer_ratio"):
        return float(value) if math.isfinite(value) else math.nan
    return str(value)


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether the values of a type have types of JSON."""
    if pa.types.is_struct(kind):
        return all(_is_plain(kind.field(number).type) for number in range(kind.num_fields))
    if _is_any(kind, _LISTS):
        return _is_plain(kind.value_type)
    return _is_any(kind, (*_TEXTS, *_NUMBERS, pa.types.is_boolean, pa.types.is_null))


def _is_numeric_list(kind: pa.DataType) -> bool:
    return _is_any(kind, _LISTS) and _is_any(kind.value_type, _NUMBERS)


def _is_any(kind: pa.DataType, tests: tuple[Callable[[pa.DataType], bool], ...]) -> bool:
    return any(test(kind) for test in tests)
