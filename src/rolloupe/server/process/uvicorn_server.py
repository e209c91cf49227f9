"""uvicorn, set up: HTTP/1.1 alone, no log of requests, streams ended at once at shutdown.

Clients that hold connections open, or do not read what they asked for, take a bounded amount of memory together.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rolloupe.server.app import App
from rolloupe.server.context import IS_FILE
from rolloupe.server.process.console import say, say_failure
from rolloupe.server.security.limits import MAX_ADDRESS_BYTES

KEEP_ALIVE_S = 30

MAX_HEAD_BYTES = MAX_ADDRESS_BYTES + 64 * 1024
"""An address and headers; uvicorn's own 16 kB are soon full of the cookies of all that runs on this machine."""


MAX_UNSENT_BYTES = 32 * 2**20
"""So much of all replies together may wait for clients to read it."""

WATCHED_BYTES = 64 * 1024
"""Smaller pieces of a reply wait for their client one at a time."""

MAX_CONNECTIONS = 400
"""Beyond these, the connection that has been idle longest is closed. A process has 1024 files by default."""


class Server(uvicorn.Server):
    """A server that ends its streams before it waits for its connections, and swallows the signal that ended it."""

    def __init__(self, app: App) -> None:
        super().__init__(config_of(Bounded(app, lambda: self.server_state.connections)))
        self._context = app.context

    def stop(self) -> None:
        """End the server; may be called from any thread."""
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal. uvicorn would raise it again after shutdown: an interrupted viewer has ended well."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams and waiting requests, then the connections; files that are being sent are broken off."""
        self._context.close()
        for connection in list(self.server_state.connections):
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete and cycle.scope.get("state", {}).get(IS_FILE):
                connection.transport.abort()
        await super().shutdown(sockets)


def config_of(app: ASGIApp) -> uvicorn.Config:
    """What uvicorn is told. Forwarding headers are not believed: the address that limits attempts would be free."""
    log = logging.getLogger("uvicorn")
    log.handlers[:], log.propagate = [Sanitised(logging.WARNING)], False
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=Patient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=1,
    )


class Bounded:
    """Breaks off the connections whose clients have read nothing for longest, where too much waits for all of them."""

    def __init__(self, app: ASGIApp, connections: Callable[[], Iterable[object]]) -> None:
        self.app = app
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def send_within(message: Message) -> None:
            await send(message)
            if len(message.get("body", b"")) > WATCHED_BYTES:
                self._break_off()

        await self.app(scope, receive, send_within)

    def _break_off(self) -> None:
        own = [one for one in self._connections() if isinstance(one, Patient)]
        unsent = sum(one.unsent_bytes for one in own)
        for one in sorted((one for one in own if one.unsent_bytes > WATCHED_BYTES), key=lambda one: one.paused_s):
            if unsent <= MAX_UNSENT_BYTES:
                return
            unsent -= one.unsent_bytes
            one.transport.abort()


class Patient(H11Protocol):
    """A connection that is closed when it has asked for nothing, not got to the end of asking, or read nothing of what
    it asked for, for a while.

    uvicorn itself waits for ever for a first request, for the end of one that trickles in, and for a client to read.
    """

    paused_s = 0.0
    """When the client was seen to read no further."""

    @property
    def unsent_bytes(self) -> int:
        """How much of its replies waits for the client to read it."""
        return self.transport.get_write_buffer_size()

    @property
    def is_idle(self) -> bool:
        """True where nothing was asked that is not answered."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, whatever its type says
        return cycle is None or cycle.response_complete

    def pause_writing(self) -> None:
        """Note that the client reads no further."""
        self.paused_s = self.loop.time()
        super().pause_writing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self.begun_s = self.loop.time()
        self._seen: tuple[object, object] | None = None
        self._unsent_bytes = 0
        self._make_room()
        self._watch = self.loop.call_later(KEEP_ALIVE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._watch.cancel()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        """Close one connection if there are too many: of those that are idle the oldest, else this one."""
        if len(self.connections) <= MAX_CONNECTIONS:
            return
        own = [one for one in self.connections if isinstance(one, Patient) and not one.transport.is_closing()]
        if len(own) > MAX_CONNECTIONS:
            idle = (one for one in own if one.is_idle and one is not self)
            min(idle, key=lambda one: one.begun_s, default=self).transport.abort()

    def _look(self) -> None:
        """Close what waits for the other side as it did at the last look."""
        seen = self.cycle, self.conn.their_state
        if seen == self._seen and (seen[1] is h11.SEND_BODY or (seen[1] is h11.IDLE and self.is_idle)):
            self.transport.close()
            return
        unsent_bytes = self.unsent_bytes
        if unsent_bytes and unsent_bytes == self._unsent_bytes:
            self.transport.abort()
            return
        self._seen, self._unsent_bytes = seen, unsent_bytes
        self._watch = self.loop.call_later(KEEP_ALIVE_S, self._look)


class Sanitised(logging.Handler):
    """Prints what uvicorn has to say without control characters."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        say(record.getMessage())
        if record.exc_info and record.exc_info[1]:
            say_failure("the server", record.exc_info[1])
