"""Routes for a person's own data, and for a browser's session: login, tickets, events, the cache of replies."""

import contextlib
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.questions import INT64
from rolloupe.server import params, replies
from rolloupe.server.context import Context, context_of
from rolloupe.server.people import PERSON, Forbidden, Person, Runs, reason_for
from rolloupe.server.security.auth import NEXT, Gate, refuse_for_now
from rolloupe.state import State, records
from rolloupe.storage import both_places
from rolloupe.wire import encoding, session
from rolloupe.wire.encoding import record_from

CONFLICT = "this was changed in the meantime, in another tab or viewer"
KEEP = "Compare both versions, and keep one."

STATE_CHARS = 2_000_000
"""A larger state takes several replies."""

MARKED = 2000
"""Bookmarked samples in one reply."""


async def state(request: Request) -> Response:
    """`GET /api/state?since=`."""
    context = context_of(request)
    library, store = await context.runs(request), await context.state(request)
    since = params.integer(request.query_params, "since", 0, low=0)
    return await context.replies.fresh(
        request, lambda: state_reply(library, store, since, request.scope.get(PERSON)), is_quick=True
    )


async def change(request: Request) -> Response:
    """`POST /api/state`."""
    context = context_of(request)
    library, store = await context.runs(request), await context.state(request)
    state_change = await params.body_of(request, session.StateChange)
    person = request.scope.get(PERSON)
    if person is not None:
        check_may(person, store, library, state_change)
    run = library.run(state_change.run) if state_change.run and state_change.kind != "setting" else None
    written = await context.threads.quick(lambda: write(store, run, state_change))
    item = state_item(written.item)
    if written.is_conflict:
        return replies.json_response(session.ConflictReply(error=CONFLICT, next=KEEP, item=item), 409)
    context.events.state_changed(None if item.shared else item.by)
    return replies.json_response(item, headers={"cache-control": "no-store"})


def check_may(person: Person, store: State, library: Runs, body: session.StateChange) -> None:
    """Raise `Forbidden` for a change that requires a higher role, `NotFound` for a change to a hidden run."""
    if body.by not in ("", person.name) and not person.is_admin:
        raise Forbidden(f"only an admin removes what {body.by} shares")
    if body.kind == "setting" or body.run or not body.owner:
        return
    owner = next((one for one in store.owners() if one.key == body.owner), None)
    is_open = any(store.owner(run) == body.owner for run in library.runs)
    if owner is not None and not (is_open or sees(person, owner)):
        raise BadQuery(f"nothing is kept of a run {body.owner[:40]!r}")


async def marked(request: Request) -> Response:
    """`GET /api/runs/{run}/marked?before=`."""
    context, run = context_of(request), await context_of(request).run(request)
    store = await context.state(request)
    before = params.integer(request.query_params, "before", INT64 - 1, low=0)

    def make() -> session.MarkedReply:
        page = store.before(store.owner(run) or "", before, MARKED)
        marks = {mark.item.name: mark for mark in records.marks_of(page.items)}  # several people may mark a sample
        found = with_samples(run, [*marks.values()])
        samples = [session.MarkedSample(name=mark.item.name, sample=sample) for mark, sample in found]
        return session.MarkedReply(samples=samples, before=page.version if page.more else 0)

    return await context.replies.fresh(request, make)


def marked_samples(store: State, run: OpenRun) -> Iterator[tuple[str, query.SampleItem | None]]:
    """Yield the notes on a run's samples, each with its sample if the run still has it; looks samples up on demand.

    The notes of several people of a team on a sample become one note, with their names.
    """
    owner = store.owner(run)
    by_name: dict[str, list[records.LocatedMark]] = {}
    for mark in records.marks_of(store.of(owner)) if owner else []:
        if mark.is_bookmark:
            by_name.setdefault(mark.item.name, []).append(mark)
    names = iter(by_name.values())
    while some := [*islice(names, MARKED)]:
        samples = with_samples(run, [marks[0] for marks in some])
        for marks, (_, sample) in zip(some, samples, strict=True):
            notes = [(mark.item.person, mark.mark.note) for mark in marks if mark.mark.note]
            yield "\n\n".join(note if by == store.person else f"{by}: {note}" for by, note in notes), sample


def with_samples(
    run: OpenRun, marks: Sequence[records.LocatedMark]
) -> list[tuple[records.LocatedMark, query.SampleItem | None]]:
    """Return marks, each with its sample if the run still has it."""
    return records.located_samples(marks, lambda keys: query.named(run, keys), lambda uids: query.by_uid(run, uids))


def state_reply(library: Runs, store: State, since: int, person: Person | None = None) -> session.StateReply:
    """Return the changes since a version, and their runs; a member of a team gets those of visible runs alone."""
    known, page = store.owners(), store.items(since, STATE_CHARS)
    owners = {store.owner(run): run.id for run in library.runs} if known else {}
    visible = [one for one in known if person is None or one.key in owners or sees(person, one)]
    keys = {"", *(one.key for one in visible)}
    items = [item for item in page.items if item.owner in keys]
    return session.StateReply(
        version=page.version,
        more=page.more,
        items=[state_item(item) for item in items if not item.shared],
        shared=[state_item(item) for item in items if item.shared],
        user="" if person is None else person.name,
        role="admin" if person is None else person.role.name.lower(),
        logout="" if person is None else person.logout,
        owners=[record_from(session.StateOwner, one, owner=one.key, run=owners.get(one.key, "")) for one in visible],
        place=str(store.file.path) if person is None else "the server's state",
        trouble=reason_for(person, store.file.trouble),
    )


def sees(person: Person, owner: records.Owner) -> bool:
    """True if a person may see a marked run that is not open, by the path that it had.

    The text after a `#` may be the run's name within a file, or belong to the path.
    """
    words = owner.path.split("#")
    return all(person.may_see(both_places("#".join(words[: n + 1]))) for n in range(len(words)))


def state_item(item: records.Mark) -> session.StateItem:
    """Convert an item to the browser's record."""
    value = item.value
    return record_from(
        session.StateItem,
        item,
        run_mark=value if isinstance(value, records.RunMark) else None,
        sample_mark=value if isinstance(value, records.SampleMark) else None,
        setting=encoding.plain(value) if isinstance(value, dict) else None,
        by=item.person,
    )


def write(store: State, run: OpenRun | None, body: session.StateChange) -> records.Written:
    """Make a change. Raises `BadQuery` for an invalid one, `NotFound` for a sample that the run lacks."""
    values = [value for value in (body.run_mark, body.sample_mark, body.setting) if value is not None]
    if len(values) > 1:
        raise BadQuery("a change concerns a run, a sample or a setting: send only one of them")
    value: records.RunMark | records.SampleMark | dict[str, object] | None = values[0] if values else None
    if not isinstance(value, (dict, records.RunMark | records.SampleMark | None)):
        raise BadQuery("a setting must be an object")
    if isinstance(value, records.SampleMark):
        value = sample_mark(run, body.name, value)
    change = records.Change(kind=body.kind, name=body.name, value=value, seen=body.seen, shared=body.shared, by=body.by)
    return store.write(change, run, body.owner)


def sample_mark(run: OpenRun | None, sample: str, view: records.SampleMark) -> records.SampleMark:
    """Return a mark with the data that identifies its sample. If the run is not open, the mark stays as sent."""
    if run is None:
        return view
    key, item = query.sample_key(sample), None
    with contextlib.suppress(SourceChanged):
        item = query.named(run, [key]).get(key)
    if item is None and not (view.uid or view.excerpt):
        raise NotFound(f"no sample {key} in run {run.id!r}")
    if item is None:
        return view
    return msgspec.structs.replace(view, uid=item.uid, excerpt=item.response[:240])


async def stats(request: Request) -> Response:
    """`GET /api/cache/stats`."""
    context = context_of(request)
    library = await context.runs(request)
    return await context.replies.fresh(request, lambda: figures(context, library))


async def clear(request: Request) -> Response:
    """`POST /api/cache/clear`: drops the replies in memory. The index on disk is not a cache of replies, and stays."""
    context = context_of(request)
    library = await context.runs(request)
    for cache in (context.cache, context.samples, context.members, context.updates):
        cache.clear()
    return await context.replies.fresh(request, lambda: figures(context, library))


def figures(context: Context, library: Runs) -> session.CacheStats:
    """Return the figures of the cache, and the size of the index."""
    return record_from(
        session.CacheStats, context.cache, index_bytes=library.index_bytes(), index_dir=str(library.index_dir)
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
    gate = gate_of(request)
    try:
        body = await params.body_of(request, session.LoginRequest)
    except BadQuery as error:
        return replies.error_reply(400, str(error), 'Send {"token": "..."} as JSON.')
    is_right, wait_s = gate.check(body.token, request.scope)
    if wait_s:
        return refuse_for_now(wait_s)
    if not is_right:
        return replies.error_reply(401, "that is not the token of this server", NEXT)
    return replies.json_response(
        session.LoginReply(key=gate.page_key), headers={"set-cookie": gate.set_cookie(request.scope)}
    )


async def ticket(request: Request) -> Response:
    """Return a ticket that opens one address once: browsers send no header with a download."""
    body = await params.body_of(request, session.TicketRequest)
    reply = session.TicketReply(ticket=gate_of(request).ticket(body.address))
    return replies.json_response(reply, headers={"cache-control": "no-store"})


def gate_of(request: Request) -> Gate:
    """Return the gate that admitted a request."""
    gate = request.scope["rolloupe.gate"]
    assert isinstance(gate, Gate)
    return gate
