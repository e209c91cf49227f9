"""A browser's session: login, errors, the stream of events, and the cache of replies."""

from msgspec import Struct

from rolloupe.wire.records.runs import RunItem


class LoginRequest(Struct, kw_only=True):
    """`POST /api/login`: exchanges the token for a session: a cookie, and the key of the page."""

    token: str


class LoginReply(Struct, kw_only=True):
    """The answer to `POST /api/login`."""

    ok: bool
    key: str
    """What the page sends with each request as `X-Rolloupe-Key`: the cookie alone opens nothing."""


class TicketRequest(Struct, kw_only=True):
    """`POST /api/ticket`: asks for a ticket for one address, from `/api/` on."""

    address: str


class TicketReply(Struct, kw_only=True):
    """The answer to `POST /api/ticket`."""

    ticket: str
    """Appended to the address as `ticket=`, it stands for the page key: once, and within a minute."""


class ErrorReply(Struct, kw_only=True, omit_defaults=True):
    """Every answer with a status of 400 or above: what failed, and what to do next."""

    error: str
    next: str
    place: int | None = None
    """Where a filter could not be parsed, in characters from 0."""


class Event(Struct, kw_only=True):
    """A message of `GET /api/events` (server-sent events, `data:` is this as JSON).

    `kind`: `run` (a run changed: `run` holds it as in the list), `runs` (a run appeared or disappeared: request the
    list), `state` (a person's own data changed: request it) or `hello` (the stream is open).
    """

    kind: str
    run: RunItem | None = None


class CacheStats(Struct, kw_only=True):
    """`GET /api/cache/stats`; `POST /api/cache/clear` returns the same, after clearing."""

    entries: int
    limit_entries: int
    memory_bytes: int
    limit_bytes: int
    hits: int
    misses: int
    index_bytes: int
    """Size of the index on disk, for all open runs."""
    index_dir: str
