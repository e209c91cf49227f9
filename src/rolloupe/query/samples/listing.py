"""A query's samples as a list with random access: any range of it yields rows of the index.

A list sorted by a number is sorted once and cached, and its first page is ready before that: the extremes in the index
tell which steps hold its samples. In the order of the run, a list is divided into steps of known size, so that a page
costs only its own steps. Sorted by text, DuckDB finds each page.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import inf
from typing import Protocol

from msgspec.structs import replace

from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun, Snapshot, StepKey
from rolloupe.index.segments.columns import MAX_METRICS, ColumnRef
from rolloupe.index.segments.step_stats import StepStats
from rolloupe.model import SampleKey
from rolloupe.query.engine import database, query_progress
from rolloupe.query.engine.caches import AnswerCache
from rolloupe.query.engine.compile import compile_query, is_one_step, number_of
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import is_annotated, is_within, moments_by_kind, reference
from rolloupe.query.engine.relation import PLACE, RowPlace
from rolloupe.query.records import SampleQuery
from rolloupe.query.sample.load import locate
from rolloupe.query.samples.sorting import order_of

WORTH = 0.5
"""If candidates exceed this share of the samples, all samples are searched."""

KEPT_BYTES = 256 * 2**20
"""Total size of cached lists that are sorted; those in the order of the run take at most a quarter of it."""

STEP_BYTES = 256
"""Memory that a list's snapshot takes for each step: nothing else may keep a snapshot of an earlier version."""

AT_ONCE = 16
"""Lists in the order of the run that are made at a time: they take little more than the number of steps."""

FIRST = 200
"""Number of samples at the top of a list to look for before sorting the whole."""


class Listing(Protocol):
    """The samples of a query in order."""

    @property
    def snapshot(self) -> Snapshot:
        """The run when the list was made: its places refer to the pieces of that time."""

    @property
    def total(self) -> int:
        """The number of samples."""

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""

    def page(self, run: OpenRun, offset: int, limit: int) -> list[RowPlace]:
        """The rows from `offset` on, fewer at the end. `run` is the run of the list, wherever the list comes from."""

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        """The place of a sample, None if it is not in the list."""


listings: AnswerCache[Listing] = AnswerCache(KEPT_BYTES, lambda listing: listing.nbytes)


def listed(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> Listing:
    """The list of a query, ignoring its `offset` and `limit`. Raises `BadQuery`, as `compile_query`."""
    number = number_of(snapshot, query.sort)
    unpaged = replace(query, offset=0, limit=None)
    if is_one_step(query) or (query.sort != "index" and number is None):
        return BySql(run, snapshot, query)
    if number is not None:
        by_number = ByNumber(run, snapshot, unpaged, number)
        return by_number if by_number.is_of_steps else by_number.whole
    if _is_narrowed(query):
        return step_listings.get(
            run, snapshot, unpaged, lambda: ByStep(snapshot, query, _counted(run, snapshot, query))
        )
    return ByStep(snapshot, query, {key: snapshot.steps[key].rows for key in _steps(snapshot, query)})


step_listings: AnswerCache[Listing] = AnswerCache(KEPT_BYTES // 4, lambda listing: listing.nbytes, AT_ONCE)


class ByNumber:
    """A list sorted by a number: its first page, of whole steps, needs no look at all samples."""

    nbytes = 0

    def __init__(self, run: OpenRun, snapshot: Snapshot, query: SampleQuery, number: str) -> None:
        self._run, self.snapshot, self._query, self._number = run, snapshot, query, number
        counts_are_known = query.trained is None or (query.trained and not snapshot.annotates_discarded)
        self.is_of_steps = counts_are_known and not query.where and query.group is None
        self._steps = _steps(snapshot, replace(query, descending=False)) if self.is_of_steps else []

    @property
    def whole(self) -> Listing:
        """The whole list, sorted."""
        return listings.get(
            self._run, self.snapshot, self._query, lambda: order_of(self._run, self.snapshot, self._query, self._number)
        )

    @property
    def total(self) -> int:
        """The number of samples."""
        steps = [self.snapshot.steps[key] for key in self._steps]
        return sum(stats.trained if self._query.trained else stats.rows for stats in steps)

    def page(self, run: OpenRun, offset: int, limit: int) -> list[RowPlace]:
        """The rows from `offset` on."""
        stop = min(offset + limit, self.total)
        first = top_steps(self.snapshot, self._query, self._steps, stop) if 0 < stop <= FIRST else None
        if first is None:
            return self.whole.page(run, offset, limit)
        return order_of(run, self.snapshot, self._query, self._number, first).page(run, offset, stop - offset)

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        """The place of a sample."""
        return self.whole.place_of(run, key)


def top_steps(snapshot: Snapshot, query: SampleQuery, keys: Sequence[StepKey], want: int) -> list[StepKey] | None:
    """The steps among `keys` (in tie order) that hold the first `want` samples; None if the extremes do not decide it.

    Each of the `want` steps with the best extremes has at least one sample that good. So no step with a worse best
    value has any of the first `want` samples. The query has no conditions but splits, steps and `trained`.
    """
    by = reference(snapshot, query.sort)
    if by is None or query.trained is False or len(snapshot.metrics) >= MAX_METRICS:
        return None
    if is_annotated(snapshot, [by.column, "discarded"]):
        return None
    if by.kind == "derived" and snapshot.lacking(by.name, keys):
        return None
    sign = 1.0 if query.descending else -1.0
    best = [_best(snapshot.steps[key], query, by, sign) for key in keys]
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


def _best(stats: StepStats, query: SampleQuery, by: ColumnRef, sign: float) -> tuple[float, float]:
    """A value that some sample of a step certainly has, and a bound for all; greater is better for both."""
    moments = moments_by_kind(stats, by.kind).get(by.name)
    witness = -inf if moments is None or not moments.count else sign * (moments.max if sign > 0 else moments.min)
    is_whole = query.trained or not stats.discarded  # moments cover the trained samples
    return witness, witness if is_whole else inf


class BySql:
    """A list whose pages DuckDB finds: of few steps, or sorted by text."""

    nbytes = 0

    def __init__(self, run: OpenRun, snapshot: Snapshot, query: SampleQuery, *, by_group: bool | None = None) -> None:
        self._run, self.snapshot, self._query = run, snapshot, query
        self._terms = compile_query(snapshot, query, by_group=by_group)
        self._pieces = snapshot.holding(query.splits, query.step_min, query.step_max)

    @property
    def total(self) -> int:
        """The number of samples."""
        query = self._query
        if not _is_narrowed(query):
            return sum(self.snapshot.steps[key].rows for key in _steps(self.snapshot, query))
        return sum(_counted(self._run, self.snapshot, query).values())

    def page(self, run: OpenRun, offset: int, limit: int) -> list[RowPlace]:
        """The rows from `offset` on."""
        if not self._pieces or limit <= 0:
            return []
        sql = f"{self._terms.own} SELECT {', '.join(PLACE)} FROM own ORDER BY {self._terms.order} LIMIT ? OFFSET ?"
        return database.places(run, self._question(sql, limit, offset))

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        """The place of a sample."""
        try:
            locator = locate(run, key)
        except (NotFound, SourceChanged):
            return None
        if not self._pieces:
            return None
        sql = f"""{self._terms.own}
        , placed AS (SELECT *, row_number() OVER (ORDER BY {self._terms.order}) - 1 AS place FROM own)
        SELECT place FROM placed WHERE source = ? AND byte_start = ? AND part = ?"""
        answer = database.ask(run, self._question(sql, locator.source, locator.start, locator.part))
        return int(answer[0][0]) if answer else None

    def _question(self, sql: str, *values: object) -> Question:
        return self._terms.question(self._pieces, sql, values)


class ByStep:
    """A list in the order of the run: steps one after another, and within each the samples of a group together."""

    def __init__(self, snapshot: Snapshot, query: SampleQuery, counts: dict[StepKey, int]) -> None:
        self.snapshot, self._query = snapshot, query
        compile_query(snapshot, query)  # refuse an invalid query now
        self._steps = [key for key in _steps(snapshot, query) if counts.get(key)]
        self._begins = [0, *accumulate(counts[key] for key in self._steps)]
        self.nbytes = STEP_BYTES * len(self._steps)

    @property
    def total(self) -> int:
        """The number of samples."""
        return self._begins[-1]

    def page(self, run: OpenRun, offset: int, limit: int) -> list[RowPlace]:
        """The rows from `offset` on."""
        rows: list[RowPlace] = []
        stop = min(offset + limit, self.total)
        for first, last in self._ranges(offset, stop):
            begin = self._begins[first]
            low = max(offset, begin)
            rows += self._part(run, first, last).page(run, low - begin, min(stop, self._begins[last + 1]) - low)
        return rows

    def place_of(self, run: OpenRun, key: SampleKey) -> int | None:
        """The place of a sample."""
        try:
            number = self._steps.index((key.split, key.step))
        except ValueError:
            return None
        place = self._part(run, number, number).place_of(run, key)
        return None if place is None else self._begins[number] + place

    def _ranges(self, offset: int, stop: int) -> Iterator[tuple[int, int]]:
        """The steps of a page, first and last, of one split at a time."""
        if offset >= stop:
            return
        first, last = bisect_right(self._begins, offset) - 1, bisect_right(self._begins, stop - 1) - 1
        while first <= last:
            end = next((n - 1 for n in range(first, last + 1) if self._steps[n][0] != self._steps[first][0]), last)
            yield first, end
            first = end + 1

    def _part(self, run: OpenRun, first: int, last: int) -> BySql:
        split, steps = self._steps[first][0], sorted((self._steps[first][1], self._steps[last][1]))
        query = replace(self._query, splits=(split,), step_min=steps[0], step_max=steps[1])
        return BySql(run, self.snapshot, query, by_group=True)


def _is_narrowed(query: SampleQuery) -> bool:
    """True if a query selects only some of the samples of its steps."""
    return bool(query.where) or query.group is not None or query.trained is not None


def _counted(run: OpenRun, snapshot: Snapshot, query: SampleQuery) -> dict[StepKey, int]:
    """The number of samples of each step that match a query."""
    counts: dict[StepKey, int] = {}
    for part in query_progress.parts_of(snapshot, query):
        if not (pieces := snapshot.holding(part.splits, part.step_min, part.step_max)):
            continue
        terms = compile_query(snapshot, part, by_group=False)
        sql = f"SELECT split, step, count(*) FROM rows WHERE {terms.where.sql} GROUP BY ALL"
        answer = database.ask(run, terms.question(pieces, sql))
        counts.update({(split, step): count for split, step, count in answer})
        query_progress.count_found(sum(count for *_, count in answer))
    return counts


def _steps(snapshot: Snapshot, query: SampleQuery) -> Sequence[StepKey]:
    """The steps of a query in order."""
    if is_one_step(query):
        return [key] if (key := (query.splits[0], query.step_min or 0)) in snapshot.steps else []
    keys = [key for key in snapshot.steps if is_within(query, *key)]
    return sorted(keys, key=lambda key: (key[0] != "train", *key), reverse=query.descending)
