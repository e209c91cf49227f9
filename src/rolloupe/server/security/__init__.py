"""The layers between the network and the routes: small ASGI middlewares, each with one question.

A layer refuses or passes on; it never answers for a route. From the outside in: `headers` (on every reply, refusals
too), `hosts` (DNS rebinding), `origins` (foreign pages), `auth` (who sends the request), `limits` (how, and how much).
Every address needs the token unless it is known to be public, so a new route cannot forget it.
"""

from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from rolloupe.server.security.auth import Auth
from rolloupe.server.security.layers import Headers, Hosts, Limits, Origins
from rolloupe.server.settings import Settings

if TYPE_CHECKING:
    from rolloupe.server.context import Context

__all__ = ["guarded"]


def guarded(app: ASGIApp, settings: Settings, context: "Context") -> ASGIApp:
    """Wrap an app in all layers."""
    if settings.team is not None:
        from rolloupe.server.team.layers import team_layers

        return Headers(team_layers(app, settings, settings.team, context))
    return Headers(Hosts(Origins(Auth(Limits(app), settings), settings.cors), settings))
