"""Who asks: the bearer token, or the session cookie that the token was exchanged for.

Denies by default. Public are exactly the page (GET of whatever is not below /api/: shell, scripts, icon, no data) and
`POST /api/login`. The cookie is a keyed hash of the token, so it reveals nothing, needs no table, survives a restart
and ends when the token is rotated; the key being random, guessing cookies is hopeless however short the token. Guessing
a token that a person chose is slowed by `Attempts`; a random one needs no such thing, which would let anybody on the
machine lock its owner out. The cookie's name holds the port, for browsers share cookies among ports.
"""

import hashlib
import hmac
import time
from collections import OrderedDict, deque

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe.server.replies import error_reply
from rolloupe.server.security.origins import is_api
from rolloupe.server.security.refusal import header, refuse
from rolloupe.server.settings import Settings

LOGIN = "/api/login"
WINDOW_S = 60.0
MAX_FAILURES = 10
"""Wrong tokens from one address within the window; then it has to wait."""
MAX_FAILURES_ALL = 100
MAX_ADDRESSES = 1024
FIRST_S = 120.0
"""So long after the start is `Settings.first_token` good."""

NEXT = "Open the address that the server printed (it ends in #token=...), or send 'Authorization: Bearer TOKEN'."


class Attempts:
    """Wrong tokens lately, by address and in all."""

    def __init__(self) -> None:
        self._by_address: OrderedDict[str, deque[float]] = OrderedDict()
        self._all: deque[float] = deque(maxlen=MAX_FAILURES_ALL)

    def wait_s(self, address: str) -> float:
        """Seconds until that address may try again; 0 for at once."""
        now = time.monotonic()
        own = self._by_address.get(address, deque())
        waits = [
            t[0] + WINDOW_S - now for t, most in ((own, MAX_FAILURES), (self._all, MAX_FAILURES_ALL)) if len(t) == most
        ]
        return max([0.0, *waits])

    def failed(self, address: str) -> None:
        """Count a wrong token."""
        now = time.monotonic()
        self._by_address.setdefault(address, deque(maxlen=MAX_FAILURES)).append(now)
        self._by_address.move_to_end(address)
        self._all.append(now)
        if len(self._by_address) > MAX_ADDRESSES:
            self._by_address.popitem(last=False)


class Gate:
    """The token, the cookie that stands for it, and the attempts at it."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
        self._cookie = None if settings.token is None else cookie_of(settings)
        self._first = settings.first_token
        self._first_until = time.monotonic() + FIRST_S
        self._attempts = Attempts() if settings.is_token_chosen else None
        self.base_path = settings.base_path

    @property
    def is_open(self) -> bool:
        """True where everybody is let in."""
        return self._token is None

    def knows_cookie(self, scope: Scope) -> bool:
        """True where a request carries the session cookie."""
        name = cookie_name(scope)
        given = [value for key, value in cookies(scope) if key == name]
        return self._cookie is not None and any(same(value, self._cookie) for value in given)

    def check(self, token: str, scope: Scope) -> tuple[bool, float]:
        """Whether a token is right, and the seconds to wait where too many were wrong."""
        address = str((scope.get("client") or ("?",))[0])
        wait_s = self._attempts.wait_s(address) if self._attempts else 0.0
        if self._token is None or wait_s:
            return not wait_s, wait_s
        is_right = same(token, self._token) or self._is_first(token)
        if self._attempts and not is_right:
            self._attempts.failed(address)
        return is_right, 0.0

    def _is_first(self, token: str) -> bool:
        is_right = self._first is not None and time.monotonic() < self._first_until and same(token, self._first)
        if is_right:
            self._first = None
        return is_right

    def set_cookie(self, scope: Scope) -> str:
        """The header that starts a session."""
        secure = "; Secure" if (header(scope, b"origin") or "").startswith("https:") else ""
        return (
            f"{cookie_name(scope)}={self._cookie or 'open'}; Path={self.base_path}/; Max-Age=2592000; HttpOnly; "
            f"SameSite=Strict{secure}"
        )


class Auth:
    """Lets in who carries the token or the cookie, and everybody to what is public."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.gate = Gate(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            scope["rolloupe.gate"] = self.gate
            if not (is_public(scope) or self.gate.is_open or self.gate.knows_cookie(scope)):
                token = bearer(scope)
                is_right, wait_s = (False, 0.0) if token is None else self.gate.check(token, scope)
                if wait_s:
                    await refuse_for_now(wait_s)(scope, receive, send)
                    return
                if not is_right:
                    scheme = {"www_authenticate": 'Bearer realm="rolloupe"'}
                    await refuse(scope, receive, send, 401, "this address needs the token", NEXT, **scheme)
                    return
        await self.app(scope, receive, send)


def same(given: str, right: str) -> bool:
    """Compare in a time that tells nothing of where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


def refuse_for_now(wait_s: float) -> Response:
    """The reply after too many wrong tokens."""
    seconds = int(wait_s) + 1
    next_ = f"Wait {seconds} s and use the address that the server printed."
    return error_reply(429, "too many wrong tokens", next_, {"retry-after": str(seconds)})


def is_public(scope: Scope) -> bool:
    """True for the page and for logging in."""
    if scope["path"] == LOGIN:
        return bool(scope["method"] == "POST")
    return scope["method"] in ("GET", "HEAD") and not is_api(scope["path"])


def bearer(scope: Scope) -> str | None:
    """The token of an `Authorization: Bearer` header; None where there is none."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def cookie_of(settings: Settings) -> str:
    """The value of the session cookie."""
    return hmac.new(settings.cookie_key, (settings.token or "").encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def cookie_name(scope: Scope) -> str:
    """The name of the session cookie, from the port that the browser sees."""
    _, _, port = (header(scope, b"host") or "").rpartition(":")
    return f"rolloupe-{port if port.isdigit() else 80}"


def cookies(scope: Scope) -> list[tuple[str, str]]:
    """Names and values of the cookies of a request."""
    lines = [value.decode("latin-1") for key, value in scope["headers"] if key == b"cookie"]
    pairs = [pair.strip().partition("=") for line in lines for pair in line.split(";")]
    return [(name, value) for name, _, value in pairs]
