"""Columns of all samples of a query as arrays, for statistics over a whole run, and some of these samples whole."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.errors import RolloupeError
from rolloupe.index import OpenRun, Snapshot
from rolloupe.model import Sample
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import compile_query
from rolloupe.query.engine.names import column
from rolloupe.query.engine.relation import FILE, PLACE, ROW, RowPlace, TableReading, quote
from rolloupe.query.records import SampleQuery
from rolloupe.query.sample.load import annotation_places, read_sample
from rolloupe.query.samples.pages import in_known_splits
from rolloupe.query.samples.rows import items_of, list_rows, located_items

GROUP, IDENTITY, TEXT = "~group", "~identity", "~text"
"""Hashes: of split, step and group; of these and the index; of the length and the ends of the response, which differ
for most texts that differ."""

HASHES = {
    GROUP: "hash(split, step, grp)",
    IDENTITY: "hash(split, step, grp, idx)",
    TEXT: "hash(response_chars, response_preview, response_end)",
}


class SampleArrays(NamedTuple):
    """The samples of a query, group by group, in the order of the files within a group."""

    table: pa.Table
    snapshot: Snapshot
    reading: TableReading | None

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
        if self.reading is None or not len(places):
            return []
        pairs = zip(*(self.table[name].take(pa.array(places)).to_pylist() for name in (FILE, ROW)), strict=True)
        return [self.reading.place(*pair) for pair in pairs]


def sample_arrays(run: OpenRun, query: SampleQuery, names: Sequence[str]) -> SampleArrays:
    """These columns of all samples of a query, with the three hashes. Raises as `samples`."""
    snapshot = run.snapshot()
    query = in_known_splits(snapshot, query)
    terms = compile_query(snapshot, query, by_group=False, also=names)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)
    columns = {name: column(snapshot, name) for name in names}
    if not pieces:
        return SampleArrays(pa.table({name: [] for name in (*names, *HASHES)}), snapshot, None)
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
