"""Lists of samples, and one sample whole."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from rolloupe.errors import BadQuery, NotFound, SourceChanged
from rolloupe.index import OpenRun, Snapshot, column_of, metric_column, tag_column
from rolloupe.index.catalog import Scope
from rolloupe.model import Locator, Sample, SampleKey, Source
from rolloupe.query import engine
from rolloupe.query.records import Condition, SampleItem, SamplePage, SampleQuery

OPERATORS = frozenset(["=", "!=", "<", "<=", ">", ">="])
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
    total = _total(run, snapshot, scope, query, where)
    offset, limit = query.offset, total if query.limit is None else query.limit
    if around is not None and limit > 0:
        place = _place(run, scope, where, order, around)
        offset = offset if place is None else place // limit * limit
    sql = f"{_own(snapshot, query, where)} SELECT {_item_columns(snapshot)} FROM own ORDER BY {order} LIMIT ? OFFSET ?"
    answer = engine.ask(run.catalog.folder, scope, sql, [*where.values, limit, offset])
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
        terms.append(f"{_column(snapshot, condition.column)} {_operator(condition)} ?")
        values.append(condition.value)
    return Clause(" AND ".join(terms) or "true", values)


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
        return f"min(row({FILE_ORDER})) OVER (PARTITION BY grp) {way}, grp {way}, row({FILE_ORDER}) {way}"
    column = _column(snapshot, query.sort)
    value = f"CASE WHEN isfinite({column}) THEN {column} END" if _is_number(snapshot, query.sort) else column
    return f"{value} {way} NULLS LAST, {column} {way} NULLS LAST, split, step, {FILE_ORDER}"


def _is_number(snapshot: Snapshot, name: str) -> bool:
    return name in ("reward", "advantage") or name in snapshot.metrics


def _own(snapshot: Snapshot, query: SampleQuery, where: Clause) -> str:
    """The rows of the query, each with its `attempt`: 0 but where several share a key and it is not the last."""
    if not _is_one_step(query) and not snapshot.duplicates:
        return f", own AS (SELECT *, 0 AS attempt FROM rows WHERE {where.sql})"
    key = "PARTITION BY split, step, grp, idx"
    return f"""
    , numbered AS (
        SELECT *, row_number() OVER ({key} ORDER BY {FILE_ORDER}) AS nth, count(*) OVER ({key}) AS same FROM rows
    ), own AS (
        SELECT *, CASE WHEN nth = same THEN 0 ELSE nth END AS attempt FROM numbered WHERE {where.sql}
    )"""


def _total(run: OpenRun, snapshot: Snapshot, scope: Scope, query: SampleQuery, where: Clause) -> int:
    if not query.where and query.group is None:
        return sum(snapshot.steps[key].rows for key in _steps(run, query) if key in snapshot.steps)
    sql = f"SELECT count(*) FROM rows WHERE {where.sql}"
    return int(engine.ask(run.catalog.folder, scope, sql, where.values)[0][0])


def _place(run: OpenRun, scope: Scope, where: Clause, order: str, key: SampleKey) -> int | None:
    sql = f"""
    , placed AS (SELECT *, row_number() OVER (ORDER BY {order}) - 1 AS place FROM rows WHERE {where.sql})
    SELECT place FROM placed WHERE split = ? AND step = ? AND grp = ? AND idx = ? ORDER BY {FILE_ORDER}"""
    answer = engine.ask(run.catalog.folder, scope, sql, [*where.values, *key.shared])
    if not answer:
        return None
    return int(answer[(key.attempt or len(answer)) - 1 if key.attempt <= len(answer) else -1][0])


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


LOCATE = f"""
SELECT source, byte_start, byte_length, part FROM rows
WHERE split = ? AND step = ? AND grp = ? AND idx = ? ORDER BY {FILE_ORDER}
"""


def _locate(run: OpenRun, key: SampleKey) -> tuple[Source, Locator]:
    scope = run.snapshot().holding([key.split], key.step, key.step)
    known = -(2**63) <= key.step < 2**63 and not engine.empty(scope)
    answer = engine.ask(run.catalog.folder, scope, LOCATE, list(key.shared)) if known else []
    if not answer or key.attempt > len(answer):
        raise NotFound(f"no sample {key} in run {run.id!r}; list its samples with `rolloupe query`")
    name, start, length, part = answer[(key.attempt or len(answer)) - 1]
    source = run.source(name)
    if source is None:
        raise SourceChanged(f"{name} is gone: the sample {key} was in it when it was indexed")
    return source, Locator(source=name, start=start, length=length, part=part)


def sample(run: OpenRun, key: SampleKey) -> Sample:
    """One sample, whole, read from its source. Raises `NotFound`, and `SourceChanged` where the file was rewritten."""
    source, locator = _locate(run, key)
    found = run.format.load(run.info, source, locator)
    if (found.row.split, found.row.step, found.row.group, found.row.index) != key.shared:
        raise SourceChanged(f"{locator.source} no longer holds {key} at byte {locator.start}: look at the list again")
    found.key = key
    return found


def raw(run: OpenRun, key: SampleKey) -> tuple[Locator, bytes]:
    """Where a sample stands and its record's bytes, verbatim."""
    source, locator = _locate(run, key)
    return locator, run.format.raw(source, locator)


NEIGHBOURS = f"""
SELECT idx, row_number() OVER (PARTITION BY idx ORDER BY {FILE_ORDER}), count(*) OVER (PARTITION BY idx) FROM rows
WHERE split = ? AND step = ? AND grp = ? ORDER BY {FILE_ORDER}
"""


def neighbours(run: OpenRun, key: SampleKey) -> list[SampleKey]:
    """The samples of a sample's group, in order."""
    scope = run.snapshot().holding([key.split], key.step, key.step)
    if engine.empty(scope):
        return []
    answer = engine.ask(run.catalog.folder, scope, NEIGHBOURS, [key.split, key.step, key.group])
    return [SampleKey(key.split, key.step, key.group, idx, 0 if nth == n else nth) for idx, nth, n in answer]
