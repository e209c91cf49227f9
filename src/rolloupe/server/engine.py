"""uvicorn, set up: HTTP/1.1 alone, no log of requests, streams ended at once at shutdown."""

import logging
import socket
from types import FrameType

import uvicorn

from rolloupe.server.app import App
from rolloupe.server.console import say, say_failure

KEEP_ALIVE_S = 30


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
        """End streams and waiting requests, then the connections."""
        self._context.close()
        await super().shutdown(sockets)


def config_of(app: App) -> uvicorn.Config:
    """What uvicorn is told. Forwarding headers are not believed: the address that limits attempts would be free."""
    log = logging.getLogger("uvicorn")
    log.handlers[:], log.propagate = [Sanitised(logging.WARNING)], False
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=1,
    )


class Sanitised(logging.Handler):
    """Prints what uvicorn has to say without control characters."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        say(record.getMessage())
        if record.exc_info and record.exc_info[1]:
            say_failure("the server", record.exc_info[1])
