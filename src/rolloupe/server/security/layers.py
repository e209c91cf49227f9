"""LAYERS"""

import re
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolloupe.server.process.console import say
from rolloupe.server.replies import error_reply, no_content
from rolloupe.server.security.auth import bearer
from rolloupe.server.settings import Settings


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header that may appear once: None if it is missing, empty if it appears more often."""
    values = [value for key, value in scope["headers"] if key == name]
    if not values:
        return None
    return values[0].decode("latin-1") if len(values) == 1 else ""


def accepts_pages(scope: Scope) -> bool:
    """True for a request of a browser for a page, of which a person reads the answer."""
    return any(b"text/html" in value for name, value in scope["headers"] if name == b"accept")


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, error: str, what_next: str, **headers: str
) -> None:
    """Answer with an `ErrorReply`, or with its words where a browser asks for a page.

    The keyword `retry_after` becomes the header `retry-after`.
    """
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = plain_page(status, error, what_next, named) if accepts_pages(scope) else None
    await (answer or error_reply(status, error, what_next, named))(scope, receive, send)


def plain_page(status: int, error: str, what_next: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a page of plain words."""
    return PlainTextResponse(f"{error[:1].upper()}{error[1:]}. {what_next}\n", status, headers)


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; form-action 'none'; frame-ancestors 'none'; "
    "base-uri 'self'; "  # the shell names its --base-path in <base>
    "require-trusted-types-for 'script'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Headers:
    """Adds `HEADERS`, and `cache-control: no-store` unless a reply sets its caching. Rejects web sockets."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its reply back with the headers."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers)


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


METHODS = ("GET", "HEAD", "POST")
"""The supported methods. The server refuses all others before a route sees them."""

PREFLIGHT = {
    "access-control-allow-methods": ", ".join(METHODS),
    "access-control-allow-headers": "authorization, content-type, x-rolloupe",
    "access-control-max-age": "600",
}


class Origins:
    """Admits the server's own page, plain programs, and the origins of --cors."""

    def __init__(self, app: ASGIApp, cors: tuple[str, ...]) -> None:
        self.app = app
        self.cors = frozenset(origin.rstrip("/").lower() for origin in cors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, answer a preflight, or refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        origin = header(scope, b"origin")
        foreign = origin is not None and not is_own(origin, scope)
        shared = foreign and origin is not None and (origin.lower() in self.cors or "*" in self.cors)
        if not shared and (foreign or (origin is None and is_foreign_fetch(scope))):
            next_ = (
                f"Start the server with --cors {origin} to let that page in." if is_plain(origin) else "Open the page."
            )
            await refuse(scope, receive, send, 403, "a page of another origin must not use this server", next_)
            return
        if shared and origin is not None:
            send = self.sharing(origin, send)
            if scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method"):
                await no_content(PREFLIGHT)(scope, receive, send)
                return
        if scope["method"] not in METHODS:
            error = "this method is not allowed"
            await refuse(
                scope, receive, send, 405, error, f"Use one of {', '.join(METHODS)}.", allow=", ".join(METHODS)
            )
            return
        await self.app(scope, receive, send)

    def sharing(self, origin: str, send: Send) -> Send:
        """Return a `send` that adds the CORS headers to a reply."""

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["access-control-allow-origin"] = "*" if "*" in self.cors else origin
                headers["access-control-expose-headers"] = "etag"
                headers.add_vary_header("origin")
            await send(message)

        return send_shared


def is_own(origin: str, scope: Scope) -> bool:
    """True for the origin of the server itself. Any scheme counts: a proxy in front of it may use TLS."""
    scheme, _, rest = origin.partition("://")
    return scheme in ("http", "https") and rest != "" and rest.lower() == (header(scope, b"host") or "").lower()


def is_foreign_fetch(scope: Scope) -> bool:
    """True if the browser reports that another site sends the request, unless it navigates to the page."""
    if header(scope, b"sec-fetch-site") in (None, "same-origin", "none"):
        return False
    is_navigation = header(scope, b"sec-fetch-mode") == "navigate" and header(scope, b"sec-fetch-dest") == "document"
    return not (is_navigation and scope["method"] in ("GET", "HEAD") and not is_api(scope["path"]))


def is_api(path: str) -> bool:
    """True for the addresses that read or change data, and any that resemble them."""
    return path == "/api" or path.startswith("/api/")


def is_plain(origin: str | None) -> bool:
    """True if an origin is safe to repeat in a sentence: only a scheme, a name and a port."""
    return bool(origin) and len(origin or "") < 300 and all(c.isalnum() or c in ":/.-_[]" for c in origin or "")


MAX_BODY_BYTES = 256 * 1024
"""Room for a note of 20,000 characters that JSON escapes to six bytes each, and an id."""

MAX_ADDRESS_BYTES = 64 * 1024
"""A filter of 4,000 characters of three bytes, which stand as nine in an address, and the ids of 64 samples have room:
a percent sign of an id is itself written as three characters."""

TOO_LARGE = f"the body is larger than {MAX_BODY_BYTES} bytes"


class Limits:
    """Refuses writes that a foreign page could send, long addresses and large bodies."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if len(scope["path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
            await refuse(scope, receive, send, 414, "the address is too long", "Request less at once.")
            return
        if scope["method"] not in ("GET", "HEAD") and not is_deliberate(scope):
            next_ = "Send 'Content-Type: application/json' and 'X-Rolloupe: 1'."
            await refuse(scope, receive, send, 403, "a request that changes data must be marked as one", next_)
            return
        length = header(scope, b"content-length")
        if length is not None and (not length.isdigit() or int(length[:12]) > MAX_BODY_BYTES):
            await refuse(scope, receive, send, 413, TOO_LARGE, "Send less.")
            return
        await self.app(scope, counted(receive), send)


def is_deliberate(scope: Scope) -> bool:
    """True for a request that only the page or a program can send."""
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    return bearer(scope) is not None or (kind == "application/json" and header(scope, b"x-rolloupe") == "1")


def counted(receive: Receive) -> Receive:
    """Return a `receive` that raises an error once the body is too large."""
    size = 0

    async def receive_counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            raise HTTPException(413, TOO_LARGE)  # the routes turn it into a reply
        return message

    return receive_counted
