"""Lists of samples, as records: a page, all of them one after another, or all of them as a table.

A page takes two statements: one for the places of its samples, with only the columns that this needs; one for all
fields of these samples. Wide runs, with hundreds of sample metrics, cost no more than narrow ones.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from math import isfinite
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec.structs import replace

from rolloupe.columns import ANNOTATED, LISTED
from rolloupe.derive import METRICS, PREFIX
from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun, Piece, Snapshot, added_stamps, metric_column, tag_column
from rolloupe.index.segments.columns import NUMBER, ColumnRef, derived_column, resolve, sql_type
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import query_names, token_texts
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import DERIVED_NAMES, reference
from rolloupe.query.engine.relation import PLACE, PLACE_WORD, AnnotationOverlay, Column, RowPlace, place_word, quote
from rolloupe.query.engine.token_words import knows_words
from rolloupe.query.records import LargeInteger, NonFinite, SampleItem, SamplePage, SampleQuery
from rolloupe.query.samples.attempts import KEY, ORDER, attempts_of
from rolloupe.query.samples.listing import listed
from rolloupe.query.splits import is_asked

PAGE_CELLS = 500_000
"""Number of values to fetch at a time when iterating over all samples."""
MAX_PAGE = 5000
MIN_PAGE = 100
CHUNK = 20_000

ITEM = tuple(column.column for column in LISTED)
FIELDS = {column.column: column.name for column in LISTED}
"""The fields of `SampleItem` by the columns of the index."""

NAMES = {column.column: column.name for column in LISTED if column.is_exported}
"""The names of columns in tables."""

PLACED = ("source", "byte_start", "byte_length", "part")
"""The columns of the place of a sample."""

SAFE = 2**53
"""Beyond it a browser rounds integers."""


def samples(
    run: OpenRun, query: SampleQuery, around: SampleKey | None = None, columns: Sequence[str] | None = None
) -> SamplePage:
    """One page of a list; `around` selects the page with this sample (the requested page if none has it).

    Samples have the values of `columns`, or else all sample metrics and tags. Sorted by `index`, steps follow each
    other, and the samples of a group are adjacent within a step. Raises `BadQuery` for a column that no sample has,
    `NotFound` for a split that the run lacks.
    """
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    found = listed(run, snapshot, query)
    total = found.total
    offset, limit = query.offset, total if query.limit is None else query.limit
    if around is not None and limit > 0:
        place = found.place_of(run, around)
        offset = offset if place is None else place // limit * limit
    derived = _derived_names(snapshot, query)
    rows = list_rows(run, found.snapshot, found.page(run, offset, limit), columns, derived)
    return SamplePage(total, offset, items_of(rows), stamp_of(snapshot, query), pending(snapshot, query))


def derived_names(query: SampleQuery, metrics: Collection[str], tags: Collection[str]) -> tuple[str, ...]:
    """The derived metrics that a query names in a run with these sample metrics and tags, without `derived.`."""
    refs = [resolve(name, metrics, tags) for name in query_names(query, metrics, tags)]
    return tuple(dict.fromkeys(ref.name for ref in refs if ref is not None and ref.kind == "derived"))


def needs_whole_index(query: SampleQuery, metrics: Collection[str], tags: Collection[str]) -> bool:
    """True for a query that names what the index writes behind the numbers: derived metrics, or tokens."""
    return bool(derived_names(query, metrics, tags) or token_texts(query))


def _derived_names(snapshot: Snapshot, query: SampleQuery) -> tuple[str, ...]:
    return derived_names(query, snapshot.metrics, snapshot.tags)


def pending(snapshot: Snapshot, query: SampleQuery) -> int:
    """The number of samples in scope of which the index lacks derived metrics or tokens that the query names."""
    names, has_tokens = {*_derived_names(snapshot, query)}, bool(token_texts(query))
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max) if names or has_tokens else []
    lacking = (one for one in pieces if not names <= {*one.derived} or (has_tokens and not knows_words(one)))
    return sum(piece.rows for piece in lacking)


def in_known_splits(snapshot: Snapshot, query: SampleQuery) -> SampleQuery:
    """Expand `eval` to every `eval/...` in a query. Raises `NotFound` for an unknown split."""
    names = sorted({split for split, _ in snapshot.steps}, key=lambda split: (split != "train", split))
    found: list[str] = []
    for split in query.splits:
        matches = [one for one in names if is_asked(one, split)]
        if not matches and names:
            raise NotFound(f"no split {split!r}; there are: {', '.join(names[:40])}")
        found += matches or [split]
    trained = None if query.trained and not snapshot.has_discarded else query.trained
    return replace(query, splits=tuple(dict.fromkeys(found)), trained=trained)


def stamp_of(snapshot: Snapshot, query: SampleQuery) -> int:
    """The stamp of the only step of a query, over all its splits; 0 for several steps."""
    if query.step_min is None or query.step_min != query.step_max:
        return 0
    found = (snapshot.steps.get((split, query.step_min)) for split in query.splits)
    return added_stamps(stats.stamp for stats in found if stats)


def in_scope(run: OpenRun, query: SampleQuery) -> int:
    """Count the samples in the splits and steps of a query, ignoring its conditions; looks at no sample."""
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    return listed(run, snapshot, replace(query, where=(), group=None, sort="index")).total


def every(run: OpenRun, query: SampleQuery, columns: Sequence[str] | None = None) -> Iterator[SampleItem]:
    """All samples of a query in the current run, page by page. If sorted by `index`, no page reads the whole run.

    `columns` as for `samples`.
    """
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    offset, remaining = query.offset, query.limit
    widest = max((len(p.metrics) + len(p.tags) for p in snapshot.holding(query.splits)), default=0) + len(ITEM)
    size = max(MIN_PAGE, min(MAX_PAGE, PAGE_CELLS // widest))
    while remaining is None or remaining > 0:
        limit = size if remaining is None else min(size, remaining)
        snapshot, page = _page(run, snapshot, replace(query, offset=offset, limit=limit), columns)
        yield from page
        offset, remaining = offset + len(page), None if remaining is None else remaining - len(page)
        if len(page) < limit:
            return


def _page(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, columns: Sequence[str] | None
) -> tuple[Snapshot, list[SampleItem]]:
    """One of all pages. If a piece of the index is gone, the page is queried again, on the run at that time."""
    for pause_s in (0.1, 0.5, 2.0, None):
        try:
            found = listed(run, snapshot, query)
            places = found.page(run, query.offset, query.limit or 0)
            rows = list_rows(run, found.snapshot, places, columns, _derived_names(snapshot, query))
            return snapshot, items_of(rows)
        except SourceChanged:
            if pause_s is None:
                raise
            time.sleep(pause_s)
            snapshot = run.snapshot()
    raise AssertionError


def table(run: OpenRun, query: SampleQuery) -> pa.Table:
    """All samples of a query as an Arrow table: `id`, the fields of `SampleItem`, all metrics and tags by name.

    A sample metric or tag with the name of another column becomes `metric.NAME` or `tag.NAME`. Raises as `samples`.
    """
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    found = listed(run, snapshot, query)
    stop = found.total if query.limit is None else min(found.total, query.offset + query.limit)
    chunks = []
    for at in range(query.offset, stop, CHUNK):
        places = found.page(run, at, min(CHUNK, stop - at))
        chunks.append(_as_table(list_rows(run, found.snapshot, places, derived=tuple(METRICS))))
    if not chunks:
        return pa.table({name: [] for name in ("id", *NAMES.values(), *DERIVED_NAMES)})
    return pa.concat_tables(chunks, promote_options="permissive")


class RowNames(NamedTuple):
    """The names of the sample metrics, tags and derived metrics to read, and the columns of the requested values."""

    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    derived: tuple[str, ...]
    values: tuple[str | None, ...] = ()
    """None for a column that the samples lack."""


class ListRows(NamedTuple):
    """Samples with the same names.

    `rows` has `nth`, `PLACE_WORD`, `ORDER`, `PLACED`, `ITEM`, metrics, tags and derived metrics.
    """

    rows: pa.Table
    names: RowNames
    attempts: dict[int, int]
    """By `nth`, for earlier attempts: the number of the attempt, from 1."""


def list_rows(
    run: OpenRun,
    snapshot: Snapshot,
    places: Sequence[RowPlace],
    columns: Sequence[str] | None = None,
    derived: tuple[str, ...] = (),
) -> Iterator[ListRows]:
    """Look up the items of samples, wide rows apart from narrow ones. `nth` is the place in `places`.

    The result has these columns; or else all sample metrics and tags, and these derived metrics.
    """
    newer_metrics, newer_tags = snapshot.annotated_names()
    newer = [*ANNOTATED, *map(metric_column, newer_metrics), *map(tag_column, newer_tags)]
    overlay = AnnotationOverlay(snapshot.annotations, newer, places=True, scores=snapshot.scores)
    refs = None if columns is None else [reference(snapshot, name) for name in columns]
    distinct = {id(piece): piece for piece, _ in places}
    names_in = {
        key: _names_in({*piece.metrics, *newer_metrics}, {*piece.tags, *newer_tags}, refs, derived)
        for key, piece in distinct.items()
    }
    alike: dict[RowNames, list[int]] = defaultdict(list)
    for nth, (piece, _) in enumerate(places):
        alike[names_in[id(piece)]].append(nth)
    for names, numbers in alike.items():
        metrics, tags, of_derived, _ = names
        at = [places[nth] for nth in numbers]
        pieces = list({id(piece): piece for piece, _ in at}.values())
        fixed = dict.fromkeys((*ORDER, *PLACED, *ITEM))
        selected = ", ".join(map(quote, (*fixed, *map(metric_column, metrics), *map(tag_column, tags))))
        word = f"{place_word()} AS {quote(PLACE_WORD)}"
        sql = f"SELECT nth, {word}, {selected} FROM rows JOIN places USING ({', '.join(PLACE)})"
        rows = database.table(run, Question(pieces, sql, overlay=overlay, at=at))
        order = rows["nth"].to_pylist()
        rows = rows.set_column(0, "nth", pa.array([numbers[nth] for nth in order], pa.int64()))
        attempts = attempts_of(run, snapshot, rows)
        if of_derived:
            values = _derived(run, pieces, at, of_derived).take(order)
            for name in values.column_names:
                rows = rows.append_column(name, values[name])
        yield ListRows(rows, names, attempts)


def _names_in(
    metrics: Collection[str],
    tags: Collection[str],
    wanted: Sequence[ColumnRef | None] | None,
    derived: tuple[str, ...],
) -> RowNames:
    if wanted is None:
        return RowNames(tuple(sorted(metrics)), tuple(sorted(tags)), derived)
    own = {"metric": metrics, "tag": tags}
    refs = [ref if ref is None or ref.name in own.get(ref.kind, (ref.name,)) else None for ref in wanted]

    def names(kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ref.name for ref in refs if ref and ref.kind == kind))

    values = (None if ref is None or ref.kind == NUMBER else ref.column for ref in refs)
    return RowNames(names("metric"), names("tag"), names("derived"), tuple(values))


def _derived(run: OpenRun, pieces: Sequence[Piece], at: Sequence[RowPlace], names: Sequence[str]) -> pa.Table:
    """The derived metrics of some rows, in their order."""
    columns = [Column(name, sql_type(name)) for name in map(derived_column, names)]
    sql = f"""SELECT {", ".join(quote(one.name) for one in columns)}
        FROM base JOIN places USING ({", ".join(PLACE)}) ORDER BY nth"""
    return database.table(run, Question(pieces, sql, named=columns, at=at))


def items_of(some: Iterable[ListRows]) -> list[SampleItem]:
    """The samples as records, in order."""
    numbered = [pair for one in some for pair in _items(one)]
    return [item for _, item in sorted(numbered, key=lambda pair: pair[0])]


def _items(one: ListRows) -> Iterator[tuple[int, SampleItem]]:
    rows, names = one.rows, one.names
    nths, keys = rows["nth"].to_pylist(), _keys(one)
    fields: dict[str, list[Any]] = {name: _values(rows[column]) for column, name in FIELDS.items()}
    fields["id"] = list(map(str, keys))
    fields["attempt"] = [key.attempt for key in keys]
    fields["values"] = _requested(rows, names.values)
    fields["metrics"] = _present(rows, {} if names.values else {metric_column(n): n for n in names.metrics})
    fields["tags"] = _present(rows, {} if names.values else {tag_column(n): n for n in names.tags})
    fields["derived"] = _present(rows, {} if names.values else {derived_column(n): n for n in names.derived})
    records = zip(*(fields[name] for name in SampleItem.__struct_fields__), strict=True)
    yield from zip(nths, starmap(SampleItem, records), strict=True)


def _keys(one: ListRows) -> list[SampleKey]:
    records = zip(*(one.rows[name].to_pylist() for name in ("nth", *KEY)), strict=True)
    return [SampleKey(*shared, one.attempts.get(nth, 0)) for nth, *shared in records]  # type: ignore[call-arg]


def _requested(rows: pa.Table, columns: Sequence[str | None]) -> list[list[Any]]:
    """The values of each row in some columns."""
    if not columns:
        return [[] for _ in range(len(rows))]
    missing = [None] * len(rows)
    return list(map(list, zip(*(_values(rows[name]) if name else missing for name in columns), strict=True)))


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column, marked where JSON lacks such a number."""
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [value if value is None or isfinite(value) else NonFinite(value) for value in values]
    if pa.types.is_integer(column.type):
        return [value if value is None or -SAFE <= value <= SAFE else LargeInteger(value) for value in values]
    return values


def _present(rows: pa.Table, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The existing values of each row, by name."""
    if not names:
        return [{} for _ in range(len(rows))]
    records = zip(*(rows[column].to_pylist() for column in names), strict=True)
    return [
        {name: value for name, value in zip(names.values(), record, strict=True) if value is not None}
        for record in records
    ]


def _as_table(some: Iterable[ListRows]) -> pa.Table:
    """The samples as a table, in order: `id`, and the columns under the names that people use."""
    tables = []
    for one in some:
        columns = {"nth": one.rows["nth"], "id": pa.array(map(str, _keys(one)), pa.string())}
        columns |= {name: one.rows[column] for column, name in NAMES.items()}
        metrics, tags, derived, _ = one.names
        for kind, names, stored in (("metric", metrics, metric_column), ("tag", tags, tag_column)):
            columns |= {name if name not in columns else f"{kind}.{name}": one.rows[stored(name)] for name in names}
        columns |= {f"{PREFIX}{name}": one.rows[derived_column(name)] for name in derived}
        tables.append(pa.table(columns))
    return pa.concat_tables(tables, promote_options="permissive").sort_by("nth").drop_columns(["nth"])
