"""The state that routes share: the open library, the threads that query it, the replies, the event streams."""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from starlette.requests import Request

from rolloupe import query
from rolloupe.errors import RolloupeError
from rolloupe.index import Library, OpenRun
from rolloupe.lru import Lru
from rolloupe.model import Sample, SampleKey
from rolloupe.server.hub import MAX_CLIENTS, Hub
from rolloupe.server.replies import Replies, ReplyCache
from rolloupe.server.searches import Searches
from rolloupe.server.settings import Settings
from rolloupe.server.visible_runs import Runs, VisibleRuns
from rolloupe.state import State

if TYPE_CHECKING:
    from rolloupe.server.team.people import Person

QUERY_THREADS = 4
"""DuckDB uses several cores for each query; more queries at once would only slow each other down."""

QUICK_THREADS = 2
"""For what takes milliseconds and must not wait behind queries: state, the list of runs, small samples."""

LARGE_BYTES = 2**20
"""Larger records are read one at a time: several at once would delay quick requests."""

SAMPLES = 6
SAMPLES_BYTES = 24 * 2**20
"""Samples to cache, by the bytes of their records: a page requests pages, finds and images of one sample in turn."""

MEMBERS = 2
MEMBERS_CHARS = 32_000_000
"""Compared groups to cache: a page requests more of the same answers in turn."""

STEP_BYTES = 128 * 2**20
"""Memory for what the update of the last step depends on: a page asks for it under several rules and thresholds."""

FILES = 4
"""Files sent at once. Each keeps a sample in memory, with up to tens of megabytes of texts, while its client pauses
reading."""
FILES_OF_ONE = 2
"""The same for one person of a team: others can download as well."""

PIECE_BYTES = 64 * 1024

SEARCH_S = 0.1
"""While runs are searched for, a request for one that is not open yet looks again after this time."""

PERSON = "rolloupe.person"
"""Key in the scope of a request, for who of a team sends it."""

IS_FILE = "is_file"
"""Key in the state of a request whose answer is a file."""

T = TypeVar("T")


class Stopping(RolloupeError):
    """Raised for a pending request when the server stops."""

    def __init__(self) -> None:
        super().__init__("the server is stopping")


class Gone(RolloupeError):
    """Raised for a request whose client has closed the connection."""

    def __init__(self) -> None:
        super().__init__("nobody waits for the answer")


class Forbidden(RolloupeError):
    """Raised for what the role of whoever asks does not allow."""


NOT_KEPT = "bookmarks and notes cannot be kept now; an administrator of this server sees here why"


def reason_for(person: "Person | None", reason: str) -> str:
    """Return why the state cannot be used: to a team's admins alone, as it names folders, hosts and users."""
    return reason if not reason or person is None or person.is_admin else NOT_KEPT


class StepInputs(NamedTuple):
    """What the update of a step depends on, as far as it has been read."""

    found: Sequence[query.UpdateInputs | str]
    size_bytes: int
    is_whole: bool


class TooMany(RolloupeError):
    """Raised for a requested file while the maximum number of files is being sent."""

    def __init__(self, files: int, name: str = "") -> None:
        super().__init__(f"{files} files are already being downloaded{f' by {name}' if name else ''}")


class Context:
    """A server's library, settings and state."""

    def __init__(self, library: "Library | Future[Library]", settings: Settings) -> None:
        self.settings = settings
        self.cache = ReplyCache(settings.cache_memory_mb * 2**20, settings.cache_entries)
        self.replies = Replies(
            self.cache, self.in_thread, self.in_quick_thread, self._read, is_loopback=settings.is_loopback
        )
        self.samples: Lru[tuple[str, ...], tuple[Sample, Sequence[SampleKey]]] = Lru(SAMPLES, SAMPLES_BYTES)
        self.members: Lru[tuple[str, ...], query.Compared] = Lru(MEMBERS, MEMBERS_CHARS)
        self.lists: dict[tuple[str, str], query.Progress] = {}
        """How far the lists are that are being made, by the paths and queries of their addresses."""
        self.updates: Lru[tuple[str, ...], StepInputs] = Lru(1, STEP_BYTES)
        self.hub = Hub(
            self.library, self.whole_state, self.in_quick_thread, MAX_CLIENTS * 10 if settings.team else None
        )
        self.searches = Searches()
        self._threads = ThreadPoolExecutor(QUERY_THREADS, thread_name_prefix="query")
        self._quick_threads = ThreadPoolExecutor(QUICK_THREADS, thread_name_prefix="quick")
        self._reading_thread = ThreadPoolExecutor(1, thread_name_prefix="reading")
        self._step_thread = ThreadPoolExecutor(1, thread_name_prefix="step")
        self._look_thread = ThreadPoolExecutor(1, thread_name_prefix="look")
        self._size_thread = ThreadPoolExecutor(1, thread_name_prefix="record size")
        self._reading: set[Future[Any]] = set()
        self._waiting: set[asyncio.Future[Any]] = set()
        self._running: set[Future[Any]] = set()
        self._files = asyncio.Semaphore(FILES)
        self._beginning = 0
        self._files_of: Counter[str] = Counter()
        """Files being sent, by person."""
        self._file_threads = ThreadPoolExecutor(FILES, thread_name_prefix="file")
        self._is_closed = False
        self._library = library
        self._state: State | None = None
        self._opening_state = threading.Lock()

    async def runs(self, request: Request) -> Runs:
        """Return the runs that whoever sends the request may see, once they are open: the server listens before."""
        library, person = await self.library(), request.scope.get(PERSON)
        return library if person is None else VisibleRuns(library, person)

    async def library(self) -> Library:
        """Return the library once it is open, with all runs: for the server itself, not for answers."""
        return await self._wait(self._library) if isinstance(self._library, Future) else self._library

    async def run(self, request: Request) -> OpenRun:
        """Return the run that the address names, once it is open. Raises `NotFound`."""
        runs, run_id = await self.runs(request), request.path_params["run"]
        while runs.is_searching and runs.find(run_id) is None:  # noqa: ASYNC110 - a thread finds it
            await asyncio.sleep(SEARCH_S)
        return runs.run(run_id)

    async def state(self, request: Request) -> State:
        """Return what the person who sends the request keeps and may see."""
        state, person = await self.whole_state(), request.scope.get(PERSON)
        return state if person is None else state.seen_by(person.name)

    async def whole_state(self) -> State:
        """Return the state, opened on first access: for the server itself, not for answers."""
        return await self.in_quick_thread(self._opened_state) if self._state is None else self._state

    def gauges(self) -> dict[str, float]:
        """Return how full the server is, by the names of figures."""
        library = self._library
        if isinstance(library, Future):
            runs = len(library.result().runs) if library.done() and library.exception() is None else 0
        else:
            runs = len(library.runs)
        cached = self.cache.figures()
        return {
            "open_streams": self.hub.clients,
            "runs": runs,
            "queries_under_way": len(self._running),
            "cached_answers": cached.entries,
            "cached_bytes": cached.memory_bytes,
        }

    @property
    def is_ready(self) -> bool:
        """True once all runs are open, until the server stops."""
        library = self._library
        if isinstance(library, Future):
            if not library.done() or library.exception() is not None:
                return False
            library = library.result()
        return not (library.is_searching or self._is_closed)

    def _opened_state(self) -> State:
        with self._opening_state:
            if self._state is None:
                self._state = State.at(self.settings.state_url or self.settings.state_dir)
            return self._state

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do blocking work in one of a few threads. Raises `Stopping` if the server stops meanwhile."""
        return await self._in(self._threads, work)

    async def in_quick_thread(self, work: Callable[[], T]) -> T:
        """Do work that takes milliseconds, in a thread that no query keeps busy. Raises as `in_thread`."""
        return await self._in(self._quick_threads, work)

    async def in_step_thread(self, work: Callable[[], T]) -> T:
        """Do work that reads the samples of a step: one such work at a time. Raises `Stopping` as `in_thread` does."""
        return await self._in(self._step_thread, work)

    async def in_look_thread(self, work: Callable[[], T]) -> T:
        """Do work that looks at a whole run and takes much memory: one such work at a time. Raises as `in_thread`."""
        return await self._in(self._look_thread, work)

    async def _read(self, work: Callable[[], T], size_bytes: Callable[[], int]) -> T:
        """Read a record: in the record thread, unless it is busy and the record small. Raises like `in_thread`."""
        if self._reading and await self._in(self._size_thread, size_bytes) <= LARGE_BYTES:
            return await self.in_quick_thread(work)
        return await self._in(self._reading_thread, work, self._reading)

    async def _in(
        self, threads: ThreadPoolExecutor, work: Callable[[], T], among: "set[Future[Any]] | None" = None
    ) -> T:
        """Do work in a thread pool. `among` contains the work until it is done, even if no request waits for it."""
        if self._is_closed:
            raise Stopping
        future = threads.submit(copy_context().run, work)
        for futures in (self._running, *([] if among is None else [among])):
            futures.add(future)
            future.add_done_callback(futures.discard)
        return await self._wait(future)

    async def _wait(self, future: "Future[T]") -> T:
        """Wait for a thread's result; `close` can end the wait, and the work is never cancelled."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = loop.create_future()

        def settle() -> None:
            if not waiter.done():
                error = future.exception()
                waiter.set_result(future.result()) if error is None else waiter.set_exception(error)

        def settle_soon(_: Future[T]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(settle)

        self._waiting.add(waiter)
        future.add_done_callback(settle_soon)
        try:
            return await waiter
        finally:
            self._waiting.discard(waiter)

    async def file(self, request: Request, begin: Callable[[], Iterator[bytes]]) -> AsyncIterator[bytes]:
        """Yield a file to send: few files at once, and no faster than the client reads.

        `begin` raises its errors before the reply starts. Raises those, and `TooMany`.
        """
        name = name_of(request)
        if name and self._files_of[name] >= FILES_OF_ONE:
            raise TooMany(FILES_OF_ONE, name)
        if self._files.locked() or self._beginning >= FILES:
            raise TooMany(FILES)
        self._beginning += 1
        try:
            with self._one_more(name):
                pieces = await self._in(self._file_threads, begin)
        finally:
            self._beginning -= 1
        request.scope.setdefault("state", {})[IS_FILE] = True
        return self._sent(pieces, name)

    @contextlib.contextmanager
    def _one_more(self, name: str) -> Iterator[None]:
        """Count a file of a person."""
        self._files_of[name] += 1
        try:
            yield
        finally:
            self._files_of[name] -= 1
            if not self._files_of[name]:
                del self._files_of[name]

    async def _sent(self, pieces: Iterator[bytes], name: str) -> AsyncIterator[bytes]:
        # when the server stops, it drops the connection, so that the file does not look complete
        with self._one_more(name), contextlib.suppress(Stopping):
            async with self._files:
                while (piece := await self._in(self._file_threads, lambda: next(pieces, None))) is not None:
                    for start in range(0, len(piece), PIECE_BYTES):
                        yield piece[start : start + PIECE_BYTES]
                        await asyncio.sleep(0)  # the loop notices that a client has gone

    def close(self) -> None:
        """End streams, release waiting requests, start nothing more. Call it on the event loop, or after its end."""
        self._is_closed = True
        self.hub.close()
        self.searches.close()
        for waiter in self._waiting:
            if not waiter.done() and not waiter.get_loop().is_closed():
                waiter.set_exception(Stopping())
        for threads in (
            self._threads, self._quick_threads, self._file_threads, self._reading_thread, self._size_thread,
            self._step_thread, self._look_thread,
        ):  # fmt: skip
            threads.shutdown(wait=False, cancel_futures=True)
        if self._state is not None:
            self._state.close()

    @property
    def is_busy(self) -> bool:
        """True if a query continues although no request waits for it."""
        return bool(self._running)


@contextlib.asynccontextmanager
async def watched(request: Request) -> AsyncIterator[threading.Event]:
    """Yield an event that is set once nobody waits for the answer to a request without a body."""
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


def name_of(request: Request) -> str:
    """Return the name of who of a team sends a request; empty without a team."""
    person = request.scope.get(PERSON)
    return "" if person is None else str(person.name)


def context_of(request: Request) -> Context:
    """Return the context of the server that received a request."""
    context = request.app.state.context
    assert isinstance(context, Context)
    return context
