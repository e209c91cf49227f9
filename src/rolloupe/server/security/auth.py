"""Authentication: by the bearer token, or by the session cookie that the token was exchanged for.

Denies by default. Only the page (GET of any address not below /api/: shell, scripts, icon, no data) and `POST
/api/login` are public. The cookie is a keyed hash of the token: it reveals nothing, needs no table, survives a restart,
and ends when the token is rotated. Its key is random, so guessing cookies is hopeless however short the token.
`Attempts` slows down guesses of a token that a person chose. A random token needs no such limit, which would let
anybody on the machine lock out its owner. The cookie's name contains the port, because browsers share cookies between
ports.
"""

import hashlib
import hmac
import time
from collections import deque

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rolloupe.lru import Lru
from rolloupe.server.replies import error_reply
from rolloupe.server.security.origins import is_api
from rolloupe.server.security.refusal import header, refuse
from rolloupe.server.settings import Settings

LOGIN = "/api/login"
WINDOW_S = 60.0
MAX_FAILURES = 10
"""Wrong tokens from one address within the window before it has to wait."""
MAX_FAILURES_ALL = 100
MAX_ADDRESSES = 1024
FIRST_S = 120.0
"""Seconds after the start during which `Settings.first_token` is valid."""

NEXT = "Open the address that the server printed (it ends in #token=...), or send 'Authorization: Bearer TOKEN'."


class Attempts:
    """Recent wrong tokens, by address and in total."""

    def __init__(self) -> None:
        self._by_address: Lru[str, deque[float]] = Lru(MAX_ADDRESSES)
        self._all: deque[float] = deque(maxlen=MAX_FAILURES_ALL)

    def wait_s(self, address: str) -> float:
        """Return the seconds until this address may try again; 0 for now."""
        now = time.monotonic()
        failures = self._by_address.get(address) or deque()
        waits = [
            t[0] + WINDOW_S - now
            for t, most in ((failures, MAX_FAILURES), (self._all, MAX_FAILURES_ALL))
            if len(t) == most
        ]
        return max([0.0, *waits])

    def failed(self, address: str) -> None:
        """Count a wrong token."""
        now = time.monotonic()
        failures = self._by_address.get(address) or deque(maxlen=MAX_FAILURES)
        failures.append(now)
        self._by_address.put(address, failures)
        self._all.append(now)


class Gate:
    """The token, its session cookie, and the attempts to guess it."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
        self._cookie = None if settings.token is None else cookie_of(settings)
        self._first = settings.first_token
        self._first_until = time.monotonic() + FIRST_S
        self._attempts = Attempts() if settings.is_token_chosen else None
        self.base_path = settings.base_path

    @property
    def is_open(self) -> bool:
        """True if no token is required."""
        return self._token is None

    def knows_cookie(self, scope: Scope) -> bool:
        """True if a request carries the session cookie."""
        name = cookie_name(scope)
        values = [value for key, value in cookies(scope) if key == name]
        return self._cookie is not None and any(same(value, self._cookie) for value in values)

    def check(self, token: str, scope: Scope) -> tuple[bool, float]:
        """Return whether a token is right, and the seconds to wait after too many wrong ones."""
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
        """Return the header that starts a session."""
        secure = "; Secure" if (header(scope, b"origin") or "").startswith("https:") else ""
        return (
            f"{cookie_name(scope)}={self._cookie or 'open'}; Path={self.base_path}/; Max-Age=2592000; HttpOnly; "
            f"SameSite=Strict{secure}"
        )


class Auth:
    """Admits requests with the token or the cookie, and all requests for public addresses."""

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


def same(value: str, right: str) -> bool:
    """Compare in constant time, so that timing does not reveal where two values differ."""
    return hmac.compare_digest(value.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


def refuse_for_now(wait_s: float) -> Response:
    """Return the reply after too many wrong tokens."""
    seconds = int(wait_s) + 1
    next_ = f"Wait {seconds} s and use the address that the server printed."
    return error_reply(429, "too many wrong tokens", next_, {"retry-after": str(seconds)})


def is_public(scope: Scope) -> bool:
    """True for the page and for the login."""
    if scope["path"] == LOGIN:
        return bool(scope["method"] == "POST")
    return scope["method"] in ("GET", "HEAD") and not is_api(scope["path"])


def bearer(scope: Scope) -> str | None:
    """Return the token of an `Authorization: Bearer` header; None without one."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def cookie_of(settings: Settings) -> str:
    """Return the value of the session cookie."""
    return hmac.new(settings.cookie_key, (settings.token or "").encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def cookie_name(scope: Scope) -> str:
    """Return the name of the session cookie, from the port that the browser sees."""
    _, _, port = (header(scope, b"host") or "").rpartition(":")
    return f"rolloupe-{port if port.isdigit() else 80}"


def cookies(scope: Scope) -> list[tuple[str, str]]:
    """Return names and values of a request's cookies."""
    lines = [value.decode("latin-1") for key, value in scope["headers"] if key == b"cookie"]
    pairs = [pair.strip().partition("=") for line in lines for pair in line.split(";")]
    return [(name, value) for name, _, value in pairs]
