"""Lists of samples: a page, or all of them.

A page takes two questions: which samples, in which order, from the few columns that this needs; then everything that
is shown of these alone. Wide runs, with hundreds of sample metrics, cost no more than narrow ones.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun, Piece, Snapshot, StepKey, metric_column, tag_column
from rolloupe.index.columns import SAID
from rolloupe.model import SampleKey
from rolloupe.query import engine
from rolloupe.query.engine import Question
from rolloupe.query.records import SampleItem, SamplePage, SampleQuery
from rolloupe.query.rows import PLACE, Said, quote
from rolloupe.query.single import locate
from rolloupe.query.terms import ATTEMPT, ATTEMPT_ORDER, Terms, is_one_step, terms_of

PAGE_CELLS = 500_000
"""Values that are fetched at a time where all samples are asked for."""
MAX_PAGE = 5000
MIN_PAGE = 100

SCOPE = ("split", "step")

CHUNK = 20_000

ITEM = (
    "split", "step", "grp", "idx", "uid", "reward", "advantage", "status", "turns", "prompt_tokens",
    "response_tokens", "total_tokens", "response_chars", "env", "discarded", "prompt_preview", "response_preview",
)  # fmt: skip

FACES = {"grp": "group", "idx": "index", "prompt_preview": "prompt", "response_preview": "response"}
NAMES = tuple(FACES.get(name, name) for name in ITEM)
"""The columns of `ITEM` by the names that a person knows."""


def samples(
    run: OpenRun,
    query: SampleQuery,
    around: SampleKey | None = None,
    *,
    by_group: bool | None = None,
    snapshot: Snapshot | None = None,
) -> SamplePage:
    """One page of a list; with `around`, the page that holds this sample (the asked-for one where it is not in it).

    Within one step (or with `by_group`) the samples of a group stand together when sorted by `index`; over several
    steps they stand in the order of the files. Raises `BadQuery` for a column that no sample has, `NotFound` for a
    split that the run has not. With `snapshot` the run is asked as it was then.
    """
    snapshot = snapshot or run.snapshot()
    query = in_known_splits(snapshot, query)
    terms = terms_of(snapshot, query, by_group=by_group)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    if not pieces:
        return SamplePage(0, 0, [])
    total = _total(run, snapshot, pieces, query, terms)
    offset, limit = query.offset, total if query.limit is None else query.limit
    if around is not None and limit > 0:
        place = _place(run, pieces, terms, around)
        offset = offset if place is None else place // limit * limit
    if limit == 0:
        return SamplePage(total, offset, [])
    found = engine.ask(run, _where_they_are(pieces, terms, limit, offset))
    places = pa.table({name: [record[n] for record in found] for n, name in enumerate((*PLACE, *SCOPE))})
    items = [
        item for shown in _what_is_shown(snapshot, places) for item in _items(shown, engine.ask(run, shown.question))
    ]
    ordered = [item for _, item in sorted(items, key=itemgetter(0))]
    return SamplePage(total, offset, ordered, _stamp(snapshot, query))


def in_known_splits(snapshot: Snapshot, query: SampleQuery) -> SampleQuery:
    """The query with `eval` standing for every `eval/...`. Raises `NotFound` where a split does not exist."""
    known = sorted({split for split, _ in snapshot.steps}, key=lambda split: (split != "train", split))
    found: list[str] = []
    for split in query.splits:
        own = [one for one in known if one == split or (split == "eval" and one.startswith("eval/"))]
        if not own and known:
            raise NotFound(f"no split {split!r}; there are: {', '.join(known[:40])}")
        found += own or [split]
    return query if tuple(found) == query.splits else replace(query, splits=tuple(dict.fromkeys(found)))


def _stamp(snapshot: Snapshot, query: SampleQuery) -> int:
    """The stamp of the only step of a query, 0 where there are several."""
    sketch = snapshot.steps.get((query.splits[0], query.step_min or 0)) if is_one_step(query) else None
    return sketch.stamp if sketch else 0


def every(run: OpenRun, query: SampleQuery) -> Iterator[SampleItem]:
    """All samples of a query as the run is now, page by page; sorted by `index` no page costs the run."""
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    stop = None if query.limit is None else query.offset + query.limit
    whole = replace(query, offset=0, limit=stop)
    return islice(_all(run, snapshot, whole), query.offset, stop)


def _all(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> Iterator[SampleItem]:
    if query.sort != "index":
        yield from _pages(run, snapshot, query)
        return
    for batch in _batches(snapshot, query):
        steps = sorted(step for _, step in batch)
        part = replace(query, splits=(batch[0][0],), step_min=steps[0], step_max=steps[-1])
        yield from _pages(run, snapshot, part)


def _batches(snapshot: Snapshot, query: SampleQuery) -> Iterator[list[StepKey]]:
    """The steps of a query in order, so many together as make a page."""
    batch: list[StepKey] = []
    rows = 0
    for key in _steps(snapshot, query):
        if batch and (rows >= MAX_PAGE or key[0] != batch[0][0]):
            yield batch
            batch, rows = [], 0
        batch.append(key)
        rows += snapshot.steps[key].rows
    if batch:
        yield batch


def _steps(snapshot: Snapshot, query: SampleQuery) -> list[StepKey]:
    if is_one_step(query):
        return [key] if (key := (query.splits[0], query.step_min or 0)) in snapshot.steps else []

    def fits(split: str, step: int) -> bool:
        return (
            (not query.splits or split in query.splits)
            and (query.step_min is None or step >= query.step_min)
            and (query.step_max is None or step <= query.step_max)
        )

    found = [key for key in snapshot.steps if fits(*key)]
    return sorted(found, key=lambda key: (key[0] != "train", *key), reverse=query.descending)


def _pages(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> Iterator[SampleItem]:
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    wide = max((len(piece.metrics) + len(piece.tags) for piece in pieces), default=0) + len(ITEM)
    limit = max(MIN_PAGE, min(MAX_PAGE, PAGE_CELLS // wide, query.limit or MAX_PAGE))
    offset = 0
    while page := _page(run, snapshot, replace(query, offset=offset, limit=limit)):
        yield from page
        offset += len(page)
        if len(page) < limit:
            return


def _page(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> list[SampleItem]:
    """One of all pages. Where a piece of the index is gone it is asked for again, of the run as it is by then."""
    by_group = query.sort == "index"
    for pause_s in (0.1, 0.5, 2.0):
        try:
            return samples(run, query, by_group=by_group, snapshot=snapshot).samples
        except SourceChanged:
            time.sleep(pause_s)
            snapshot = run.snapshot()
    return samples(run, query, by_group=by_group).samples


def _total(run: OpenRun, snapshot: Snapshot, pieces: Sequence[Piece], query: SampleQuery, terms: Terms) -> int:
    if not query.where and query.group is None:
        return sum(snapshot.steps[key].rows for key in _steps(snapshot, query))
    sql = f"SELECT count(*) FROM rows WHERE {terms.where.sql}"
    question = Question(pieces, sql, terms.where.values, terms.named, said=terms.said)
    return int(engine.ask(run, question)[0][0])


def _place(run: OpenRun, pieces: Sequence[Piece], terms: Terms, key: SampleKey) -> int | None:
    """The place of a sample in the list, None where it is not in it."""
    try:
        locator = locate(run, key).locator
    except (NotFound, SourceChanged):
        return None
    sql = f"""{terms.own}
    , placed AS (SELECT *, row_number() OVER (ORDER BY {terms.order}) - 1 AS place FROM own)
    SELECT place FROM placed WHERE source = ? AND byte_start = ? AND part = ?"""
    values = [*terms.where.values, locator.source, locator.start, locator.part]
    answer = engine.ask(run, Question(pieces, sql, values, terms.named, said=terms.said))
    return int(answer[0][0]) if answer else None


class Shown(NamedTuple):
    """The question for all that is shown of some samples: `nth`, `attempt`, `ITEM`, sample metrics and tags.

    Answers are put in order, by `nth`, where they arrive: sorting rows of hundreds of columns would cost DuckDB more.
    """

    question: Question
    metrics: list[str]
    tags: list[str]


def _where_they_are(pieces: Sequence[Piece], terms: Terms, limit: int | None, offset: int) -> Question:
    """The question for the places of samples, in their order: `PLACE` and `SCOPE`."""
    columns = ", ".join((*PLACE, *SCOPE))
    sql = f"{terms.own} SELECT {columns} FROM own ORDER BY {terms.order} LIMIT ? OFFSET ?"
    return Question(pieces, sql, [*terms.where.values, limit, offset], terms.named, said=terms.said)


ATTEMPTS = f"""
, keys AS (SELECT DISTINCT split, step, grp, idx FROM base SEMI JOIN places USING ({", ".join(PLACE)}))
, counted AS (
    SELECT {", ".join(PLACE)}, row_number() OVER (same ORDER BY {ATTEMPT_ORDER}) AS n, count(*) OVER same AS m
    FROM base SEMI JOIN keys USING (split, step, grp, idx) WINDOW same AS (PARTITION BY split, step, grp, idx)
)
"""
"""Of samples that share a key all but the last are earlier attempts, counted from 1; so are those of older launches."""


def _what_is_shown(snapshot: Snapshot, places: pa.Table) -> list[Shown]:
    """The questions for what is shown of samples: one for each set of sample metrics and tags that their pieces have.

    They are asked of all pieces of their steps where keys may repeat.
    """
    steps = set(zip(*(places[name].to_pylist() for name in SCOPE), strict=True))
    of_steps = list({id(piece): piece for key in steps for piece in snapshot.pieces.get(key, ())}.values())
    launches = {key: snapshot.steps[key].launch for key in steps if key in snapshot.steps}
    repeats = (
        snapshot.duplicates
        or any(len(snapshot.pieces.get(key, ())) > 1 for key in steps)
        or any(launch > 1 for launch in launches.values())
    )
    newest = pa.table({
        "split": pa.array([split for split, _ in launches], pa.string()),
        "step": pa.array([step for _, step in launches], pa.int64()),
        "newest": pa.array(launches.values(), pa.int64()),
    })  # fmt: skip
    numbered = places.select(PLACE).append_column("nth", pa.array(range(len(places)), pa.int64()))
    wanted = set(places["source"].to_pylist())
    said, said_tags = snapshot.said_names()
    told = Said(snapshot.annotations, [*SAID, *map(metric_column, said), *map(tag_column, said_tags)], places=True)
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Piece]] = defaultdict(list)
    for piece in of_steps:
        if piece.source in wanted:
            alike[tuple(sorted({*piece.metrics, *said})), tuple(sorted({*piece.tags, *said_tags}))].append(piece)
    found = []
    for (metrics, tags), own in alike.items():
        sources = pa.array(sorted({piece.source for piece in own}), pa.string())
        rows = numbered.filter(pc.is_in(numbered["source"].cast(pa.string()), sources)) if len(alike) > 1 else numbered
        asked, sql = of_steps if repeats else own, _shown_sql(metrics, tags, repeats)
        question = Question(asked, sql, tables={"places": rows, "launches": newest}, said=told)
        found.append(Shown(question, list(metrics), list(tags)))
    return found


def _shown_sql(metrics: Iterable[str], tags: Iterable[str], repeats: bool) -> str:
    columns = ", ".join(map(quote, (*ITEM, *map(metric_column, metrics), *map(tag_column, tags))))
    using = f"USING ({', '.join(PLACE)})"
    if not repeats:
        return f"SELECT nth, 0, {columns} FROM rows JOIN places {using}"
    joined = f"JOIN places {using} JOIN counted {using} JOIN launches USING (split, step)"
    return f"{ATTEMPTS} SELECT nth, {ATTEMPT.format('newest')}, {columns} FROM rows {joined}"


def _items(shown: Shown, records: list[tuple[Any, ...]]) -> list[tuple[int, SampleItem]]:
    first_metric, first_tag = len(ITEM) + 2, len(ITEM) + 2 + len(shown.metrics)
    items = []
    for record in records:
        nth, attempt, split, step, group, index, *fixed = record[:first_metric]
        numbers = {n: v for n, v in zip(shown.metrics, record[first_metric:first_tag], strict=True) if v is not None}
        words = {n: v for n, v in zip(shown.tags, record[first_tag:], strict=True) if v is not None}
        key = SampleKey(split, step, group, index, attempt)
        items.append((nth, SampleItem._make([key, *fixed, numbers, words])))
    return items


def table(run: OpenRun, query: SampleQuery) -> pa.Table:
    """All samples of a query as an Arrow table: `id`, what `SampleItem` has, sample metrics and tags by their names.

    A sample metric or tag that is called like another column stands as `metric.NAME`, `tag.NAME`. Raises as `samples`.
    """
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    terms = terms_of(snapshot, query)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    places = engine.table(run, _where_they_are(pieces, terms, query.limit, query.offset)) if pieces else None
    if not places:
        return pa.table({name: [] for name in ("id", *NAMES)})
    chunks = [_named(run, snapshot, places.slice(at, CHUNK)) for at in range(0, len(places), CHUNK)]
    return pa.concat_tables(chunks, promote_options="permissive")


def _named(run: OpenRun, snapshot: Snapshot, places: pa.Table) -> pa.Table:
    """What is shown of some samples, with their ids, under the names that a person knows."""
    tables = []
    for shown in _what_is_shown(snapshot, places):
        answer = engine.table(run, shown.question)
        names = ["nth", "attempt", *NAMES]
        names += [name if name not in ("id", *names) else f"metric.{name}" for name in shown.metrics]
        names += [name if name not in ("id", *names) else f"tag.{name}" for name in shown.tags]
        tables.append(answer.rename_columns(names))
    answer = pa.concat_tables(tables, promote_options="permissive").sort_by("nth")
    keys = [answer[name].to_pylist() for name in ("split", "step", "group", "index", "attempt")]
    ids = pa.array([str(SampleKey(*key)) for key in zip(*keys, strict=True)], pa.string())
    return answer.drop_columns(["nth", "attempt"]).add_column(0, "id", ids)
