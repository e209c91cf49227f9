"""The open event streams of a server, and the messages that each has yet to send.

Background threads report changes to the event loop. A client has no queue of messages but a set of changed runs, so a
slow client misses at most one message for each run, and gets the newest state. The broadcaster describes a run at most
five times a second, and less often if a description takes long.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from rolloupe.errors import RolloupeError
from rolloupe.index import Library, OpenRun
from rolloupe.server.people import Person, may_see
from rolloupe.server.replies import InThread
from rolloupe.state import State
from rolloupe.wire import encoding, run_items
from rolloupe.wire.session import Event

PAUSE_S = 0.2
PAUSE_SHARE = 4
"""After describing runs for t seconds, the broadcaster pauses for at least this many times t seconds."""
PAUSE_A_RUN_S = 0.002
"""The pause for each changed run, so that a list of many runs stays calm."""
KEEP_ALIVE_S = 15.0
RETRY = b"retry: 1000\n"
"""A browser reconnects a broken stream after this many milliseconds."""
MAX_CLIENTS = 100
FEW = 8
"""A new client gets a message for each of this many runs; with more, it is asked to load the list. Messages about more
changed runs do not wait for a look at their files."""

LOOK_PAUSE_S = 0.1
"""The pause between looks at files of runs."""

STATE_S = 1.0
"""How often the broadcaster checks whether another viewer changed the state, while a client listens."""

RUNS, STATE = "", "\0"
"""Among the ids of changed runs, these mean the list of runs, and the state."""


class Client:
    """An open stream, and its pending changes. `person` reads it, if there is a team."""

    def __init__(self, person: Person | None = None) -> None:
        self.person = person
        self.changed: dict[str, OpenRun | None] = {}
        self.woken = asyncio.Event()

    def tell(self, run: OpenRun | None, what: str = RUNS) -> None:
        """Add a change of a run, or of `what`."""
        self.changed[run.id if run else what] = run
        self.woken.set()

    async def take(self, timeout_s: float) -> list[tuple[str, OpenRun | None]]:
        """Wait for changes, up to the timeout, and take them."""
        await _wait(self.woken, timeout_s)
        self.woken.clear()
        changes = list(self.changed.items())
        self.changed.clear()
        return changes


async def _wait(event: asyncio.Event, timeout_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), timeout_s)


class EventBroadcaster:
    """The open streams of a server. Listens to the library while it has clients."""

    def __init__(
        self,
        library: Callable[[], Awaitable[Library]],
        state: Callable[[], Awaitable[State]],
        in_thread: InThread,
        most: int = MAX_CLIENTS,
    ) -> None:
        self._most = most
        self._library = library
        self._state = state
        self._in_thread = in_thread
        self.clients: set[Client] = set()
        """The open streams."""
        self._unsubscribe: Callable[[], None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looks_again = False
        self._closing = asyncio.Event()

    @property
    def is_full(self) -> bool:
        """True if the broadcaster accepts no further stream."""
        return self._closing.is_set() or len(self.clients) >= self._most

    async def messages(self, person: Person | None = None) -> AsyncIterator[bytes]:
        """Yield the messages for one client. A person gets messages about visible runs, and only while the person has a
        role.
        """
        if self.is_full:  # other clients may have connected since the check
            return
        client = Client(person)
        self.clients.add(client)
        try:
            yield RETRY + message(Event(kind="hello"))
            with contextlib.suppress(RolloupeError):  # the server is stopping
                await self._listen(client)
            while not self._closing.is_set():
                changed = await client.take(KEEP_ALIVE_S)
                if person is not None and not person.role:
                    return
                if not changed:
                    yield b": still here\n\n"
                    continue
                began = time.monotonic()
                # The last wake-up only ends the loop: a page would query a stopping server.
                if not self._closing.is_set():
                    with contextlib.suppress(RolloupeError):  # the server is stopping, and the stream with it
                        if news := await self.messages_about(changed, person):
                            yield news
                pause_s = max(PAUSE_S, PAUSE_A_RUN_S * len(changed), PAUSE_SHARE * (time.monotonic() - began))
                await _wait(self._closing, pause_s)
        finally:
            self.clients.discard(client)
            self._leave()

    def state_changed(self, of: str | None = None) -> None:
        """Notify every client of a changed state, or those of the one person who sees it. Call it on the event loop."""
        for client in self.clients:
            if of is None or client.person is None or client.person.name == of:
                client.tell(None, STATE)

    def look_on(self) -> None:
        """Look at the files that the list did not wait for, and report changes. Call it on the event loop."""
        self._looks_again = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_on())

    def close(self) -> None:
        """End every stream. Call it on the event loop."""
        self._closing.set()
        self._tell(None)
        self._leave()

    async def _listen(self, client: Client) -> None:
        library = await self._library()
        if self._unsubscribe is None and not self._closing.is_set():
            loop = asyncio.get_running_loop()

            def changed(kind: str, run: OpenRun | None) -> None:
                with contextlib.suppress(RuntimeError):  # a thread may outlive the loop by a moment
                    loop.call_soon_threadsafe(self._tell, run if kind == "run" else None)

            self._unsubscribe = library.subscribe(changed)
        for run in library.runs if len(library.runs) <= FEW else [None]:
            client.tell(run)  # changes between the page's first request and now
        if self._watching is None and not self._closing.is_set():
            self._watching = asyncio.create_task(self._watch_state())

    async def _watch_state(self) -> None:
        """Report changes by viewers on other ports."""
        while not self._closing.is_set():
            with contextlib.suppress(RolloupeError):  # the server stops, or another process locks the file
                state = await self._state()
                if await self._in_thread(state.file.changed_elsewhere):
                    self.state_changed()
            await _wait(self._closing, STATE_S)

    async def _look_on(self) -> None:
        with contextlib.suppress(RolloupeError):  # the server is stopping
            library, left = await self._library(), list[OpenRun]()
            while (left or self._looks_again) and not self._closing.is_set():
                if not left:
                    left, self._looks_again = library.runs, False
                found, left = await self._in_thread(partial(run_items.look_on, left))
                for run in found:
                    self._tell(run)
                await _wait(self._closing, LOOK_PAUSE_S)

    def _leave(self) -> None:
        if self.clients and not self._closing.is_set():
            return
        if self._unsubscribe is not None:
            self._unsubscribe()
        if self._watching is not None:
            self._watching.cancel()
        self._unsubscribe = self._watching = None

    def _tell(self, run: OpenRun | None) -> None:
        for client in self.clients:
            client.tell(run)

    async def messages_about(self, changed: Sequence[tuple[str, OpenRun | None]], person: Person | None) -> bytes:
        """Return the messages about changes, those about runs last."""
        news = [message(Event(kind="state" if what == STATE else "runs")) for what, run in changed if run is None]
        runs = [run for _, run in changed if run is not None]

        def describe() -> list[bytes]:
            shown = [run for run in runs if person is None or may_see(person, run)]
            items = [run_items.run_item(run, of_files=len(shown) <= FEW) for run in shown]
            return [message(Event(kind="run", run=item)) for item in items]

        if runs:
            news += await self._in_thread(describe)
        if len(runs) > FEW:
            self.look_on()
        return b"".join(news)


def message(event: Event) -> bytes:
    """Encode an event for the stream. JSON contains no bare newline, so one `data:` is enough."""
    return b"data: " + encoding.encode(event) + b"\n\n"
