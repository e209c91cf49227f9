"""What of a `SampleQuery` becomes SQL: its conditions, its order, and the rows that are its own."""

import math
from typing import Any, NamedTuple

from rolloupe.errors import BadQuery
from rolloupe.index import Snapshot, column_of, metric_column
from rolloupe.index.columns import NUMERIC, kind_of
from rolloupe.query import engine
from rolloupe.query.engine import Column
from rolloupe.query.records import Condition, SampleQuery

OPERATORS = frozenset(["=", "!=", "<", "<=", ">", ">="])
NUMBERS = frozenset(["step", *NUMERIC])
METRIC = engine.quote(metric_column(""))[:-1]
"""How the quoted column of a sample metric begins."""

FILE_ORDER = "source, ordinal, byte_start, part"


class Clause(NamedTuple):
    """A piece of SQL and the values it binds."""

    sql: str
    values: list[Any]


class Terms(NamedTuple):
    """A query in SQL. `own` defines the table `own`; `named` are the columns of sample metrics and tags in use."""

    where: Clause
    own: str
    order: str
    named: list[Column]


def terms_of(snapshot: Snapshot, query: SampleQuery) -> Terms:
    """Translate a query. Raises `BadQuery` for a column that no sample has."""
    where = _where(snapshot, query)
    names = [condition.column for condition in query.where] + ([] if query.sort == "index" else [query.sort])
    found = {column_of(name, snapshot.metrics, snapshot.tags) for name in names}
    named = [Column(name, kind) for name in sorted(filter(None, found)) if (kind := kind_of(name))]
    return Terms(where, _own(snapshot, query, where), _order(snapshot, query), named)


def _where(snapshot: Snapshot, query: SampleQuery) -> Clause:
    terms: list[str] = []
    values: list[Any] = []
    if query.splits:
        terms.append(f"split IN ({', '.join('?' * len(query.splits))})")
        values += query.splits
    for sign, bound in ((">=", query.step_min), ("<=", query.step_max)):
        if bound is not None:
            terms.append(f"step {sign} ?")
            values.append(bound)
    if query.group is not None:
        terms.append("grp = ?")
        values.append(query.group)
    for condition in query.where:
        term = _term(snapshot, condition)
        terms.append(term.sql)
        values += term.values
    return Clause(" AND ".join(terms) or "true", values)


def _term(snapshot: Snapshot, condition: Condition) -> Clause:
    """A condition on a column: text is compared with text. NaN, the greatest for DuckDB, is not above any number."""
    column, operator, value = _column(snapshot, condition.column), _operator(condition), condition.value
    if not (column.startswith(METRIC) or condition.column in NUMBERS):
        return Clause(f"{column} {operator} ?", [str(value)])
    if isinstance(value, str):
        raise BadQuery(f"{condition.column} holds numbers, and {value!r} is none")
    finite = f" AND NOT isnan({column}::DOUBLE)" if operator in (">", ">=") and not math.isnan(value) else ""
    return Clause(f"{column} {operator} ?{finite}", [value])


def _operator(condition: Condition) -> str:
    if condition.operator not in OPERATORS:
        raise BadQuery(f"unknown operator {condition.operator!r}; use one of {' '.join(sorted(OPERATORS))}")
    return "<>" if condition.operator == "!=" else condition.operator


def _column(snapshot: Snapshot, name: str) -> str:
    column = column_of(name, snapshot.metrics, snapshot.tags)
    if column is None:
        known = ", ".join(["reward", "advantage", "response_tokens", "turns", "status", *snapshot.metrics][:40])
        raise BadQuery(f"no column {name!r}; there are: {known}")
    return engine.quote(column)


def _is_one_step(query: SampleQuery) -> bool:
    return query.step_min is not None and query.step_min == query.step_max and len(query.splits) == 1


def _order(snapshot: Snapshot, query: SampleQuery) -> str:
    way = "DESC" if query.descending else "ASC"
    if query.sort == "index":
        if not _is_one_step(query):
            columns = ("split <> 'train'", "split", "step", "source", "ordinal", "byte_start", "part")
            return ", ".join(f"{column} {way}" for column in columns)
        return f"lead {way}, grp {way}, row({FILE_ORDER}) {way}"
    column = _column(snapshot, query.sort)
    value = f"CASE WHEN isfinite({column}) THEN {column} END" if _is_number(snapshot, query.sort) else column
    return f"{value} {way} NULLS LAST, {column} {way} NULLS LAST, split, step, {FILE_ORDER}"


def _is_number(snapshot: Snapshot, name: str) -> bool:
    return name in ("reward", "advantage") or name in snapshot.metrics


def _own(snapshot: Snapshot, query: SampleQuery, where: Clause) -> str:
    """The rows of the query, each with its `attempt`: 0 but where several share a key and it is not the last.

    Within one step each row also has `lead`, the place of its group's first sample.
    """
    one_step = _is_one_step(query)
    if not one_step and not snapshot.duplicates:
        return f", own AS (SELECT *, 0 AS attempt FROM rows WHERE {where.sql})"
    key = "PARTITION BY split, step, grp, idx"
    lead = f", min(row({FILE_ORDER})) OVER (PARTITION BY split, step, grp) AS lead" if one_step else ""
    return f"""
    , numbered AS (
        SELECT *, row_number() OVER ({key} ORDER BY {FILE_ORDER}) AS nth, count(*) OVER ({key}) AS same{lead} FROM rows
    ), own AS (
        SELECT *, CASE WHEN nth = same THEN 0 ELSE nth END AS attempt FROM numbered WHERE {where.sql}
    )"""
