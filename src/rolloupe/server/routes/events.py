"""`GET /api/events`: server-sent events, so that a page shows what changed within a second.

Changes are reported from background threads and handed to the event loop. A client keeps no queue of messages but the
set of runs it has not been told of yet, so a slow one is never behind by more than one message a run, and that message
is the newest state. A run is told at most five times a second, and less often where describing it is expensive.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe.errors import RolloupeError
from rolloupe.index import OpenRun
from rolloupe.server import replies, views, wire

if TYPE_CHECKING:
    from rolloupe.server.context import Context

PAUSE_S = 0.2
PAUSE_SHARE = 4
"""After describing runs for t, nothing is described for at least this many t."""
KEEP_ALIVE_S = 15.0
RETRY = b"retry: 1000\n"
"""A browser whose stream broke off tries again after so many milliseconds."""
MAX_CLIENTS = 100
FEW = 8
"""So many runs are described to a new client; beyond that it is told to ask for the list."""

STATE_S = 1.0
"""So often is looked whether another viewer changed what a person added, while anybody listens."""

RUNS, STATE = "", "\0"
"""Stand among the ids of changed runs for "the list of runs", and for what a person added."""


class Client:
    """One open stream: what it must still be told."""

    def __init__(self) -> None:
        self.changed: dict[str, OpenRun | None] = {}
        self.woken = asyncio.Event()

    def tell(self, run: OpenRun | None, what: str = RUNS) -> None:
        """Note a change, of a run or of `what`."""
        self.changed[run.id if run else what] = run
        self.woken.set()

    async def take(self, timeout_s: float) -> list[tuple[str, OpenRun | None]]:
        """Wait for changes, at most so long, and take them."""
        try:
            await asyncio.wait_for(self.woken.wait(), timeout_s)
        except TimeoutError:
            return []
        self.woken.clear()
        taken = list(self.changed.items())
        self.changed.clear()
        return taken


class Hub:
    """The open streams of a server. Listens to the library while there are any."""

    def __init__(self, context: "Context") -> None:
        self._context = context
        self._clients: set[Client] = set()
        self._unsubscribe: Callable[[], None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    @property
    def _closed(self) -> bool:
        return self._closing.is_set()

    @property
    def is_full(self) -> bool:
        """True where no further stream is taken."""
        return self._closed or len(self._clients) >= MAX_CLIENTS

    async def messages(self) -> AsyncIterator[bytes]:
        """The stream of one client."""
        if self.is_full:  # others came between the question and the answer
            return
        client = Client()
        self._clients.add(client)
        try:
            yield RETRY + message(wire.Event(kind="hello"))
            with contextlib.suppress(RolloupeError):  # the server ends
                await self._listen(client)
            while not self._closed:
                changed = await client.take(KEEP_ALIVE_S)
                if not changed:
                    yield b": still here\n\n"
                    continue
                began = time.monotonic()
                for what, run in changed:
                    if not self._closed:  # the word of the end is for us alone: a page would ask a server that ends
                        with contextlib.suppress(RolloupeError):  # the server ends: so does the stream
                            yield await self._told(what, run)
                await self._pause(max(PAUSE_S, PAUSE_SHARE * (time.monotonic() - began)))
        finally:
            self._clients.discard(client)
            self._leave()

    def state_changed(self) -> None:
        """Tell everybody that what a person added changed. Called on the event loop."""
        for client in self._clients:
            client.tell(None, STATE)

    def close(self) -> None:
        """End every stream now. Called on the event loop."""
        self._closing.set()
        for client in self._clients:
            client.tell(None)
        self._leave()

    async def _listen(self, client: Client) -> None:
        library = await self._context.library()
        if self._unsubscribe is None and not self._closed:
            self._unsubscribe = library.subscribe(self._from_threads(asyncio.get_running_loop()))
        for run in library.runs if len(library.runs) <= FEW else [None]:
            client.tell(run)  # whatever happened between the page's first question and now
        if self._watching is None and not self._closed:
            self._watching = asyncio.create_task(self._watch_state())

    async def _watch_state(self) -> None:
        """Tell what viewers on other ports change. The file says whether they did, without being read."""
        while not self._closed:
            with contextlib.suppress(RolloupeError):  # the server ends, or another process holds the file for long
                state = await self._context.state()
                if await self._context.in_thread(state.changed_elsewhere):
                    self.state_changed()
            await self._pause(STATE_S)

    def _from_threads(self, loop: asyncio.AbstractEventLoop) -> Callable[[str, OpenRun | None], None]:
        def changed(kind: str, run: OpenRun | None) -> None:
            with contextlib.suppress(RuntimeError):  # a thread may outlive the loop by a moment
                loop.call_soon_threadsafe(self._tell, run if kind == "run" else None)

        return changed

    def _leave(self) -> None:
        if self._unsubscribe is not None and (self._closed or not self._clients):
            self._unsubscribe()
            self._unsubscribe = None
        if self._watching is not None and (self._closed or not self._clients):
            self._watching.cancel()
            self._watching = None

    def _tell(self, run: OpenRun | None) -> None:
        for client in self._clients:
            client.tell(run)

    async def _pause(self, pause_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), pause_s)

    async def _told(self, what: str, run: OpenRun | None) -> bytes:
        if run is None:
            return message(wire.Event(kind="state" if what == STATE else "runs"))
        item = await self._context.in_thread(lambda: views.run_item(run))
        return message(wire.Event(kind="run", run=item))


def message(event: wire.Event) -> bytes:
    """An event as it crosses the line. JSON holds no bare newline, so one `data:` is enough."""
    return b"data: " + replies.encode(event) + b"\n\n"


async def events(request: Request) -> Response:
    """`GET /api/events`."""
    hub: Hub = request.app.state.context.hub
    if hub.is_full:
        return replies.error_reply(503, "too many streams are open", "Close other pages of this server.")
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if request.method == "HEAD":
        return Response(headers=headers, media_type="text/event-stream")
    return StreamingResponse(hub.messages(), headers=headers, media_type="text/event-stream")
