"""Rows of the index as records or tables: the fields of samples at known places, wide rows apart from narrow ones."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from math import isfinite
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe import text
from rolloupe.derive import PREFIX
from rolloupe.index import OpenRun, Piece, Snapshot, metric_column, tag_column
from rolloupe.index.segments.columns import NUMBER, ColumnRef, derived_column, sql_type
from rolloupe.model import ANNOTATED, EXPORTED, LISTED, Locator, SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import ATTEMPT_ORDER
from rolloupe.query.engine.names import reference
from rolloupe.query.engine.relation import PLACE, PLACE_WORD, AnnotationOverlay, Column, RowPlace, place_word, quote
from rolloupe.query.records import LargeInteger, NonFinite, SampleItem

KEY = ("split", "step", "grp", "idx")
ORDER = tuple(ATTEMPT_ORDER.split(", "))

FIELDS = {column.stored: name for name, column in LISTED.items()}
"""The fields of `SampleItem` by the columns of the index."""

NAMES = {column.stored: name for name, column in EXPORTED.items()}  # the names of columns in tables
OTHERS = {column: name for column, name in NAMES.items() if column not in FIELDS}
"""Columns of tables that are not fields of `SampleItem`."""

ITEM = (*FIELDS, *OTHERS)
PREVIEWS = ("response_preview", "response_end")
"""The columns with ends of texts, which are shown as one line."""
PLACED = ("source", "byte_start", "byte_length", "part")  # the columns of the place of a sample
SAFE = 2**53  # beyond it a browser rounds integers


def attempts_of(run: OpenRun, snapshot: Snapshot, rows: pa.Table) -> dict[int, int]:
    """Number the earlier attempts, by `nth`: of samples that share a key, all but the last.

    `rows` has `nth`, `KEY` and `ORDER`. An older launch's records are not among the rows, but count in the numbers.
    """
    steps = zip(rows["split"].to_pylist(), rows["step"].to_pylist(), strict=True)
    of_steps = {key for key in steps if key in snapshot.pieces}
    if not snapshot.duplicates and all(len(snapshot.pieces[key]) < 2 for key in of_steps):
        return {}
    shown = rows.select(["nth", *KEY, *ORDER]).rename_columns(["nth", *KEY, *(f"own_{name}" for name in ORDER)])
    place = ", ".join(f"own_{name}" for name in ORDER)
    sql = f"""SELECT nth, count(*) FILTER (WHERE row({ATTEMPT_ORDER}) <= row({place})) AS n
        FROM base JOIN shown USING ({", ".join(KEY)}) GROUP BY nth HAVING n < count(*)"""
    return dict(database.ask(run, database.Question(snapshot.of(of_steps), sql, tables={"shown": shown})))


def keyed_values(
    run: OpenRun, snapshot: Snapshot, rows: pa.Table, columns: Sequence[str]
) -> Iterator[tuple[SampleKey, list[Any]]]:
    """Yield the key of each row, and its values of some columns. `rows` as for `attempts_of`."""
    attempts = attempts_of(run, snapshot, rows)
    names = ("nth", *KEY, *columns)
    lists = (_shown(rows, name) for name in names)
    for nth, split, step, group, index, *values in zip(*lists, strict=True):
        yield SampleKey(split, step, group, index, attempts.get(nth, 0)), values


def _shown(rows: pa.Table, name: str) -> list[Any]:
    """Return the values of a column, the ends of texts as one line each."""
    values = rows[name].to_pylist()
    return [*map(text.one_line, values)] if name in PREVIEWS else values


def prompt_texts(run: OpenRun, pieces: Sequence[Piece], hashes: NDArray[np.int64]) -> dict[int, str]:
    """Return, by hash, the starts of the prompts with these hashes, if some pieces have them."""
    sql = """SELECT prompt_hash, any_value(prompt_preview) FROM rows SEMI JOIN wanted USING (prompt_hash)
        GROUP BY prompt_hash"""
    wanted = {"wanted": pa.table({"prompt_hash": hashes})}
    return dict(database.ask(run, database.Question(pieces if len(hashes) else (), sql, tables=wanted)))


class RowNames(NamedTuple):
    """The names of the sample metrics, tags and derived metrics to read, and the columns of the requested values."""

    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    derived: tuple[str, ...]
    values: tuple[str | None, ...] = ()  # none for a column that the samples lack


class ListRows(NamedTuple):
    """Samples with the same names.

    `rows` has `nth`, `PLACE_WORD`, `ORDER`, `PLACED`, `ITEM`, metrics, tags and derived metrics.
    """

    rows: pa.Table
    names: RowNames
    attempts: dict[int, int]  # by `nth`, for earlier attempts: the number of the attempt, from 1


def list_rows(
    run: OpenRun,
    snapshot: Snapshot,
    places: Sequence[RowPlace],
    columns: Sequence[str] | None = None,
    derived: tuple[str, ...] = (),
) -> Iterator[ListRows]:
    """Look up samples with these columns, or else with all sample metrics and tags, and these derived metrics."""
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
        rows = database.table(run, database.Question(pieces, sql, overlay=overlay, at=at))
        order = rows["nth"].to_pylist()
        rows = rows.set_column(0, "nth", pa.array([numbers[nth] for nth in order], pa.int64()))
        for name in PREVIEWS:
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(_shown(rows, name), pa.string()))
        attempts = attempts_of(run, snapshot, rows)
        if of_derived:
            columns_of = [Column(name, sql_type(name)) for name in map(derived_column, of_derived)]
            selected = ", ".join(quote(column.name) for column in columns_of)
            sql = f"SELECT {selected} FROM base JOIN places USING ({', '.join(PLACE)}) ORDER BY nth"
            values = database.table(run, database.Question(pieces, sql, named=columns_of, at=at)).take(order)
            for name in values.column_names:
                rows = rows.append_column(name, values[name])
        yield ListRows(rows, names, attempts)


def _names_in(
    metrics: Collection[str], tags: Collection[str], wanted: Sequence[ColumnRef | None] | None, derived: tuple[str, ...]
) -> RowNames:
    if wanted is None:
        return RowNames(tuple(sorted(metrics)), tuple(sorted(tags)), derived)
    own = {"metric": metrics, "tag": tags}
    refs = [ref if ref is None or ref.name in own.get(ref.kind, (ref.name,)) else None for ref in wanted]

    def names(kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ref.name for ref in refs if ref and ref.kind == kind))

    values = (None if ref is None or ref.kind == NUMBER else ref.column for ref in refs)
    return RowNames(names("metric"), names("tag"), names("derived"), tuple(values))


def items_of(parts: Iterable[ListRows]) -> list[SampleItem]:
    """Return the samples as records, in order."""
    items: list[tuple[int, SampleItem]] = []
    for part in parts:
        rows, names, keys = part.rows, part.names, _keys(part)
        fields: dict[str, list[Any]] = {name: _values(rows[column]) for column, name in FIELDS.items()}
        fields["id"] = list(map(str, keys))
        fields["attempt"] = [key.attempt for key in keys]
        missing = [None] * len(rows)
        requested = [_values(rows[name]) if name else missing for name in names.values]
        fields["values"] = list(map(list, zip(*requested, strict=True))) if requested else [[] for _ in keys]
        fields["columns"] = _present(rows, {} if names.values else OTHERS)
        fields["metrics"] = _present(rows, {} if names.values else {metric_column(n): n for n in names.metrics})
        fields["tags"] = _present(rows, {} if names.values else {tag_column(n): n for n in names.tags})
        fields["derived"] = _present(rows, {} if names.values else {derived_column(n): n for n in names.derived})
        records = zip(*(fields[name] for name in SampleItem.__struct_fields__), strict=True)
        items += zip(rows["nth"].to_pylist(), starmap(SampleItem, records), strict=True)
    return [item for _, item in sorted(items, key=itemgetter(0))]


def _keys(part: ListRows) -> list[SampleKey]:
    records = zip(*(part.rows[name].to_pylist() for name in ("nth", *KEY)), strict=True)
    return [SampleKey(*shared, part.attempts.get(nth, 0)) for nth, *shared in records]  # type: ignore[pyrefly:bad-argument-count]


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column, marked where JSON lacks such a number."""
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [value if value is None or isfinite(value) else NonFinite(value) for value in values]
    if pa.types.is_integer(column.type):
        return [value if value is None or -SAFE <= value <= SAFE else LargeInteger(value) for value in values]
    return values


def _present(rows: pa.Table, names: Mapping[str, str]) -> list[dict[str, Any]]:
    if not names:
        return [{} for _ in range(len(rows))]
    records = zip(*(rows[column].to_pylist() for column in names), strict=True)
    return [
        {name: value for name, value in zip(names.values(), record, strict=True) if value is not None}
        for record in records
    ]


class LocatedItem(NamedTuple):
    """A sample of a list, and where it lies."""

    nth: int
    item: SampleItem
    locator: Locator
    word: str  # the word for its place: see `PLACE_WORD`


def located_items(parts: Iterable[ListRows]) -> list[LocatedItem]:
    """The samples as records, with their places, in order."""
    listed = list(parts)
    places: dict[int, list[Any]] = {}
    for rows, *_ in listed:
        columns = (rows[name].to_pylist() for name in ("nth", *PLACED, PLACE_WORD))
        places.update((nth, place) for nth, *place in zip(*columns, strict=True))
    located = []
    for nth, item in zip(sorted(places), items_of(listed), strict=True):
        source, start, length, part, word = places[nth]
        locator = Locator(source=source, start=start, length=length, part=part)
        located.append(LocatedItem(nth, item, locator, word))
    return located


def table_of(parts: Iterable[ListRows]) -> pa.Table:
    """The samples as a table, in order: `id`, and the columns under the names that people use."""
    tables = []
    for part in parts:
        columns = {"nth": part.rows["nth"], "id": pa.array(map(str, _keys(part)), pa.string())}
        columns |= {name: part.rows[column] for column, name in NAMES.items()}
        metrics, tags, derived, _ = part.names
        for kind, names, stored in (("metric", metrics, metric_column), ("tag", tags, tag_column)):
            columns |= {name if name not in columns else f"{kind}.{name}": part.rows[stored(name)] for name in names}
        columns |= {f"{PREFIX}{name}": part.rows[derived_column(name)] for name in derived}
        tables.append(pa.table(columns))
    return pa.concat_tables(tables, promote_options="permissive").sort_by("nth").drop_columns(["nth"])
