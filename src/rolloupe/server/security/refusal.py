"""Functions that the layers share: reading headers of a scope, and refusing."""

from starlette.types import Receive, Scope, Send

from rolloupe.server.replies import error_reply


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header that may appear once: None if it is missing, empty if it appears more often."""
    values = [value for key, value in scope["headers"] if key == name]
    if not values:
        return None
    return values[0].decode("latin-1") if len(values) == 1 else ""


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, error: str, what_next: str, **headers: str
) -> None:
    """Answer with an `ErrorReply`; the keyword `retry_after` becomes the header `retry-after`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    await error_reply(status, error, what_next, named)(scope, receive, send)
