"""uvicorn, set up: HTTP/1.1 alone, no log of requests, streams ended at once at shutdown."""

import asyncio
import logging
import socket
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rolloupe.server.app import App
from rolloupe.server.console import say, say_failure
from rolloupe.server.context import IS_FILE
from rolloupe.server.security.limits import MAX_ADDRESS_BYTES

KEEP_ALIVE_S = 30

MAX_HEAD_BYTES = MAX_ADDRESS_BYTES + 64 * 1024
"""An address and headers; uvicorn's own 16 kB are soon full of the cookies of all that runs on this machine."""


class Server(uvicorn.Server):
    """A server that ends its streams before it waits for its connections, and swallows the signal that ended it."""

    def __init__(self, app: App) -> None:
        super().__init__(config_of(app))
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


def config_of(app: App) -> uvicorn.Config:
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


class Patient(H11Protocol):
    """A connection that is closed when it has asked for nothing, or not got to the end of asking, for a while.

    uvicorn itself waits for ever for a first request, and for the end of one that trickles in.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._seen: tuple[object, object] | None = None
        self._watch = self.loop.call_later(KEEP_ALIVE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close what waits for the other side as it did at the last look."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, whatever its type says
        is_answered = cycle is None or cycle.response_complete
        seen = cycle, self.conn.their_state
        if seen == self._seen and (seen[1] is h11.SEND_BODY or (seen[1] is h11.IDLE and is_answered)):
            self.transport.close()
            return
        self._seen = seen
        self._watch = self.loop.call_later(KEEP_ALIVE_S, self._look)


class Sanitised(logging.Handler):
    """Prints what uvicorn has to say without control characters."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        say(record.getMessage())
        if record.exc_info and record.exc_info[1]:
            say_failure("the server", record.exc_info[1])
