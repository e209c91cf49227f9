"""What of a `SampleQuery` becomes SQL: its conditions, its order, and the rows that are its own."""

import difflib
import math
from typing import Any, NamedTuple

from rolloupe.errors import BadQuery
from rolloupe.index import Snapshot, column_of, metric_column
from rolloupe.index.columns import NUMERIC, kind_of
from rolloupe.query.records import Condition, SampleQuery
from rolloupe.query.rows import Column, Said, quote

OPERATORS = frozenset(["=", "!=", "<", "<=", ">", ">="])
NUMBERS = frozenset(["step", *NUMERIC])
METRIC = quote(metric_column(""))[:-1]
"""How the quoted column of a sample metric begins."""

FILE_ORDER = "source, ordinal, byte_start, part"
ATTEMPT_ORDER = f"launch, {FILE_ORDER}"
"""The order of samples that share a key: the last is the current one."""

ATTEMPT = "CASE WHEN n = m AND launch IN (0, {}) THEN 0 ELSE n END"
"""The attempt of the `n`th of `m` samples with one key, in a step whose greatest launch is to be put in."""


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
    said: Said
    """The annotations, and the columns in use of which they may say something."""


def terms_of(snapshot: Snapshot, query: SampleQuery, *, by_group: bool | None = None) -> Terms:
    """Translate a query. Raises `BadQuery` for a column that no sample has.

    `by_group`: sorted by `index`, the samples of a group stand together. That takes a look at all rows in question, so
    it is for one step unless told.
    """
    by_group = is_one_step(query) if by_group is None else by_group
    where = _where(snapshot, query)
    names = [condition.column for condition in query.where] + ([] if query.sort == "index" else [query.sort])
    names += [] if query.trained is None else ["discarded"]
    found = {column_of(name, snapshot.metrics, snapshot.tags) for name in names}
    named = [Column(name, kind) for name in sorted(filter(None, found)) if (kind := kind_of(name))]
    in_use = [] if snapshot.annotated().isdisjoint(names) else [column for column in found if column]
    said = Said(snapshot.annotations if in_use else (), in_use)
    return Terms(where, _own(where, by_group=by_group), _order(snapshot, query, by_group=by_group), named, said)


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
    if query.trained is not None:
        terms.append(f"discarded {'=' if query.trained else '<>'} ''")
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
        raise BadQuery(f"no column {name!r}; {_known_columns(snapshot, name)}")
    return quote(column)


def _known_columns(snapshot: Snapshot, name: str) -> str:
    """The columns there are, the one that was perhaps meant first."""
    known = ["split", "step", "group", "index", *NUMERIC, "status", "env", "uid", "discarded"]
    known += [*snapshot.metrics, *snapshot.tags]
    meant = difflib.get_close_matches(name, known, n=1)
    hint = f"is it {meant[0]!r}? " if meant else ""
    return f"{hint}There are: {', '.join(known[:60])}{', ...' if len(known) > 60 else ''}"


def is_one_step(query: SampleQuery) -> bool:
    """True where a query is of one step of one split."""
    return query.step_min is not None and query.step_min == query.step_max and len(query.splits) == 1


def _order(snapshot: Snapshot, query: SampleQuery, *, by_group: bool) -> str:
    way = "DESC" if query.descending else "ASC"
    if query.sort == "index":
        columns = ["split <> 'train'", "split", "step", *(["lead", "grp"] if by_group else []), f"row({FILE_ORDER})"]
        return ", ".join(f"{column} {way}" for column in columns)
    column = _column(snapshot, query.sort)
    value = f"CASE WHEN isfinite({column}) THEN {column} END" if _is_number(snapshot, query.sort) else column
    return f"{value} {way} NULLS LAST, {column} {way} NULLS LAST, split, step, {FILE_ORDER}"


def _is_number(snapshot: Snapshot, name: str) -> bool:
    column = column_of(name, snapshot.metrics, snapshot.tags) or ""
    return column in ("reward", "advantage") or kind_of(column) == "DOUBLE"


def number_of(snapshot: Snapshot, name: str) -> str | None:
    """A column that holds numbers, in SQL; None for text and for `index`. Raises `BadQuery` where there is none."""
    if name == "index":
        return None
    return _column(snapshot, name) if name in NUMBERS or _is_number(snapshot, name) else None


def _own(where: Clause, *, by_group: bool) -> str:
    """The rows of the query; with `by_group` each has `lead`, the place of its group's first sample."""
    if not by_group:
        return f", own AS (SELECT * FROM rows WHERE {where.sql})"
    lead = f"min(row({FILE_ORDER})) OVER (PARTITION BY split, step, grp) AS lead"
    return f", led AS (SELECT *, {lead} FROM rows), own AS (SELECT * FROM led WHERE {where.sql})"
