"""The threads of a server: a few for each kind of work, so that quick answers never wait behind slow ones.

In a team, quotas limit how many threads answer one person, so that the others need not wait.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar, copy_context
from typing import Any, NamedTuple, TypeVar

from rolloupe.errors import RolloupeError

Quota = AbstractAsyncContextManager[Any]


class Quotas(NamedTuple):
    """Limits while answering one person: for questions, and for looks at a whole step or run."""

    questions: Quota
    looks: Quota


UNBOUNDED = Quotas(nullcontext(), nullcontext())

QUOTAS: ContextVar[Quotas] = ContextVar("quotas", default=UNBOUNDED)
"""The quotas of the person who sent the current request."""

T = TypeVar("T")

QUERY_THREADS = 4
"""DuckDB uses several cores for each query; more queries at once would only slow each other down."""

QUICK_THREADS = 2
"""For what takes milliseconds and must not wait behind queries: state, the list of runs, small samples."""

FILES = 4
"""Files sent at once. Each keeps a sample in memory, with up to tens of megabytes of texts, while its client pauses
reading."""

LARGE_BYTES = 2**20
"""Larger records are read one at a time: several at once would delay quick requests."""


class Stopping(RolloupeError):
    """Raised for a pending request when the server stops."""

    def __init__(self) -> None:
        super().__init__("the server is stopping")


class Pool:
    """Threads for one kind of work."""

    def __init__(self, server: "Threads", name: str, threads: int = 1) -> None:
        self._server = server
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.running: set[Future[Any]] = set()
        """The work under way, with or without a request that waits for it."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Do the work in a thread, and wait for its result."""
        if self._server.is_closed:
            raise Stopping
        future = self.threads.submit(copy_context().run, work)
        self.running.add(future)
        future.add_done_callback(self.running.discard)
        return await self._server.result(future)


class Threads:
    """Does blocking work for the event loop. Every pool raises `Stopping` if the server stops meanwhile."""

    def __init__(self) -> None:
        self.query = Pool(self, "query", QUERY_THREADS)
        self.quick = Pool(self, "quick", QUICK_THREADS)
        """For work that takes milliseconds: no query keeps these threads busy."""
        self.file = Pool(self, "file", FILES)
        self.step = Pool(self, "step")
        """For work that reads the samples of a step, one at a time."""
        self.look = Pool(self, "look")
        """For work that looks at a whole run and takes much memory, one at a time."""
        self._record, self._record_size = Pool(self, "record"), Pool(self, "record size")
        self._pools = (self.query, self.quick, self.file, self.step, self.look, self._record, self._record_size)
        self._waiting: set[asyncio.Future[Any]] = set()
        self.is_closed = False

    async def read(self, work: Callable[[], T], size_bytes: Callable[[], int]) -> T:
        """Read a record: in the record thread, unless it is busy and the record small."""
        if self._record.running and await self._record_size(size_bytes) <= LARGE_BYTES:
            return await self.quick(work)
        return await self._record(work)

    async def result(self, future: "Future[T]") -> T:
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

    @property
    def running(self) -> int:
        """How much work is under way, with or without a request that waits for it."""
        return sum(len(pool.running) for pool in self._pools)

    def close(self) -> None:
        """Release waiting requests, and start nothing more. Call it on the event loop, or after its end."""
        self.is_closed = True
        for waiter in self._waiting:
            if not waiter.done() and not waiter.get_loop().is_closed():
                waiter.set_exception(Stopping())
        for pool in self._pools:
            pool.threads.shutdown(wait=False, cancel_futures=True)
