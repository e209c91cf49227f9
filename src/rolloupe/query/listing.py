"""Lists of samples: a page, or all of them."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, Snapshot, column_of, metric_column, tag_column
from rolloupe.index.catalog import Scope
from rolloupe.index.columns import NUMERIC
from rolloupe.model import SampleKey
from rolloupe.query import engine
from rolloupe.query.records import Condition, SampleItem, SamplePage, SampleQuery

OPERATORS = frozenset(["=", "!=", "<", "<=", ">", ">="])
NUMBERS = frozenset(["step", *NUMERIC])
METRIC = engine.quote(metric_column(""))[:-1]
"""How the quoted column of a sample metric begins."""

PAGE = 5000
"""Samples fetched at a time when all are asked for."""

ITEM = (
    "split", "step", "grp", "idx", "uid", "reward", "advantage", "status", "turns", "prompt_tokens",
    "response_tokens", "total_tokens", "response_chars", "env", "discarded", "prompt_preview", "response_preview",
)  # fmt: skip


class Clause(NamedTuple):
    """A piece of SQL and the values it binds."""

    sql: str
    values: list[Any]


def samples(run: OpenRun, query: SampleQuery, around: SampleKey | None = None) -> SamplePage:
    """One page of a list; with `around`, the page that holds this sample (the asked-for one where it is not in it).

    Within one step the samples of a group stand together when sorted by `index`; over several steps they stand in
    the order of the files. Raises `BadQuery` for a column that no sample has.
    """
    snapshot = run.snapshot()
    scope = snapshot.holding(query.splits, query.step_min, query.step_max)
    if engine.empty(scope):
        return SamplePage(0, 0, [])
    where, order = _where(snapshot, query), _order(snapshot, query)
    own = Clause(_own(snapshot, query, where), where.values)
    total = _total(run, snapshot, scope, query, where)
    offset, limit = query.offset, total if query.limit is None else query.limit
    if around is not None and limit > 0:
        place = _place(run, scope, own, order, around)
        offset = offset if place is None else place // limit * limit
    sql = f"{own.sql} SELECT {_item_columns(snapshot)} FROM own ORDER BY {order} LIMIT ? OFFSET ?"
    answer = engine.ask(run.catalog.folder, scope, sql, [*own.values, limit, offset])
    return SamplePage(total, offset, [_item(snapshot, record) for record in answer])


def every(run: OpenRun, query: SampleQuery) -> Iterator[SampleItem]:
    """All samples of a query, page by page; sorted by `index` they come step by step, so no page costs the run."""
    stop = None if query.limit is None else query.offset + query.limit
    return islice(_all(run, _replace(query, offset=0, limit=None)), query.offset, stop)


def _all(run: OpenRun, query: SampleQuery) -> Iterator[SampleItem]:
    if query.sort != "index":
        yield from _pages(run, query)
        return
    for split, step in _steps(run, query):
        yield from _pages(run, _replace(query, splits=(split,), step_min=step, step_max=step))


def _replace(query: SampleQuery, **changes: Any) -> SampleQuery:
    fields = {name: getattr(query, name) for name in query.__struct_fields__}
    return SampleQuery(**{**fields, **changes})


def _steps(run: OpenRun, query: SampleQuery) -> list[tuple[str, int]]:
    def fits(split: str, step: int) -> bool:
        return (
            (not query.splits or split in query.splits)
            and (query.step_min is None or step >= query.step_min)
            and (query.step_max is None or step <= query.step_max)
        )

    found = [key for key in run.snapshot().steps if fits(*key)]
    return sorted(found, key=lambda key: (key[0] != "train", *key), reverse=query.descending)


def _pages(run: OpenRun, query: SampleQuery) -> Iterator[SampleItem]:
    offset = 0
    while page := samples(run, _replace(query, offset=offset, limit=PAGE)).samples:
        yield from page
        offset += len(page)
        if len(page) < PAGE:
            return


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


FILE_ORDER = "source, ordinal, byte_start, part"


def _order(snapshot: Snapshot, query: SampleQuery) -> str:
    way = "DESC" if query.descending else "ASC"
    if query.sort == "index":
        if not _is_one_step(query):
            return f"split {way}, step {way}, source {way}, ordinal {way}, byte_start {way}, part {way}"
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


def _total(run: OpenRun, snapshot: Snapshot, scope: Scope, query: SampleQuery, where: Clause) -> int:
    if not query.where and query.group is None:
        return sum(snapshot.steps[key].rows for key in _steps(run, query) if key in snapshot.steps)
    sql = f"SELECT count(*) FROM rows WHERE {where.sql}"
    return int(engine.ask(run.catalog.folder, scope, sql, where.values)[0][0])


def _place(run: OpenRun, scope: Scope, own: Clause, order: str, key: SampleKey) -> int | None:
    """The place of a sample in the list, None where it is not in it."""
    sql = f"""{own.sql}
    , placed AS (SELECT *, row_number() OVER (ORDER BY {order}) - 1 AS place FROM own)
    SELECT place FROM placed WHERE split = ? AND step = ? AND grp = ? AND idx = ? AND attempt = ?"""
    answer = engine.ask(run.catalog.folder, scope, sql, [*own.values, *key.shared, key.attempt])
    return int(answer[0][0]) if answer else None


def _item_columns(snapshot: Snapshot) -> str:
    names = [*ITEM, *map(metric_column, snapshot.metrics), *map(tag_column, snapshot.tags)]
    return ", ".join(["attempt", *map(engine.quote, names)])


def _item(snapshot: Snapshot, record: tuple[Any, ...]) -> SampleItem:
    attempt, split, step, group, index, *rest = record
    fixed, others = rest[: len(ITEM) - 4], rest[len(ITEM) - 4 :]
    metrics = {name: value for name, value in zip(snapshot.metrics, others, strict=False) if value is not None}
    tags = zip(snapshot.tags, others[len(snapshot.metrics) :], strict=True)
    key = SampleKey(split, step, group, index, attempt)
    return SampleItem._make([key, *fixed, metrics, {name: value for name, value in tags if value is not None}])
