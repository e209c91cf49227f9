"""Records as JSON bytes.

msgspec silently writes NaN as null and refuses lone surrogates. Numbers therefore pass `wire.number` or `plain` before
they enter a record, or are marked as `NonFinite`; lone surrogates in texts are replaced.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from rolloupe import text, wire

MAX_DEPTH = 100
"""A note replaces deeper nesting: encoders and browsers recurse."""


def encode(record: msgspec.Struct) -> bytes:
    """Encode a record as JSON."""
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        return msgspec.json.encode(cleaned(msgspec.to_builtins(record, enc_hook=_named)))


def encode_plain(answer: dict[str, Any]) -> bytes:
    """Encode an answer of dictionaries, lists, texts and numbers as JSON."""
    numbers = plain(answer)
    try:
        return _encoder.encode(numbers)
    except UnicodeEncodeError:
        return msgspec.json.encode(cleaned(numbers))


def _named(value: object) -> wire.Number:
    """Write a number that JSON lacks: a `NonFinite` or a `LargeInteger`."""
    if isinstance(value, float | int):
        return wire.number(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def cleaned(value: Any) -> Any:
    """Return a JSON value with every lone surrogate replaced."""
    if isinstance(value, str):
        return text.clean(value)
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, list) else value


def plain(value: Any, depth: int = 0) -> Any:
    """Convert a file's value to JSON that a browser reads unchanged: numbers as in `wire.number`, bools unchanged."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return wire.number(value)
    if depth >= MAX_DEPTH:
        return f"(nested deeper than {MAX_DEPTH} levels: look at the raw record)"
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list) and _is_plain(value):
        return value
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return str(value)


def _is_plain(values: list[Any]) -> bool:
    """True for an array of numbers that need no conversion; it may be long."""
    kinds = {*map(type, values)}
    if kinds == {float}:
        return math.isfinite(sum(values))
    return kinds == {int} and min(values) >= -wire.SAFE_INTEGER and max(values) <= wire.SAFE_INTEGER


def is_finite(value: float | None) -> bool:
    """True for a finite number."""
    return value is not None and math.isfinite(value)


_encoder = msgspec.json.Encoder(enc_hook=_named)
