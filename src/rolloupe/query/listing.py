"""Lists of samples: a page, or all of them.

A page takes two questions: which samples, in which order, from the few columns that this needs; then everything that
is shown of these alone. Wide runs, with hundreds of sample metrics, cost no more than narrow ones.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec.structs import replace

from rolloupe.index import OpenRun, Piece, metric_column, tag_column
from rolloupe.model import SampleKey
from rolloupe.query import engine
from rolloupe.query.engine import Question
from rolloupe.query.records import SampleItem, SamplePage, SampleQuery
from rolloupe.query.terms import Terms, terms_of

PAGE_CELLS = 500_000
"""Values that are fetched at a time where all samples are asked for."""
MAX_PAGE = 5000
MIN_PAGE = 100

PLACE = ("source", "byte_start", "part")
"""What tells one row of the index from any other."""

CHUNK = 20_000

ITEM = (
    "split", "step", "grp", "idx", "uid", "reward", "advantage", "status", "turns", "prompt_tokens",
    "response_tokens", "total_tokens", "response_chars", "env", "discarded", "prompt_preview", "response_preview",
)  # fmt: skip

FACES = {"grp": "group", "idx": "index", "prompt_preview": "prompt", "response_preview": "response"}
NAMES = tuple(FACES.get(name, name) for name in ITEM)
"""The columns of `ITEM` by the names that a person knows."""


def samples(run: OpenRun, query: SampleQuery, around: SampleKey | None = None) -> SamplePage:
    """One page of a list; with `around`, the page that holds this sample (the asked-for one where it is not in it).

    Within one step the samples of a group stand together when sorted by `index`; over several steps they stand in
    the order of the files. Raises `BadQuery` for a column that no sample has.
    """
    snapshot = run.snapshot()
    terms = terms_of(snapshot, query)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    if not pieces:
        return SamplePage(0, 0, [])
    total = _total(run, pieces, query, terms)
    offset, limit = query.offset, total if query.limit is None else query.limit
    if around is not None and limit > 0:
        place = _place(run, pieces, terms, around)
        offset = offset if place is None else place // limit * limit
    if limit == 0:
        return SamplePage(total, offset, [])
    found = engine.ask(run, _where_they_are(pieces, terms, limit, offset))
    places = pa.table({name: [record[n] for record in found] for n, name in enumerate((*PLACE, "attempt"))})
    shown = _what_is_shown(pieces, places)
    return SamplePage(total, offset, _items(shown, engine.ask(run, shown.question)) if found else [])


def every(run: OpenRun, query: SampleQuery) -> Iterator[SampleItem]:
    """All samples of a query, page by page; sorted by `index` they come step by step, so no page costs the run."""
    stop = None if query.limit is None else query.offset + query.limit
    return islice(_all(run, replace(query, offset=0, limit=None)), query.offset, stop)


def _all(run: OpenRun, query: SampleQuery) -> Iterator[SampleItem]:
    if query.sort != "index":
        yield from _pages(run, query)
        return
    for split, step in _steps(run, query):
        yield from _pages(run, replace(query, splits=(split,), step_min=step, step_max=step))


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
    pieces = run.snapshot().holding(query.splits, query.step_min, query.step_max)
    wide = max((len(piece.metrics) + len(piece.tags) for piece in pieces), default=0) + len(ITEM)
    limit = max(MIN_PAGE, min(MAX_PAGE, PAGE_CELLS // wide))
    offset = 0
    while page := samples(run, replace(query, offset=offset, limit=limit)).samples:
        yield from page
        offset += len(page)
        if len(page) < limit:
            return


def _total(run: OpenRun, pieces: Sequence[Piece], query: SampleQuery, terms: Terms) -> int:
    if not query.where and query.group is None:
        steps = run.snapshot().steps
        return sum(steps[key].rows for key in _steps(run, query) if key in steps)
    sql = f"SELECT count(*) FROM rows WHERE {terms.where.sql}"
    return int(engine.ask(run, Question(pieces, sql, terms.where.values, terms.named))[0][0])


def _place(run: OpenRun, pieces: Sequence[Piece], terms: Terms, key: SampleKey) -> int | None:
    """The place of a sample in the list, None where it is not in it."""
    sql = f"""{terms.own}
    , placed AS (SELECT *, row_number() OVER (ORDER BY {terms.order}) - 1 AS place FROM own)
    SELECT place FROM placed WHERE split = ? AND step = ? AND grp = ? AND idx = ? AND attempt = ?"""
    values = [*terms.where.values, *key.shared, key.attempt]
    answer = engine.ask(run, Question(pieces, sql, values, terms.named))
    return int(answer[0][0]) if answer else None


class Shown(NamedTuple):
    """The question for all that is shown of some samples: `nth`, `attempt`, `ITEM`, sample metrics and tags.

    The answer is put in order, by `nth`, where it arrives: sorting rows of thousands of columns would cost DuckDB more.
    """

    question: Question
    metrics: list[str]
    tags: list[str]


def _where_they_are(pieces: Sequence[Piece], terms: Terms, limit: int | None, offset: int) -> Question:
    """The question for the places of samples, in their order: `PLACE`, and the attempt."""
    sql = f"{terms.own} SELECT {', '.join(PLACE)}, attempt FROM own ORDER BY {terms.order} LIMIT ? OFFSET ?"
    return Question(pieces, sql, [*terms.where.values, limit, offset], terms.named)


def _what_is_shown(pieces: Sequence[Piece], places: pa.Table) -> Shown:
    sources = set(places["source"].to_pylist())
    holding = [piece for piece in pieces if piece.source in sources] or list(pieces[:1])
    metrics = list(dict.fromkeys(name for piece in holding for name in piece.metrics))
    tags = list(dict.fromkeys(name for piece in holding for name in piece.tags))
    columns = ", ".join(map(engine.quote, (*ITEM, *map(metric_column, metrics), *map(tag_column, tags))))
    sql = f"SELECT nth, attempt, {columns} FROM rows JOIN places USING ({', '.join(PLACE)})"
    numbered = places.append_column("nth", pa.array(range(len(places)), pa.int64()))
    return Shown(Question(holding, sql, tables={"places": numbered}), metrics, tags)


def _items(shown: Shown, records: list[tuple[Any, ...]]) -> list[SampleItem]:
    first_metric, first_tag = len(ITEM) + 2, len(ITEM) + 2 + len(shown.metrics)
    items = []
    for record in sorted(records, key=itemgetter(0)):
        _, attempt, split, step, group, index, *fixed = record[:first_metric]
        numbers = {n: v for n, v in zip(shown.metrics, record[first_metric:first_tag], strict=True) if v is not None}
        words = {n: v for n, v in zip(shown.tags, record[first_tag:], strict=True) if v is not None}
        items.append(SampleItem._make([SampleKey(split, step, group, index, attempt), *fixed, numbers, words]))
    return items


def table(run: OpenRun, query: SampleQuery) -> pa.Table:
    """All samples of a query as an Arrow table: `id`, what `SampleItem` has, sample metrics and tags by their names.

    A sample metric or tag that is called like another column stands as `metric.NAME`, `tag.NAME`. Raises as `samples`.
    """
    snapshot = run.snapshot()
    terms = terms_of(snapshot, query)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    if not pieces:
        return pa.table({name: [] for name in ("id", *NAMES)})
    places = engine.table(run, _where_they_are(pieces, terms, query.limit, query.offset))
    chunks = [_named(run, pieces, places.slice(at, CHUNK)) for at in range(0, max(len(places), 1), CHUNK)]
    return pa.concat_tables(chunks, promote_options="permissive")


def _named(run: OpenRun, pieces: Sequence[Piece], places: pa.Table) -> pa.Table:
    """What is shown of some samples, with their ids, under the names that a person knows."""
    shown = _what_is_shown(pieces, places)
    answer = engine.table(run, shown.question).sort_by("nth")
    keys = [answer[name].to_pylist() for name in ("split", "step", "grp", "idx", "attempt")]
    ids = pa.array([str(SampleKey(*key)) for key in zip(*keys, strict=True)], pa.string())
    names = ["id", *NAMES]
    names += [name if name not in names else f"metric.{name}" for name in shown.metrics]
    names += [name if name not in names else f"tag.{name}" for name in shown.tags]
    return answer.drop_columns(["nth", "attempt"]).add_column(0, "id", ids).rename_columns(names)
