"""Many who ask at once: what all of them wait for is done once, and nobody takes the threads of the others."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from rolloupe.server.replies import InThread, Replies, ReplyCache
from rolloupe.server.threads import QUOTAS, UNBOUNDED, Quotas
from rolloupe.wire.session import Event

T = TypeVar("T")

QUERIES, QUICK = "queries", "quick"


class Threads:
    """Replies whose pools have one thread each, which can be kept busy."""

    def __init__(self) -> None:
        self.pools = {name: ThreadPoolExecutor(1, thread_name_prefix=name) for name in (QUERIES, QUICK)}
        self.made: list[str] = []
        self.free = threading.Event()
        self.query, self.quick = self.run_in(QUERIES), self.run_in(QUICK)
        self.replies = Replies(ReplyCache(10**6, 100), self, is_loopback=False)  # type: ignore[pyrefly:bad-argument-type]

    def run_in(self, name: str) -> InThread:
        """What runs work in a pool."""

        def in_thread(work: Callable[[], T]) -> Awaitable[T]:
            return asyncio.wrap_future(self.pools[name].submit(work))

        return in_thread

    async def read(self, work: Callable[[], Any], _size: Callable[[], int]) -> Any:
        return await self.run_in(QUICK)(work)

    def keep_busy(self, name: str) -> None:
        """Have the thread of a pool wait until `free` is set."""
        self.pools[name].submit(self.free.wait, 10)

    def making(self, name: str) -> Callable[[], Event]:
        """Make a reply, and note it."""

        def make() -> Event:
            self.made.append(name)
            return Event(kind=name)

        return make


def request(path: str) -> Request:
    return Request({"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []})


def kinds(answers: list[Response]) -> set[str]:
    return {json.loads(bytes(answer.body))["kind"] for answer in answers}


def test_several_who_wait_for_an_answer_share_it() -> None:
    async def run() -> None:
        threads = Threads()
        threads.keep_busy(QUERIES)
        asked = [asyncio.create_task(threads.replies.answer(request("/a"), "1", threads.making("x"))) for _ in range(5)]
        other = asyncio.create_task(threads.replies.answer(request("/a"), "2", threads.making("newer")))
        await asyncio.sleep(0.01)
        asked[0].cancel()  # the others still get it
        threads.free.set()
        answers = await asyncio.gather(*asked[1:], other)
        assert threads.made == ["x", "newer"]
        assert kinds(answers[:-1]) == {"x"} and kinds(answers[-1:]) == {"newer"}

    asyncio.run(run())


def test_the_list_of_runs_is_made_once_for_all_who_ask_before_it_is_begun() -> None:
    async def run() -> None:
        threads = Threads()
        threads.keep_busy(QUICK)

        async def ask(name: str, *who: str) -> Response:
            return await threads.replies.fresh_for_all(request("/api/runs"), who, threads.making(name))

        early = [asyncio.create_task(ask("first")) for _ in range(3)]
        ada = asyncio.create_task(ask("ada's", "ada"))
        await asyncio.sleep(0.01)
        threads.free.set()
        assert kinds(await asyncio.gather(*early)) == {"first"} and kinds([await ada]) == {"ada's"}
        assert kinds([await ask("later")]) == {"later"}
        assert threads.made == ["first", "ada's", "later"]

    asyncio.run(run())


def test_what_is_quick_does_not_wait_behind_queries() -> None:
    async def run() -> None:
        threads = Threads()
        threads.keep_busy(QUERIES)
        await asyncio.wait_for(threads.replies.fresh(request("/s"), threads.making("s"), is_quick=True), 5)
        threads.free.set()

    asyncio.run(run())


def test_the_questions_of_one_person_leave_threads_to_others() -> None:
    async def run() -> None:
        threads = Threads()
        threads.pools[QUERIES] = ThreadPoolExecutor(2)
        threads.keep_busy(QUERIES)

        async def ask(place: str, share: asyncio.Semaphore) -> None:
            QUOTAS.set(UNBOUNDED._replace(questions=share))
            await threads.replies.answer(request(place), "1", threads.making(place))

        ada, bob = asyncio.Semaphore(1), asyncio.Semaphore(1)
        await ada.acquire()  # for a question that takes a while
        of_ada = asyncio.create_task(ask("/ada's", ada))
        await asyncio.sleep(0)
        await asyncio.wait_for(ask("/bob's", bob), 5)
        assert threads.made == ["/bob's"]
        ada.release()
        await of_ada
        threads.free.set()

    asyncio.run(run())


def test_one_person_has_one_look_at_a_time_and_its_questions_go_on() -> None:
    async def run() -> None:
        threads = Threads()
        looks = asyncio.Semaphore(1)
        QUOTAS.set(Quotas(asyncio.Semaphore(1), looks))
        await looks.acquire()  # for another look
        look = threads.replies.answer(request("/look"), "1", threads.making("look"), in_thread=threads.run_in(QUERIES))
        looking = asyncio.create_task(look)
        await threads.replies.answer(request("/list"), "1", threads.making("list"))
        assert threads.made == ["list"]
        looks.release()
        await looking
        assert threads.made == ["list", "look"]

    asyncio.run(run())
