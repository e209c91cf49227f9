"""What is asked for, out of the arguments that a person gives."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from rolloupe.errors import BadQuery
from rolloupe.model import SampleKey

if TYPE_CHECKING:
    from rolloupe.query import Filter, SampleQuery

T = TypeVar("T")

Where: TypeAlias = "str | Sequence[Filter]"


def sample_query(
    *,
    split: str | None = None,
    step: int | None = None,
    steps: tuple[int | None, int | None] | None = None,
    group: str | None = None,
    trained: bool | None = None,
    where: "Where" = (),
    sort: str = "index",
    descending: bool = False,
    offset: int = 0,
    limit: int | None = None,
) -> "SampleQuery":
    """The record that single arguments stand for. Raises `BadQuery` where they cannot be."""
    from rolloupe.query import SampleQuery
    from rolloupe.query.filter.parser import conditions

    if step is not None and steps is not None:
        raise BadQuery("step and steps exclude each other; leave one of them out")
    if offset < 0 or (limit is not None and limit < 0):
        raise BadQuery("offset and limit cannot be negative")
    low, high = (step, step) if steps is None else steps
    return SampleQuery(
        splits=() if split is None else (split,),
        step_min=low,
        step_max=high,
        group=group,
        trained=trained,
        where=conditions(where) if isinstance(where, str) else tuple(where),
        sort=sort,
        descending=descending,
        offset=offset,
        limit=limit,
    )


def pointing(where: "Where") -> AbstractContextManager[None]:
    """Tell of a column that is not there where in the text of the filter it stands, if that was a text."""
    from rolloupe.query.filter.parser import pointing as pointing_in

    return pointing_in(where if isinstance(where, str) else "")


def pointed(where: "Where", found: Iterable[T]) -> Iterator[T]:
    """The same one after another, failing as `pointing` does."""
    with pointing(where):
        yield from found


def at_most(query: "SampleQuery", limit: int) -> "SampleQuery":
    """The query with no more than so many samples."""
    from msgspec.structs import replace

    return replace(query, limit=limit if query.limit is None else min(limit, query.limit))


def within(query: "SampleQuery", total: int) -> int:
    """How many of `total` samples lie within offset and limit."""
    left = max(0, total - query.offset)
    return left if query.limit is None else min(left, query.limit)


def key_of(id: str | SampleKey) -> SampleKey:
    """The key that an id stands for. Raises `BadQuery` for what is none."""
    if isinstance(id, SampleKey):
        return id
    try:
        return SampleKey.parse(id)
    except ValueError as error:
        raise BadQuery(f"{error}; the list of samples has the ids") from error
