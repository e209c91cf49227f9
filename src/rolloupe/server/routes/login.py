"""`POST /api/login`: exchanges the token of the printed address for a session. `POST /api/ticket`: for a download."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import wire
from rolloupe.server import replies
from rolloupe.server.security.auth import NEXT, Gate, refuse_for_now
from rolloupe.wire import encoding


async def login(request: Request) -> Response:
    """Check a token and start a session."""
    gate = request.scope["rolloupe.gate"]
    assert isinstance(gate, Gate)
    try:
        login_request = msgspec.json.decode(await request.body(), type=wire.LoginRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return replies.error_reply(400, "the body is not a login", 'Send {"token": "..."} as JSON.')
    is_right, wait_s = gate.check(login_request.token, request.scope)
    if wait_s:
        return refuse_for_now(wait_s)
    if not is_right:
        return replies.error_reply(401, "that is not the token of this server", NEXT)
    body = encoding.encode(wire.LoginReply(ok=True, key=gate.page_key))
    return Response(body, headers={"set-cookie": gate.set_cookie(request.scope)}, media_type=replies.JSON)


async def ticket(request: Request) -> Response:
    """Return a ticket that opens one address once: with a download, a browser sends no header."""
    gate = request.scope["rolloupe.gate"]
    assert isinstance(gate, Gate)
    try:
        address = msgspec.json.decode(await request.body(), type=wire.TicketRequest).address
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return replies.error_reply(400, "the body names no address", 'Send {"address": "/api/..."} as JSON.')
    reply = wire.TicketReply(ticket=gate.ticket(address))
    return Response(encoding.encode(reply), headers={"cache-control": "no-store"}, media_type=replies.JSON)
