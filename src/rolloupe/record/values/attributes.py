"""Objects of other libraries, known by what they have: attributes or keys of a name. Nothing here raises."""

from collections.abc import Iterable, Mapping
from typing import Any

from rolloupe.record.values.plain import text_of

_MISSING = object()


def has(value: Any, name: str) -> bool:
    """Tell whether an object or a dict has a member of a name."""
    return member(value, name, _MISSING) is not _MISSING


def member(value: Any, name: str, default: Any = None) -> Any:
    """Return a member of an object or of a dict."""
    try:
        return value.get(name, default) if isinstance(value, Mapping) else getattr(value, name, default)
    except Exception:  # a property that fails
        return default


def listed(value: Any, *names: str) -> list[Any]:
    """Return the first member of these names that is a list of some kind, as a list; empty where there is none."""
    for name in names:
        found = member(value, name, _MISSING)
        if found is not _MISSING and isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping):
            return list(found)
    return []


def tags_of(given: Any, group: Any) -> list[str]:
    """Return the tags of a group, or of what made it."""
    tags = member(given, "tags", member(group, "tags", None))
    if tags is None:
        told = member(member(given, "env_group_builder", None), "logging_tags", None)
        tags = told() if callable(told) else []
    return [text_of(tag) for tag in (tags if isinstance(tags, list | tuple | set | frozenset) else [tags])]
