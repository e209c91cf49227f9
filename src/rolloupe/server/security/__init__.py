"""What stands between the network and the routes: small ASGI layers, each with one question.

A layer refuses or passes on; it never answers for a route. From the outside in: `headers` (on every reply, refusals
too), `hosts` (DNS rebinding), `origins` (foreign pages), `auth` (who asks), `limits` (how, and how much). Whatever is
not known to be public needs the token: a new route cannot forget it.
"""

from starlette.types import ASGIApp

from rolloupe.server.security.auth import Auth
from rolloupe.server.security.headers import Headers
from rolloupe.server.security.hosts import Hosts
from rolloupe.server.security.limits import Limits
from rolloupe.server.security.origins import Origins
from rolloupe.server.settings import Settings

__all__ = ["guarded"]


def guarded(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Put every layer around an app."""
    return Headers(Hosts(Origins(Auth(Limits(app), settings), settings.cors), settings))
