"""Lists of samples sorted by a number: one full sort, then any page is available, however far down.

DuckDB returns the numbers in file order; this module sorts them, and keeps eight bytes for each sample. Sorting in
DuckDB would take some hundred bytes for each sample, and again for every page.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, Snapshot, StepKey
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import compile_query
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import PLACE, RowPlace, TableReading
from rolloupe.query.records import SampleQuery

MAX_SAMPLES = 2**26
"""Larger lists are not sorted: it would take gigabytes."""

ROW_BITS = 32
SIGN, ALL = np.uint64(2**63), np.uint64(2**64 - 1)
LAST = np.uint64(0xFFF8 << 48)
"""Greater than the code of any finite number."""
RANK_BITS = np.uint64(48)

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]


class Order(NamedTuple):
    """The samples of a query in order: the numbers that `reading` gave their rows (file << 32 | row)."""

    snapshot: Snapshot
    """The run at that time."""
    reading: TableReading
    rows: NDArray[np.int64]

    @property
    def total(self) -> int:
        """The number of samples."""
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.rows.nbytes

    def page(self, _: OpenRun, offset: int, limit: int) -> list[RowPlace]:
        """The samples of a page."""
        wanted = self.rows[offset : offset + limit].tolist()
        return [self.reading.place(row >> ROW_BITS, row & (2**ROW_BITS - 1)) for row in wanted]

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        """The place of a sample in the order, None for others; of several attempts, the named one."""
        sql = f"""SELECT {", ".join(PLACE)} FROM rows WHERE split = ? AND step = ? AND grp = ? AND idx = ?
            ORDER BY source, ordinal, byte_start, part"""
        pieces = self.snapshot.holding([key.split], key.step, key.step)
        if not pieces or not -(2**63) <= key.step < 2**63:
            return None
        answer, reading = database.placed(run, Question(pieces, sql, list(key.shared)))
        if len(answer) < max(1, key.attempt):
            return None
        file, row = (column[(key.attempt or len(answer)) - 1].as_py() for column in answer.columns)
        try:
            numbers = self.reading.numbers([reading.place(file, row)])
        except KeyError:  # of a step outside the list
            return None
        word = (numbers[0][0].as_py() << ROW_BITS) | numbers[1][0].as_py()
        places = np.flatnonzero(self.rows == word)
        return int(places[0]) if len(places) else None


def order_of(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, number: str, only: Sequence[StepKey] | None = None
) -> Order:
    """The order of a query by a number (SQL), or of some of its steps. Ties are in the order of steps and files.

    Raises `BadQuery` for too many samples to sort.
    """
    terms = compile_query(snapshot, query, by_group=False)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max) if only is None else snapshot.of(only)
    if not pieces:
        return Order(snapshot, database.reading_of(run, ()), np.empty(0, np.int64))
    splits = sorted({split for split, _ in snapshot.steps}, key=lambda split: (split != "train", split))
    steps_alone = "" if only is None else "SEMI JOIN only_steps USING (split, step)"
    sql = f"""{terms.own} SELECT ({PLACE[0]} << {ROW_BITS}) | {PLACE[1]}, step, ({number})::DOUBLE,
        list_position(?::VARCHAR[], split)::INTEGER FROM own {steps_alone} LIMIT {MAX_SAMPLES + 1}"""
    tables = {} if only is None else {"only_steps": _table(only)}
    answer, reading = database.placed(run, terms.question(pieces, sql, [splits], tables))
    if len(answer) > MAX_SAMPLES:
        raise BadQuery(f"more than {MAX_SAMPLES:,} samples are not sorted: narrow the steps, or filter")
    rows, steps, keys, of_split = answer.columns
    del answer  # with many samples each column is as large as the answer: none stays longer than necessary
    begun = by_step(rows.to_numpy(), steps.to_numpy(), of_split.to_numpy())
    del steps, of_split
    missing = keys.is_null().to_numpy() if keys.null_count else None
    words = sortable(keys.fill_null(0.0).to_numpy(), missing, descending=query.descending)
    del keys
    numbers: NDArray[np.int64] = rows.to_numpy()
    del rows
    if begun is not None:
        words, numbers = words[begun], numbers[begun]
    return Order(snapshot, reading, numbers[sorted_places(words)])


def _table(keys: Sequence[StepKey]) -> pa.Table:
    return pa.table({
        "split": pa.array([split for split, _ in keys], pa.string()),
        "step": pa.array([step for _, step in keys], pa.int64()),
    })  # fmt: skip


def by_step(rows: NDArray[Any], steps: NDArray[Any], splits: NDArray[Any]) -> NDArray[np.int64] | None:
    """The places of rows by split, step, file and row; None if they are already in order."""
    same = np.ones(max(0, len(rows) - 1), bool)
    for column in (splits, steps, rows):
        if np.any(same & (column[1:] < column[:-1])):
            return np.lexsort((rows, steps, splits))
        same &= column[1:] == column[:-1]
    return None


def sortable(values: Floats, missing: NDArray[np.bool_] | None, *, descending: bool) -> Words:
    """Words that sort as the values do: finite ones first, then the others, then missing ones, in either direction.

    The bits of a double, read as an integer, are in order for positive numbers, and in reverse for negative ones.
    """
    words = (values + 0.0).view(np.uint64)  # adding turns a negative zero into zero
    words ^= np.where(words >= SIGN, ALL, SIGN)
    if descending:
        np.invert(words, out=words)
    odd = ~np.isfinite(values)
    if odd.any():
        of = values[odd]
        rank = np.where(np.isnan(of), 2, np.where(of > 0, 1, 0))
        words[odd] = LAST + (((2 - rank) if descending else rank).astype(np.uint64) << RANK_BITS)
    if missing is not None:
        words[missing] = LAST + (np.uint64(3) << RANK_BITS)
    return words


def sorted_places(words: Words) -> NDArray[np.int64]:
    """The places of words in order; equal words keep their order.

    Sorting words is many times faster than sorting places by words. So the places go into the low bits, and a second
    pass fixes the order of words that are equal in the remaining bits.
    """
    bits = np.uint64(max(1, len(words) - 1).bit_length())
    mask = np.uint64((1 << int(bits)) - 1)
    packed = words & ~mask
    packed |= np.arange(len(words), dtype=np.uint64)
    packed.sort()
    places = (packed & mask).view(np.int64)
    packed &= ~mask
    close = packed[1:] == packed[:-1]
    del packed
    whole = words[places]
    runs = np.flatnonzero(close & (whole[1:] != whole[:-1]))
    if not len(runs):
        return places
    number = np.concatenate(([0], np.cumsum(~close)))
    wrong = np.isin(number, number[runs])
    tied_places = places[wrong]
    places[wrong] = tied_places[np.lexsort((tied_places, words[tied_places], number[wrong]))]
    return places
