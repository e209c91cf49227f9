"""The `Host` list, against DNS rebinding.

A page at evil.example can later point its name to 127.0.0.1; the browser then treats its requests as same-origin, but
they still carry `Host: evil.example`. Any port is accepted, because SSH forwarding changes ports.
"""

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe.server.process.console import say
from rolloupe.server.security.refusal import header, refuse
from rolloupe.server.settings import Settings

HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253})(:[0-9]{1,5})?")
MAX_SAID = 10
"""Number of refused names to print: invented names must not fill the terminal."""


def host_of(value: str | None) -> str | None:
    """Return the name in a `Host` header, in lower case and without port; None for an invalid one."""
    match = HOST.fullmatch(value or "")
    return match[1].lower() if match else None


class Hosts:
    """Admits requests that address the server by a known name."""

    def __init__(self, app: ASGIApp, settings: Settings, option: str = "--allow-host ") -> None:
        """`option` is what stands before a name on the command line to admit it."""
        self.app = app
        self.option = option
        self.hosts = settings.hosts
        self.refused_hosts: set[str] = set()

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
        """Refuse the host, and name the option that admits it, in the reply and in the terminal."""
        error = f"this server does not answer to the name {host}"
        what_next = f"If that name should lead here, start the server with {self.option}{host}"
        if host not in self.refused_hosts and len(self.refused_hosts) < MAX_SAID:
            self.refused_hosts.add(host)
            say(f"Refused: {error}. {what_next}")
        await refuse(scope, receive, send, 403, error, what_next)
