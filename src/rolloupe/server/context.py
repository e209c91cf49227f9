"""The context that routes share: library, state, caches, threads, replies, event streams, downloads."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from starlette.requests import Request

from rolloupe import query
from rolloupe.errors import RolloupeError
from rolloupe.index import Library, OpenRun
from rolloupe.insight.judgements import with_judgements
from rolloupe.lru import Lru
from rolloupe.model import Sample, SampleKey
from rolloupe.query import SampleQuery, judgements_in
from rolloupe.query.filter.parser import conditions
from rolloupe.query.search.pattern import mask_of
from rolloupe.server.downloads import Downloads
from rolloupe.server.event_broadcaster import MAX_CLIENTS, EventBroadcaster
from rolloupe.server.people import PERSON, Runs, VisibleRuns
from rolloupe.server.replies import Replies, ReplyCache
from rolloupe.server.searches import Searches
from rolloupe.server.settings import Settings
from rolloupe.server.threads import Threads
from rolloupe.state import State

SAMPLES = 6
SAMPLES_BYTES = 24 * 2**20
"""Samples to cache, by the bytes of their records: a page requests pages, finds and images of one sample in turn."""

MEMBERS = 2
MEMBERS_CHARS = 32_000_000
"""Compared groups to cache: a page requests more of the same answers in turn."""

STEP_BYTES = 128 * 2**20
"""Memory for the inputs of the last step's update: a page asks for it under several rules and thresholds."""

SEARCH_S = 0.1
"""While the search for runs goes on, a request for a missing run looks again after this time."""


class Gone(RolloupeError):
    """Raised for a request whose client has closed the connection."""

    def __init__(self) -> None:
        super().__init__("nobody is waiting for the answer")


class StepInputs(NamedTuple):
    """The inputs of the update of a step that have been read."""

    found: Sequence[query.UpdateInputs | str]
    size_bytes: int
    is_whole: bool


class Context:
    """A server's library, settings and state."""

    def __init__(self, library: "Library | Future[Library]", settings: Settings) -> None:
        self.settings = settings
        self.mask = mask_of(settings.mask_str)
        self.cache = ReplyCache(settings.cache_memory_mb * 2**20, settings.cache_entries)
        self.threads = Threads()
        self.downloads = Downloads(self.threads)
        self.replies = Replies(self.cache, self.threads, is_loopback=settings.is_loopback)
        self.samples: Lru[tuple[str, ...], tuple[Sample, Sequence[SampleKey]]] = Lru(SAMPLES, SAMPLES_BYTES)
        self.members: Lru[tuple[str, ...], query.Compared] = Lru(MEMBERS, MEMBERS_CHARS)
        self.lists: dict[tuple[str, str], query.Progress] = {}
        """The progress of lists that are being made, by the path and query of their addresses."""
        self.updates: Lru[tuple[str, ...], StepInputs] = Lru(1, STEP_BYTES)
        most = MAX_CLIENTS * 10 if settings.team else MAX_CLIENTS
        self.events = EventBroadcaster(self.library, self.whole_state, self.threads.quick, most)
        self.searches = Searches()
        self._library = library
        self._state: State | None = None
        self._opening_state = threading.Lock()

    async def runs(self, request: Request) -> Runs:
        """Return the runs that the sender of a request may see, once they are open: the server listens before."""
        library, person = await self.library(), request.scope.get(PERSON)
        return library if person is None else VisibleRuns(library, person)

    async def library(self) -> Library:
        """Return the library with all runs once it is open: for the server itself, not for answers."""
        return await self.threads.result(self._library) if isinstance(self._library, Future) else self._library

    async def run(self, request: Request, *, judged: bool = False) -> OpenRun:
        """Return the run that the address names, once it is open; `judged`, or if its filter, order or columns name
        the judgements of its sender, with these. Raises `NotFound`.
        """
        runs, run_id, parameters = await self.runs(request), request.path_params["run"], request.query_params
        while runs.is_searching and runs.find(run_id) is None:  # noqa: ASYNC110 - a thread finds it
            await asyncio.sleep(SEARCH_S)
        run = runs.run(run_id)
        scope = SampleQuery(where=conditions(parameters.get("where", "")), sort=parameters.get("sort", ""))
        if judged or judgements_in(scope, parameters.getlist("column")):
            (run,) = await self.judged(request, [run])
        return run

    async def judged(self, request: Request, runs: Sequence[OpenRun]) -> list[OpenRun]:
        """Return runs with the judgements of the sender of a request."""
        state = await self.state(request)
        return await self.threads.query(lambda: [with_judgements(run, state) for run in runs])

    async def state(self, request: Request) -> State:
        """Return the state as the sender of a request sees it."""
        state, person = await self.whole_state(), request.scope.get(PERSON)
        return state if person is None else state.seen_by(person.name)

    async def whole_state(self) -> State:
        """Return the state, opened on first access: for the server itself, not for answers."""
        return await self.threads.quick(self._open_state) if self._state is None else self._state

    def _open_state(self) -> State:
        with self._opening_state:
            if self._state is None:
                self._state = State.at(self.settings.state_url or self.settings.state_dir)
            return self._state

    def gauges(self) -> dict[str, float]:
        """Return figures about the load of the server, by name."""
        library = self._open_library()
        return {
            "open_streams": len(self.events.clients),
            "runs": len(library.runs) if library else 0,
            "queries_under_way": self.threads.running,
            "cached_answers": self.cache.entries,
            "cached_bytes": self.cache.memory_bytes,
        }

    @property
    def is_ready(self) -> bool:
        """True once all runs are open, until the server stops."""
        library = self._open_library()
        return library is not None and not (library.is_searching or self.threads.is_closed)

    def _open_library(self) -> Library | None:
        opening = self._library
        if not isinstance(opening, Future):
            return opening
        return opening.result() if opening.done() and opening.exception() is None else None

    def close(self) -> None:
        """End streams, release waiting requests, start nothing more. Call it on the event loop, or after the loop has
        ended.
        """
        self.events.close()
        self.searches.close()
        self.threads.close()
        if self._state is not None:
            self._state.close()


@contextlib.asynccontextmanager
async def watched(request: Request) -> AsyncIterator[threading.Event]:
    """Yield an event that is set once the client of a request without a body has gone."""
    stop = threading.Event()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        stop.set()

    watching = asyncio.create_task(watch())
    try:
        yield stop
    finally:
        stop.set()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def context_of(request: Request) -> Context:
    """Return the context of the server that received a request."""
    context = request.app.state.context
    assert isinstance(context, Context)
    return context
