"""Reads objects of other libraries by the names of their attributes or keys. Nothing here raises."""

from collections.abc import Iterable, Mapping
from typing import Any

from rolloupe.record.values.plain import text_of

_MISSING = object()


def has(value: Any, name: str) -> bool:
    """Return whether an object or a dict has a member of this name."""
    return member(value, name, _MISSING) is not _MISSING


def member(value: Any, name: str, default: Any = None) -> Any:
    """Return a member of an object or a dict."""
    try:
        return value.get(name, default) if isinstance(value, Mapping) else getattr(value, name, default)
    except Exception:  # a property that fails
        return default


def listed(value: Any, *names: str) -> list[Any]:
    """Return the first member of these names that is a kind of list, as a list; empty if none is."""
    for name in names:
        found = member(value, name, _MISSING)
        if found is not _MISSING and isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping):
            return list(found)
    return []


def tags_of(source: Any, group: Any) -> list[str]:
    """Return the tags of a group, or of its builder."""
    tags = member(source, "tags", member(group, "tags", None))
    if tags is None:
        logging_tags = member(member(source, "env_group_builder", None), "logging_tags", None)
        tags = logging_tags() if callable(logging_tags) else []
    return [text_of(tag) for tag in (tags if isinstance(tags, list | tuple | set | frozenset) else [tags])]
