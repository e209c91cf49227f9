"""Authentication: by the bearer token, or by the session that the token was exchanged for.

Denies by default. Only the page (GET of any address not below /api/: shell, scripts, icon, no data) and `POST
/api/login` are public. A session is a cookie and a page key. Browsers send the cookie to every port of a host, and so
to any other server there; the page key lies in the storage of the page's own origin, and the page sends it in a header.
A browser sends no header with a download, so the page asks for a ticket that opens one address once.

Cookie and page key are hashes of the token with a random key: they reveal nothing, need no table, survive a restart,
and end when the token is rotated. `Attempts` slows down guesses of a token that a person chose. A random token needs no
such limit, which would let anybody on the machine lock out its owner. The cookie's name contains the port, so that
viewers on two ports have a cookie each.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections import deque
from urllib.parse import unquote

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe.lru import Lru
from rolloupe.server.replies import error_reply
from rolloupe.server.security.layers import bearer, header, is_api, refusal
from rolloupe.server.settings import Settings

LOGIN = "/api/login"
WINDOW_S = 60.0
MAX_FAILURES = 10
"""Wrong tokens from one address within the window before it has to wait."""
MAX_FAILURES_ALL = 100
MAX_ADDRESSES = 1024
FIRST_S = 120.0
"""Seconds after the start during which `Settings.first_token` is valid."""

PAGE_KEY = b"x-rolloupe-key"
"""The header with which the page sends its key."""

TICKET_S = 60.0
"""How long a ticket is valid."""
MAX_TICKETS = 1024
TICKET = re.compile(r"(?:^|&)ticket=([\w-]{1,64})$", re.ASCII)
"""The last parameter of an address with a ticket."""

NEXT = "Open the address that the server printed (it ends in #token=...), or send 'Authorization: Bearer TOKEN'."


class Attempts:
    """Recent wrong tokens, by address and in total."""

    def __init__(self) -> None:
        self._by_address: Lru[str, deque[float]] = Lru(MAX_ADDRESSES)
        self._all: deque[float] = deque(maxlen=MAX_FAILURES_ALL)

    def wait_s(self, address: str) -> float:
        """Return the seconds until this address may try again; 0 for now."""
        full = [times for times in (self._of(address), self._all) if len(times) == times.maxlen]
        return max([0.0, *(times[0] + WINDOW_S - time.monotonic() for times in full)])

    def failed(self, address: str) -> None:
        """Count a wrong token."""
        for times in (self._of(address), self._all):
            times.append(time.monotonic())

    def _of(self, address: str) -> deque[float]:
        return self._by_address.setdefault(address, deque(maxlen=MAX_FAILURES))


class Gate:
    """The token, its session, and the attempts to guess it."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
        self._cookie = session_hash(settings, "")
        self.page_key = session_hash(settings, "page\n")
        self._tickets: Lru[str, tuple[str, float]] = Lru(MAX_TICKETS)
        """By ticket, the address that it opens, and the time when it expires."""
        self._first = settings.first_token
        self._first_until = time.monotonic() + FIRST_S
        self._attempts = Attempts() if settings.is_token_chosen else None
        self.base_path = settings.base_path

    @property
    def is_open(self) -> bool:
        """True if no token is required."""
        return self._token is None

    def knows_page(self, scope: Scope, ticket: str) -> bool:
        """True if a request carries the session cookie, and with it the page key or a ticket for its address."""
        name = cookie_name(scope)
        values = [value for key, value in cookies(scope) if key == name]
        if not any(same(value, self._cookie) for value in values):
            return False
        if same(header(scope, PAGE_KEY) or "", self.page_key):
            return True
        if scope["method"] != "GET":
            return False
        known, until = self._tickets.get(ticket) or ("", 0.0)
        self._tickets.pop(ticket)
        address = f"{scope['path']}?{scope['query_string'].decode('latin-1')}"  # below the base path
        return same(address, known) and time.monotonic() < until

    def ticket(self, address: str) -> str:
        """Return a ticket that opens an address once, and soon."""
        ticket = secrets.token_urlsafe(24)
        path, _, query = address.partition("?")
        self._tickets.put(ticket, (f"{unquote(path)}?{query}", time.monotonic() + TICKET_S))
        return ticket

    def check(self, token: str, scope: Scope) -> tuple[bool, float]:
        """Return whether a token is right, and the seconds to wait after too many wrong ones."""
        address = str((scope.get("client") or ("?",))[0])
        wait_s = self._attempts.wait_s(address) if self._attempts else 0.0
        if self._token is None or wait_s:
            return not wait_s, wait_s
        if same(token, self._token):
            return True, 0.0
        if self._first is not None and time.monotonic() < self._first_until and same(token, self._first):
            self._first = None
            return True, 0.0
        if self._attempts:
            self._attempts.failed(address)
        return False, 0.0

    def set_cookie(self, scope: Scope) -> str:
        """Return the header that starts a session."""
        secure = "; Secure" if (header(scope, b"origin") or "").startswith("https:") else ""
        return (
            f"{cookie_name(scope)}={self._cookie}; Path={self.base_path}/; Max-Age=2592000; HttpOnly; "
            f"SameSite=Strict{secure}"
        )


class Auth:
    """Admits requests with the token or a session, and all requests for public addresses."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.gate = Gate(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["rolloupe.gate"] = self.gate
        scope, ticket = parted(scope)
        is_page = scope["method"] in ("GET", "HEAD") and not is_api(scope["path"])
        is_public = is_page or (scope["path"] == LOGIN and scope["method"] == "POST")
        is_admitted = is_public or self.gate.is_open or self.gate.knows_page(scope, ticket)
        answer = None if is_admitted else self._refuse(scope)
        await (answer or self.app)(scope, receive, send)

    def _refuse(self, scope: Scope) -> Response | None:
        """Refuse a request without the token."""
        token = bearer(scope)
        is_right, wait_s = (False, 0.0) if token is None else self.gate.check(token, scope)
        if wait_s:
            return refuse_for_now(wait_s)
        scheme = 'Bearer realm="rolloupe"'
        refused = refusal(scope, 401, "this address needs the token", NEXT, www_authenticate=scheme)
        return None if is_right else refused


def same(value: str, right: str) -> bool:
    """Compare in constant time, so that timing does not reveal where two values differ."""
    return hmac.compare_digest(value.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


def refuse_for_now(wait_s: float) -> Response:
    """Return the reply after too many wrong tokens."""
    seconds = int(wait_s) + 1
    next_ = f"Wait {seconds} s and use the address that the server printed."
    return error_reply(429, "too many wrong tokens", next_, {"retry-after": str(seconds)})


def session_hash(settings: Settings, what: str) -> str:
    """Return one of the secrets of a session; without a token, a fixed word, as everything is open."""
    if settings.token is None:
        return "open"
    words = f"{what}{settings.token}".encode("utf-8", "replace")
    return hmac.new(settings.cookie_key, words, hashlib.sha256).hexdigest()


def parted(scope: Scope) -> tuple[Scope, str]:
    """Return a request without its ticket, and the ticket; empty without one."""
    query = scope["query_string"].decode("latin-1")
    match = TICKET.search(query)
    if match is None:
        return scope, ""
    return {**scope, "query_string": query[: match.start()].encode("latin-1")}, match[1]


def cookie_name(scope: Scope) -> str:
    """Return the name of the session cookie, from the port that the browser sees."""
    _, _, port = (header(scope, b"host") or "").rpartition(":")
    return f"rolloupe-{port if port.isdigit() else 80}"


def cookies(scope: Scope) -> list[tuple[str, str]]:
    """Return names and values of a request's cookies."""
    lines = [value.decode("latin-1") for key, value in scope["headers"] if key == b"cookie"]
    pairs = [pair.strip().partition("=") for line in lines for pair in line.split(";")]
    return [(name, value) for name, _, value in pairs]
