"""Records as JSON bytes, and the numbers that JSON cannot represent.

msgspec silently writes NaN as null and refuses lone surrogates. Numbers therefore pass `number` or `plain` before they
enter a record, or are marked as `NonFinite`; lone surrogates in texts are replaced.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar, get_type_hints

import msgspec

from rolloupe import text

S = TypeVar("S", bound=msgspec.Struct)

Number: TypeAlias = float | int | str | None
"""A finite number; "NaN", "Infinity", "-Infinity"; the digits of an integer past 2**53; or null for a missing one."""

SAFE_INTEGER = 2**53


def number(value: float | None) -> Number:
    """Encode a number so that the browser gets exactly the same value. Bools become 0 and 1."""
    if value is None:
        return None
    if isinstance(value, int):
        return int(value) if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


_COPIED: dict[tuple[Any, ...], list[tuple[str, int, bool]]] = {}
"""By record, types of sources, and names of own values: what is copied, from which source, and if it is a `Number`."""


def record_from(kind: type[S], *sources: object, **own: Any) -> S:
    """Return a record with its own values, and those of the same names in the first source that has them.

    Raises `TypeError` for a field without a default that nobody has.
    """
    key = (kind, *map(type, sources), *own)
    if key not in _COPIED:
        hints = get_type_hints(kind)
        places = [(name, n) for name in hints if name not in own for n, one in enumerate(sources) if hasattr(one, name)]
        first = dict(reversed(places))
        _COPIED[key] = [(name, place, hints[name] == Number) for name, place in first.items()]
    for name, place, is_number in _COPIED[key]:
        value = getattr(sources[place], name)
        own[name] = number(value) if is_number and not isinstance(value, str) else value
    return kind(**own)


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


def _named(value: object) -> Number:
    """Write a number that JSON lacks: a `NonFinite` or a `LargeInteger`."""
    if isinstance(value, float | int):
        return number(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def cleaned(value: Any) -> Any:
    """Return a JSON value with every lone surrogate replaced."""
    if isinstance(value, str):
        return text.clean(value)
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, list) else value


def plain(value: Any, depth: int = 0) -> Any:
    """Convert a file's value to JSON that a browser reads unchanged: numbers as in `number`, bools unchanged."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return number(value)
    if depth >= MAX_DEPTH:
        return f"(nested deeper than {MAX_DEPTH} levels: look at the raw record)"
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        kinds = {*map(type, value)}  # a long array of numbers needs no conversion
        if kinds == {float} and math.isfinite(sum(value)):
            return [*value]
        if kinds == {int} and min(value) >= -SAFE_INTEGER and max(value) <= SAFE_INTEGER:
            return [*value]
        return [plain(item, depth + 1) for item in value]
    return str(value)


def is_finite(value: float | None) -> bool:
    """True for a finite number."""
    return value is not None and math.isfinite(value)


_encoder = msgspec.json.Encoder(enc_hook=_named)
