"""Lists of samples: a page, or all of them.

A page takes two questions: which samples, in which order, from the few columns that this needs; then everything that
is shown of these alone. Wide runs, with hundreds of sample metrics, cost no more than narrow ones.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from rolloupe.index import OpenRun, Piece, metric_column, tag_column
from rolloupe.model import SampleKey
from rolloupe.query import engine
from rolloupe.query.records import SampleItem, SamplePage, SampleQuery
from rolloupe.query.terms import Terms, terms_of

PAGE_CELLS = 500_000
"""Values that are fetched at a time where all samples are asked for."""
MAX_PAGE = 5000
MIN_PAGE = 100

PLACE = ("source", "byte_start", "part")
"""What tells one row of the index from any other."""

ITEM = (
    "split", "step", "grp", "idx", "uid", "reward", "advantage", "status", "turns", "prompt_tokens",
    "response_tokens", "total_tokens", "response_chars", "env", "discarded", "prompt_preview", "response_preview",
)  # fmt: skip


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
    sql = f"{terms.own} SELECT {', '.join(PLACE)}, attempt FROM own ORDER BY {terms.order} LIMIT ? OFFSET ?"
    values = [*terms.where.values, limit, offset]
    found = engine.ask(run, pieces, sql, values, named=terms.named)
    return SamplePage(total, offset, _items(run, pieces, found))


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
    return int(engine.ask(run, pieces, sql, terms.where.values, named=terms.named)[0][0])


def _place(run: OpenRun, pieces: Sequence[Piece], terms: Terms, key: SampleKey) -> int | None:
    """The place of a sample in the list, None where it is not in it."""
    sql = f"""{terms.own}
    , placed AS (SELECT *, row_number() OVER (ORDER BY {terms.order}) - 1 AS place FROM own)
    SELECT place FROM placed WHERE split = ? AND step = ? AND grp = ? AND idx = ? AND attempt = ?"""
    values = [*terms.where.values, *key.shared, key.attempt]
    answer = engine.ask(run, pieces, sql, values, named=terms.named)
    return int(answer[0][0]) if answer else None


def _items(run: OpenRun, pieces: Sequence[Piece], found: list[tuple[Any, ...]]) -> list[SampleItem]:
    """Everything that is shown of the samples at some places, in their order."""
    sources = {source for source, *_ in found}
    holding = [piece for piece in pieces if piece.source in sources]
    metrics = list(dict.fromkeys(name for piece in holding for name in piece.metrics))
    tags = list(dict.fromkeys(name for piece in holding for name in piece.tags))
    columns = [*ITEM, *map(metric_column, metrics), *map(tag_column, tags)]
    shown = ", ".join(map(engine.quote, (*PLACE, *columns)))
    sql = f"SELECT {shown} FROM rows SEMI JOIN wanted USING ({', '.join(PLACE)})"
    wanted = pa.table({name: [record[n] for record in found] for n, name in enumerate(PLACE)})
    answer = engine.ask(run, holding, sql, [], tables={"wanted": wanted}) if found else []
    values = {record[: len(PLACE)]: record[len(PLACE) :] for record in answer}
    return [_item(values[place], metrics, tags, attempt) for *at, attempt in found if (place := tuple(at)) in values]


def _item(record: tuple[Any, ...], metrics: list[str], tags: list[str], attempt: int) -> SampleItem:
    split, step, group, index, *rest = record
    fixed, others = rest[: len(ITEM) - 4], rest[len(ITEM) - 4 :]
    numbers = {name: value for name, value in zip(metrics, others, strict=False) if value is not None}
    words = {name: value for name, value in zip(tags, others[len(metrics) :], strict=True) if value is not None}
    return SampleItem._make([SampleKey(split, step, group, index, attempt), *fixed, numbers, words])
