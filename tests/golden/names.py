"""The names in Python that the reference documents, with their signatures and fields."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import MemberDescriptorType
from typing import Any

from tests.golden.frozen import Answers

DOCUMENTED = re.compile(r"^::: (\S+)$", re.MULTILINE)
ADDRESS = re.compile(r" at 0x[0-9a-f]+|(?<=<function )[\w.]+(?=\.<lambda>)")
REFERENCE = Path(__file__).parents[2] / "docs"


def answers_of() -> Answers:
    """What the reference documents, each with what calls it and what it holds."""
    answers: Answers = {}
    places = {name for page in REFERENCE.rglob("*.md") for name in DOCUMENTED.findall(page.read_text())}
    of_trainers = {place for place in places if ".integrations." in place}  # which need the trainer's package
    for place in sorted({"rolloupe", *places} - of_trainers):
        value = pkgutil.resolve_name(place)
        for name, member in _public(value).items() if inspect.ismodule(value) else [("", value)]:
            full = f"{place}.{name}".rstrip(".")
            answers[full] = _signature(member)
            if inspect.isclass(member):
                answers |= {f"{full}.{inner}": what for inner, what in _members(member)}
    return answers


def _public(module: Any) -> dict[str, Any]:
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    values = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {name: value for name, value in values.items() if not inspect.ismodule(value)}


def _members(value: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers_static(value):
        if not name.startswith("_") and not isinstance(member, MemberDescriptorType) and name not in dir(Exception):
            of = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            yield name, _signature(of.fget if isinstance(of, property) and of.fget else of)


def _signature(value: Any) -> Any:
    if not callable(value):
        return type(value).__name__
    try:
        fields = getattr(value, "__struct_fields__", None) or getattr(value, "_fields", None)
        return [ADDRESS.sub("", str(inspect.signature(value))), *(fields or ())]
    except (TypeError, ValueError):
        return type(value).__name__
