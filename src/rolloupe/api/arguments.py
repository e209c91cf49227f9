"""Turns the arguments of a call into queries and keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rolloupe.errors import BadQuery
from rolloupe.model import SampleKey

if TYPE_CHECKING:
    from rolloupe.query import Filter, SampleQuery

Where: TypeAlias = "str | Sequence[Filter]"
Steps: TypeAlias = tuple[int | None, int | None]
"""The first and the last step, both included; None leaves that end open."""


def window(steps: Steps | None) -> dict[str, Any]:
    """Return the fields of a declared question for some steps."""
    first, last = steps or (None, None)
    return {"step_min": first, "step_max": last}


def sample_query(
    *,
    split: str | None = None,
    step: int | None = None,
    steps: Steps | None = None,
    where: "Where" = (),
    offset: int = 0,
    limit: int | None = None,
    **others: Any,
) -> "SampleQuery":
    """Return the query that arguments stand for; `others` are fields of it. Raises `BadQuery` for invalid ones."""
    from rolloupe.query import SampleQuery
    from rolloupe.query.filter.parser import conditions

    if step is not None and steps is not None:
        raise BadQuery("step and steps exclude each other; leave one of them out")
    if offset < 0 or (limit is not None and limit < 0):
        raise BadQuery("offset and limit cannot be negative")
    return SampleQuery(
        splits=() if split is None else (split,),
        step_min=steps[0] if steps else step,
        step_max=steps[1] if steps else step,
        where=conditions(where) if isinstance(where, str) else tuple(where),
        typed=where if isinstance(where, str) else "",
        offset=offset,
        limit=limit,
        **others,
    )


def at_most(query: "SampleQuery", limit: int) -> "SampleQuery":
    """Return the query, limited to this many samples."""
    from msgspec.structs import replace

    return replace(query, limit=limit if query.limit is None else min(limit, query.limit))


def within(query: "SampleQuery", total: int) -> int:
    """Return how many of `total` samples are within offset and limit."""
    rest = max(0, total - query.offset)
    return rest if query.limit is None else min(rest, query.limit)


def key_of(id: str | SampleKey) -> SampleKey:
    """Return the key that an id stands for. Raises `BadQuery` for a malformed id."""
    if isinstance(id, SampleKey):
        return id
    try:
        return SampleKey.parse(id)
    except ValueError as error:
        raise BadQuery(f"{error}; the list of samples has the ids") from error
