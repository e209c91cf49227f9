"""Replies: records as JSON bytes, errors as `ErrorReply`, a cache, validation by ETag, compression.

Encoded replies stay in memory, bounded by bytes and by number; the least recently used reply is dropped first. A key
contains the run's version, so a cached reply is never outdated.
"""

import asyncio
import gzip
import hashlib
import math
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import quote

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from rolloupe.lru import Lru
from rolloupe.server.threads import QUOTAS, Threads
from rolloupe.wire import encoding
from rolloupe.wire.failures import ErrorReply

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

JSON = "application/json"
BINARY = "application/octet-stream"

PLAIN_BYTES = 1024
"""Smaller replies are not worth compressing."""

PLAIN_BYTES_LOOPBACK = 64 * 1024
"""On loopback, compression costs more than it saves; but a loopback client may be the end of an SSH tunnel."""

ENTRY_BYTES = 512
"""Memory of a cached reply in addition to its body."""

GZIP, ZSTD = "gzip", "zstd"
IS_FILE = "is_file"
"""The key in the state of a request for a download: it need not end before the server does."""
UNKEPT = {"cache-control": "no-store", "vary": "accept-encoding"}

T = TypeVar("T")


class InThread(Protocol):
    """Runs blocking work in a thread."""

    def __call__(self, work: Callable[[], T]) -> Awaitable[T]:
        """Run the work, and wait for its result."""
        ...


class Reply(NamedTuple):
    """An encoded reply."""

    body: bytes
    media_type: str
    coding: str = ""
    """How it is compressed."""


Key = tuple[str, ...]


class ReplyCache:
    """Replies by key. Rejects replies above a quarter of its size: one giant sample must not evict all others."""

    def __init__(self, limit_bytes: int, limit_entries: int) -> None:
        self.limit_bytes = limit_bytes
        self.limit_entries = limit_entries
        self._replies: Lru[Key, Reply] = Lru(limit_entries, limit_bytes)
        self.hits = self.misses = 0

    def get(self, key: Key) -> Reply | None:
        """Return the reply for a key, if it is cached."""
        reply = self._replies.get(key)
        self.hits += reply is not None
        self.misses += reply is None
        return reply

    def put(self, key: Key, reply: Reply) -> None:
        """Cache a reply, and evict the oldest ones to make room."""
        size = sum(map(len, key)) + len(reply.body) + ENTRY_BYTES
        if size * 4 > self.limit_bytes:
            self._replies.pop(key)
        else:
            self._replies.put(key, reply, size)

    def clear(self) -> None:
        """Drop everything, and reset the counts of hits and misses."""
        self._replies.clear()
        self.hits = self.misses = 0

    @property
    def entries(self) -> int:
        """The number of cached replies."""
        return len(self._replies)

    @property
    def memory_bytes(self) -> int:
        """The memory that they take."""
        return self._replies.size


Made = msgspec.Struct | Reply


class Replies:
    """Makes replies from functions that make records: encoded, compressed, cached, in a thread.

    Requests that wait for the same answer share the work.
    """

    def __init__(self, cache: ReplyCache, threads: Threads, *, is_loopback: bool) -> None:
        self._cache, self._threads, self._is_loopback = cache, threads, is_loopback
        self._begun: dict[Key, asyncio.Task[Reply]] = {}
        self._asked: dict[Key, asyncio.Future[Reply]] = {}

    async def answer(
        self,
        request: Request,
        version: str,
        make: Callable[[], Made],
        size_bytes: Callable[[], int] | None = None,
        in_thread: InThread | None = None,
    ) -> Response:
        """Reply with the record of `make`, which depends only on the version and the address.

        `size_bytes` returns the size of the record to read, if there is one. `in_thread` runs `make`, by default a
        thread of queries. Read the version before the data: a page requests newer data again, but never older data.
        """
        place = (request.scope["path"], request.scope["query_string"].decode("latin-1"))
        tag = etag(version, *place)
        caching = {"etag": tag, "cache-control": "private, no-cache", "vary": "accept-encoding, cookie"}
        if holds(request.headers, tag):
            return Response(status_code=304, headers=caching)
        return response_of(await self._cached(request, (version, *place), make, size_bytes, in_thread), caching)

    async def remembered(self, request: Request, key: Key, make: Callable[[], Made]) -> Response:
        """Reply to a question: `key` contains it, with the body of a POST, and the versions of the runs."""
        return response_of(await self._cached(request, key, make), UNKEPT)

    async def _cached(
        self,
        request: Request,
        key: Key,
        make: Callable[[], Made],
        size_bytes: Callable[[], int] | None = None,
        in_thread: InThread | None = None,
    ) -> Reply:
        key, made = (*key, _coding(request)), self._encoder(request, make)

        async def make_and_keep() -> Reply:
            if size_bytes is not None:
                reply = await self._threads.read(made, size_bytes)
            else:
                reply = await (in_thread or self._threads.query)(made)
            self._cache.put(key, reply)
            return reply

        reply = self._cache.get(key)
        if reply is not None:
            return reply
        async with QUOTAS.get().questions if in_thread is None else QUOTAS.get().looks:
            reply = self._cache.get(key)
            if reply is not None:
                return reply
            if in_thread is not None:
                return await make_and_keep()

            async def make_once() -> Reply:
                try:
                    return await make_and_keep()
                finally:
                    del self._begun[key]

            if key not in self._begun:
                self._begun[key] = asyncio.create_task(make_once())
            return await asyncio.shield(self._begun[key])  # others wait for it as well

    def _encoder(self, request: Request, make: Callable[[], Made]) -> Callable[[], Reply]:
        """Return a function that makes a reply: encoded, and compressed if that helps."""
        headers, is_loopback = request.headers, self._is_loopback

        def encode() -> Reply:
            record = make()
            reply = record if isinstance(record, Reply) else Reply(encoding.encode(record), JSON)
            coding = coding_of(headers, len(reply.body), is_loopback=is_loopback)
            return Reply(compressed(reply.body, coding), reply.media_type, coding) if coding else reply

        return encode

    async def fresh(self, request: Request, make: Callable[[], Made], *, is_quick: bool = False) -> Response:
        """Reply with a record that is only valid now. Quick replies do not wait behind queries."""
        made = self._encoder(request, make)
        if is_quick:
            return response_of(await self._threads.quick(made), UNKEPT)
        async with QUOTAS.get().questions:
            return response_of(await self._threads.query(made), UNKEPT)

    async def fresh_for_all(self, request: Request, who: Key, make: Callable[[], Made]) -> Response:
        """Reply as `fresh`, quickly: requests by `who` that come before the work begins share one record."""
        key = (request.scope["path"], *who, _coding(request))
        task = self._asked.get(key)
        if task is None:
            made = self._encoder(request, make)

            def begin() -> Reply:
                del self._asked[key]  # a later request may need newer data
                return made()

            task = self._asked[key] = asyncio.ensure_future(self._threads.quick(begin))
        return response_of(await asyncio.shield(task), UNKEPT)


def _coding(request: Request) -> str:
    return coding_of(request.headers)


def response_of(reply: Reply, headers: dict[str, str]) -> Response:
    """Return the response with a reply."""
    coding = {"content-encoding": reply.coding} if reply.coding else {}
    return Response(reply.body, headers={**headers, **coding}, media_type=reply.media_type)


def error_reply(
    status: int, error: str, what_next: str, headers: Mapping[str, str] | None = None, place: int | None = None
) -> Response:
    """Return an `ErrorReply`."""
    return json_response(ErrorReply(error=error, next=what_next, place=place), status, headers)


def json_response(record: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response with a record, at once."""
    return Response(encoding.encode(record), status, headers, media_type=JSON)


def attachment(name: str) -> dict[str, str]:
    """Return the headers that make a browser save the reply under a name."""
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}", "cache-control": "no-store"}


def etag(*parts: str) -> str:
    """Return a weak validator for a reply that depends only on these parts."""
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f'W/"{digest}"'


def holds(headers: Headers, tag: str) -> bool:
    """True if the client already has the reply with this tag."""
    tags = headers.get("if-none-match", "")
    return any(item.strip().removeprefix("W/") == tag.removeprefix("W/") for item in tags.split(","))


def coding_of(
    headers: Headers, size: float = math.inf, *, is_loopback: bool = False, among: Sequence[str] = (ZSTD, GZIP)
) -> str:
    """Return how to compress a body of this size for this client; empty if it should not be compressed."""
    if size <= (PLAIN_BYTES_LOOPBACK if is_loopback else PLAIN_BYTES):
        return ""
    items = [item.partition(";") for item in headers.get("accept-encoding", "").split(",")]
    weights = {name.strip().lower(): weight.replace(" ", "") for name, _, weight in items}
    accepted = (one for one in among if weights.get(one, "q=0") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"))
    return next(accepted, "")


def compressed(body: bytes, coding: str = GZIP) -> bytes:
    """Compress at the fastest level of gzip or the first of zstd: a higher one costs more than it saves on any link.

    zstd takes a tenth of gzip's time for token series, and a quarter for JSON. Browsers accept it on this machine and
    over HTTPS.
    """
    return zstd.compress(body, 1) if coding == ZSTD else gzip.compress(body, compresslevel=1, mtime=0)
