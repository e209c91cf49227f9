"""Configures uvicorn: only HTTP/1.1, no request log, streams ended at once on shutdown.

Clients that keep connections open, or do not read their replies, share a bounded amount of memory.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from types import FrameType
from typing import TYPE_CHECKING

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rolloupe.server.process.console import say, say_failure
from rolloupe.server.process.front import Front
from rolloupe.server.replies import IS_FILE
from rolloupe.server.security.layers import MAX_ADDRESS_BYTES

if TYPE_CHECKING:
    from rolloupe.server.app import App

KEEP_ALIVE_S = 30

MAX_HEAD_BYTES = MAX_ADDRESS_BYTES + 64 * 1024
"""An address and headers; cookies of other servers on this machine would soon fill uvicorn's own 16 kB."""

MAX_UNSENT_BYTES = 32 * 2**20
"""Bytes of all replies together that may wait for slow clients."""

WATCHED_BYTES = 64 * 1024
"""The limit ignores connections with fewer unsent bytes, and is checked only after larger pieces."""

MAX_CONNECTIONS = 400
"""Beyond this number, the longest idle connection is closed. A process has 1024 files by default."""

TEAM_CONNECTIONS = 2000
"""The limit of a team's server, which asks the system for more files."""


class Server(uvicorn.Server):
    """A server that ends its streams before it waits for its connections, and does not raise the signal again."""

    def __init__(self, app: "App | Front") -> None:
        limited = with_slow_reader_limit(app, lambda: self.server_state.connections)
        super().__init__(config_of(limited, TeamConnection if app.settings.team else Patient))
        self._app = app

    def stop(self) -> None:
        """Stop the server; any thread may call this."""
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal. uvicorn would raise it again after shutdown, but Ctrl-C is the normal end of a viewer."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams and waiting requests, then the connections; unfinished downloads are dropped."""
        self._app.close()
        for connection in list(self.server_state.connections):
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete and cycle.scope.get("state", {}).get(IS_FILE):
                connection.transport.abort()
        await super().shutdown(sockets)


def config_of(app: ASGIApp, connection: "type[Patient]") -> uvicorn.Config:
    """Return uvicorn's settings, without forwarding headers: they could forge the address that limits attempts."""
    log = logging.getLogger("uvicorn")
    log.handlers[:], log.propagate = [LogPrinter(logging.WARNING)], False
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=connection,
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


def with_slow_reader_limit(app: ASGIApp, connections: Callable[[], Iterable[object]]) -> ASGIApp:
    """Drop the connections that have been paused longest, if too many bytes wait for all clients."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_within(message: Message) -> None:
            await send(message)
            if len(message.get("body", b"")) <= WATCHED_BYTES:
                return
            patients = [one for one in connections() if isinstance(one, Patient)]
            unsent = sum(patient.unsent_bytes for patient in patients)
            for patient in sorted(patients, key=lambda patient: patient.paused_s):
                if unsent > MAX_UNSENT_BYTES and patient.unsent_bytes > WATCHED_BYTES:
                    unsent -= patient.unsent_bytes
                    patient.transport.abort()

        await app(scope, receive, send_within)

    return answer


class Patient(H11Protocol):
    """A connection with time limits for requests to start and to end, and for clients to read; uvicorn has none."""

    most = MAX_CONNECTIONS

    paused_s = 0.0
    """When the client stopped reading."""

    @property
    def unsent_bytes(self) -> int:
        """Return how many bytes of replies wait for the client."""
        return self.transport.get_write_buffer_size()

    @property
    def is_idle(self) -> bool:
        """True if no request is pending."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, whatever its type says
        return cycle is None or cycle.response_complete

    def pause_writing(self) -> None:
        self.paused_s = self.loop.time()
        super().pause_writing()

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.begun_s = self.loop.time()
        self._seen: tuple[object, object] | None = None
        self._unsent_bytes = 0
        if len(self.connections) > self.most:  # closes one: the oldest idle one, else this one
            patients = [one for one in self.connections if isinstance(one, Patient) and not one.transport.is_closing()]
            idle = (one for one in patients if one.is_idle and one is not self)
            if len(patients) > self.most:
                min(idle, key=lambda one: one.begun_s, default=self).transport.abort()
        self._watch = self.loop.call_later(KEEP_ALIVE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close the connection if the client has made no progress since the last check."""
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


class TeamConnection(Patient):
    """A connection to a team's server."""

    most = TEAM_CONNECTIONS


class LogPrinter(logging.Handler):
    """Prints uvicorn's log without control characters."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())
        if record.exc_info and record.exc_info[1]:
            say_failure("the server", record.exc_info[1])
