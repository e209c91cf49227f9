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
"""The copied fields, with the source of each, and whether it is a `Number`; by record, types of sources, and names of
values.
"""


def record_from(kind: type[S], *sources: object, **own: Any) -> S:
    """Return a record with its own values, and each other field from the first source that has it.

    Raises `TypeError` for a field that no source has, with or without a default: a source may have renamed it.
    """
    key = (kind, *map(type, sources), *own)
    if key not in _COPIED:
        copied = []
        for name, hint in get_type_hints(kind).items():
            places = [place for place, source in enumerate(sources) if hasattr(source, name)]
            if name not in own and not places:
                raise TypeError(f"no value for {kind.__name__}.{name}: no source has a field of that name")
            if name not in own:
                copied.append((name, places[0], hint == Number))
        _COPIED[key] = copied
    for name, place, is_number in _COPIED[key]:
        value = getattr(sources[place], name)
        own[name] = number(value) if is_number and not isinstance(value, str) else value
    return kind(**own)


MAX_DEPTH = 100
"""A note replaces deeper nesting: encoders and browsers recurse."""


def encode(answer: msgspec.Struct | dict[str, Any]) -> bytes:
    """Encode a record, or values as `plain` returns them, as JSON."""
    try:
        return _encoder.encode(answer)
    except UnicodeEncodeError:
        return msgspec.json.encode(text.cleaned(builtins_of(answer)))


def builtins_of(answer: object) -> Any:
    """Return a record as dicts, lists and scalars."""
    return msgspec.to_builtins(answer, enc_hook=_named)


def _named(value: object) -> Number:
    """Encode a `NonFinite` or a `LargeInteger`."""
    if isinstance(value, float | int):
        return number(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


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
    if isinstance(value, (list, tuple)):
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
