"""Filters in SQL, with every value bound.

A comparison with a missing value is NULL, which AND and OR treat like false, but NOT does not. So NOT never appears:
`IS NOT TRUE` divides rows in two.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from rolloupe.errors import BadQuery
from rolloupe.index import Snapshot
from rolloupe.index.segments.columns import token_column
from rolloupe.query.engine.names import column, is_number
from rolloupe.query.engine.relation import quote
from rolloupe.query.filter.nodes import Among, And, Condition, Filter, HasToken, Missing, Not, Value

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
ABOVE = (">", ">=")
TRUTH = {"true": 1, "false": 0}


class Clause(NamedTuple):
    """A piece of SQL and the values it binds."""

    sql: str
    values: list[Any]


def joined(clauses: Sequence[Clause], word: str = "AND") -> Clause:
    """Clauses joined by AND or OR; true without any."""
    sql = f" {word} ".join(one.sql if word == "AND" else f"({one.sql})" for one in clauses)
    return Clause(sql or "true", [value for one in clauses for value in one.values])


def clause_of(snapshot: Snapshot, one: Filter) -> Clause:
    """A filter in SQL. Raises `BadQuery` for a column that no sample has, or a value of the wrong type."""
    if isinstance(one, And):
        return joined([clause_of(snapshot, part) for part in one.of])
    if isinstance(one, Not):
        inner = clause_of(snapshot, one.of)
        return Clause(f"(({inner.sql}) IS NOT TRUE)", inner.values)
    if isinstance(one, HasToken):
        return Clause(quote(token_column(one.text)), [])
    if isinstance(one, Missing):
        name = column(snapshot, one.column)
        empty = "" if is_number(snapshot, one.column) else f" OR {name} = ''"
        return Clause(f"({name} IS NULL{empty})", [])
    if isinstance(one, Among):
        typed = one.typed or [""] * len(one.values)
        values = [_bound(snapshot, one.column, *pair) for pair in zip(one.values, typed, strict=True)]
        return Clause(f"{column(snapshot, one.column)} IN ({', '.join('?' * len(values))})", values)
    if isinstance(one, Condition):
        return _compared(snapshot, one)
    either = joined([clause_of(snapshot, part) for part in one.of], "OR")
    return Clause(f"({either.sql})", either.values)


def _compared(snapshot: Snapshot, one: Condition) -> Clause:
    """Compile a condition. DuckDB takes NaN for the greatest number; here NaN is above no number."""
    name = column(snapshot, one.column)
    if one.operator == "contains":
        return Clause(f"contains(lower({name}::VARCHAR), lower(?))", [str(one.value)])
    if one.operator not in OPERATORS:
        raise BadQuery(f"unknown operator {one.operator!r}; use one of {' '.join(OPERATORS)} contains")
    if one.operator == "!=":
        equal = _compared(snapshot, replace(one, operator="="))
        return Clause(f"({equal.sql} IS NOT TRUE)", equal.values)
    if not is_number(snapshot, one.column):
        return Clause(f"({name} {one.operator} ?)", [_bound(snapshot, one.column, one.value, one.typed)])
    if isinstance(one.value, str) and is_number(snapshot, one.value):
        other = column(snapshot, one.value)
        not_nan = "" if one.operator == "=" else f" AND NOT isnan({name}::DOUBLE) AND NOT isnan({other}::DOUBLE)"
        return Clause(f"({name} {one.operator} {other}{not_nan})", [])
    value = _bound(snapshot, one.column, one.value, one.typed)
    is_above = one.operator in ABOVE and not (isinstance(value, float) and math.isnan(value))
    not_nan = f" AND NOT isnan({name}::DOUBLE)" if is_above else ""
    return Clause(f"({name} {one.operator} ?{not_nan})", [value])


def _bound(snapshot: Snapshot, name: str, value: Value, typed: str) -> Value:
    """The value to bind: text for text columns, numbers for numeric ones."""
    if not is_number(snapshot, name):
        return typed or str(value)
    if isinstance(value, str) and value.lower() in TRUTH:
        return TRUTH[value.lower()]
    if isinstance(value, str):
        raise BadQuery(f"{name} is numeric; {value!r} is neither a number nor a numeric column", column=name)
    return value
