"""Limits on the form and the size of requests.

A request that changes data must be JSON and carry `X-Rolloupe: 1`: a foreign page's form or script can send neither
without a preflight. A bearer token also suffices, because browsers never add one by themselves.
"""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolloupe.server.security.auth import bearer
from rolloupe.server.security.refusal import header, refuse

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
