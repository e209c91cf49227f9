"""Routes for a person's own data: all of it, the changes since a version, and single changes."""

from collections.abc import Iterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, wire
from rolloupe.errors import BadQuery, NotFound, SourceChanged
from rolloupe.index import Library, OpenRun
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.state import Change, LocatedMark, Mark, RunMark, SampleMark, State, Written, found, marks_of
from rolloupe.wire import encoding

CONFLICT = "somebody changed this meanwhile: another tab, or another viewer"
KEEP = "Compare both versions, and keep one."

STATE_CHARS = 2_000_000
"""A larger state takes several replies."""

MARKED = 2000
"""Bookmarked samples in one reply."""


async def state(request: Request) -> Response:
    """`GET /api/state?since=`."""
    context = context_of(request)
    library, store = await context.library(), await context.state()
    since = params.integer(request.query_params, "since", 0, low=0)
    return await context.replies.fresh(request, lambda: state_reply(library, store, since))


async def change(request: Request) -> Response:
    """`POST /api/state`."""
    context = context_of(request)
    library, store = await context.library(), await context.state()
    try:
        state_change = msgspec.json.decode(await request.body(), type=wire.StateChange)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return replies.error_reply(400, "the body is not a change", "Send a StateChange as JSON: see server/wire.")
    run = library.run(state_change.run) if state_change.run and state_change.kind != "setting" else None
    written = await context.in_thread(lambda: write(store, run, state_change))
    item = state_item(written.item)
    if written.is_conflict:
        body = encoding.encode(wire.ConflictReply(error=CONFLICT, next=KEEP, item=item))
        return Response(body, 409, media_type=replies.JSON)
    context.hub.state_changed()
    return Response(encoding.encode(item), headers={"cache-control": "no-store"}, media_type=replies.JSON)


async def marked(request: Request) -> Response:
    """`GET /api/runs/{run}/marked?before=`."""
    context, run = context_of(request), await context_of(request).run(request)
    store, before = await context.state(), params.integer(request.query_params, "before", params.INT64 - 1, low=0)

    def make() -> wire.MarkedReply:
        page = store.before(store.owner(run) or "", before, MARKED)
        samples = [
            wire.MarkedSample(name=mark.item.name, sample=sample)
            for mark, sample in with_samples(run, marks_of(page.items))
        ]
        return wire.MarkedReply(run=run.id, samples=samples, before=page.version if page.more else 0)

    return await context.replies.fresh(request, make)


def marked_samples(store: State, run: OpenRun) -> Iterator[tuple[LocatedMark, query.SampleItem | None]]:
    """Yield the marks of a run's samples, each with its sample if the run still has it; looks each up on demand."""
    owner = store.owner(run)
    marks = marks_of(store.of(owner)) if owner else []
    for start in range(0, len(marks), MARKED):
        yield from with_samples(run, marks[start : start + MARKED])


def with_samples(run: OpenRun, marks: Sequence[LocatedMark]) -> list[tuple[LocatedMark, query.SampleItem | None]]:
    """Return marks, each with its sample if the run still has it."""
    return found(marks, lambda keys: query.named(run, keys), lambda uids: query.by_uid(run, uids))


def state_reply(library: Library, store: State, since: int) -> wire.StateReply:
    """Return the changes since a version, and their runs."""
    owners = {store.owner(run): run.id for run in library.runs}
    page = store.items(since, STATE_CHARS)
    return wire.StateReply(
        version=page.version,
        more=page.more,
        items=[state_item(item) for item in page.items],
        owners=[
            wire.StateOwner(owner=one.key, run=owners.get(one.key, ""), name=one.name, format=one.format, path=one.path)
            for one in store.owners()
        ],
        place=str(store.path),
        trouble=store.trouble,
    )


def state_item(item: Mark) -> wire.StateItem:
    """Convert an item to the browser's record."""
    value = item.value
    fields = {} if value is None or isinstance(value, dict) else msgspec.structs.asdict(value)
    return wire.StateItem(
        kind=item.kind,
        owner=item.owner,
        name=item.name,
        version=item.version,
        changed_s=item.changed_s,
        run_mark=wire.RunMarkView(**fields) if isinstance(value, RunMark) else None,
        sample_mark=wire.SampleMarkView(**fields) if isinstance(value, SampleMark) else None,
        setting=encoding.plain(value) if isinstance(value, dict) else None,
    )


def write(store: State, run: OpenRun | None, body: wire.StateChange) -> Written:
    """Make a change. Raises `BadQuery` for an invalid one, `NotFound` for a sample that the run lacks."""
    values = [one for one in (body.run_mark, body.sample_mark, body.setting) if one is not None]
    if len(values) > 1:
        raise BadQuery("a change concerns a run, a sample or a setting: send only one of them")
    value: RunMark | SampleMark | dict[str, object] | None = None
    if body.run_mark is not None:
        value = RunMark(**msgspec.structs.asdict(body.run_mark))
    elif body.sample_mark is not None:
        value = sample_mark(run, body.name, body.sample_mark)
    elif body.setting is not None:
        if not isinstance(body.setting, dict):
            raise BadQuery("a setting must be an object")
        value = body.setting
    return store.write(Change(kind=body.kind, name=body.name, value=value, seen=body.seen), run, body.owner)


def sample_mark(run: OpenRun | None, sample: str, view: wire.SampleMarkView) -> SampleMark:
    """Return a mark with the data that identifies its sample. If the run is not open, the mark stays as sent."""
    if run is None:
        return SampleMark(**msgspec.structs.asdict(view))
    key = params.sample_key(sample)
    try:
        item = query.named(run, [key]).get(key)
    except SourceChanged:
        item = None
    if item is None:
        if not (view.uid or view.excerpt):
            raise NotFound(f"no sample {key} in run {run.id!r}")
        return SampleMark(**msgspec.structs.asdict(view))
    return SampleMark(bookmarked=view.bookmarked, note=view.note, uid=item.uid, excerpt=item.response[:240])
