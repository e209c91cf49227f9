"""The threads of a server: a few for each kind of work, so that quick answers never wait behind slow ones.

In a team, quotas bound how many of them answer one person: the others do not wait behind many requests of one.
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
    """Limits held while answering one person."""

    questions: Quota
    """For a question."""
    looks: Quota
    """For a look at a whole step or run, of which there is one at a time."""


UNBOUNDED = Quotas(nullcontext(), nullcontext())

QUOTAS: ContextVar[Quotas] = ContextVar("quotas", default=UNBOUNDED)
"""The quotas of whoever sends the request that is handled now."""


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


class Threads:
    """Does blocking work for the event loop. Every method raises `Stopping` if the server stops meanwhile."""

    def __init__(self) -> None:
        sizes = {"query": QUERY_THREADS, "quick": QUICK_THREADS, "file": FILES}
        alone = ("reading", "record size", "step", "look")  # one at a time, as each takes seconds or much memory
        self._pools = {
            name: ThreadPoolExecutor(size, thread_name_prefix=name)
            for name, size in (sizes | dict.fromkeys(alone, 1)).items()
        }
        self._reading: set[Future[Any]] = set()
        self._waiting: set[asyncio.Future[Any]] = set()
        self._running: set[Future[Any]] = set()
        self.is_closed = False

    async def query(self, work: Callable[[], T]) -> T:
        """Do blocking work in one of a few threads."""
        return await self._in("query", work)

    async def quick(self, work: Callable[[], T]) -> T:
        """Do work that takes milliseconds, in a thread that no query keeps busy."""
        return await self._in("quick", work)

    async def step(self, work: Callable[[], T]) -> T:
        """Do work that reads the samples of a step: one such work at a time."""
        return await self._in("step", work)

    async def look(self, work: Callable[[], T]) -> T:
        """Do work that looks at a whole run and takes much memory: one such work at a time."""
        return await self._in("look", work)

    async def file(self, work: Callable[[], T]) -> T:
        """Do work for a file that is sent."""
        return await self._in("file", work)

    async def read(self, work: Callable[[], T], size_bytes: Callable[[], int]) -> T:
        """Read a record: in the record thread, unless it is busy and the record small."""
        if self._reading and await self._in("record size", size_bytes) <= LARGE_BYTES:
            return await self.quick(work)
        return await self._in("reading", work, self._reading)

    async def _in(self, pool: str, work: Callable[[], T], among: set[Future[Any]] | None = None) -> T:
        """Do work in a pool. `among` contains the work until it is done, even if no request waits for it."""
        if self.is_closed:
            raise Stopping
        future = self._pools[pool].submit(copy_context().run, work)
        for futures in (self._running, *([] if among is None else [among])):
            futures.add(future)
            future.add_done_callback(futures.discard)
        return await self.result(future)

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
        return len(self._running)

    def close(self) -> None:
        """Release waiting requests, and start nothing more. Call it on the event loop, or after its end."""
        self.is_closed = True
        for waiter in self._waiting:
            if not waiter.done() and not waiter.get_loop().is_closed():
                waiter.set_exception(Stopping())
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
