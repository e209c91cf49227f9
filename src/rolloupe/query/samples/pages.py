"""Lists of samples: a page, all of them one after another, or all of them as a table.

A page takes two questions: where its samples are, from the few columns that this needs; then everything that is shown
of these alone. Wide runs, with hundreds of sample metrics, cost no more than narrow ones.
"""

import time
from collections.abc import Iterator

import pyarrow as pa
from msgspec.structs import replace

from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun, Snapshot, added_stamps
from rolloupe.model import SampleKey
from rolloupe.query.records import SampleItem, SamplePage, SampleQuery
from rolloupe.query.samples import list_items
from rolloupe.query.samples.listing import listed
from rolloupe.query.splits import is_asked

PAGE_CELLS = 500_000
"""Values that are fetched at a time where all samples are asked for."""
MAX_PAGE = 5000
MIN_PAGE = 100
CHUNK = 20_000


def samples(run: OpenRun, query: SampleQuery, around: SampleKey | None = None) -> SamplePage:
    """One page of a list; with `around`, the page that holds this sample (the asked-for one where it is not in it).

    Sorted by `index` steps follow each other, and within a step the samples of a group stand together. Raises
    `BadQuery` for a column that no sample has, `NotFound` for a split that the run has not.
    """
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    found = listed(run, snapshot, query)
    total = found.total
    offset, limit = query.offset, total if query.limit is None else query.limit
    if around is not None and limit > 0:
        place = found.place_of(run, around)
        offset = offset if place is None else place // limit * limit
    places = found.page(run, offset, limit)
    return SamplePage(
        total, offset, list_items.items(list_items.shown(run, found.snapshot, places)), stamp_of(snapshot, query)
    )


def in_known_splits(snapshot: Snapshot, query: SampleQuery) -> SampleQuery:
    """The query with `eval` standing for every `eval/...`. Raises `NotFound` where a split does not exist."""
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
    """The stamp of the only step of a query, of its splits together, 0 where there are several."""
    if query.step_min is None or query.step_min != query.step_max:
        return 0
    found = (snapshot.steps.get((split, query.step_min)) for split in query.splits)
    return added_stamps(sketch.stamp for sketch in found if sketch)


def in_scope(run: OpenRun, query: SampleQuery) -> int:
    """How many samples the splits and steps of a query have, whatever its conditions: told without a look at any."""
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    return listed(run, snapshot, replace(query, where=(), group=None, sort="index")).total


def every(run: OpenRun, query: SampleQuery) -> Iterator[SampleItem]:
    """All samples of a query as the run is now, page by page; sorted by `index` no page costs the run."""
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    offset, left = query.offset, query.limit
    widest = max((len(p.metrics) + len(p.tags) for p in snapshot.holding(query.splits)), default=0) + len(
        list_items.ITEM
    )
    size = max(MIN_PAGE, min(MAX_PAGE, PAGE_CELLS // widest))
    while left is None or left > 0:
        limit = size if left is None else min(size, left)
        snapshot, page = _page(run, snapshot, replace(query, offset=offset, limit=limit))
        yield from page
        offset, left = offset + len(page), None if left is None else left - len(page)
        if len(page) < limit:
            return


def _page(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> tuple[Snapshot, list[SampleItem]]:
    """One of all pages. Where a piece of the index is gone it is asked for again, of the run as it is by then."""
    for pause_s in (0.1, 0.5, 2.0, None):
        try:
            found = listed(run, snapshot, query)
            places = found.page(run, query.offset, query.limit or 0)
            return snapshot, list_items.items(list_items.shown(run, found.snapshot, places))
        except SourceChanged:
            if pause_s is None:
                raise
            time.sleep(pause_s)
            snapshot = run.snapshot()
    raise AssertionError


def table(run: OpenRun, query: SampleQuery) -> pa.Table:
    """All samples of a query as an Arrow table: `id`, what `SampleItem` has, sample metrics and tags by their names.

    A sample metric or tag that is called like another column stands as `metric.NAME`, `tag.NAME`. Raises as `samples`.
    """
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    found = listed(run, snapshot, query)
    stop = found.total if query.limit is None else min(found.total, query.offset + query.limit)
    chunks = []
    for at in range(query.offset, stop, CHUNK):
        places = found.page(run, at, min(CHUNK, stop - at))
        chunks.append(list_items.table(list_items.shown(run, found.snapshot, places)))
    if not chunks:
        return pa.table({name: [] for name in ("id", *list_items.NAMES)})
    return pa.concat_tables(chunks, promote_options="permissive")
