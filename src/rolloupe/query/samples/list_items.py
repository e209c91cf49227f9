"""What lists show of samples whose places are known: columns of the index, annotations, and which attempt each is."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from rolloupe.index import OpenRun, Snapshot, metric_column, tag_column
from rolloupe.index.segments.columns import SAID
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import ATTEMPT_ORDER
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import PLACE, RowPlace, Said, quote
from rolloupe.query.records import SampleItem

KEY = ("split", "step", "grp", "idx")
ORDER = tuple(ATTEMPT_ORDER.split(", "))

ITEM = (
    *KEY, "uid", "reward", "advantage", "status", "turns", "prompt_tokens",
    "response_tokens", "total_tokens", "response_chars", "env", "discarded", "prompt_preview", "response_preview",
    "response_end",
)  # fmt: skip

FACES = {"grp": "group", "idx": "index", "prompt_preview": "prompt", "response_preview": "response"}
NAMES = tuple(FACES.get(name, name) for name in ITEM if name != "response_end")
"""The columns of `ITEM` by the names that a person knows; how a response ends is for lists alone."""


class ListRows(NamedTuple):
    """Samples with the same sample metrics and tags. `rows` has `nth`, `ORDER`, `ITEM`, metrics and tags."""

    rows: pa.Table
    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    attempts: dict[int, int]
    """By `nth`, for what is an earlier attempt: its number, from 1."""


def shown(run: OpenRun, snapshot: Snapshot, places: Sequence[RowPlace]) -> Iterator[ListRows]:
    """Look up what is shown of samples, wide rows apart from narrow ones. `nth` is the place in `places`."""
    said, said_tags = snapshot.said_names()
    told = Said(snapshot.annotations, [*SAID, *map(metric_column, said), *map(tag_column, said_tags)], places=True)
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for nth, (piece, _) in enumerate(places):
        alike[tuple(sorted({*piece.metrics, *said})), tuple(sorted({*piece.tags, *said_tags}))].append(nth)
    for (metrics, tags), own in alike.items():
        at = [places[nth] for nth in own]
        pieces = list({id(piece): piece for piece, _ in at}.values())
        columns = ", ".join(map(quote, (*ORDER, *ITEM, *map(metric_column, metrics), *map(tag_column, tags))))
        sql = f"SELECT nth, {columns} FROM rows JOIN places USING ({', '.join(PLACE)})"
        rows = database.table(run, Question(pieces, sql, said=told, at=at))
        rows = rows.set_column(0, "nth", pa.array(own, pa.int64()).take(rows["nth"].combine_chunks()))
        yield ListRows(rows, metrics, tags, attempts_of(run, snapshot, rows))


def attempts_of(run: OpenRun, snapshot: Snapshot, rows: pa.Table) -> dict[int, int]:
    """Of samples that share a key all but the last are earlier attempts. Their numbers, by `nth`.

    `rows` has `nth`, `KEY` and `ORDER`. What older launches recorded is none of the rows, and counts in the numbers.
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


def items(found: Iterable[ListRows]) -> list[SampleItem]:
    """The samples as records, in order."""
    numbered = [pair for one in found for pair in _items(one)]
    return [item for _, item in sorted(numbered, key=lambda pair: pair[0])]


def _items(one: ListRows) -> Iterator[tuple[int, SampleItem]]:
    first_item = 1 + len(ORDER)
    first_metric = first_item + len(ITEM)
    first_tag = first_metric + len(one.metrics)
    columns = [column.to_pylist() for column in one.rows.columns]
    for record in zip(*columns, strict=True):
        nth, fixed = record[0], record[first_item + len(KEY) : first_metric]
        split, step, group, index = record[first_item : first_item + len(KEY)]
        numbers = _present(one.metrics, record[first_metric:first_tag])
        words = _present(one.tags, record[first_tag:])
        yield (
            nth,
            SampleItem._make([SampleKey(split, step, group, index, one.attempts.get(nth, 0)), *fixed, numbers, words]),
        )


def _present(names: tuple[str, ...], values: Sequence[Any]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def table(found: Iterable[ListRows]) -> pa.Table:
    """The samples as a table, in order: `id`, and the columns under the names that a person knows."""
    tables = []
    for one in found:
        keys = [one.rows[name].to_pylist() for name in ("nth", *KEY)]
        ids = [
            str(SampleKey(split, step, group, index, one.attempts.get(nth, 0)))
            for nth, split, step, group, index in zip(*keys, strict=True)
        ]
        names = ["nth", "id", *NAMES]
        names += [name if name not in names else f"metric.{name}" for name in one.metrics]
        names += [name if name not in names else f"tag.{name}" for name in one.tags]
        bare = one.rows.drop_columns([*ORDER, "response_end"])
        tables.append(bare.add_column(1, "id", pa.array(ids, pa.string())).rename_columns(names))
    return pa.concat_tables(tables, promote_options="permissive").sort_by("nth").drop_columns(["nth"])
