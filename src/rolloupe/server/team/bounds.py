"""How much one person may ask for: so many requests a second, and so many under way at once.

An answer has a bounded size, so the number of requests under way bounds the memory that one person takes.
"""

import asyncio
import time

from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe.lru import Lru
from rolloupe.server.people import PERSON
from rolloupe.server.quotas import Quotas, set_quotas
from rolloupe.server.security.refusal import refuse

EVENTS = "/api/events"
BURST_S = 6.0
"""Somebody who was quiet may ask for what this many seconds allow, at once: a page begins with many requests."""

UNDER_WAY = 32
STREAMS = 20
"""Open streams of events: one for each browser and window of a person, with room for those that are gone unnoticed."""

QUESTIONS = 2
"""Questions that take a while, such as filters and charts, at a time: further ones of the same person wait."""
LOOKS = 1
"""The same for looks at a whole run or step, of which the server has few at a time."""

MAX_PEOPLE = 10_000


class Use:
    """What a person asks for."""

    def __init__(self, most: float) -> None:
        self._most = self._left = most
        self._counted_s = time.monotonic()
        self.open = [0, 0]
        """Requests under way, and streams of events."""
        self.quotas = Quotas(asyncio.Semaphore(QUESTIONS), asyncio.Semaphore(LOOKS))

    def wait_s(self, rate: float) -> float:
        """Count a request; return the seconds until there is room for it, 0 for now."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._counted_s) * rate)
        self._counted_s = now
        if self._left < 1:
            return (1 - self._left) / rate
        self._left -= 1
        return 0.0


class Bounds:
    """Refuses what one person asks beyond the bounds, so that the others are served."""

    def __init__(self, app: ASGIApp, rate: float) -> None:
        self.app = app
        self.refused = 0
        self._rate = rate
        self._uses: Lru[str, Use] = Lru(MAX_PEOPLE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it for now."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        use = self._uses.setdefault(scope[PERSON].name, Use(self._rate * BURST_S))
        is_stream = scope["path"] == EVENTS
        most, what, again_s = (STREAMS, "open pages", 60) if is_stream else (UNDER_WAY, "requests under way", 1)
        if wait_s := use.wait_s(self._rate):
            await self._refuse(scope, receive, send, f"more than {self._rate:g} requests a second", wait_s)
        elif use.open[is_stream] >= most:
            await self._refuse(scope, receive, send, f"more than {most} {what}", again_s)
        else:
            use.open[is_stream] += 1
            set_quotas(use.quotas)
            try:
                await self.app(scope, receive, send)
            finally:
                use.open[is_stream] -= 1

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, error: str, wait_s: float) -> None:
        self.refused += 1
        seconds = str(int(wait_s) + 1)
        what_next = f"Wait {seconds} s, and ask for less at once."
        await refuse(scope, receive, send, 429, f"{error} from {scope[PERSON].name}", what_next, retry_after=seconds)
