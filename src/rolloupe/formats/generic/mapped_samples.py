"""The samples in one record, under a person's field map if there is one.

The keys of a map lie in the record, or in the objects of a list below it or by their ids, and what they name is not
divided otherwise. Without a map, the names of members decide: see `shapes`.
"""

from collections.abc import Collection
from typing import Any

from rolloupe.formats.generic.keys import has_answer, roles_of
from rolloupe.formats.generic.shapes import (
    LOOKED,
    are_responses,
    check_shared,
    facts_beside,
    holds_objects,
    in_columns,
    is_text,
    lift,
    samples_of,
    with_group,
)
from rolloupe.formats.reading.field_map import ROLES, Fields, has_mapped, renamed
from rolloupe.formats.reading.records import Record

MAX_NAMED_DEPTH = 6
"""Objects and lists within one another, below which the keys of a field map may lie."""


def samples_in(record: Record, named: Fields = ()) -> list[Record]:
    """Return the samples of a record, under a field map if there is one; one that is a sample, or holds none, alone.

    Raises `Unusable` if responses and rewards differ in number, or if the samples share too much.
    """
    if not named:
        return samples_of(record)
    by_role = dict(named)
    texts = [by_role[role] for role in ("response", "messages") if role in by_role]
    keys = texts or ([by_role["reward"]] if "reward" in by_role else [*by_role.values()])
    if has_mapped(record, keys):
        return _samples_under(renamed(record, named), named)
    found = _objects_with(record, keys, named, MAX_NAMED_DEPTH)
    check_shared({}, len(found))
    return [
        with_group(name, sample) if name else sample
        for name, own in found or [("", record)]
        for sample in _samples_under(renamed(own, named), named)
    ]


def _samples_under(record: Record, named: Fields) -> list[Record]:
    """The samples of a record with the members that a person named, which is not divided by any others."""
    names = {ROLES[role] for role, _ in named}
    key = next((name for name in ("response", "messages") if name in names and name in record), None)
    value = record[key] if key else None
    if are_responses(value):
        found = in_columns(record)
    elif key:
        found = [record] if is_text(value) or type(value) is not list else None
    else:
        own = lift(record) if "reward" in names and not isinstance(record.get("reward"), list) else {}
        found = [record] if has_answer(own, roles_of(own)) else None
    return [lift(sample) for sample in found] if found else samples_of(record)


def _objects_with(
    value: Any, keys: Collection[str], named: Fields, depth: int, *, in_list: bool = False
) -> list[tuple[str, Record]]:
    """The objects with one of some keys in a list, by their ids, or below, with the texts and numbers above them.

    If they come from several lists, each has the name of its own.
    """
    if in_list and isinstance(value, dict) and has_mapped(value, keys):
        return [("", value)]
    if isinstance(value, dict):
        is_whole = depth == MAX_NAMED_DEPTH  # which may hold one sample by its id
        are_objects = (is_whole or len(value) > 1) and all(type(own) is dict for own in value.values())
        listed = [{"id": name} | own for name, own in value.items()] if are_objects else []
    else:
        listed = [own for own in value if type(own) is dict] if type(value) is list and holds_objects(value) else []
    having = sum(has_mapped(own, keys) for own in listed[:LOOKED])
    if having and (type(value) is list or having * 2 > len(listed[:LOOKED])):
        return [("", own) for own in listed]
    if not depth:
        return []
    if not isinstance(value, dict):
        return [inner for own in listed for inner in _objects_with(own, keys, named, depth - 1, in_list=True)]
    below = {key: _objects_with(own, keys, named, depth - 1, in_list=in_list) for key, own in value.items()}
    below = {key: found for key, found in below.items() if found}
    objects = [own for found in below.values() for _, own in found]
    asked = {name.partition(".")[0] for _, key in named for name in key.split("+")}
    shared = check_shared(facts_beside(value, objects, asked), len(objects))
    return [
        (name if len(below) == 1 else f"{key}/{name}".rstrip("/"), shared | own)
        for key, found in below.items()
        for name, own in found
    ]
