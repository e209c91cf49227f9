"""What listens first: it sends the files of the page while the application, which needs far more, is being imported.

All other requests wait for the application, and once it is there, it answers everything.
"""

import asyncio
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rolloupe.server.replies import error_reply
from rolloupe.server.security.layers import Hosts, Limits, Origins, is_api, with_headers, without_base
from rolloupe.server.settings import Settings
from rolloupe.server.static_app import PLACE, Shell, shell
from rolloupe.server.threads import Stopping

if TYPE_CHECKING:
    from rolloupe.server.app import App


class Front:
    """An ASGI application that becomes another one: see the module."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.shell = Shell(settings.base_path)
        self._app: Future[App | None] = Future()
        """None if the server ends before."""
        page = Starlette(routes=[Route(PLACE, shell)])
        page.state.shell = self.shell
        self._page = with_headers(Hosts(Origins(Limits(page), settings.cors), settings))

    def becomes(self, app: "App | None") -> None:
        """Let the application answer from now on; None if it never will."""
        with suppress(InvalidStateError):  # the server has ended
            self._app.set_result(app)

    @property
    def app(self) -> "App | None":
        """The application, if it is there."""
        return self._app.result() if self._app.done() else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if not self._app.done():
            if self._is_for_page(asked := without_base(scope, self.settings.base_path)):
                await self._page(asked, receive, send)
                return
            await asyncio.shield(asyncio.wrap_future(self._app))  # the end of one request must not end it for all
        await (self.app or with_headers(error_reply(503, str(Stopping()), "Start it again.")))(scope, receive, send)

    def _is_for_page(self, scope: Scope) -> bool:
        """True for a file of the page: these are public, but a team's server admits nobody unknown."""
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and self.settings.team is None
        return is_read and not is_api(scope["path"])

    def close(self) -> None:
        """End streams and waiting requests."""
        self.becomes(None)
        if self.app is not None:
            self.app.close()
