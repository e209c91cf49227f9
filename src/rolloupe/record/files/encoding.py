"""Records as JSON lines.

Any value becomes JSON: NaN and infinities as null or bare, arrays of any library as lists, lone surrogates as escapes,
anything else as the name of its type. Loads only the standard library.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

COMPACT = (",", ":")
"""Separators without spaces."""

MAX_DEPTH = 100
MAX_BITS = 10_000
"""Python refuses to write integers of more than 4,300 digits; longer ones become infinities."""

_LONE = re.compile("[\ud800-\udfff]")


def encoded(record: Mapping[str, Any], *, separators: tuple[str, str] | None = None, nan: bool = False) -> bytes:
    """Return a record as one line of UTF-8, its newline included.

    `nan`: write NaN and infinities as Python does, instead of null. `plain` converts values that JSON lacks.
    """
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=nan, separators=separators)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(plain(record, nan=nan), ensure_ascii=False, allow_nan=nan, separators=separators)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return _LONE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode() + b"\n"


def plain(value: Any, *, nan: bool = False, depth: int = MAX_DEPTH) -> Any:
    """Convert a value to JSON types: an array to a list, an object of an unknown type to the name of its type."""
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= MAX_BITS else _number(math.inf if value > 0 else -math.inf, nan)
    if isinstance(value, float):
        return _number(value, nan)
    if depth == 0:
        return type(value).__name__
    if isinstance(value, Mapping):
        return {_key(key): plain(member, nan=nan, depth=depth - 1) for key, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(member, nan=nan, depth=depth - 1) for member in value]
    found = listed(value)
    return type(value).__name__ if found is value else plain(found, nan=nan, depth=depth - 1)


def listed(value: Any) -> Any:
    """Return an array or scalar of NumPy, PyTorch or a similar library as lists and numbers; anything else as it is."""
    if isinstance(value, str | bytes | Mapping) or not callable(getattr(value, "tolist", None)):
        return value
    if callable(getattr(value, "detach", None)):
        value = value.detach().cpu()
    return value.tolist()


def _number(value: float, nan: bool) -> float | None:
    return float(value) if nan or math.isfinite(value) else None


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    return "null" if key is None else str(key) if isinstance(key, int | float) else repr(key)[:200]
