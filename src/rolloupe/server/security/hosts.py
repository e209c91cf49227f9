"""The `Host` list, against DNS rebinding.

A page at evil.example may have its name point to 127.0.0.1 a moment later; its requests are then same-origin for the
browser, but still say `Host: evil.example`. Ports are free, for SSH forwarding changes them.
"""

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe.server.process.console import say
from rolloupe.server.security.refusal import header, refuse
from rolloupe.server.settings import Settings

HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253})(:[0-9]{1,5})?")
MAX_SAID = 10
"""So many refused names are printed: whoever invents new ones must not fill the terminal."""


def host_of(value: str | None) -> str | None:
    """The name in a `Host` header, in lower case and without port; None where it is none."""
    match = HOST.fullmatch(value or "")
    return match[1].lower() if match else None


class Hosts:
    """Lets in what addresses the server by a name it knows."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.hosts = settings.hosts
        self.said: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with the option that would admit it."""
        if scope["type"] == "http":
            host = host_of(header(scope, b"host"))
            if host is None:
                await refuse(scope, receive, send, 400, "the Host header is missing or unreadable", "Send one.")
                return
            if host not in self.hosts and "*" not in self.hosts:
                await self.refuse(host, scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def refuse(self, host: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Say, here and there, which option admits the host."""
        error = f"this server does not answer to the name {host}"
        what_next = f"If that name is meant to lead here, start it with --allow-host {host}"
        if host not in self.said and len(self.said) < MAX_SAID:
            self.said.add(host)
            say(f"Refused: {error}. {what_next}")
        await refuse(scope, receive, send, 403, error, what_next)
