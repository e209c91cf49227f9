"""Requests that a foreign page makes a browser send (CSRF), and CORS for the origins of --cors.

If a request has `Origin`, it must be the server's own origin or one of --cors. Otherwise browsers name the requesting
site in `Sec-Fetch-Site`. Plain programs send neither, and pages on a LAN without TLS send no `Sec-Fetch-Site`.
Navigation to the page is free (a link in a chat), because the shell holds no data; `same-site` is not enough, because
other ports of localhost are same-site. CORS never allows cookies: a foreign page needs the bearer token.
"""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolloupe.server.replies import no_content
from rolloupe.server.security.refusal import header, refuse

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
