"""A proxy that has authenticated one person: it names that person in each request, whatever the request says."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

NAMED = re.compile(rb"\r\n(?:x[-_]forwarded[-_]user|connection)[ \t]*:[^\r]*", re.IGNORECASE)
HEAD_BYTES = 2**17


@contextmanager
def proxy(port: int, name: str) -> Iterator[int]:
    """Serve the server at a port as one person; yields the port of the proxy."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    running: set[asyncio.Task[None]] = set()
    lines: set[asyncio.StreamWriter] = set()
    """The connections that are open, to browsers and to the server."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        lines.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            own = f"\r\nX-Forwarded-User: {name}\r\nConnection: close\r\n\r\n".encode()
            server, client = await asyncio.open_connection("127.0.0.1", port)
            lines.add(client)
            client.write(NAMED.sub(b"", head)[:-4] + own)
            sending = asyncio.ensure_future(_copy(reader, client))
            try:
                await _copy(server, writer)
            finally:
                sending.cancel()
                await asyncio.wait([sending])
                client.close()
        writer.close()
        running.discard(task)

    async def begin() -> asyncio.Server:
        return await asyncio.start_server(serve, "127.0.0.1", 0, limit=HEAD_BYTES)

    async def end(server: asyncio.Server) -> None:
        await _rounds()  # what was accepted is served from now on: asyncio leaves its socket open in a closed server
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for line in lines:
            line.transport.abort()  # nobody reads what is left
        await _rounds()

    server = asyncio.run_coroutine_threadsafe(begin(), loop).result(10)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65536):
        writer.write(block)
        await writer.drain()


async def _rounds() -> None:
    """Let the loop do all that is due, and what follows from that: to accept a connection takes four rounds."""
    for _ in range(8):
        await asyncio.sleep(0)
