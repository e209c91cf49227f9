"""Lists of samples: a page, all of them one after another, or all of them as a table.

A page takes two statements: one for the places of its samples, with only the columns that this needs; one for all
fields of these samples. Wide runs, with hundreds of sample metrics, cost no more than narrow ones.
"""

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
from msgspec.structs import replace

from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun, Snapshot, added_stamps
from rolloupe.index.segments.columns import derived_metric
from rolloupe.model import SampleKey
from rolloupe.query.engine.compile import query_names
from rolloupe.query.engine.names import DERIVED_NAMES
from rolloupe.query.records import SampleItem, SamplePage, SampleQuery
from rolloupe.query.samples import list_items
from rolloupe.query.samples.listing import listed
from rolloupe.query.splits import is_asked

PAGE_CELLS = 500_000
"""Number of values to fetch at a time when iterating over all samples."""
MAX_PAGE = 5000
MIN_PAGE = 100
CHUNK = 20_000


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
    rows = list_items.list_rows(run, found.snapshot, found.page(run, offset, limit), columns, query_names(query))
    return SamplePage(total, offset, list_items.items(rows), stamp_of(snapshot, query), pending(snapshot, query))


def names_derived(query: SampleQuery) -> bool:
    """True if a query sorts or filters by a derived metric."""
    return any(map(derived_metric, query_names(query)))


def pending(snapshot: Snapshot, query: SampleQuery) -> int:
    """The number of samples in the scope of a query that lack a value of one of its derived metrics so far."""
    names = set(filter(None, map(derived_metric, query_names(query))))
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max) if names else []
    return sum(piece.rows for piece in pieces if not names <= {*piece.derived})


def in_known_splits(snapshot: Snapshot, query: SampleQuery) -> SampleQuery:
    """Expand `eval` to every `eval/...` in a query. Raises `NotFound` for an unknown split."""
    known = sorted({split for split, _ in snapshot.steps}, key=lambda split: (split != "train", split))
    found: list[str] = []
    for split in query.splits:
        own = [one for one in known if is_asked(one, split)]
        if not own and known:
            raise NotFound(f"no split {split!r}; there are: {', '.join(known[:40])}")
        found += own or [split]
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
    """All samples of a query in the current run, page by page; sorted by `index`, no page costs the whole run.

    `columns` as for `samples`.
    """
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    offset, left = query.offset, query.limit
    widest = max((len(p.metrics) + len(p.tags) for p in snapshot.holding(query.splits)), default=0) + len(
        list_items.ITEM
    )
    size = max(MIN_PAGE, min(MAX_PAGE, PAGE_CELLS // widest))
    while left is None or left > 0:
        limit = size if left is None else min(size, left)
        snapshot, page = _page(run, snapshot, replace(query, offset=offset, limit=limit), columns)
        yield from page
        offset, left = offset + len(page), None if left is None else left - len(page)
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
            rows = list_items.list_rows(run, found.snapshot, places, columns, query_names(query))
            return snapshot, list_items.items(rows)
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
        chunks.append(list_items.table(list_items.list_rows(run, found.snapshot, places, named=DERIVED_NAMES)))
    if not chunks:
        return pa.table({name: [] for name in ("id", *list_items.NAMES.values(), *DERIVED_NAMES)})
    return pa.concat_tables(chunks, promote_options="permissive")
