"""The layers of a team's server: nobody without a role comes further, and health checks need none."""

from collections.abc import Callable

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe.server.access import Role
from rolloupe.server.context import Context
from rolloupe.server.people import PERSON, Refused, Team
from rolloupe.server.security.hosts import Hosts
from rolloupe.server.security.limits import Limits
from rolloupe.server.security.origins import Origins
from rolloupe.server.security.refusal import refuse
from rolloupe.server.settings import Settings
from rolloupe.server.team.bounds import Bounds
from rolloupe.server.team.metrics import Metrics
from rolloupe.server.team.oidc import LoginPages, OidcLogin

ALIVE, READY = "/healthz", "/readyz"


def team_layers(app: ASGIApp, settings: Settings, team: Team, context: Context) -> ASGIApp:
    """Wrap an app in the layers of a team's server, from the bounds of a person outwards."""
    bounds = Bounds(Limits(app), team.rate)
    people: ASGIApp = People(bounds, team)
    if isinstance(team.senders, OidcLogin):
        people = LoginPages(people, team.senders)
    named = Hosts(Origins(people, settings.cors), settings, "--public-url https://")

    def gauges() -> dict[str, float]:
        return {**context.gauges(), "requests_refused_for_now": bounds.refused}

    return OneRequest(Metrics(Health(named, lambda: context.is_ready), team.metrics_token, gauges))


class People:
    """Admits those who have a role. Every address needs one: there is no public page."""

    def __init__(self, app: ASGIApp, team: Team) -> None:
        self.app = app
        self.team = team

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its sender, or refuse it."""
        if scope["type"] == "http":
            try:
                person = self.team.person(scope)
            except Refused as error:
                await refuse(scope, receive, send, error.status, str(error), error.what_next)
                return
            if person.role is Role.NONE:
                what_next = "Ask an administrator of this server for one."
                if person.logout:
                    what_next += f" To log in as somebody else, open {person.logout}"
                await refuse(
                    scope, receive, send, 403, f"the person {person.name} has no role on this server", what_next
                )
                return
            scope[PERSON] = person
        await self.app(scope, receive, send)


class OneRequest:
    """Refuses a request whose end is in doubt: a proxy could take its body for the request of somebody else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it and close the connection."""
        if scope["type"] == "http":
            names = {name.lower() for name, _ in scope["headers"]}
            if {b"content-length", b"transfer-encoding"} <= names:
                error, what_next = "the request names two lengths", "Send Content-Length or Transfer-Encoding."
                await refuse(scope, receive, send, 400, error, what_next, connection="close")
                return
        await self.app(scope, receive, send)


class Health:
    """Answers health checks, which come from anywhere under any name: they reveal nothing but a word."""

    def __init__(self, app: ASGIApp, is_ready: Callable[[], bool]) -> None:
        self.app = app
        self._is_ready = is_ready

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a health check; pass everything else on."""
        if scope["type"] == "http" and scope["path"] in (ALIVE, READY) and scope["method"] in ("GET", "HEAD"):
            is_well = scope["path"] == ALIVE or self._is_ready()
            answer = PlainTextResponse("ok\n" if is_well else "not ready\n", 200 if is_well else 503)
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)
