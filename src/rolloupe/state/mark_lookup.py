"""The samples of marks as the run has them now, found by id and otherwise by uid."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from rolloupe.model import SampleKey
from rolloupe.state.records import Mark, SampleMark

T = TypeVar("T")


class LocatedMark(Struct, frozen=True, gc=False):
    """A mark on a sample. The name of `item` is the id that the sample had when it was marked."""

    item: Mark
    mark: SampleMark
    key: SampleKey | None
    """None if the name is not an id, which a page never writes."""


def marks_of(items: Sequence[Mark]) -> list[LocatedMark]:
    """The marks among some items."""
    return [LocatedMark(item, item.value, _key(item.name)) for item in items if isinstance(item.value, SampleMark)]


def found(
    marks: Sequence[LocatedMark],
    named: Callable[[Sequence[SampleKey]], Mapping[SampleKey, T]],
    by_uid: Callable[[Sequence[str]], Mapping[str, T]],
) -> list[tuple[LocatedMark, T | None]]:
    """Each mark with its sample, looked up by id and then by uid; None if the run no longer has it."""
    by_id = named([mark.key for mark in marks if mark.key is not None])
    uids = [mark.mark.uid for mark in marks if mark.mark.uid and mark.key not in by_id]
    moved = by_uid(uids) if uids else {}
    samples = [None if mark.key is None else by_id.get(mark.key) for mark in marks]
    return [(mark, moved.get(mark.mark.uid) if one is None else one) for mark, one in zip(marks, samples, strict=True)]


def _key(name: str) -> SampleKey | None:
    try:
        return SampleKey.parse(name)
    except ValueError:
        return None
