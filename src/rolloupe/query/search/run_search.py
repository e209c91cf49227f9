"""A run searched for a text: found samples as they are found, by step, with how far the search has come.

The pieces of the index are searched by few threads that all searches share; what they find is looked up here, some
hundred at a time. Memory is bounded: so many pieces are looked ahead, and of a sample some snippets are kept.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun, Piece, StepKey
from rolloupe.index.execution.processes import worker_count
from rolloupe.query.engine.compile import terms_of
from rolloupe.query.engine.relation import RowPlace
from rolloupe.query.records import SampleItem, SampleQuery
from rolloupe.query.samples import list_items
from rolloupe.query.samples.pages import in_known_splits
from rolloupe.query.search.pace import Pace
from rolloupe.query.search.pattern import Pattern, TextQuery
from rolloupe.query.search.reports import Reports, Transcript
from rolloupe.query.search.scope import pieces_of, rows_in, scoped
from rolloupe.query.search.snippets import Snippet
from rolloupe.query.search.worker import TOGETHER_BYTES, Count, FoundRow, SearchPart, search_parts

T = TypeVar("T")

TELL_S = 0.1
"""So often is told how far it has come."""
LOOKED_UP = 200
"""So many of what was found are looked up at a time."""
MAX_THREADS = 4
MAX_AHEAD, AHEAD_ROWS = 64, 100_000
"""So many pieces are looked ahead at most, and so many samples, where there are more pieces than threads need."""


MAX_TRANSCRIPTS = 10_000
"""So many conversations of reports are listed at most; all are counted."""

TOGETHER = 16
"""So many small pieces are handed to a thread at once, as long as they are no more than `TOGETHER_BYTES`."""

Ahead: TypeAlias = "deque[tuple[list[SearchPart], Future[None]]]"


class Hit(NamedTuple):
    """A sample in which something was found."""

    sample: SampleItem
    snippets: tuple[Snippet, ...]
    more: bool
    """True where there is more in it than the snippets show."""


class SearchProgress(NamedTuple):
    """How far a search has come. Bytes are of the run's files; samples are those of its splits and steps."""

    samples: int
    known_samples: int
    searched_bytes: int
    known_bytes: int
    found: int
    """Samples in which something was found so far; all there are once the search is over."""
    from_sources: int
    """Samples whose texts were read from the run's files, since the index has none of them."""
    notes: tuple[str, ...]
    """What could not be searched, and why."""
    is_over: bool
    transcripts: int = 0
    """Conversations of reports in which something was found, and that no sample shows."""
    reports: int = 0
    """Reports that were searched so far: they come behind all samples."""
    known_reports: int = 0
    """Those that are to be searched; 0 until it is their turn."""


class Found(NamedTuple):
    """What was found since, and how far the search has come. `rows` are those that are kept and not looked up."""

    hits: list[Hit]
    rows: list[FoundRow]
    progress: SearchProgress
    transcripts: Sequence[Transcript] = ()
    """Conversations of reports that no sample shows, as far as they are listed."""


def never() -> bool:
    """Nobody ends the search."""
    return False


class Search(Iterator[Found]):
    """The search of the samples of a query, as the run is indexed now; all that is found is counted.

    `limit` are listed, newest step first, or oldest; `kept` more can be looked up later. `by_step` counts by step, too.
    Behind the samples come the conversations of reports that no sample shows: `transcripts` of them are listed, unless
    told as many as the limit leaves, and no more than `MAX_TRANSCRIPTS`.
    Yields every tenth of a second at least, and ends soon after `stopped` says so, or when it is closed. The last
    progress of a search that was not stopped has `is_over`. Sort, limit and offset of the query are left aside.

    Raises `BadQuery` and `BadPattern` when it is made, `NotFound` for a split that the run has not.
    """

    def __init__(
        self,
        run: OpenRun,
        text: TextQuery,
        query: SampleQuery,
        *,
        limit: int | None = None,
        kept: int = 0,
        oldest_first: bool = False,
        by_step: bool = False,
        transcripts: int | None = None,
        stopped: Callable[[], bool] = never,
    ) -> None:
        self._run = run
        self._pattern = Pattern(text)
        self._limit = limit
        self._most = None if limit is None else limit + kept
        self._stopped = stopped
        self._is_closed = False
        self._snapshot = run.snapshot()
        self._reports = Reports(run, self._pattern, query, oldest_first=oldest_first)
        self._query = self._known(query)
        terms_of(self._snapshot, self._query, by_group=False)  # a query that means nothing is refused now
        self._oldest_first = oldest_first
        pieces = pieces_of(self._snapshot, self._query, oldest_first=oldest_first)
        self._known_samples = sum(rows_in(piece, self._query) for piece in pieces)
        self._rows = sum(piece.rows for piece in pieces)
        self._known_bytes = sum(_share(piece, rows_in(piece, self._query)) for piece in pieces)
        self._bytes = sum(piece.stop - piece.start for piece in pieces)
        self._count = Count(by_step=by_step)
        self._pace = Pace()
        self._passed = 0
        self._transcripts: list[Transcript] = []
        self._most_transcripts = transcripts
        self._found_transcripts = self._reports_done = self._reports_known = 0
        self._waiting: list[FoundRow] = []
        self._scoped = scoped(run, self._snapshot, self._query, pieces)
        self._going = self._go()

    def __next__(self) -> Found:
        return next(self._going)

    def close(self) -> None:
        """End the search."""
        self._going.close()

    def take_steps(self) -> dict[StepKey, int]:
        """How many were found of each split and step since it was last asked; nothing unless they are counted."""
        return self._count.take_steps()

    def look_up(self, rows: Sequence[FoundRow]) -> list[Hit]:
        """What is shown of rows that were kept. Raises `SourceChanged` where the index has changed too much since."""
        items = list_items.items(
            list_items.shown(self._run, self._snapshot, [RowPlace(row.piece, row.row) for row in rows])
        )
        return [Hit(item, row.snippets, row.more) for item, row in zip(items, rows, strict=True)]

    def _known(self, query: SampleQuery) -> SampleQuery:
        """The query in splits that there are. One of reports alone, without a sample, is one."""
        try:
            return in_known_splits(self._snapshot, query)
        except NotFound:
            if not self._reports.due():
                raise
            return query

    def _go(self) -> Generator[Found]:
        """The search itself; work begins with the first `next`."""
        parts: Ahead = deque()
        told_s = time.monotonic()
        try:
            yield Found([], [], self._progress(is_over=False))
            while not self._stopped():
                while self._looks_ahead(parts) and (some := self._next()):
                    parts.append((some, _pool().submit(search_parts, some, self._is_listing, self._goes_on)))
                if not parts:
                    break
                if not self._take(parts):
                    with contextlib.suppress(TimeoutError):
                        parts[0][1].result(TELL_S / 2)
                if len(self._waiting) >= LOOKED_UP or time.monotonic() - told_s >= TELL_S or self._is_first:
                    yield self._since(is_over=False)
                    told_s = time.monotonic()
            if not self._stopped():
                yield from self._in_reports()
            if not self._stopped():
                yield self._since(is_over=True)
        finally:
            self._is_closed = True
            for _, future in parts:
                future.cancel()

    def _in_reports(self) -> Generator[Found]:
        """Search the reports, one after another: they are read in Python, which more threads make no quicker."""
        due = yield from self._waited_for(_pool().submit(self._reports.listed, self._count.note))
        self._reports_known = len(due or ())
        told_s = time.monotonic()
        for report in due or ():
            look = _pool().submit(self._reports.look, report, self._goes_on, self._count.note)
            found = yield from self._waited_for(look)
            if found is None:
                return
            self._take_transcripts(found)
            if time.monotonic() - told_s >= TELL_S:
                yield self._since(is_over=False)
                told_s = time.monotonic()

    def _waited_for(self, work: Future[T]) -> Generator[Found, None, T | None]:
        """What comes of work in the pool, which may hang as a slow mount does; None once the search is stopped."""
        try:
            while not self._stopped() and not futures.wait([work], TELL_S / 2).done:
                yield self._since(is_over=False)
        finally:
            work.cancel()
        return None if self._stopped() else work.result()

    def _take_transcripts(self, found: Sequence[Transcript]) -> None:
        most = MAX_TRANSCRIPTS if self._most_transcripts is None else self._most_transcripts
        if self._most_transcripts is None and self._limit is not None:
            most = min(most, self._limit - self._passed - len(self._waiting))
        self._transcripts += found[: max(0, most - self._found_transcripts)]
        self._found_transcripts += len(found)
        self._reports_done += 1

    def _next(self) -> list[SearchPart]:
        """The next pieces, small ones together: to hand one to another thread costs as much as to search it."""
        some: list[SearchPart] = []
        size_bytes = 0
        while size_bytes < TOGETHER_BYTES and len(some) < TOGETHER and (due := next(self._scoped, None)) is not None:
            part = SearchPart(self._run, self._pattern, *due, self._count, self._pace, oldest_first=self._oldest_first)
            some.append(part)
            size_bytes += due[0].stop - due[0].start
        return some

    def _looks_ahead(self, parts: Ahead) -> bool:
        """True where further pieces are begun: a few at least, more where they are small."""
        return len(parts) < 2 * threads() or (
            len(parts) < MAX_AHEAD and sum(part.piece.rows for some, _ in parts for part in some) < AHEAD_ROWS
        )

    def _take(self, parts: Ahead) -> bool:
        """Take what the first pieces have found; pieces that are through go. Returns whether there was anything."""
        has_taken = False
        while parts:
            some, future = parts[0]
            is_through = future.done()  # before it is taken from: what comes later is taken later
            taken = [row for part in some for row in part.take()]
            self._waiting += taken
            has_taken = has_taken or is_through or bool(taken)
            if not is_through:
                break
            parts.popleft()
            future.result()
        return has_taken

    @property
    def _is_first(self) -> bool:
        """True where something was found and nobody knows yet."""
        return bool(self._waiting) and not self._passed

    def _goes_on(self) -> bool:
        return not (self._is_closed or self._stopped())

    def _is_listing(self) -> bool:
        return self._most is None or self._passed + len(self._waiting) < self._most

    def _since(self, *, is_over: bool) -> Found:
        """What waits: looked up as far as it is listed."""
        rows, self._waiting = self._waiting, []
        listed = len(rows) if self._limit is None else max(0, self._limit - self._passed)
        kept = len(rows) if self._most is None else max(0, self._most - self._passed)
        self._passed += len(rows)
        hits: list[Hit] = []
        for first in range(0, min(listed, len(rows)), LOOKED_UP):
            some = rows[first : min(first + LOOKED_UP, listed)]
            try:
                hits += self.look_up(some)
            except SourceChanged as error:
                self._count.note(f"{len(some)} samples were found and cannot be listed: {error}")
        transcripts, self._transcripts = self._transcripts, []
        return Found(hits, rows[listed:kept], self._progress(is_over=is_over), transcripts)

    def _progress(self, *, is_over: bool) -> SearchProgress:
        with self._count.lock:
            samples, size_bytes, found = self._count.samples, self._count.size_bytes, self._count.found
            from_sources, notes = self._count.from_sources, tuple(self._count.notes)
        return SearchProgress(
            self._known_samples if is_over else samples * self._known_samples // max(1, self._rows),
            self._known_samples,
            self._known_bytes if is_over else size_bytes * self._known_bytes // max(1, self._bytes),
            self._known_bytes,
            found,
            from_sources,
            notes,
            is_over,
            self._found_transcripts,
            self._reports_done,
            self._reports_known,
        )


def _share(piece: Piece, rows: int) -> int:
    """About how many bytes some rows of a piece take."""
    return (piece.stop - piece.start) * rows // max(1, piece.rows)


def threads() -> int:
    """How many threads search."""
    return min(MAX_THREADS, worker_count())


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads(), thread_name_prefix="search")


def search(run: OpenRun, text: TextQuery, query: SampleQuery | None = None, **how: Any) -> Search:
    """Search the samples of a query (all, unless told): see `Search`."""
    return Search(run, text, query or SampleQuery(), **how)
