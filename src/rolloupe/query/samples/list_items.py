"""Items of lists, for samples with known places: columns of the index, annotations, and the attempt of each."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rolloupe.columns import ANNOTATED, LISTED
from rolloupe.derive import PREFIX
from rolloupe.index import OpenRun, Piece, Snapshot, metric_column, tag_column
from rolloupe.index.segments.columns import derived_column, derived_metric, sql_type
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import ATTEMPT_ORDER
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import PLACE, AnnotationOverlay, Column, RowPlace, quote
from rolloupe.query.records import SampleItem

KEY = ("split", "step", "grp", "idx")
ORDER = tuple(ATTEMPT_ORDER.split(", "))

ITEM = tuple(column.column for column in LISTED)
FIELDS = {column.column: column.name for column in LISTED if column.column not in KEY}
"""The fields of `SampleItem` by the columns of the index."""

NAMES = {column.column: column.name for column in LISTED if column.is_exported}
"""The names of columns in tables."""


class ListRows(NamedTuple):
    """Samples with the same sample metrics and tags. `rows` has `nth`, `ORDER`, `ITEM`, metrics and tags."""

    rows: pa.Table
    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    attempts: dict[int, int]
    """By `nth`, for earlier attempts: the number of the attempt, from 1."""
    derived: tuple[str, ...] = ()
    """The derived metrics in `rows`."""


def list_rows(
    run: OpenRun, snapshot: Snapshot, places: Sequence[RowPlace], names: Iterable[str] = ()
) -> Iterator[ListRows]:
    """Look up the items of samples, wide rows apart from narrow ones. `nth` is the place in `places`.

    `names` are requested columns: the result has no other derived metrics.
    """
    derived = tuple(dict.fromkeys(filter(None, map(derived_metric, names))))
    newer_metrics, newer_tags = snapshot.annotated_names()
    newer = [*ANNOTATED, *map(metric_column, newer_metrics), *map(tag_column, newer_tags)]
    overlay = AnnotationOverlay(snapshot.annotations, newer, places=True)
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for nth, (piece, _) in enumerate(places):
        kinds = tuple(sorted({*piece.metrics, *newer_metrics})), tuple(sorted({*piece.tags, *newer_tags}))
        alike[kinds].append(nth)
    for (metrics, tags), numbers in alike.items():
        at = [places[nth] for nth in numbers]
        pieces = list({id(piece): piece for piece, _ in at}.values())
        columns = ", ".join(map(quote, (*ORDER, *ITEM, *map(metric_column, metrics), *map(tag_column, tags))))
        sql = f"SELECT nth, {columns} FROM rows JOIN places USING ({', '.join(PLACE)})"
        rows = database.table(run, Question(pieces, sql, overlay=overlay, at=at))
        rows = rows.set_column(0, "nth", pa.array(numbers, pa.int64()).take(rows["nth"].combine_chunks()))
        attempts = attempts_of(run, snapshot, rows)
        if derived:
            values = _derived(run, pieces, at, derived).take(pc.index_in(rows["nth"], pa.array(numbers, pa.int64())))
            for name in values.column_names:
                rows = rows.append_column(name, values[name])
        yield ListRows(rows, metrics, tags, attempts, derived)


def _derived(run: OpenRun, pieces: Sequence[Piece], at: Sequence[RowPlace], names: Sequence[str]) -> pa.Table:
    """The derived metrics of some rows, in their order."""
    columns = [Column(name, sql_type(name)) for name in map(derived_column, names)]
    sql = f"""SELECT {", ".join(quote(one.name) for one in columns)}
        FROM base JOIN places USING ({", ".join(PLACE)}) ORDER BY nth"""
    return database.table(run, Question(pieces, sql, named=columns, at=at))


def attempts_of(run: OpenRun, snapshot: Snapshot, rows: pa.Table) -> dict[int, int]:
    """Number the earlier attempts, by `nth`: of samples that share a key, all but the last.

    `rows` has `nth`, `KEY` and `ORDER`. An older launch's records are not among the rows, but count in the numbers.
    """
    keys = zip(rows["split"].to_pylist(), rows["step"].to_pylist(), strict=True)
    steps = dict(zip(rows["nth"].to_pylist(), keys, strict=True))
    pieces = {id(piece): piece for key in set(steps.values()) for piece in snapshot.pieces.get(key, ())}
    if not snapshot.duplicates and all(len(snapshot.pieces.get(key, ())) < 2 for key in set(steps.values())):
        return {}
    own = rows.select(["nth", *KEY, *ORDER]).rename_columns(["nth", *KEY, *(f"own_{name}" for name in ORDER)])
    place = ", ".join(f"own_{name}" for name in ORDER)
    sql = f"""SELECT nth, count(*) FILTER (WHERE row({ATTEMPT_ORDER}) <= row({place})) AS n
        FROM base JOIN shown USING ({", ".join(KEY)}) GROUP BY nth HAVING n < count(*)"""
    return dict(database.ask(run, Question(list(pieces.values()), sql, tables={"shown": own})))


def items(some: Iterable[ListRows]) -> list[SampleItem]:
    """The samples as records, in order."""
    numbered = [pair for one in some for pair in _items(one)]
    return [item for _, item in sorted(numbered, key=lambda pair: pair[0])]


def _items(one: ListRows) -> Iterator[tuple[int, SampleItem]]:
    rows, nths = one.rows, one.rows["nth"].to_pylist()
    values = {name: rows[column].to_pylist() for column, name in FIELDS.items()}
    values["key"] = _keys(one)
    values["derived"] = _present(rows, {derived_column(name): name for name in one.derived})
    values["metrics"] = _present(rows, {metric_column(name): name for name in one.metrics})
    values["tags"] = _present(rows, {tag_column(name): name for name in one.tags})
    records = zip(*(values[name] for name in SampleItem._fields), strict=True)
    yield from zip(nths, map(SampleItem._make, records), strict=True)


def _keys(one: ListRows) -> list[SampleKey]:
    records = zip(*(one.rows[name].to_pylist() for name in ("nth", *KEY)), strict=True)
    return [SampleKey(*shared, one.attempts.get(nth, 0)) for nth, *shared in records]  # type: ignore[call-arg]


def _present(rows: pa.Table, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The existing values of each row, by name."""
    if not names:
        return [{} for _ in range(len(rows))]
    records = zip(*(rows[column].to_pylist() for column in names), strict=True)
    return [
        {name: value for name, value in zip(names.values(), record, strict=True) if value is not None}
        for record in records
    ]


def table(some: Iterable[ListRows]) -> pa.Table:
    """The samples as a table, in order: `id`, and the columns under the names that people use."""
    tables = []
    for one in some:
        columns = {"nth": one.rows["nth"], "id": pa.array(map(str, _keys(one)), pa.string())}
        columns |= {name: one.rows[column] for column, name in NAMES.items()}
        for kind, names, stored in (("metric", one.metrics, metric_column), ("tag", one.tags, tag_column)):
            columns |= {name if name not in columns else f"{kind}.{name}": one.rows[stored(name)] for name in names}
        columns |= {f"{PREFIX}{name}": one.rows[derived_column(name)] for name in one.derived}
        tables.append(pa.table(columns))
    return pa.concat_tables(tables, promote_options="permissive").sort_by("nth").drop_columns(["nth"])
