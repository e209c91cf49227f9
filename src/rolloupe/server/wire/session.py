"""The session of a browser: logging in, errors, and the stream of events."""

from msgspec import Struct

from rolloupe.server.wire.runs import RunItem


class LoginRequest(Struct, kw_only=True):
    """`POST /api/login`: exchanges the token for the session cookie."""

    token: str


class LoginReply(Struct, kw_only=True):
    """Answer of `POST /api/login`."""

    ok: bool


class ErrorReply(Struct, kw_only=True, omit_defaults=True):
    """Every answer with a status of 400 and above: what failed, and what to do next."""

    error: str
    next: str
    place: int | None = None
    """Where in the text of a filter it stands that could not be understood, in characters from 0."""


class Event(Struct, kw_only=True):
    """A message of `GET /api/events` (server-sent events, `data:` is this as JSON).

    `kind`: `run` (something changed: `run` holds the run as in the list), `runs` (a run appeared or went: ask again),
    `state` (what a person added changed: ask for it) or `hello` (the stream is open).
    """

    kind: str
    run: RunItem | None = None
