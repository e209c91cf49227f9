"""Reads objects of any library, and converts them to values that every JSON library can write. Nothing here raises.

NumPy and torch are recognised by the methods of their objects, so neither needs to be installed.
"""

import contextlib
import dataclasses
import enum
import json
import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from types import ModuleType
from typing import Any

MAX_DEPTH = 90
"""A placeholder replaces deeper values. Readers of these files stop at about a hundred levels."""

MAX_INT_BITS = 14_000
"""Python refuses to print integers of more than 4,300 digits, which have 14,285 bits."""

MAX_ARRAY = 1000
"""Longer arrays in a configuration become their type and shape."""

TOO_DEEP = "(nested too deeply to be written)"
CIRCLE = "(holds itself)"


def dumped(value: object, *, indent: int | None = None) -> bytes:
    """Encode a value as the cookbook does: ASCII, the standard library's separators, bare NaN and infinities."""
    return json.dumps(value, indent=indent).encode("ascii")


def as_line(record: Mapping[Any, Any]) -> bytes:
    """Encode a record as one JSON line, with its newline."""
    return dumped(jsonable(record)) + b"\n"


def object_in(line: bytes) -> dict[str, Any]:
    """Return the object in a line of JSON; empty for any other line."""
    try:
        row = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def text_of(value: object) -> str:
    """Return any object as text."""
    try:
        return str(value)
    except Exception:
        return f"({type(value).__name__} that cannot be shown)"


def scalar(value: object) -> Any:
    """Return a NumPy or torch number as a Python number; anything else as it is."""
    if value is None or isinstance(value, str | int | float):
        return value
    item = getattr(value, "item", None)
    if not callable(item):
        return value
    try:
        inner = item()
        return inner if inner is None or isinstance(inner, str | int | float) else float(inner)
    except Exception:  # more than one element, or not a number
        return value


def word(value: object) -> str:
    """Return a value as text; empty for None."""
    value = value.value if isinstance(value, enum.Enum) else value
    return "" if value is None else value if isinstance(value, str) else text_of(scalar(value))


def whole_number(value: object) -> int:
    """Return a whole number of any library as an int. Raises `TypeError` for other values."""
    number = scalar(value)
    if isinstance(number, float) and number.is_integer():
        return int(number)
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"expected a whole number, got {type(number).__name__}") from None


def jsonable(value: object) -> Any:
    """Convert any object to JSON types, as the cookbook's rollout records do.

    NumPy and torch numbers become Python numbers, tuples lists, keys texts, and other objects their `str`. A whole
    number too long to print becomes its hexadecimal digits; a structure that is too deep or contains itself is cut.
    """
    return _converted(value, frozenset(), lambda other, _: text_of(other))


def _converted(value: Any, above: frozenset[int], other: Callable[[Any, frozenset[int]], Any]) -> Any:
    """Convert a value inside the objects `above`, by id; `other` converts what is neither JSON nor a number."""
    value = scalar(value)
    if value is None or isinstance(value, str | float | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_INT_BITS else hex(value)
    if not isinstance(value, (Mapping, list, tuple)):
        return other(value, above)
    if id(value) in above:
        return CIRCLE
    if len(above) >= MAX_DEPTH:
        return TOO_DEEP
    inside = above | {id(value)}
    if isinstance(value, Mapping):
        return {_key(key): _converted(member, inside, other) for key, member in list(value.items())}
    return [_converted(member, inside, other) for member in list(value)]


def _key(key: object) -> str:
    if isinstance(key, int) and key.bit_length() > MAX_INT_BITS:
        return hex(key)
    return str(key) if isinstance(key, str) else text_of(scalar(key))


def settings(value: object) -> Any:
    """Convert a configuration to JSON types by its fields, never to `{}`, so that it shows what ran.

    Functions and classes become their qualified names, objects their fields and the name of their class. An object with
    `to_dict` becomes its result, as in the cookbook.
    """
    return _converted(value, frozenset(), _setting)


def _setting(value: Any, above: frozenset[int]) -> Any:
    if isinstance(value, enum.Enum):
        return _converted(value.value, above, _setting)
    if isinstance(value, (set, frozenset)):
        return sorted((_converted(member, above, _setting) for member in value), key=repr)
    if isinstance(value, ModuleType | PurePath):
        return value.__name__ if isinstance(value, ModuleType) else str(value)
    if hasattr(value, "__qualname__"):  # a function, a class
        return qualified(value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array(value)
    if id(value) in above or len(above) >= MAX_DEPTH:
        return qualified(type(value))
    inside = above | {id(value)}
    if hasattr(value, "func") and hasattr(value, "keywords"):  # functools.partial
        parts = {"partial": value.func, "args": list(getattr(value, "args", ())), **value.keywords}
        return _converted(parts, inside, _setting)
    fields = _declared(value)
    return text_of(value) if fields is None else {k: _converted(v, inside, _setting) for k, v in fields.items()}


def _array(value: Any) -> Any:
    try:
        if int(value.size() if callable(value.size) else value.size) <= MAX_ARRAY:
            return jsonable(value.tolist())
    except Exception:
        return f"array of {text_of(value.dtype)}, shape {text_of(value.shape)}"
    return f"array of {text_of(value.dtype)}, shape {text_of(tuple(value.shape))}"


def _declared(value: Any) -> dict[str, Any] | None:
    """Return the fields of an object, after its class; None if it has none."""
    head = {"class": qualified(type(value))}
    for method in ("to_dict", "model_dump"):
        dump = getattr(value, method, None)
        if callable(dump):
            with contextlib.suppress(Exception):
                return (head if method == "model_dump" else {}) | {_key(key): field for key, field in dump().items()}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        # chz, attrs and msgspec list their fields; a plain object's are its public attributes
        listed = getattr(value, "__chz_fields__", None) or getattr(value, "__struct_fields__", None)
        if listed is None and not hasattr(value, "__dict__"):
            return None
        names = [str(name) for name in (listed or vars(value)) if not str(name).startswith(("_", "X_"))]
    unreadable = object()
    fields = {name: member(value, name, unreadable) for name in names}
    return head | {name: "(cannot be read)" if field is unreadable else field for name, field in fields.items()}


def qualified(value: Any) -> str:
    """Return the name by which a function or a class can be imported."""
    module = getattr(value, "__module__", None)
    name = text_of(getattr(value, "__qualname__", type(value).__qualname__))
    return f"{module}.{name}" if isinstance(module, str) else name


def has(value: Any, name: str) -> bool:
    """Return whether an object or a dict has a member of this name."""
    nothing = object()
    return member(value, name, nothing) is not nothing


def member(value: Any, name: str, default: Any = None) -> Any:
    """Return a member of an object or a dict."""
    try:
        return value.get(name, default) if isinstance(value, Mapping) else getattr(value, name, default)
    except Exception:  # a property that fails
        return default


def list_of(value: Any, *names: str) -> list[Any]:
    """Return the first member of these names that is a kind of list, as a list; empty if none is."""
    for name in names:
        items = member(value, name)
        if isinstance(items, Iterable) and not isinstance(items, (str, bytes, Mapping)):
            return list(items)
    return []


def tags_of(source: Any, group: Any) -> list[str]:
    """Return the tags of a group, or of its builder."""
    tags = member(source, "tags", member(group, "tags", None))
    if tags is None:
        logging_tags = member(member(source, "env_group_builder", None), "logging_tags", None)
        tags = logging_tags() if callable(logging_tags) else []
    return [text_of(tag) for tag in (tags if isinstance(tags, (list, tuple, set, frozenset)) else [tags])]
