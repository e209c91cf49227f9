"""Routes of a browser's session: the login, the stream of events, and the cache of replies."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe.server import replies
from rolloupe.server.context import Context, context_of
from rolloupe.server.people import PERSON, Runs
from rolloupe.server.security.auth import NEXT, Gate, refuse_for_now
from rolloupe.wire import encoding
from rolloupe.wire.encoding import record_from
from rolloupe.wire.session import CacheStats, LoginReply, LoginRequest, TicketReply, TicketRequest


async def stats(request: Request) -> Response:
    """`GET /api/cache/stats`."""
    context = context_of(request)
    library = await context.runs(request)
    return await context.replies.fresh(request, lambda: figures(context, library))


async def clear(request: Request) -> Response:
    """`POST /api/cache/clear`: drops the replies in memory. The index on disk is not a cache of replies, and stays."""
    context = context_of(request)
    library = await context.runs(request)
    context.cache.clear()
    context.samples.clear()
    context.members.clear()
    context.updates.clear()
    return await context.replies.fresh(request, lambda: figures(context, library))


def figures(context: Context, library: Runs) -> CacheStats:
    """Return the figures of the cache, and the size of the index."""
    return record_from(
        CacheStats,
        context.cache,
        index_bytes=library.index_bytes(),
        index_dir=str(library.index_dir),
    )


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


async def login(request: Request) -> Response:
    """Check a token and start a session."""
    gate = request.scope["rolloupe.gate"]
    assert isinstance(gate, Gate)
    try:
        login_request = msgspec.json.decode(await request.body(), type=LoginRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return replies.error_reply(400, "the body is not a login", 'Send {"token": "..."} as JSON.')
    is_right, wait_s = gate.check(login_request.token, request.scope)
    if wait_s:
        return refuse_for_now(wait_s)
    if not is_right:
        return replies.error_reply(401, "that is not the token of this server", NEXT)
    body = encoding.encode(LoginReply(ok=True, key=gate.page_key))
    return Response(body, headers={"set-cookie": gate.set_cookie(request.scope)}, media_type=replies.JSON)


async def ticket(request: Request) -> Response:
    """Return a ticket that opens one address once: with a download, a browser sends no header."""
    gate = request.scope["rolloupe.gate"]
    assert isinstance(gate, Gate)
    try:
        address = msgspec.json.decode(await request.body(), type=TicketRequest).address
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return replies.error_reply(400, "the body names no address", 'Send {"address": "/api/..."} as JSON.')
    reply = TicketReply(ticket=gate.ticket(address))
    return Response(encoding.encode(reply), headers={"cache-control": "no-store"}, media_type=replies.JSON)
