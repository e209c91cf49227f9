"""`GET /api/events`: server-sent events, so that a page shows changes within a second."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe.server import replies
from rolloupe.server.context import PERSON, context_of


async def events(request: Request) -> Response:
    """`GET /api/events`."""
    hub = context_of(request).hub
    if hub.is_full:
        return replies.error_reply(503, "too many streams are open", "Close other pages of this server.")
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if request.method == "HEAD":
        return Response(headers=headers, media_type="text/event-stream")
    return StreamingResponse(hub.messages(request.scope.get(PERSON)), headers=headers, media_type="text/event-stream")
