"""The layers of a team's server: people need a role, Prometheus needs a token, health checks need neither.

The requests of one person are limited, both by second and at the same time. An answer has a bounded size, so this
limits the memory that one person takes.
"""

import asyncio
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolloupe.lru import Lru
from rolloupe.server.access import Role
from rolloupe.server.context import Context
from rolloupe.server.people import PERSON, Refused, Team
from rolloupe.server.security.auth import same
from rolloupe.server.security.layers import Hosts, Layer, Limits, Origins, bearer, refusal
from rolloupe.server.settings import Settings
from rolloupe.server.team.senders import OidcLogin
from rolloupe.server.threads import QUOTAS, Quotas

EVENTS = "/api/events"
BURST_S = 6.0
"""After a pause, a person may send the requests of this many seconds at once: a page begins with many requests."""

UNDER_WAY = 32
MOST_EVENT_STREAMS = 20
"""Open streams of events: one for each browser and window of a person, with room for streams that broke unnoticed."""

QUESTIONS = 2
"""Slow questions of one person, such as filters and charts, at a time; more questions wait."""
LOOKS = 1
"""The same for looks at a whole run or step."""

MAX_PEOPLE = 10_000


class Use:
    """The requests of one person."""

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
    """Refuses requests of one person beyond the bounds, so that the others are served."""

    def __init__(self, app: ASGIApp, rate: float) -> None:
        self.app = app
        self.refused = 0
        self._rate = rate
        self._uses: Lru[str, Use] = Lru(MAX_PEOPLE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope[PERSON].name
        use = self._uses.setdefault(name, Use(self._rate * BURST_S))
        is_stream = scope["path"] == EVENTS
        error, wait_s = f"more than {self._rate:g} requests a second", use.wait_s(self._rate)
        if not wait_s and is_stream and use.open[is_stream] >= MOST_EVENT_STREAMS:
            error, wait_s = f"more than {MOST_EVENT_STREAMS} open pages", 60
        elif not wait_s and not is_stream and use.open[is_stream] >= UNDER_WAY:
            error, wait_s = f"more than {UNDER_WAY} requests under way", 1
        if wait_s:
            self.refused += 1
            seconds = str(int(wait_s) + 1)
            what_next = f"Wait {seconds} s, and ask for less at once."
            answer = refusal(scope, 429, f"{error} from {name}", what_next, retry_after=seconds)
            await answer(scope, receive, send)
            return
        use.open[is_stream] += 1
        QUOTAS.set(use.quotas)
        try:
            await self.app(scope, receive, send)
        finally:
            use.open[is_stream] -= 1


METRICS = "/metrics"
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
KIND = "text/plain; version=0.0.4; charset=utf-8"
UNTIMED = ("/api/events", "/api/search")
"""Answers that take as long as their reader wants: they are counted, but not timed."""


class Metrics:
    """Counts requests, and answers `/metrics` for those who know the token."""

    def __init__(self, app: ASGIApp, token: str, gauges: Callable[[], Mapping[str, float]]) -> None:
        self.app = app
        self._token, self._gauges = token, gauges
        self._answers: Counter[str] = Counter()
        self._buckets = [0] * (len(BUCKETS_S) + 1)
        self._sum_s = 0.0
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == METRICS and self._token and scope["method"] in ("GET", "HEAD"):
            if not same(bearer(scope) or "", self._token):
                await refusal(scope, 401, "this address needs its token", "See docs/team.md.")(scope, receive, send)
                return
            await Response(self.text(), media_type=KIND)(scope, receive, send)
            return
        began_s, status = time.monotonic(), "none"

        async def send_counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        self._under_way += 1
        try:
            await self.app(scope, receive, send_counted)
        finally:
            self._under_way -= 1
            self._answers[status] += 1
            if scope["path"] not in UNTIMED:
                seconds = time.monotonic() - began_s
                self._buckets[bisect_left(BUCKETS_S, seconds)] += 1
                self._sum_s += seconds

    def text(self) -> str:
        """Write all figures as Prometheus reads them."""
        lines = ["# TYPE rolloupe_requests_total counter"]
        lines += [f'rolloupe_requests_total{{status="{one}"}} {count}' for one, count in sorted(self._answers.items())]
        lines.append("# TYPE rolloupe_request_seconds histogram")
        total = 0
        for limit, count in zip((*BUCKETS_S, "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'rolloupe_request_seconds_bucket{{le="{limit}"}} {total}')
        lines += [f"rolloupe_request_seconds_sum {self._sum_s:.6f}", f"rolloupe_request_seconds_count {total}"]
        gauges: dict[str, float] = {"requests_under_way": self._under_way}
        if sys.platform.startswith("linux"):
            import resource

            with open("/proc/self/statm", encoding="ascii") as file:
                gauges["resident_memory_bytes"] = int(file.read().split()[1]) * resource.getpagesize()
        gauges |= self._gauges()
        for name, value in gauges.items():
            lines += [f"# TYPE rolloupe_{name} gauge", f"rolloupe_{name} {value:.15g}"]
        return "\n".join([*lines, ""])


ALIVE, READY = "/healthz", "/readyz"


def team_layers(app: ASGIApp, settings: Settings, team: Team, context: Context) -> ASGIApp:
    """Wrap an app in the layers of a team's server, from the bounds of a person outwards."""
    bounds = Bounds(Limits(app), team.rate)
    people: ASGIApp = Layer(bounds, partial(refuse_strangers, team))
    if isinstance(team.senders, OidcLogin):
        people = team.senders.before(people)
    named = Hosts(Origins(people, settings.cors), settings, "--public-url https://")

    def gauges() -> dict[str, float]:
        return {**context.gauges(), "requests_refused_for_now": bounds.refused}

    return Layer(
        Metrics(Layer(named, partial(answer_health_check, context)), team.metrics_token, gauges), refuse_two_lengths
    )


def refuse_strangers(team: Team, scope: Scope) -> Response | None:
    """Refuse people without a role, and note others in the scope. Every address needs a role: no page is public."""
    try:
        person = team.person(scope)
    except Refused as error:
        return refusal(scope, error.status, str(error), error.what_next)
    if person.role is Role.NONE:
        what_next = "Ask an administrator of this server for one."
        if person.logout:
            what_next += f" To log in as somebody else, open {person.logout}"
        return refusal(scope, 403, f"the person {person.name} has no role on this server", what_next)
    scope[PERSON] = person
    return None


def refuse_two_lengths(scope: Scope) -> Response | None:
    """Refuse a request of ambiguous length: a proxy could take its body for the request of another person."""
    if not {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in scope["headers"]}:
        return None
    error, what_next = "the request names two lengths", "Send Content-Length or Transfer-Encoding."
    return refusal(scope, 400, error, what_next, connection="close")


def answer_health_check(context: Context, scope: Scope) -> Response | None:
    """Answer a health check from anywhere under any name: the answer reveals nothing else."""
    if scope["path"] not in (ALIVE, READY) or scope["method"] not in ("GET", "HEAD"):
        return None
    is_well = scope["path"] == ALIVE or context.is_ready
    return PlainTextResponse("ok\n" if is_well else "not ready\n", 200 if is_well else 503)
