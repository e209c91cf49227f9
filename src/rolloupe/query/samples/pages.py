"""Samples as records: a page of a list, all of them one after another, as a table or as arrays, or some by names.

A page takes two statements: one for the places of its samples, with only the columns that this needs; one for all
fields of these samples. Wide runs, with hundreds of sample metrics, cost no more than narrow ones.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe.derive import METRICS
from rolloupe.errors import NotFound, RolloupeError, SourceChanged
from rolloupe.index import OpenRun, Snapshot, added_stamps
from rolloupe.index.segments.columns import resolve
from rolloupe.model import Sample, SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import compile_query, query_names, token_texts
from rolloupe.query.engine.database import Question, knows_words
from rolloupe.query.engine.names import DERIVED_NAMES, column, current_rows, is_asked
from rolloupe.query.engine.relation import FILE, PLACE, ROW, RowPlace, TableReading, quote
from rolloupe.query.records import SampleItem, SamplePage, SampleQuery
from rolloupe.query.sample.load import annotation_places, current_ids, read_sample
from rolloupe.query.samples.listing import listed
from rolloupe.query.samples.rows import ITEM, NAMES, LocatedItem, items_of, list_rows, located_items, table_of

PAGE_CELLS = 500_000  # number of values to fetch at a time when iterating over all samples
MAX_PAGE = 5000
MIN_PAGE = 100
CHUNK = 20_000
LENGTH = "length"
BATCH = 2000  # number of samples to look up at a time

OWN_KEY = ("own_split", "own_step", "own_group", "own_index")
BY_KEY = f"""
SELECT {", ".join(PLACE)} FROM rows
SEMI JOIN asked ON split = own_split AND step = own_step AND grp = own_group AND idx = own_index
"""
BY_UID = f"SELECT {', '.join(PLACE)} FROM rows WHERE uid IN (SELECT own_uid FROM asked) AND uid <> ''"

GROUP, IDENTITY, TEXT, PROMPT, ASKED = "~group", "~identity", "~text", "~prompt", "~asked"
"""Hashes: of split, step and group; of these and the index; of the ends of the response; of the prompt or group."""

HASHES = {
    GROUP: "hash(split, step, grp)",
    IDENTITY: "hash(split, step, grp, idx)",
    TEXT: "hash(response_chars, response_preview, response_end)",
    PROMPT: "hash(prompt_hash)",
    ASKED: "prompt_preview <> ''",
}


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
    listing = listed(run, snapshot, query)
    total = listing.total
    offset, limit = query.offset, total if query.limit is None else query.limit
    if around is not None and limit > 0:
        place = listing.place_of(run, around)
        offset = offset if place is None else place // limit * limit
    derived = derived_names(query, snapshot.metrics, snapshot.tags)
    rows = list_rows(run, listing.snapshot, listing.page(run, offset, limit), columns, derived)
    return SamplePage(total, offset, items_of(rows), stamp_of(snapshot, query), pending(snapshot, query))


def derived_names(query: SampleQuery, metrics: Collection[str], tags: Collection[str]) -> tuple[str, ...]:
    """The derived metrics that a query names in a run with these sample metrics and tags, without `derived.`."""
    refs = [resolve(name, metrics, tags) for name in query_names(query, metrics, tags)]
    return tuple(dict.fromkeys(ref.name for ref in refs if ref is not None and ref.kind == "derived"))


def needs_whole_index(query: SampleQuery, metrics: Collection[str], tags: Collection[str]) -> bool:
    """True for a query that names derived metrics or tokens, which the index writes after the numbers."""
    return bool(derived_names(query, metrics, tags) or token_texts(query))


def pending(snapshot: Snapshot, query: SampleQuery) -> int:
    """The number of samples in scope whose derived metrics or tokens the query names and the index still lacks."""
    names, has_tokens = {*derived_names(query, snapshot.metrics, snapshot.tags)}, bool(token_texts(query))
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max) if names or has_tokens else []
    lacking = (piece for piece in pieces if not names <= {*piece.derived} or (has_tokens and not knows_words(piece)))
    return sum(current_rows(piece, query, snapshot) for piece in lacking)


def in_known_splits(snapshot: Snapshot, query: SampleQuery) -> SampleQuery:
    """Expand `eval` to every `eval/...` in a query. Raises `NotFound` for an unknown split."""
    names = sorted({split for split, _ in snapshot.steps}, key=lambda split: (split != "train", split))
    splits: list[str] = []
    for asked in query.splits:
        matches = [split for split in names if is_asked(split, asked)]
        if not matches and names:
            raise NotFound(f"no split {asked!r}; there are: {', '.join(names[:40])}")
        splits += matches or [asked]
    trained = None if query.trained and not snapshot.has_discarded else query.trained
    return replace(query, splits=tuple(dict.fromkeys(splits)), trained=trained)


def with_length(run: OpenRun, query: SampleQuery) -> SampleQuery:
    """Return the query with the column behind `length`: tokens, else characters, unless a metric has that name."""
    snapshot = run.snapshot()
    if query.sort != LENGTH or LENGTH in (*snapshot.metrics, *snapshot.tags):
        return query
    asked = query.splits or (None,)
    steps = (stats for stats in snapshot.steps.values() if any(is_asked(stats.split, split) for split in asked))
    has_tokens = any("response_tokens" in stats.columns for stats in steps)
    return replace(query, sort="response_tokens" if has_tokens else "response_chars")


def stamp_of(snapshot: Snapshot, query: SampleQuery) -> int:
    """The stamp of the only step of a query, over all its splits; 0 for several steps."""
    if query.step_min is None or query.step_min != query.step_max:
        return 0
    steps = (snapshot.steps.get((split, query.step_min)) for split in query.splits)
    return added_stamps(stats.stamp for stats in steps if stats)


def in_scope(run: OpenRun, query: SampleQuery) -> int:
    """Count the samples in the splits and steps of a query, ignoring its conditions; looks at no sample."""
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    return listed(run, snapshot, replace(query, where=(), group=None, sort="index")).total


def every(run: OpenRun, query: SampleQuery, columns: Sequence[str] | None = None) -> Iterator[SampleItem]:
    """Yield all samples of a query, with `columns` as for `samples`. Sorted by `index`, no page reads the whole run."""
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
    """Return one of all pages. If a piece of the index is gone, the page is queried again, on the run at that time."""
    for pause_s in (0.1, 0.5, 2.0, None):
        try:
            listing = listed(run, snapshot, query)
            places = listing.page(run, query.offset, query.limit or 0)
            derived = derived_names(query, snapshot.metrics, snapshot.tags)
            return snapshot, items_of(list_rows(run, listing.snapshot, places, columns, derived))
        except SourceChanged:
            if pause_s is None:
                raise
            time.sleep(pause_s)
            snapshot = run.snapshot()
    raise AssertionError


def table(run: OpenRun, query: SampleQuery) -> pa.Table:
    """Return all samples of a query as a table; a metric with the name of a column is `metric.NAME`."""
    snapshot = run.snapshot()
    listing = listed(run, snapshot, in_known_splits(snapshot, query))
    stop = listing.total if query.limit is None else min(listing.total, query.offset + query.limit)
    chunks = [pa.table({name: [] for name in ("id", *NAMES.values(), *DERIVED_NAMES)})] if query.offset >= stop else []
    for at in range(query.offset, stop, CHUNK):
        places = listing.page(run, at, min(CHUNK, stop - at))
        chunks.append(table_of(list_rows(run, listing.snapshot, places, derived=tuple(METRICS))))
    return pa.concat_tables(chunks, promote_options="permissive")


def named(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, SampleItem]:
    """Return items of these samples, by the given ids; without ids that the run lacks."""
    return {key: located.item for key, located in located_named(run, keys).items()}


def located_named(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, LocatedItem]:
    """Return the same with their places."""
    items = _named(run, keys)
    current = current_ids(run, [key for key in keys if key not in items])
    renamed = _named(run, list(current.values())) if current else {}
    return items | {former: renamed[key] for former, key in current.items() if key in renamed}


def _named(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, LocatedItem]:
    named: dict[SampleKey, LocatedItem] = {}
    for first in range(0, len(keys), BATCH):
        snapshot = run.snapshot()
        batch = [key for key in keys[first : first + BATCH] if (key.split, key.step) in snapshot.pieces]
        pieces = snapshot.of({(key.split, key.step) for key in batch})
        columns = zip(OWN_KEY, zip(*(key.shared for key in batch), strict=True), strict=False)  # none without keys
        places = database.places(run, Question(pieces, BY_KEY, tables={"asked": pa.table(dict(columns))}))
        items, wanted = located_items(list_rows(run, snapshot, places, columns=())), set(batch)
        named |= {located.item.key: located for located in items if located.item.key in wanted}
    return named


def by_uid(run: OpenRun, uids: Sequence[str]) -> dict[str, SampleItem]:
    """Return the samples with these names of their framework, anywhere in the run; the last of several."""
    return {uid: located.item for uid, located in located_by_uid(run, uids).items()}


def located_by_uid(run: OpenRun, uids: Sequence[str]) -> dict[str, LocatedItem]:
    """Return the same with their places."""
    names = [uid for uid in dict.fromkeys(uids) if uid]
    snapshot = run.snapshot()
    asked = pa.table({"own_uid": pa.array(names, pa.string())})
    places = database.places(run, Question(snapshot.holding() if names else (), BY_UID, tables={"asked": asked}))
    return {located.item.uid: located for located in located_items(list_rows(run, snapshot, places, columns=()))}


class SampleArrays(NamedTuple):
    """The samples of a query, group by group, in the order of the files within a group."""

    table: pa.Table
    snapshot: Snapshot
    reading: TableReading

    def __len__(self) -> int:
        return len(self.table)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers; NaN for none."""
        values: NDArray[np.float64] = self.table[name].to_numpy().astype(np.float64)
        return values

    def words(self, name: str) -> NDArray[np.object_]:
        """A column of words; empty for none."""
        words: NDArray[np.object_] = self.table[name].cast(pa.string()).fill_null("").to_numpy()
        return words

    def ids(self, run: OpenRun, places: Sequence[int]) -> list[str]:
        """The ids of some of the samples. Raises as `database.ask`."""
        rows = list_rows(run, self.snapshot, self.row_places(places), columns=())
        return [str(item.key) for item in items_of(rows)]

    def row_places(self, places: Sequence[int]) -> list[RowPlace]:
        """Where the index has some of the samples."""
        if not len(places):
            return []
        pairs = zip(*(self.table[name].take(pa.array(places)).to_pylist() for name in (FILE, ROW)), strict=True)
        return [self.reading.place(*pair) for pair in pairs]


def sample_arrays(run: OpenRun, query: SampleQuery, names: Sequence[str]) -> SampleArrays:
    """These columns of all samples of a query, with the hashes. Raises as `samples`."""
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    terms = compile_query(snapshot, query, by_group=False, also=names)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    columns = {name: column(snapshot, name) for name in names}
    selected = ", ".join(f"{sql} AS {quote(name)}" for name, sql in {**columns, **HASHES}.items())
    sql = f"{terms.own} SELECT {', '.join(PLACE)}, {selected} FROM own"
    table, reading = database.placed(run, terms.question(pieces, sql))
    order = [table[name].to_numpy() for name in (ROW, FILE, GROUP)]
    return SampleArrays(table.take(pa.array(np.lexsort(order))), snapshot, reading)


def whole_samples(
    run: OpenRun, arrays: SampleArrays, places: Sequence[int], most_bytes: int
) -> Iterator[tuple[int, Sample]]:
    """Yield the samples at some places, in file order, up to `most_bytes`; leaves out those that cannot be read."""
    located = located_items(list_rows(run, arrays.snapshot, arrays.row_places(places), columns=()))
    noted = annotation_places(run, [sample.item.uid for sample in located])
    sizes = accumulate(sample.locator.length for sample in located)
    kept = [sample for sample, size in zip(located, sizes, strict=True) if size <= most_bytes]
    for nth, item, locator, _ in sorted(kept, key=lambda sample: (sample.locator.source, sample.locator.start)):
        with suppress(RolloupeError):
            yield places[nth], read_sample(run, item.key, locator, noted.get(item.uid, []))
