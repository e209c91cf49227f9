"""Downloads: few at once, and no faster than their clients read."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator

from starlette.requests import Request
from starlette.responses import StreamingResponse

from rolloupe.errors import RolloupeError
from rolloupe.server.people import name_of
from rolloupe.server.replies import IS_FILE, attachment
from rolloupe.server.threads import FILES, Stopping, Threads

FILES_OF_ONE = 2
"""Files sent at once to one person of a team."""

PIECE_BYTES = 64 * 1024

"""Key in the state of a request whose answer is a file."""


class TooMany(RolloupeError):
    """Raised for a requested file while the maximum number of files is being sent."""

    def __init__(self, files: int, name: str = "") -> None:
        super().__init__(f"{files} files are already being downloaded{f' by {name}' if name else ''}")


class Downloads:
    """The files that a server sends."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._files = asyncio.Semaphore(FILES)
        self._beginning = 0
        self._files_of: Counter[str] = Counter()
        """Files being sent, by person."""

    async def send(
        self, request: Request, begin: Callable[[], Iterator[bytes]], name: str, kind: str
    ) -> StreamingResponse:
        """Reply with a file of this name and media type, written while it is sent, no faster than the client reads.

        `begin` raises its errors before the reply starts. Raises those, and `TooMany`.
        """
        person = name_of(request)
        if person and self._files_of[person] >= FILES_OF_ONE:
            raise TooMany(FILES_OF_ONE, person)
        if self._files.locked() or self._beginning >= FILES:
            raise TooMany(FILES)
        self._beginning += 1
        try:
            with self._counted(person):
                pieces = await self._threads.file(begin)
        finally:
            self._beginning -= 1
        request.scope.setdefault("state", {})[IS_FILE] = True

        async def send_pieces() -> AsyncIterator[bytes]:
            # when the server stops, it drops the connection, so that the file does not look complete
            with self._counted(person), contextlib.suppress(Stopping):
                async with self._files:
                    while (piece := await self._threads.file(lambda: next(pieces, None))) is not None:
                        for start in range(0, len(piece), PIECE_BYTES):
                            yield piece[start : start + PIECE_BYTES]
                            await asyncio.sleep(0)  # the loop notices that a client has gone

        return StreamingResponse(send_pieces(), headers=attachment(name), media_type=kind)

    @contextlib.contextmanager
    def _counted(self, person: str) -> Iterator[None]:
        self._files_of[person] += 1
        try:
            yield
        finally:
            self._files_of[person] -= 1
