"""The layers before the routes: headers of every reply, `Host`, foreign pages, forms and sizes."""

import re
from collections.abc import Callable, Mapping

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolloupe.server.process.console import say
from rolloupe.server.replies import error_reply
from rolloupe.server.settings import Settings


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header that may appear once: None if it is missing, empty if it appears more often."""
    values = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return "" if len(values) > 1 else next(iter(values), None)


def accepts_pages(scope: Scope) -> bool:
    """True if a browser requests a page that a person will read."""
    return any(b"text/html" in value for name, value in scope["headers"] if name == b"accept")


def bearer(scope: Scope) -> str | None:
    """Return the token of an `Authorization: Bearer` header; None without one."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def refusal(scope: Scope, status: int, error: str, what_next: str, **headers: str) -> Response:
    """Return an `ErrorReply`, or plain words for a browser. The keyword `retry_after` is the header `retry-after`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return (plain_page if accepts_pages(scope) else error_reply)(status, error, what_next, named)


class Layer:
    """Answers some requests, and passes on all others."""

    def __init__(self, app: ASGIApp, answer: Callable[[Scope], Response | None] = lambda _: None) -> None:
        """`answer` returns an answer, usually a refusal; None to pass the request on. A subclass may define it."""
        self.app = app
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.answer(scope) or self.app)(scope, receive, send)

    def answer(self, scope: Scope) -> Response | None:
        """Return an answer, or None to pass the request on."""
        return self._answer(scope)


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


def with_headers(app: ASGIApp) -> ASGIApp:
    """Add `HEADERS`, and `cache-control: no-store` unless a reply sets its caching. Passes on nothing but HTTP."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await app(scope, receive, send_with_headers)

    return answer


HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253})(:[0-9]{1,5})?")
MAX_SAID = 10
"""Number of refused names to print: invented names must not fill the terminal."""


class Hosts(Layer):
    """Admits requests that address the server by a known name, against DNS rebinding.

    A page at evil.example can later point its name to 127.0.0.1; the browser then treats its requests as same-origin,
    but they still carry `Host: evil.example`. Any port is accepted, because SSH forwarding changes ports.
    """

    def __init__(self, app: ASGIApp, settings: Settings, option: str = "--allow-host ") -> None:
        """`option` is the text before a name on the command line that admits it."""
        super().__init__(app)
        self.option = option
        self.hosts = settings.hosts
        self.refused_hosts: set[str] = set()

    def answer(self, scope: Scope) -> Response | None:
        """Refuse an unknown name, and name the option that admits it, in the reply and in the terminal."""
        match = HOST.fullmatch(header(scope, b"host") or "")
        if match is None:
            return refusal(scope, 400, "the Host header is missing or unreadable", "Send one.")
        host = match[1].lower()
        if host in self.hosts or "*" in self.hosts:
            return None
        error = f"this server does not answer to the name {host}"
        what_next = f"If that name should lead here, start the server with {self.option}{host}"
        if host not in self.refused_hosts and len(self.refused_hosts) < MAX_SAID:
            self.refused_hosts.add(host)
            say(f"Refused: {error}. {what_next}")
        return refusal(scope, 403, error, what_next)


METHODS = ("GET", "HEAD", "POST")
"""The supported methods. The server refuses all others before a route sees them."""

PREFLIGHT = {
    "access-control-allow-methods": ", ".join(METHODS),
    "access-control-allow-headers": "authorization, content-type, x-rolloupe",
    "access-control-max-age": "600",
}


class Origins(Layer):
    """Admits the server's own page, plain programs, and the origins of --cors (CSRF).

    `Origin`, if sent, must be the server's own or one of --cors. Without it, browsers name the requesting site in
    `Sec-Fetch-Site`, except on pages without TLS. Plain programs send neither. Navigation to the page is free (a link
    in a chat), because the shell holds no data. `same-site` is not enough: other ports of localhost are same-site. CORS
    never allows cookies: a foreign page needs the bearer token.
    """

    def __init__(self, app: ASGIApp, cors: tuple[str, ...]) -> None:
        super().__init__(app)
        self.cors = frozenset(origin.rstrip("/").lower() for origin in cors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = self.shared_with(scope)

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["access-control-allow-origin"] = "*" if "*" in self.cors else origin or ""
                headers["access-control-expose-headers"] = "etag"
                headers.add_vary_header("origin")
            await send(message)

        await super().__call__(scope, receive, send if origin is None else send_shared)

    def shared_with(self, scope: Scope) -> str | None:
        """Return the foreign origin of a request, if --cors lets it in."""
        origin = header(scope, b"origin")
        is_foreign = origin is not None and not is_own(origin, scope)
        return origin if is_foreign and not self.cors.isdisjoint(((origin or "").lower(), "*")) else None

    def answer(self, scope: Scope) -> Response | None:
        """Refuse a foreign page and an unknown method, and answer a preflight."""
        origin = header(scope, b"origin")
        is_shared = self.shared_with(scope) is not None
        is_foreign = is_foreign_fetch(scope) if origin is None else not is_own(origin, scope)
        if is_foreign and not is_shared:
            text = origin or ""
            is_plain = text and len(text) < 300 and all(c.isalnum() or c in ":/.-_[]" for c in text)
            next_ = f"Start the server with --cors {text} to let that page in." if is_plain else "Open the page."
            return refusal(scope, 403, "a page of another origin must not use this server", next_)
        if is_shared and scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method"):
            return Response(status_code=204, headers=PREFLIGHT)
        if scope["method"] in METHODS:
            return None
        allow = ", ".join(METHODS)
        return refusal(scope, 405, "this method is not allowed", f"Use one of {allow}.", allow=allow)


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


def without_base(scope: Scope, base_path: str) -> Scope:
    """Return a request with its path below the base path, which a proxy may keep or strip."""
    path = str(scope.get("path", ""))
    is_below = base_path and (path == base_path or path.startswith(f"{base_path}/"))
    return {**scope, "path": path[len(base_path) :] or "/"} if is_below else scope


def is_api(path: str) -> bool:
    """True for the addresses that read or change data, and for any address that resembles them."""
    return path == "/api" or path.startswith("/api/")


MAX_BODY_BYTES = 256 * 1024
"""Room for a note of 20,000 characters that JSON escapes to six bytes each, and an id."""

MAX_ADDRESS_BYTES = 64 * 1024
"""Room for a filter of 4,000 characters, of nine bytes each when percent-encoded, and for the ids of 64 samples."""

TOO_LARGE = f"the body is larger than {MAX_BODY_BYTES} bytes"


class Limits(Layer):
    """Refuses long addresses, large bodies, and writes that a foreign page could send.

    A request that changes data must be JSON and carry `X-Rolloupe: 1`: a foreign page can send neither without a
    preflight. A bearer token also suffices, because browsers never add one by themselves.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(scope, counted(receive), send)

    def answer(self, scope: Scope) -> Response | None:
        """Refuse a request that is too long, or a write without its mark."""
        if len(scope["path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
            return refusal(scope, 414, "the address is too long", "Request less at once.")
        kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
        is_marked = kind == "application/json" and header(scope, b"x-rolloupe") == "1"
        if scope["method"] not in ("GET", "HEAD") and not is_marked and bearer(scope) is None:
            next_ = "Send both headers: curl -H 'Content-Type: application/json' -H 'X-Rolloupe: 1' ..."
            return refusal(scope, 403, "a request that changes data must be marked as one", next_)
        length = header(scope, b"content-length")
        if length is not None and (not length.isdigit() or int(length[:12]) > MAX_BODY_BYTES):
            return refusal(scope, 413, TOO_LARGE, "Send less.")
        return None


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
