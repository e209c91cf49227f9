"""The searches of a server: few at a time, one for each browser tab; the latest keep their hits for a while.

A search runs in its own thread and passes its hits to the event loop. For a client that does not read, at most one
message waits: later hits are added to it.
"""

import asyncio
import secrets
import threading
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from rolloupe.errors import NotFound, RolloupeError
from rolloupe.index import OpenRun
from rolloupe.lru import Lru
from rolloupe.query.search import Found, FoundRow, Hit, Search
from rolloupe.server.process.console import say_failure
from rolloupe.wire import encoding, to_wire
from rolloupe.wire.session import SearchEvent, SearchHit, StepFound, TranscriptHit

RUNNING = 4
"""Searches that run at a time: all share the threads that read."""
RUNNING_OF_ONE = 2
"""Searches of one person of a team that run at a time; more searches wait."""
WAITING = 100
"""Searches that run or wait; more searches are refused."""
KEPT = 16
"""Searches that keep their hits for requests."""
TOLD = 100
"""Hits that the stream sends; a page requests later ones."""
LISTED = 2000
"""Hits of one search that a page can request."""
QUIET_S = 0.15
"""How often the client gets progress, which also detects a closed connection."""


SUMS = (
    "found", "reports", "known_reports", "samples", "known_samples", "searched_bytes", "known_bytes", "from_sources",
)  # fmt: skip
"""Numbers of an event that add up over the runs."""


class Running:
    """A search of several runs, one after another."""

    def __init__(
        self, searches: Sequence[tuple[OpenRun, Search]], notes: Sequence[str], stop: threading.Event, person: str = ""
    ) -> None:
        self.id = secrets.token_hex(8)
        self.person = person
        """The member of the team who searches; others cannot read the hits or end the search."""
        self.runs = [run.id for run, _ in searches]
        self.stop = stop
        self._searches = searches
        self._notes = list(notes)
        self._lock = threading.Lock()
        self._progress = [next(search).progress for _, search in searches]
        self._new_hits: list[SearchHit] = []
        self._new_transcripts: list[TranscriptHit] = []
        self._transcripts_left = TOLD
        self._hits: list[tuple[str, Search, Hit | FoundRow]] = []
        self._is_begun = self._is_over = False
        self._error: Exception | None = None

    def go(self) -> None:
        """Search until the end, or until stopped."""
        self._is_begun = True
        try:
            for number, (run, search) in enumerate(self._searches):
                for found in search:
                    self._take(number, run, search, found)
                    if self.stop.is_set():
                        return
        except Exception as error:
            self._error = error
        finally:
            for _, search in self._searches:
                search.close()
            self._is_over = True

    def _take(self, number: int, run: OpenRun, search: Search, found: Found) -> None:
        with self._lock:
            self._progress[number] = found.progress
            room = max(0, TOLD - len(self._hits))
            self._new_hits += [to_wire.search_hit(run.id, hit) for hit in found.hits[:room]]
            some = found.transcripts[: self._transcripts_left]
            self._transcripts_left -= len(some)
            self._new_transcripts += [
                encoding.record_from(TranscriptHit, one, run=run.id, snippets=[*one.snippets]) for one in some
            ]
            new: list[Hit | FoundRow] = [*found.hits, *found.rows]
            self._hits += [(run.id, search, one) for one in new[: max(0, LISTED - len(self._hits))]]

    def event(self) -> tuple[SearchEvent, bool]:
        """Return the news since the last event, and whether it is the last event."""
        is_over = self._is_over  # read first: later finds belong to the next message
        with self._lock:
            hits, self._new_hits = self._new_hits, []
            transcripts, self._new_transcripts = self._new_transcripts, []
            progress, listed = list(self._progress), len(self._hits)
        error, is_stopped = self._error if is_over else None, self.stop.is_set()
        notes = [*self._notes, *(note for one in progress for note in one.notes)]
        if isinstance(error, RolloupeError):
            notes.append(str(error))
        elif error is not None:
            say_failure("a search", error)
            notes.append("a defect in the server: read its output")
        kind = "progress" if self._is_begun else "waiting"
        if is_over or is_stopped:
            kind = "failed" if error else "stopped" if is_stopped else "over"
        event = SearchEvent(
            search=self.id,
            kind=kind,
            hits=hits,
            found_by_run={run: one.found for run, one in zip(self.runs, progress, strict=True) if one.found},
            found_since=[
                StepFound(split=split, step=step, found=found)
                for _, search in self._searches
                for (split, step), found in search.take_steps().items()
            ],
            listed=listed,
            transcripts=transcripts,
            transcripts_found=sum(one.transcripts for one in progress),
            notes=notes,
            indexing=[run.id for run, _ in self._searches if run.progress().phase == "scalars"],
            **{name: sum(getattr(one, name) for one in progress) for name in SUMS},
        )
        return event, is_over or is_stopped

    def page(self, offset: int, limit: int) -> list[SearchHit]:
        """Return a range of hits. Raises `SourceChanged` if the index has changed too much since."""
        with self._lock:
            some = self._hits[offset : offset + limit]
        shown: dict[int, Hit] = {n: one for n, (_, _, one) in enumerate(some) if isinstance(one, Hit)}
        rows = [(n, search, one) for n, (_, search, one) in enumerate(some) if isinstance(one, FoundRow)]
        for search in {id(search): search for _, search, _ in rows}.values():
            of_search = [(n, row) for n, of, row in rows if of is search]
            hits = search.look_up([row for _, row in of_search])
            shown |= {n: hit for (n, _), hit in zip(of_search, hits, strict=True)}
        return [to_wire.search_hit(run_id, shown[n]) for n, (run_id, _, _) in enumerate(some)]


class Searches:
    """Running searches, and finished ones that keep their hits."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(RUNNING, thread_name_prefix="searching")
        self._tabs: dict[tuple[str, str], Running] = {}
        self._by_id: Lru[str, Running] = Lru(KEPT)
        self._running: dict[Future[None], str] = {}
        """Searches that run or will run next, and the person of each."""
        self._is_closed = False

    @property
    def is_full(self) -> bool:
        """True if no further search is accepted."""
        return self._is_closed or len(self._tabs) >= WAITING

    def get(self, search_id: str, person: str = "") -> Running:
        """Return a person's search that keeps its hits. Raises `NotFound`."""
        running = self._by_id.get(search_id)
        if running is None or running.person != person:
            raise NotFound("the results of this search have expired: search again")
        return running

    async def stream(self, tab: str, running: Running) -> AsyncGenerator[bytes]:
        """Run a search for a tab, ending the tab's previous one; yields each message as a line of JSON."""
        place = running.person, tab
        before = self._tabs.pop(place, None)
        if before is not None:
            before.stop.set()
        self._tabs[place] = running
        for expired in self._by_id.put(running.id, running):
            expired.stop.set()
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        work: Future[None] | None = None
        try:
            is_last = False
            while not is_last:
                of_person = sum(running.person == other for other in list(self._running.values()))
                if work is None and (not running.person or of_person < RUNNING_OF_ONE):
                    work = self._threads.submit(running.go)
                    self._running[work] = running.person
                    work.add_done_callback(self._running.pop)
                    over = asyncio.wrap_future(work)
                event, is_last = running.event()
                yield encoding.encode(event) + b"\n"
                await asyncio.wait([over], timeout=QUIET_S)
        finally:
            running.stop.set()
            if work is not None:
                work.cancel()
            if self._tabs.get(place) is running:
                del self._tabs[place]

    def close(self) -> None:
        """End all searches, and start no more."""
        self._is_closed = True
        for running in [*self._tabs.values()]:
            running.stop.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
