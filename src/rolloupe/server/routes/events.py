"""`GET /api/events`: server-sent events, so that a page shows changes within a second."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe.server import replies
from rolloupe.server.context import context_of
from rolloupe.server.people import PERSON


async def events(request: Request) -> Response:
    """`GET /api/events`."""
    broadcaster = context_of(request).events
    if broadcaster.is_full:
        return replies.error_reply(503, "too many streams are open", "Close other pages of this server.")
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if request.method == "HEAD":
        return Response(headers=headers, media_type="text/event-stream")
    return StreamingResponse(
        broadcaster.messages(request.scope.get(PERSON)), headers=headers, media_type="text/event-stream"
    )
