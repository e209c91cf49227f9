"""A query's samples as a list with random access: any range of it yields rows of the index.

A list sorted by a number is sorted once and cached, and its first page is ready before that: the extremes in the index
tell which steps hold its samples. DuckDB returns the numbers in file order, and numpy sorts them, with eight bytes for
each sample; DuckDB would take some hundred bytes for each, and again for every page. In the order of the run, a list is
divided into steps of known size, so that a page costs only its own steps. Sorted by text, DuckDB finds each page.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe.errors import BadQuery, NotFound, SourceChanged
from rolloupe.index import OpenRun, Snapshot, StepKey
from rolloupe.index.segments.samples import MAX_METRICS
from rolloupe.model import SampleKey
from rolloupe.query.engine import caches, database, names
from rolloupe.query.engine.compile import compile_query, count_found, is_one_step, number_of, parts_of
from rolloupe.query.engine.relation import PLACE, RowPlace, TableReading
from rolloupe.query.records import SampleQuery
from rolloupe.query.sample.load import locate

WORTH = 0.5  # if candidates exceed this share of the samples, all samples are searched

KEPT_BYTES = 256 * 2**20
"""Total size of cached lists that are sorted; those in the order of the run take at most a quarter of it."""

STEP_BYTES = 256
"""Memory that a list's snapshot takes for each step: nothing else may keep a snapshot of an earlier version."""

AT_ONCE = 16  # lists in the order of the run that are made at a time: they take little more than the number of steps
FIRST = 200  # number of samples at the top of a list to look for before sorting the whole
MAX_SAMPLES = 2**26  # larger lists are not sorted: it would take gigabytes
ROW_BITS = 32
SIGN, ALL = np.uint64(2**63), np.uint64(2**64 - 1)
LAST = np.uint64(0xFFF8 << 48)  # greater than the code of any finite number
RANK_BITS = np.uint64(48)

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]


Listing: TypeAlias = "Order | ByNumber | BySql | ByStep"
"""The samples of a query in order. Places refer to the `snapshot` of the run from which the list was made.

`page` returns the rows from `offset` on, fewer at the end; `place_of` the place of a sample, or of the named attempt,
None if it is not in the list. `run` is the run of the list.
"""


class Order(NamedTuple):
    """The samples of a query in order: the numbers that `reading` gave their rows (file << 32 | row)."""

    snapshot: Snapshot
    reading: TableReading
    rows: NDArray[np.int64]

    @property
    def total(self) -> int:
        return len(self.rows)

    def page(self, run: OpenRun, offset: int, limit: int) -> list[RowPlace]:  # noqa: ARG002
        wanted = self.rows[offset : offset + limit].tolist()
        return [self.reading.place(row >> ROW_BITS, row & (2**ROW_BITS - 1)) for row in wanted]

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        sql = f"""SELECT {", ".join(PLACE)} FROM rows WHERE split = ? AND step = ? AND grp = ? AND idx = ?
            ORDER BY source, ordinal, byte_start, part"""
        pieces = self.snapshot.holding([key.split], key.step, key.step)
        attempts = database.places(run, database.Question(pieces, sql, key.shared))
        if len(attempts) < max(1, key.attempt):
            return None
        try:
            numbers = self.reading.numbers([attempts[key.attempt - 1]])
        except KeyError:  # of a step outside the list
            return None
        word = (numbers[0][0].as_py() << ROW_BITS) | numbers[1][0].as_py()
        places = np.flatnonzero(self.rows == word)
        return int(places[0]) if len(places) else None


listings: caches.AnswerCache[Order] = caches.AnswerCache(KEPT_BYTES, lambda order: order.rows.nbytes)


def listed(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> Listing:
    """Return the list of a query, ignoring its `offset` and `limit`. Raises `BadQuery`, as `compile_query`."""
    number = number_of(snapshot, query.sort)
    unpaged = replace(query, offset=0, limit=None)
    if is_one_step(query) or (query.sort != "index" and number is None):
        return BySql(run, snapshot, query)
    if number is not None:
        by_number = ByNumber(run, snapshot, unpaged, number)
        return by_number if by_number.is_of_steps else by_number.whole
    if not _is_narrowed(query):
        return ByStep(snapshot, query, {key: snapshot.steps[key].rows for key in _steps(snapshot, query)})
    return step_listings.get(run, snapshot, unpaged, lambda: ByStep(snapshot, query, _counted(run, snapshot, query)))


class ByNumber:
    """A list sorted by a number: its first page, of whole steps, needs no look at all samples."""

    def __init__(self, run: OpenRun, snapshot: Snapshot, query: SampleQuery, number: str) -> None:
        self._run, self.snapshot, self._query, self._number = run, snapshot, query, number
        counts_are_known = query.trained is None or (query.trained and not snapshot.annotates_discarded)
        self.is_of_steps = counts_are_known and not query.where and query.group is None
        self._steps = _steps(snapshot, replace(query, descending=False)) if self.is_of_steps else []

    @property
    def whole(self) -> Order:
        """The whole list, sorted."""
        run, snapshot, query = self._run, self.snapshot, self._query
        return listings.get(run, snapshot, query, lambda: order_of(run, snapshot, query, self._number))

    @property
    def total(self) -> int:
        steps = [self.snapshot.steps[key] for key in self._steps]
        return sum(stats.trained if self._query.trained else stats.rows for stats in steps)

    def page(self, run: OpenRun, offset: int, limit: int) -> list[RowPlace]:
        stop = min(offset + limit, self.total)
        first = top_steps(self.snapshot, self._query, self._steps, stop) if 0 < stop <= FIRST else None
        if first is None:
            return self.whole.page(run, offset, limit)
        return order_of(run, self.snapshot, self._query, self._number, first).page(run, offset, stop - offset)

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        return self.whole.place_of(run, key)


def top_steps(snapshot: Snapshot, query: SampleQuery, keys: Sequence[StepKey], want: int) -> list[StepKey] | None:
    """The steps among `keys` (in tie order) that hold the first `want` samples; None if the extremes do not decide it.

    Each of the `want` steps with the best extremes has at least one sample that good. So no step with a worse best
    value has any of the first `want` samples. The query has no conditions but splits, steps and `trained`.
    """
    by = names.reference(snapshot, query.sort)
    if by is None or query.trained is False or len(snapshot.metrics) >= MAX_METRICS:
        return None
    if names.is_annotated(snapshot, [by.column, "discarded"]):
        return None
    if by.kind == "derived" and any(by.name not in piece.derived for piece in snapshot.of(keys)):
        return None
    sign = 1.0 if query.descending else -1.0
    best: list[tuple[float, float]] = []
    """A value that some sample of each step certainly has, and a bound for all; greater is better for both."""
    for key in keys:
        stats = snapshot.steps[key]
        moments = names.moments_by_kind(stats, by.kind).get(by.name)
        witness = -inf if moments is None or not moments.count else sign * (moments.max if sign > 0 else moments.min)
        is_whole = query.trained or not stats.discarded  # moments cover the trained samples
        best.append((witness, witness if is_whole else inf))
    witnesses = sorted((witness for witness, _ in best if witness > -inf), reverse=True)
    if len(witnesses) < want:
        return None
    bar = witnesses[want - 1]
    tied = want - sum(witness > bar for witness, _ in best)
    candidates = []
    for key, (witness, most) in zip(keys, best, strict=True):
        is_tied = witness == most == bar
        if most > bar or (is_tied and tied > 0):
            candidates.append(key)
            tied -= is_tied
    rows = sum(snapshot.steps[key].rows for key in keys)
    return candidates if sum(snapshot.steps[key].rows for key in candidates) <= WORTH * rows else None


class BySql:
    """A list whose pages DuckDB finds: of few steps, or sorted by text."""

    def __init__(self, run: OpenRun, snapshot: Snapshot, query: SampleQuery, *, by_group: bool | None = None) -> None:
        self._run, self.snapshot, self._query = run, snapshot, query
        self._terms = compile_query(snapshot, query, by_group=by_group)
        self._pieces = snapshot.holding(query.splits, query.step_min, query.step_max)

    @property
    def total(self) -> int:
        query = self._query
        if not _is_narrowed(query):
            return sum(self.snapshot.steps[key].rows for key in _steps(self.snapshot, query))
        return sum(_counted(self._run, self.snapshot, query).values())

    def page(self, run: OpenRun, offset: int, limit: int) -> list[RowPlace]:
        if limit <= 0:
            return []
        sql = f"{self._terms.own} SELECT {', '.join(PLACE)} FROM own ORDER BY {self._terms.order} LIMIT ? OFFSET ?"
        return database.places(run, self._question(sql, limit, offset))

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        try:
            locator = locate(run, key)
        except (NotFound, SourceChanged):
            return None
        sql = f"""{self._terms.own}
        , placed AS (SELECT *, row_number() OVER (ORDER BY {self._terms.order}) - 1 AS place FROM own)
        SELECT place FROM placed WHERE source = ? AND byte_start = ? AND part = ?"""
        answer = database.ask(run, self._question(sql, locator.source, locator.start, locator.part))
        return int(answer[0][0]) if answer else None

    def _question(self, sql: str, *values: object) -> database.Question:
        return self._terms.question(self._pieces, sql, values)


class ByStep:
    """A list in the order of the run: steps one after another, and within each the samples of a group together."""

    def __init__(self, snapshot: Snapshot, query: SampleQuery, counts: dict[StepKey, int]) -> None:
        self.snapshot, self._query = snapshot, query
        compile_query(snapshot, query)  # refuse an invalid query now
        self._steps = [key for key in _steps(snapshot, query) if counts.get(key)]
        self._begins = [0, *accumulate(counts[key] for key in self._steps)]
        self.total = self._begins[-1]
        self.nbytes = STEP_BYTES * len(self._steps)

    def page(self, run: OpenRun, offset: int, limit: int) -> list[RowPlace]:
        rows: list[RowPlace] = []
        stop = min(offset + limit, self.total)
        first, last = bisect_right(self._begins, offset) - 1, bisect_right(self._begins, stop - 1) - 1
        while first <= last and offset < stop:  # the steps of one split at a time
            end = next((n - 1 for n in range(first, last + 1) if self._steps[n][0] != self._steps[first][0]), last)
            begin = self._begins[first]
            low = max(offset, begin)
            rows += self._part(run, first, end).page(run, low - begin, min(stop, self._begins[end + 1]) - low)
            first = end + 1
        return rows

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        try:
            number = self._steps.index((key.split, key.step))
        except ValueError:
            return None
        place = self._part(run, number, number).place_of(run, key)
        return None if place is None else self._begins[number] + place

    def _part(self, run: OpenRun, first: int, last: int) -> BySql:
        split, steps = self._steps[first][0], sorted((self._steps[first][1], self._steps[last][1]))
        query = replace(self._query, splits=(split,), step_min=steps[0], step_max=steps[1])
        return BySql(run, self.snapshot, query, by_group=True)


step_listings: caches.AnswerCache[ByStep] = caches.AnswerCache(KEPT_BYTES // 4, lambda listing: listing.nbytes, AT_ONCE)


def _is_narrowed(query: SampleQuery) -> bool:
    return bool(query.where) or query.group is not None or query.trained is not None


def _counted(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> dict[StepKey, int]:
    counts: dict[StepKey, int] = {}
    splits = query.splits or tuple({split for split, _ in snapshot.steps})
    of_split = "split, " if len(splits) > 1 else ""  # reading the only split takes as long as reading the filter
    for part in parts_of(snapshot, query):
        pieces = snapshot.holding(part.splits, part.step_min, part.step_max)
        terms = compile_query(snapshot, part, by_group=False)
        sql = f"SELECT {of_split}step, count(*) FROM rows WHERE {terms.where.sql} GROUP BY ALL"
        answer = database.ask(run, terms.question(pieces, sql))
        counts.update({(own[0] if own else splits[0], step): count for *own, step, count in answer})
        count_found(sum(count for *_, count in answer))
    return counts


def _steps(snapshot: Snapshot, query: SampleQuery) -> Sequence[StepKey]:
    if is_one_step(query):
        return [key] if (key := (query.splits[0], query.step_min or 0)) in snapshot.steps else []
    keys = [key for key in snapshot.steps if names.is_within(query, *key)]
    return sorted(keys, key=lambda key: (key[0] != "train", *key), reverse=query.descending)


def order_of(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, number: str, only: Sequence[StepKey] | None = None
) -> Order:
    """Order the samples of a query, or of some of its steps, by a number (SQL). Raises `BadQuery` for too many."""
    terms = compile_query(snapshot, query, by_group=False)
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max) if only is None else snapshot.of(only)
    splits = sorted({split for split, _ in snapshot.steps}, key=lambda split: (split != "train", split))
    steps_alone = "" if only is None else "SEMI JOIN only_steps USING (split, step)"
    sql = f"""{terms.own} SELECT ({PLACE[0]} << {ROW_BITS}) | {PLACE[1]}, step, ({number})::DOUBLE,
        list_position(?::VARCHAR[], split)::INTEGER FROM own {steps_alone} LIMIT {MAX_SAMPLES + 1}"""
    tables = {}
    if only is not None:
        of_splits, of_steps = map(list, zip(*only, strict=True))
        tables["only_steps"] = pa.table({"split": of_splits, "step": of_steps})
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


def by_step(rows: NDArray[Any], steps: NDArray[Any], splits: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the places of rows by split, step, file and row; None if they are already in order."""
    same = np.ones(max(0, len(rows) - 1), bool)
    for column in (splits, steps, rows):
        if np.any(same & (column[1:] < column[:-1])):
            return np.lexsort((rows, steps, splits))
        same &= column[1:] == column[:-1]
    return None


def sortable(values: Floats, missing: NDArray[np.bool_] | None, *, descending: bool) -> Words:
    """Return words that sort as the values do: finite ones first, then the others, then missing ones, either way.

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
    """Return the places of words in order; equal words keep their order.

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
