"""Functions that the layers share: reading headers of a scope, and refusing."""

from collections.abc import Mapping

from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from rolloupe.server.replies import error_reply


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
