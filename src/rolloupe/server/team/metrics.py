"""`/metrics` for Prometheus: counts of requests, and how full the server is. It takes a token of its own."""

import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolloupe.server.security.auth import bearer, same
from rolloupe.server.security.refusal import refuse

METRICS = "/metrics"
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
KIND = "text/plain; version=0.0.4; charset=utf-8"
STREAMS = ("/api/events", "/api/search")
"""Answers that take as long as their reader wants: they are counted, but not timed."""


class Metrics:
    """Counts what it passes on, and answers whoever knows the token."""

    def __init__(self, app: ASGIApp, token: str, gauges: Callable[[], Mapping[str, float]]) -> None:
        self.app = app
        self._token, self._gauges = token, gauges
        self._answers: Counter[str] = Counter()
        self._buckets = [0] * (len(BUCKETS_S) + 1)
        self._sum_s = 0.0
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass a request on and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["path"] == METRICS and self._token and scope["method"] in ("GET", "HEAD"):
            if not same(bearer(scope) or "", self._token):
                await refuse(scope, receive, send, 401, "this address needs its token", "See docs/team.md.")
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
            if scope["path"] not in STREAMS:
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
        gauges = {"requests_under_way": self._under_way, **_memory(), **self._gauges()}
        for name, value in gauges.items():
            lines += [f"# TYPE rolloupe_{name} gauge", f"rolloupe_{name} {value:.15g}"]
        return "\n".join([*lines, ""])


def _memory() -> dict[str, float]:
    """The resident memory of this process, where the system says so."""
    if not sys.platform.startswith("linux"):
        return {}
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    import resource

    return {"resident_memory_bytes": pages * resource.getpagesize()}
