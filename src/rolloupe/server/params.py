"""Reads the query part of an address. A `BadQuery` names the wrong parameter and its bounds."""

import math
import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import inspect, structs
from starlette.datastructures import QueryParams
from starlette.requests import Request

from rolloupe.errors import BadQuery
from rolloupe.query import SampleQuery
from rolloupe.query.filter.parser import conditions
from rolloupe.questions import INT64, Query

T = TypeVar("T")

MAX_RUNS = 1000
"""Maximum number of runs that one request may name."""


def word(params: QueryParams, name: str) -> str:
    """Return a required value."""
    value = params.get(name)
    if not value:
        raise BadQuery(f"missing query parameter: {name}")
    return value


def integer(
    params: QueryParams, name: str, default: int | None = None, low: int = -INT64, high: int = INT64 - 1
) -> int:
    """Return a whole number within bounds; required unless there is a default."""
    value = params.get(name)
    if value is None or (value == "" and default is not None):
        if default is None:
            raise BadQuery(f"missing query parameter: {name}")
        return default
    if not (re.fullmatch("-?[0-9]{1,19}", value) and low <= int(value) <= high):
        raise BadQuery(f"{name}={value[:40]!r} is not a whole number from {low} to {high}")
    return int(value)


def optional(params: QueryParams, name: str) -> int | None:
    """Return a whole number; None if it is missing."""
    return integer(params, name) if params.get(name) else None


def flag(params: QueryParams, name: str) -> bool:
    """Return a flag; False if it is missing."""
    value = params.get(name, "").lower()
    if value not in ("", "0", "false", "1", "true"):
        raise BadQuery(f"{name}={value[:40]!r} is neither 1 nor 0")
    return value in ("1", "true")


def sample_query(params: QueryParams) -> SampleQuery:
    """Return which samples to list, in which order, from the optional `split`, `step`, `group`, `where`, `sort`, ..."""
    step = optional(params, "step")
    return SampleQuery(
        splits=(params["split"],) if params.get("split") else (),
        step_min=optional(params, "step_min") if step is None else step,
        step_max=optional(params, "step_max") if step is None else step,
        group=params.get("group") or None,
        trained=flag(params, "trained") if params.get("trained") else None,
        where=conditions(params.get("where", "")),
        typed=params.get("where", ""),
        sort=params.get("sort") or "index",
        descending=flag(params, "descending"),
    )


def run_ids(ids: Iterable[str]) -> list[str]:
    """Return the runs that a request names, without repetitions. Raises `BadQuery` for more than `MAX_RUNS`."""
    found = list(dict.fromkeys(ids))
    if len(found) > MAX_RUNS:
        raise BadQuery(f"{len(found):,} runs are too many; a request may name {MAX_RUNS:,}, or none for all runs")
    return found


async def body_of(request: Request, kind: type[T]) -> T:
    """Return the body of a request as a record. Raises `BadQuery`, which names the wrong field."""
    return decoded(await request.body(), kind, "the body")


def decoded(text: bytes | str, kind: type[T], what: str) -> T:
    """Return JSON as a record. Raises `BadQuery`, which names the wrong field."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadQuery(f"{what} is not a {kind.__name__}: {error}") from None


def query_of(params: QueryParams, query: type[Query]) -> Query:
    """Return what an address asks. Empty parameters count as missing. Raises `BadQuery`, which names the wrong one."""
    if unknown := [name for name in params if name not in query.__struct_fields__]:
        raise BadQuery(f"no parameter {unknown[0][:40]!r}; there are: {', '.join(query.__struct_fields__)}")
    given: dict[str, Any] = {}
    for field in structs.fields(query):
        if isinstance(_members(field.type)[0], inspect.VarTupleType):  # its parameter may be repeated
            given[field.name] = tuple(params.getlist(field.name))
        elif field.required or params.get(field.name):
            given[field.name] = _value(field, word(params, field.name))
    return query(**given)


def _value(field: structs.FieldInfo, value: str) -> Any:
    """Read a parameter. Raises `BadQuery`, which says what the field means."""
    kinds = {type(member) for member in _members(field.type)}
    try:
        found = msgspec.convert(value, field.type, strict=inspect.StrType in kinds)
    except msgspec.ValidationError as error:
        limits = str(error).partition("Expected ")[2].partition(" - at")[0]
        bounds = f" {limits.replace('`', '').partition(' ')[2]}" if "=" in limits else ""
        words = {inspect.FloatType: "a number", inspect.IntType: "a whole number", inspect.BoolType: "1 or 0"}
        kind = next((word for one, word in words.items() if one in kinds), "one of its values")
        raise BadQuery(f"{field.name}={value[:40]!r} is not {kind}{bounds}: {_meaning(field.type)}") from None
    if isinstance(found, float) and not math.isfinite(found):
        raise BadQuery(f"{field.name}={value[:40]!r} is not a finite number: {_meaning(field.type)}")
    if isinstance(found, int) and not -INT64 <= found < INT64:
        raise BadQuery(f"{field.name}={value[:40]!r} is not a whole number from {-INT64} to {INT64 - 1}")
    return found


def _members(kind: Any) -> tuple[inspect.Type, ...]:
    """The types that a field may have, without what describes them."""
    info = inspect.type_info(kind)
    while isinstance(info, inspect.Metadata):
        info = info.type
    return tuple(info.types) if isinstance(info, inspect.UnionType) else (info,)


def _meaning(kind: Any) -> str:
    """The description of a field, within a sentence."""
    info = inspect.type_info(kind)
    described = (info.extra_json_schema or {}).get("description", "") if isinstance(info, inspect.Metadata) else ""
    return str(described)[:1].lower() + str(described)[1:].rstrip(".")
