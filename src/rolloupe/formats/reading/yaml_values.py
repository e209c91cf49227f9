"""Reads YAML as plain data, by PyYAML with libyaml, within bounds.

The result has only numbers, texts, lists and mappings; an object named by a tag becomes one of these. Dates stay
texts, keys become texts as in JSON, and `<<` is a key like any other, since merging could fill the memory.

Import this module inside functions: importing PyYAML takes 20 ms, and few runs have YAML.
"""

import re
from typing import Any, ClassVar, cast

import yaml

MAX_DEPTH = 64
"""The deepest nesting: libyaml's time grows with the square of the depth."""
MAX_VALUES = 10**6
"""The most values in a document whose aliases are written out."""
_Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = [f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str", "seq")]
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+")


def yaml_value(text: str) -> Any:
    """Return the value of a YAML document. Raises `ValueError` for an unreadable one."""
    try:
        _check_depth(text)
        value = yaml.load(text, _Loader)  # noqa: S506  # it is the safe loader with less
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"this YAML cannot be read: {error}") from error
    if _size(value, {}) > MAX_VALUES:
        raise ValueError(f"This YAML has more than {MAX_VALUES:,} values when its aliases are written out.")
    return value


def yaml_settings(text: str) -> dict[str, Any]:
    """Return the settings in a text; a text that is not a mapping has none."""
    try:
        value = yaml_value(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, _Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ValueError(f"This YAML is nested more than {MAX_DEPTH} levels deep.")


def _size(value: Any, sizes: dict[int, int]) -> int:
    """Count the values in a value, and shared ones each time; a value that contains itself has very many."""
    if not isinstance(value, (dict, list)):
        return 1
    if id(value) not in sizes:
        sizes[id(value)] = MAX_VALUES
        inner = value.values() if isinstance(value, dict) else value
        sizes[id(value)] = 1 + sum(_size(member, sizes) for member in inner)
    return sizes[id(value)]


class _Loader(_Base):  # which of two classes it is depends on the machine
    yaml_constructors: ClassVar[dict[str | None, Any]] = {tag: _Base.yaml_constructors[tag] for tag in _PLAIN}
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {  # type: ignore[pyrefly:bad-override]
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge"))]
        for first, resolvers in _Base.yaml_implicit_resolvers.items()
    }


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[str, Any]:
    made = loader.construct_object
    return {str(made(key, deep=True)): made(value, deep=True) for key, value in node.value}


def _plain(loader: Any, node: yaml.Node) -> Any:
    """Read an object named by a tag as its mapping, list or text in the document."""
    if isinstance(node, yaml.MappingNode):
        return _mapping(loader, node)
    return loader.construct_sequence(node, deep=True) if isinstance(node, yaml.SequenceNode) else node.value


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor(None, _plain)
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
