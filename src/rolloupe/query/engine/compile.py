"""A `SampleQuery` in SQL: its filter, its order, and its rows; and its parts, which are short and show the progress.

Every value is bound. A comparison with a missing value is NULL, which AND and OR treat like false, but NOT does not.
So NOT never appears: `IS NOT TRUE` divides rows in two.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from rolloupe.errors import BadQuery
from rolloupe.index import Piece, Snapshot
from rolloupe.index.segments.columns import resolve, sql_type, token_column
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import NUMBERS, column, is_annotated, is_number, is_real, is_within, reference, type_of
from rolloupe.query.engine.relation import AnnotationOverlay, Column, quote
from rolloupe.query.filter import parser
from rolloupe.query.filter.parser import Among, And, Condition, Filter, HasToken, Missing, Not, Value, leaves
from rolloupe.query.records import SampleQuery

FILE_ORDER = "source, ordinal, byte_start, part"
ATTEMPT_ORDER = f"launch, {FILE_ORDER}"
"""The order of samples that share a key. Each of them counts; the last has the plain id, the others carry numbers."""

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
ABOVE = (">", ">=")
TRUTH = {"true": 1, "false": 0}


class Clause(NamedTuple):
    """A piece of SQL and the values it binds."""

    sql: str
    values: list[Any]


class CompiledQuery(NamedTuple):
    """A query in SQL. A statement begins with `own`, reads from `table`, and binds the values of `where` first."""

    where: Clause
    own: str  # defines the table `own`; empty for a filter that all rows match
    order: str
    named: list[Column]  # the columns of sample metrics and tags in use
    overlay: AnnotationOverlay  # the annotations, and the columns in use that they may override
    later: tuple[str, ...] = ()
    """The derived metrics and token strings in the filter, which the index may learn after the rows. See `matching`."""

    @property
    def table(self) -> str:
        """The table with the rows of the query."""
        return "own" if self.own else "rows"

    def question(
        self,
        pieces: Sequence[Piece],
        sql: str,
        values: Sequence[Any] = (),
        tables: Mapping[str, pa.Table] = MappingProxyType({}),
    ) -> Question:
        """The question that a statement asks about some pieces. It binds `values` behind those of the filter."""
        return Question(pieces, sql, [*self.where.values, *values], self.named, tables, self.overlay)

    def by_step(self, columns: str, condition: str = "true") -> str:
        """A statement with columns for each step, over the rows of some splits that meet a condition."""
        return f"""{self.own} SELECT step, {columns} FROM {self.table}
        WHERE split IN (SELECT unnest(?)) AND {condition} GROUP BY step"""


def compile_query(
    snapshot: Snapshot, query: SampleQuery, *, by_group: bool | None = None, also: Sequence[str] = ()
) -> CompiledQuery:
    """Translate a query. Raises `BadQuery` for a column that no sample has.

    With `by_group` and sorted by `index`, the samples of a group are adjacent. That reads all matching rows, so it is
    the default for one step only. `also` names further columns that the statement uses.
    """
    by_group = is_one_step(query) if by_group is None else by_group
    way = "DESC" if query.descending else "ASC"
    with parser.pointing(query.typed):
        where = _where(snapshot, query)
        names = [*query_names(query, snapshot.metrics, snapshot.tags), *also]
        names += [] if query.trained is None else ["discarded"]
        refs = (reference(snapshot, name) for name in names)
        columns = list(dict.fromkeys(ref.column for ref in refs if ref))
        overlay = AnnotationOverlay()
        if is_annotated(snapshot, columns):
            overlay = AnnotationOverlay(snapshot.annotations, columns, scores=snapshot.scores)
        named = [Column(name, kind) for name in sorted(columns) if (kind := sql_type(name))]
        named += [Column(token_column(text), "BOOLEAN") for text in token_texts(query)]
        if query.sort == "index":
            places = ["split <> 'train'", "split", "step", *(["lead", "grp"] if by_group else []), f"row({FILE_ORDER})"]
            order = ", ".join(f"{place} {way}" for place in places)
        else:
            order = f"{by_value(snapshot, query)}, split, step, {FILE_ORDER}"
        own = f", own AS (SELECT * FROM rows WHERE {where.sql})"
        if by_group:  # `lead` is the place of the first sample of a group
            lead = f"min(row({FILE_ORDER})) OVER (PARTITION BY split, step, grp) AS lead"
            own = f", led AS (SELECT *, {lead} FROM rows), own AS (SELECT * FROM led WHERE {where.sql})"
        return CompiledQuery(where, own, order, named, overlay)


def matching(snapshot: Snapshot, where: str, names: Sequence[str] = ()) -> CompiledQuery:
    """Return the rows that match a filter, for a statement that also uses the columns in `names`. Raises `BadQuery`."""
    filters = parser.conditions(where)
    terms = compile_query(snapshot, SampleQuery(where=filters, typed=where), by_group=False, also=names)
    if not filters:
        return terms._replace(own="")
    refs = [reference(snapshot, leaf.column) for leaf in leaves(filters) if not isinstance(leaf, HasToken)]
    derived = [ref.name for ref in refs if ref is not None and ref.kind == "derived"]
    texts = [leaf.text for leaf in leaves(filters) if isinstance(leaf, HasToken)]
    return terms._replace(later=(*derived, *texts))


def discard_overlay(snapshot: Snapshot) -> AnnotationOverlay:
    """The annotations, if they record which samples were discarded."""
    pieces = snapshot.annotations if snapshot.annotates_discarded else ()
    return AnnotationOverlay(pieces, ["discarded"])


def query_names(query: SampleQuery, metrics: Collection[str], tags: Collection[str]) -> list[str]:
    """The names of the columns that a query sorts and filters by, in a run with these metrics and tags."""
    names = [] if query.sort == "index" else [query.sort]
    for leaf in leaves(query.where):
        if isinstance(leaf, HasToken):
            continue
        names.append(leaf.column)
        if isinstance(leaf, Condition) and isinstance(leaf.value, str):
            names += [leaf.value] if type_of(resolve(leaf.column, metrics, tags)) in NUMBERS else []
    return names


def token_texts(query: SampleQuery) -> list[str]:
    """The strings of tokens that a query filters by, each once."""
    return list(dict.fromkeys(leaf.text for leaf in leaves(query.where) if isinstance(leaf, HasToken)))


def is_one_step(query: SampleQuery) -> bool:
    """True for a query on one step of one split."""
    return query.step_min is not None and query.step_min == query.step_max and len(query.splits) == 1


def by_value(snapshot: Snapshot, query: SampleQuery) -> str:
    """The order of samples by the sort column of a query: finite numbers first, missing values last.

    Texts that are integers, such as the numbers of samples, are in the order of the integers, before other texts.
    """
    way = "DESC" if query.descending else "ASC"
    by = column(snapshot, query.sort)
    if is_real(snapshot, query.sort):
        value = f"CASE WHEN isfinite({by}) THEN {by} END"
    else:
        value = by if is_number(snapshot, query.sort) else f"try_cast({by} AS BIGINT)"
    return f"{value} {way} NULLS LAST, {by} {way} NULLS LAST"


def number_of(snapshot: Snapshot, name: str) -> str | None:
    """A numeric column in SQL; None for text and for `index`. Raises `BadQuery` for an unknown column."""
    if name == "index":
        return None
    sql = column(snapshot, name)
    return sql if is_number(snapshot, name) else None


def _where(snapshot: Snapshot, query: SampleQuery) -> Clause:
    clauses = []
    if query.splits:
        clauses.append(Clause(f"split IN ({', '.join('?' * len(query.splits))})", list(query.splits)))
    for sql, bound in (("step >= ?", query.step_min), ("step <= ?", query.step_max), ("grp = ?", query.group)):
        if bound is not None:
            clauses.append(Clause(sql, [bound]))
    if query.trained is not None:
        clauses.append(Clause(f"discarded {'=' if query.trained else '<>'} ''", []))
    return _joined([*clauses, *(_clause_of(snapshot, node) for node in query.where)])


def _joined(clauses: Sequence[Clause], word: str = "AND") -> Clause:
    sql = f" {word} ".join(clause.sql if word == "AND" else f"({clause.sql})" for clause in clauses)
    return Clause(sql or "true", [value for clause in clauses for value in clause.values])


def _clause_of(snapshot: Snapshot, node: Filter) -> Clause:
    """A filter in SQL. Raises `BadQuery` for a column that no sample has, or a value of the wrong type."""
    if isinstance(node, And):
        return _joined([_clause_of(snapshot, part) for part in node.of])
    if isinstance(node, Not):
        inner = _clause_of(snapshot, node.of)
        return Clause(f"(({inner.sql}) IS NOT TRUE)", inner.values)
    if isinstance(node, HasToken):
        return Clause(quote(token_column(node.text)), [])
    if isinstance(node, Missing):
        name = column(snapshot, node.column)
        empty = "" if is_number(snapshot, node.column) else f" OR {name} = ''"
        return Clause(f"({name} IS NULL{empty})", [])
    if isinstance(node, Among):
        typed = node.typed or [""] * len(node.values)
        values = [_bound(snapshot, node.column, *pair) for pair in zip(node.values, typed, strict=True)]
        return Clause(f"{column(snapshot, node.column)} IN ({', '.join('?' * len(values))})", values)
    if isinstance(node, Condition):
        return _comparison(snapshot, node)
    either = _joined([_clause_of(snapshot, part) for part in node.of], "OR")
    return Clause(f"({either.sql})", either.values)


def _comparison(snapshot: Snapshot, node: Condition) -> Clause:
    """A condition in SQL. DuckDB takes NaN for the greatest number; here it is neither above nor below another."""
    name = column(snapshot, node.column)
    if node.operator == "contains":
        return Clause(f"contains(lower({name}::VARCHAR), lower(?))", [str(node.value)])
    if node.operator not in OPERATORS:
        raise BadQuery(f"unknown operator {node.operator!r}; use one of {' '.join(OPERATORS)} contains")
    if node.operator == "!=":
        equal = _comparison(snapshot, replace(node, operator="="))
        return Clause(f"({equal.sql} IS NOT TRUE)", equal.values)
    if not is_number(snapshot, node.column):
        if isinstance(node.value, int | float) and node.operator != "=":
            return Clause(f"(try_cast({name} AS DOUBLE) {node.operator} ?)", [node.value])
        return Clause(f"({name} {node.operator} ?)", [_bound(snapshot, node.column, node.value, node.typed)])
    if isinstance(node.value, str) and is_number(snapshot, node.value):
        other = column(snapshot, node.value)
        not_nan = "" if node.operator == "=" else f" AND NOT isnan({name}::DOUBLE) AND NOT isnan({other}::DOUBLE)"
        return Clause(f"({name} {node.operator} {other}{not_nan})", [])
    value = _bound(snapshot, node.column, node.value, node.typed)
    if isinstance(value, float) and math.isnan(value):
        return Clause(f"({name} = ?)", [value]) if "=" in node.operator else Clause("false", [])
    not_nan = f" AND NOT isnan({name}::DOUBLE)" if node.operator in ABOVE else ""
    return Clause(f"({name} {node.operator} ?{not_nan})", [value])


def _bound(snapshot: Snapshot, name: str, value: Value, typed: str) -> Value:
    if not is_number(snapshot, name):
        return typed or str(value)
    if isinstance(value, str) and value.lower() in TRUTH:
        return TRUTH[value.lower()]
    if isinstance(value, str):
        raise BadQuery(f"{name} is numeric; {value!r} is neither a number nor a numeric column", column=name)
    return value


PART_ROWS = 2**20  # samples that a query looks at in about a tenth of a second

FILE_ROWS, IN_PACK = 2**12, 2**5
"""A file takes as long as some thousand samples by itself, and as long as a hundred in a pack of many files."""


class Progress(Struct):
    """The progress of a list. All numbers are 0 before it begins, and once the list is there."""

    done: int = 0
    """The number of samples searched so far."""
    of: int = 0
    """The number of samples to search; 0 until a question about a large run begins."""
    found: int = 0
    """The number of matching samples or groups so far."""


_watched: ContextVar[Progress | None] = ContextVar("watched", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Keep `progress` up to date with the questions in this block."""
    token = _watched.set(progress)
    try:
        yield
    finally:
        _watched.reset(token)


def count_found(samples: int) -> None:
    """Count matching samples or groups in the progress."""
    progress = _watched.get()
    if progress is not None:
        progress.found += samples


def parts_of(snapshot: Snapshot, query: SampleQuery) -> Iterator[SampleQuery]:
    """Divide a query by steps, in their order: each step belongs to one part.

    While a part is in use, the samples of earlier parts count as done. A query on annotated columns stays whole,
    because each part would read all annotations.
    """
    rows, costs = Counter[int](), Counter[int]()
    for (split, step), stats in snapshot.steps.items():
        if is_within(query, split, step):
            rows[step] += stats.rows
            pieces = snapshot.pieces[split, step]
            costs[step] += stats.rows + sum(FILE_ROWS // (IN_PACK if piece.pack else 1) for piece in pieces)
    progress = _watched.get() or Progress()
    progress.done, progress.of, progress.found = 0, rows.total(), 0
    begin, size, cost, left = query.step_min, 0, 0, costs.total()
    count = round(left / PART_ROWS)
    if count > 1:
        overlay = compile_query(snapshot, query, by_group=False).overlay
        count = 1 if overlay.pieces or overlay.scores else count
    most = left / max(1, count)
    for step in sorted(rows):
        size, cost, left = size + rows[step], cost + costs[step], left - costs[step]
        if cost >= most and left:
            yield replace(query, step_min=begin, step_max=step)
            begin, progress.done, size, cost = step + 1, progress.done + size, 0, 0
    yield replace(query, step_min=begin, step_max=query.step_max)
    progress.done += size
