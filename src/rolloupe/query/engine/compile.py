"""A `SampleQuery` in SQL: its conditions, its order, and its rows."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from rolloupe.index import Snapshot, column_of
from rolloupe.index.segments.columns import resolve, sql_type, token_column
from rolloupe.query.engine.names import NUMBERS, column, is_annotated, is_number, is_real, type_of
from rolloupe.query.engine.relation import AnnotationOverlay, Column
from rolloupe.query.filter.nodes import Condition, HasToken, leaves
from rolloupe.query.filter.parser import pointing
from rolloupe.query.filter.sql import Clause, clause_of, joined
from rolloupe.query.records import SampleQuery

FILE_ORDER = "source, ordinal, byte_start, part"
ATTEMPT_ORDER = f"launch, {FILE_ORDER}"
"""The order of samples that share a key. Each of them counts; the last has the plain id, the others carry numbers."""


class CompiledQuery(NamedTuple):
    """A query in SQL. `own` defines the table `own`; `named` are the columns of sample metrics and tags in use."""

    where: Clause
    own: str
    order: str
    named: list[Column]
    overlay: AnnotationOverlay
    """The annotations, and the columns in use that they may override."""


def compile_query(
    snapshot: Snapshot, query: SampleQuery, *, by_group: bool | None = None, also: Sequence[str] = ()
) -> CompiledQuery:
    """Translate a query. Raises `BadQuery` for a column that no sample has.

    With `by_group` and sorted by `index`, the samples of a group are adjacent. That takes a look at all matching rows,
    so by default it applies to one step only. `also` are further columns in use, by the names that people use.
    """
    with pointing(query.typed):
        return _compile(snapshot, query, is_one_step(query) if by_group is None else by_group, also)


def _compile(snapshot: Snapshot, query: SampleQuery, by_group: bool, also: Sequence[str]) -> CompiledQuery:
    where = _where(snapshot, query)
    names = [*query_names(query, snapshot.metrics, snapshot.tags), *also]
    names += [] if query.trained is None else ["discarded"]
    found = {column_of(name, snapshot.metrics, snapshot.tags) for name in names}
    named = [Column(name, kind) for name in sorted(filter(None, found)) if (kind := sql_type(name))]
    named += [Column(token_column(text), "BOOLEAN") for text in token_texts(query)]
    order = _order(snapshot, query, by_group=by_group)
    return CompiledQuery(where, _own_rows(where, by_group=by_group), order, named, overlay_of(snapshot, names))


def overlay_of(snapshot: Snapshot, names: Sequence[str]) -> AnnotationOverlay:
    """The annotations, if they may override these columns, given by the names that people use."""
    found = (column_of(name, snapshot.metrics, snapshot.tags) for name in dict.fromkeys(names))
    columns = [one for one in found if one]
    is_newer = is_annotated(snapshot, columns)
    return AnnotationOverlay(snapshot.annotations, columns, scores=snapshot.scores) if is_newer else AnnotationOverlay()


def discard_overlay(snapshot: Snapshot) -> AnnotationOverlay:
    """The annotations, if they record which samples were discarded."""
    pieces = snapshot.annotations if snapshot.annotates_discarded else ()
    return AnnotationOverlay(pieces, ["discarded"])


def _where(snapshot: Snapshot, query: SampleQuery) -> Clause:
    clauses = []
    if query.splits:
        clauses.append(Clause(f"split IN ({', '.join('?' * len(query.splits))})", list(query.splits)))
    for sign, bound in ((">=", query.step_min), ("<=", query.step_max)):
        if bound is not None:
            clauses.append(Clause(f"step {sign} ?", [bound]))
    if query.group is not None:
        clauses.append(Clause("grp = ?", [query.group]))
    if query.trained is not None:
        clauses.append(Clause(f"discarded {'=' if query.trained else '<>'} ''", []))
    return joined([*clauses, *(clause_of(snapshot, one) for one in query.where)])


def query_names(query: SampleQuery, metrics: Collection[str], tags: Collection[str]) -> list[str]:
    """The names of the columns that a query sorts and filters by, in a run with these metrics and tags."""
    found = [] if query.sort == "index" else [query.sort]
    for one in leaves(query.where):
        if isinstance(one, HasToken):
            continue
        found.append(one.column)
        if isinstance(one, Condition) and isinstance(one.value, str):
            found += [one.value] if type_of(resolve(one.column, metrics, tags)) in NUMBERS else []
    return found


def token_texts(query: SampleQuery) -> list[str]:
    """The strings of tokens that a query filters by, each once."""
    return list(dict.fromkeys(one.text for one in leaves(query.where) if isinstance(one, HasToken)))


def is_one_step(query: SampleQuery) -> bool:
    """True for a query on one step of one split."""
    return query.step_min is not None and query.step_min == query.step_max and len(query.splits) == 1


def _order(snapshot: Snapshot, query: SampleQuery, *, by_group: bool) -> str:
    way = "DESC" if query.descending else "ASC"
    if query.sort == "index":
        columns = ["split <> 'train'", "split", "step", *(["lead", "grp"] if by_group else []), f"row({FILE_ORDER})"]
        return ", ".join(f"{column} {way}" for column in columns)
    return f"{by_value(snapshot, query)}, split, step, {FILE_ORDER}"


def by_value(snapshot: Snapshot, query: SampleQuery) -> str:
    """The order of samples by the sort column of a query: finite numbers first, missing values last."""
    way = "DESC" if query.descending else "ASC"
    by = column(snapshot, query.sort)
    value = f"CASE WHEN isfinite({by}) THEN {by} END" if is_real(snapshot, query.sort) else by
    return f"{value} {way} NULLS LAST, {by} {way} NULLS LAST"


def number_of(snapshot: Snapshot, name: str) -> str | None:
    """A numeric column in SQL; None for text and for `index`. Raises `BadQuery` for an unknown column."""
    if name == "index":
        return None
    found = column(snapshot, name)
    return found if is_number(snapshot, name) else None


def _own_rows(where: Clause, *, by_group: bool) -> str:
    """The rows of the query; with `by_group` each has `lead`, the place of its group's first sample."""
    if not by_group:
        return f", own AS (SELECT * FROM rows WHERE {where.sql})"
    lead = f"min(row({FILE_ORDER})) OVER (PARTITION BY split, step, grp) AS lead"
    return f", led AS (SELECT *, {lead} FROM rows), own AS (SELECT * FROM led WHERE {where.sql})"
