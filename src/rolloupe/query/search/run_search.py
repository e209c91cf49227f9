"""Search of a run: yields matching samples as it finds them, by step, with its progress.

A few threads, which all searches share, search the pieces of the index, newest first; this module looks their hits up,
some hundred at a time. Memory is bounded by the number of pieces ahead and of snippets for each sample.
"""

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np

from rolloupe.errors import NotFound, SourceChanged, defect
from rolloupe.formats.base import StepReport
from rolloupe.index import OpenRun, Piece, Snapshot, StepKey
from rolloupe.index.execution import core_count
from rolloupe.query.engine import database, names, relation
from rolloupe.query.engine.compile import compile_query
from rolloupe.query.records import SampleItem, SampleQuery
from rolloupe.query.samples.listing import ROW_BITS
from rolloupe.query.samples.pages import in_known_splits
from rolloupe.query.samples.rows import items_of, list_rows
from rolloupe.query.search import roles, worker
from rolloupe.query.search.pattern import Pattern, Rows, TextQuery

FIRST_ROWS, MAX_ROWS = 20_000, 2_000_000
"""First and maximum number of rows per statement: the first hits need not wait for the last rows."""

T = TypeVar("T")
TELL_S = 0.1  # seconds between two reports of progress
LOOKED_UP = 200  # number of hits to look up at a time
MAX_THREADS = 4

MAX_AHEAD, AHEAD_ROWS = 64, 100_000
"""Maximum number of pieces, and of samples, to search ahead, if that is more than threads need."""

MAX_TRANSCRIPTS = 10_000  # maximum number of report conversations to list; all are counted
TOGETHER = 16  # number of small pieces to hand to a thread at once, up to `TOGETHER_BYTES`


def pieces_of(snapshot: Snapshot, query: SampleQuery, *, oldest_first: bool = False) -> list[Piece]:
    """The pieces that may hold samples of a query, newest step first, or the oldest."""
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)

    def age(piece: Piece) -> tuple[int, bool, str, int]:
        steps = [stats.step for stats in piece.step_stats if names.is_within(query, stats.split, stats.step)]
        first = min(steps, default=0) if oldest_first else -max(steps, default=0)
        return first, all(stats.split != "train" for stats in piece.step_stats), piece.source, piece.start

    return sorted((piece for piece in pieces if not piece.annotates), key=age)


def rows_in(piece: Piece, query: SampleQuery) -> int:
    """The number of samples of a piece in the splits and steps of a query, ignoring its conditions."""
    return sum(stats.rows for stats in piece.step_stats if names.is_within(query, stats.split, stats.step))


def scoped(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, pieces: Sequence[Piece]
) -> Iterator[tuple[Piece, Rows | None]]:
    """Yield the pieces with the numbers of their rows that a query selects; None means all of them."""
    is_narrow = bool(query.where) or query.group is not None or query.trained is not None
    place, size = 0, FIRST_ROWS
    while place < len(pieces):
        if not is_narrow and not pieces[place].superseded and rows_in(pieces[place], query) == pieces[place].rows:
            yield pieces[place], None
            place += 1
            continue
        chunk, count = [], 0
        while place < len(pieces) and count < size:
            chunk.append(pieces[place])
            count += pieces[place].rows
            place += 1
        yield from _selected(run, snapshot, query, chunk)
        size = min(2 * size, MAX_ROWS)


def _selected(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, pieces: Sequence[Piece]
) -> Iterator[tuple[Piece, Rows]]:
    terms = compile_query(snapshot, query, by_group=False)
    sql = f"{terms.own} SELECT {', '.join(relation.PLACE)} FROM own"
    answer, reading = database.placed(run, terms.question(pieces, sql))
    files, rows = (column.to_numpy() for column in answer.columns)
    begins = reading.numbers([relation.RowPlace(piece, 0) for piece in pieces])
    words = np.sort((files << ROW_BITS) | rows)
    for piece, file, begin in zip(pieces, begins[0].to_pylist(), begins[1].to_pylist(), strict=True):
        first = (file << ROW_BITS) | begin
        low, high = np.searchsorted(words, [first, first + piece.rows])
        yield piece, words[low:high] - first


class Hit(NamedTuple):
    """A matching sample."""

    sample: SampleItem
    snippets: tuple[roles.Snippet, ...]
    more: bool  # true if it has more matches than snippets


class SearchProgress(NamedTuple):
    """The progress of a search. Bytes are of the run's files; samples are those of its splits and steps."""

    samples: int
    known_samples: int
    searched_bytes: int
    known_bytes: int
    found: int  # matching samples so far; all of them once the search is over
    from_sources: int  # samples whose texts were read from the run's files, since the index lacks them
    notes: tuple[str, ...]  # the sources that could not be searched, and why
    is_over: bool
    transcripts: int = 0  # matching conversations of reports that no sample shows
    reports: int = 0  # reports searched so far: they follow all samples
    known_reports: int = 0  # reports to search; 0 until their turn


class Found(NamedTuple):
    """Hits since the last yield, and the progress."""

    hits: list[Hit]
    rows: list[worker.FoundRow]  # hits that the search keeps and has not looked up
    progress: SearchProgress
    transcripts: Sequence[worker.Transcript] = ()  # conversations of reports that no sample shows, up to the limit


class SearchOptions(NamedTuple):
    """How many hits a search lists, and in which order."""

    limit: int | None = None
    reserve: int = 0  # number of hits to keep beyond the limit, for later look-ups
    oldest_first: bool = False  # true to begin with the oldest step instead of the newest
    by_step: bool = False  # true to count the hits of each step, too
    transcripts: int | None = None
    """Number of report conversations to list, at most `MAX_TRANSCRIPTS`; None for the rest of the limit."""


ALL_HITS = SearchOptions()


class Search(Iterator[Found]):
    """The search of a query's samples, in the current index; counts all hits.

    Report conversations that no sample shows follow the samples.

    Yields at least every tenth of a second, and ends soon after `stopped` returns True or the search is closed. The
    last progress of a search that was not stopped has `is_over`. Ignores sort, limit and offset of the query. Raises
    `BadQuery` and `BadPattern` on creation, `NotFound` for a split that the run lacks.
    """

    def __init__(
        self,
        run: OpenRun,
        text: TextQuery,
        query: SampleQuery,
        options: SearchOptions = ALL_HITS,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._run, self._options, self._asked, self._stopped = run, options, query, stopped
        self._most = None if options.limit is None else options.limit + options.reserve
        self._snapshot = run.snapshot()
        order, by_step = options.oldest_first, options.by_step
        self._work = worker.SearchWork(run, Pattern(text), stopped, oldest_first=order, by_step=by_step)
        try:
            query = in_known_splits(self._snapshot, query)
        except NotFound:  # a split may exist in reports alone, without samples
            if not reports_of(run, query, oldest_first=True):
                raise
        compile_query(self._snapshot, query, by_group=False)  # refuse an invalid query now
        pieces = pieces_of(self._snapshot, query, oldest_first=order)
        rows = [(piece, rows_in(piece, query), piece.stop - piece.start) for piece in pieces]
        self._rows, self._known_samples = sum(piece.rows for piece in pieces), sum(within for _, within, _ in rows)
        self._bytes = sum(size for *_, size in rows)
        self._known_bytes = sum(size * within // max(1, piece.rows) for piece, within, size in rows)
        self._passed = 0
        self._transcripts: list[worker.Transcript] = []
        self._found_transcripts = self._reports_done = self._reports_known = 0
        self._waiting: list[worker.FoundRow] = []
        self._ahead: deque[tuple[list[worker.SearchPart], Future[None]]] = deque()
        self._scoped = scoped(run, self._snapshot, query, pieces)
        self._told_s = time.monotonic()
        self._going = self._go()

    def __next__(self) -> Found:
        return next(self._going)

    def close(self) -> None:
        """End the search."""
        self._going.close()

    def take_steps(self) -> dict[StepKey, int]:
        """Return the number of hits in each split and step since the last call; nothing unless they are counted."""
        return self._work.take_steps()

    def look_up(self, rows: Sequence[worker.FoundRow]) -> list[Hit]:
        """Return the hits of kept rows. Raises `SourceChanged` if the index has changed too much since."""
        places = [relation.RowPlace(row.piece, row.row) for row in rows]
        items = items_of(list_rows(self._run, self._snapshot, places))
        return [Hit(item, row.snippets, row.more) for item, row in zip(items, rows, strict=True)]

    def _go(self) -> Generator[Found]:
        """The search itself; work begins with the first `next`."""
        try:
            yield Found([], [], self._progress(is_over=False))
            while not self._stopped():
                self._look_ahead()
                if not self._ahead:
                    break
                if not self._take():
                    with contextlib.suppress(TimeoutError):
                        self._ahead[0][1].result(TELL_S / 2)
                yield from self._tell(at_least=LOOKED_UP if self._passed else 1)
            if not self._stopped():
                yield from self._in_reports()
            if not self._stopped():
                yield self._since(is_over=True)
        finally:
            self._work.is_closed = True
            for _, future in self._ahead:
                future.cancel()

    def _tell(self, *, at_least: int = sys.maxsize) -> Generator[Found]:
        """Yield what is new if there are so many hits, or in time."""
        if len(self._waiting) >= at_least or time.monotonic() - self._told_s >= TELL_S:
            yield self._since(is_over=False)
            self._told_s = time.monotonic()

    def _look_ahead(self) -> None:
        """Begin further pieces: a few at least, more if they are small."""
        while True:
            rows = sum(part.rows for batch, _ in self._ahead for part in batch)
            is_enough = len(self._ahead) >= MAX_AHEAD or rows >= AHEAD_ROWS
            if is_enough and len(self._ahead) >= 2 * threads():
                return
            batch: list[worker.SearchPart] = []
            size_bytes = 0  # small pieces together: handing one to another thread costs as much as searching it
            while size_bytes < worker.TOGETHER_BYTES and len(batch) < TOGETHER and (due := next(self._scoped, None)):
                batch.append(worker.SearchPart(self._work, *due))
                size_bytes += due[0].stop - due[0].start
            if not batch:
                return
            self._ahead.append((batch, pool().submit(worker.search_parts, self._work, batch)))

    def _take(self) -> bool:
        """Take the hits of the first pieces; drop finished pieces. Return whether there were any hits."""
        has_taken = False
        while self._ahead:
            batch, future = self._ahead[0]
            is_through = future.done()  # check before taking: later hits are taken later
            rows = [row for part in batch for row in part.take()]
            self._waiting += rows
            self._work.is_listing = self._most is None or self._passed + len(self._waiting) < self._most
            has_taken = has_taken or is_through or bool(rows)
            if not is_through:
                break
            self._ahead.popleft()
            future.result()
        return has_taken

    def _in_reports(self) -> Generator[Found]:
        """Search the reports, one after another: they are read in Python, so more threads would not help."""
        due = yield from self._waited_for(pool().submit(self._due_reports))
        self._reports_known = len(due or ())
        for report in due or ():
            transcripts = yield from self._waited_for(pool().submit(worker.transcripts_in, self._work, report))
            if transcripts is None:
                return
            most, limit = self._options.transcripts, self._options.limit
            if most is None:
                rest = MAX_TRANSCRIPTS if limit is None else limit - self._passed - len(self._waiting)
                most = min(MAX_TRANSCRIPTS, rest)
            self._transcripts += transcripts[: max(0, most - self._found_transcripts)]
            self._found_transcripts += len(transcripts)
            self._reports_done += 1
            yield from self._tell()

    def _waited_for(self, work: Future[T]) -> Generator[Found, None, T | None]:
        """The result of work in the pool, which may hang like a slow mount; None once the search is stopped."""
        try:
            while not self._stopped() and not futures.wait([work], TELL_S / 2).done:
                yield self._since(is_over=False)
        finally:
            work.cancel()
        return None if self._stopped() else work.result()

    def _due_reports(self) -> list[StepReport]:
        """Return the reports to search; a failure is noted and leaves none."""
        try:
            return reports_of(self._run, self._asked, oldest_first=self._options.oldest_first)
        except OSError as error:
            reason = error.strerror or str(error)
        except Exception as error:  # a defect of ours must not cost the hits in samples
            reason = defect(error)
        self._work.note(f"the reports could not be listed: {reason}")
        return []

    def _since(self, *, is_over: bool) -> Found:
        """The hits since the last yield; those that are listed are looked up."""
        rows, self._waiting = self._waiting, []
        listed = len(rows) if self._options.limit is None else max(0, self._options.limit - self._passed)
        last = len(rows) if self._most is None else max(0, self._most - self._passed)
        self._passed += len(rows)
        hits: list[Hit] = []
        for first in range(0, min(listed, len(rows)), LOOKED_UP):
            batch = rows[first : min(first + LOOKED_UP, listed)]
            try:
                hits += self.look_up(batch)
            except SourceChanged as error:
                self._work.note(f"{len(batch)} samples were found and cannot be listed: {error}")
        transcripts, self._transcripts = self._transcripts, []
        return Found(hits, rows[listed:last], self._progress(is_over=is_over), transcripts)

    def _progress(self, *, is_over: bool) -> SearchProgress:
        work = self._work
        with work.lock:
            samples, size_bytes, hits = work.samples, work.size_bytes, work.hits
            from_sources, notes = work.from_sources, tuple(work.notes)
        samples = self._known_samples if is_over else samples * self._known_samples // max(1, self._rows)
        size_bytes = self._known_bytes if is_over else size_bytes * self._known_bytes // max(1, self._bytes)
        of_samples = samples, self._known_samples, size_bytes, self._known_bytes, hits, from_sources, notes, is_over
        return SearchProgress(*of_samples, self._found_transcripts, self._reports_done, self._reports_known)


def reports_of(run: OpenRun, query: SampleQuery, *, oldest_first: bool) -> list[StepReport]:
    """Return the reports of a query's splits and steps in search order; none if it asks for certain samples.

    Reports hold texts that a trainer logged and no sample shows; the index does not contain them. Their bytes rule most
    of them out; reading another one takes some milliseconds.
    """
    if query.where or query.group is not None or query.trained is not None:
        return []
    low, high, splits = query.step_min, query.step_max, query.splits
    due = [
        report
        for report in run.format.reports(run.info)
        if (low is None or report.step >= low) and (high is None or report.step <= high)
        if not splits or any(names.is_asked(report.split, split) for split in splits)
    ]
    way = 1 if oldest_first else -1
    return sorted(due, key=lambda report: (way * report.step, report.split != "train", report.split))


def threads() -> int:
    """The number of searching threads."""
    return min(MAX_THREADS, core_count())


@cache
def pool() -> ThreadPoolExecutor:
    """Return the threads that all searches share."""
    return ThreadPoolExecutor(threads(), thread_name_prefix="search")
