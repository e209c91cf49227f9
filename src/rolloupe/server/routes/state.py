"""Routes for a person's own data: all of it, the changes since a version, and single changes."""

from collections.abc import Iterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound, SourceChanged
from rolloupe.index import Library, OpenRun
from rolloupe.server import params, replies, wire
from rolloupe.server.context import context_of
from rolloupe.state import Change, LocatedMark, Mark, RunMark, SampleMark, State, Written, found, marks_of

CONFLICT = "somebody changed this meanwhile: another tab, or another viewer"
KEEP = "Compare both versions, and keep one."

STATE_CHARS = 2_000_000
"""A larger state takes several replies."""

MARKED = 2000
"""Bookmarked samples in one reply."""


async def state(request: Request) -> Response:
    """`GET /api/state?since=`."""
    context = context_of(request)
    library, kept = await context.library(), await context.state()
    since = params.integer(request.query_params, "since", 0, low=0)
    return await context.replies.fresh(request, lambda: state_reply(library, kept, since))


async def change(request: Request) -> Response:
    """`POST /api/state`."""
    context = context_of(request)
    library, kept = await context.library(), await context.state()
    try:
        asked = msgspec.json.decode(await request.body(), type=wire.StateChange)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return replies.error_reply(400, "the body is not a change", "Send a StateChange as JSON: see server/wire.")
    run = library.run(asked.run) if asked.run and asked.kind != "setting" else None
    written = await context.in_thread(lambda: write(kept, run, asked))
    item = state_item(written.item)
    if written.is_conflict:
        body = replies.encode(wire.ConflictReply(error=CONFLICT, next=KEEP, item=item))
        return Response(body, 409, media_type=replies.JSON)
    context.hub.state_changed()
    return Response(replies.encode(item), headers={"cache-control": "no-store"}, media_type=replies.JSON)


async def marked(request: Request) -> Response:
    """`GET /api/runs/{run}/marked?before=`."""
    context, run = context_of(request), await context_of(request).run(request)
    kept, before = await context.state(), params.integer(request.query_params, "before", params.INT64 - 1, low=0)

    def make() -> wire.MarkedReply:
        held = kept.before(kept.owner(run) or "", before, MARKED)
        samples = [
            wire.MarkedSample(name=mark.item.name, sample=sample)
            for mark, sample in with_samples(run, marks_of(held.items))
        ]
        return wire.MarkedReply(run=run.id, samples=samples, before=held.version if held.more else 0)

    return await context.replies.fresh(request, make)


def marked_samples(kept: State, run: OpenRun) -> Iterator[tuple[LocatedMark, query.SampleItem | None]]:
    """Yield the marks of a run's samples, each with its sample if the run still has it; looks each up on demand."""
    owner = kept.owner(run)
    marks = marks_of(kept.of(owner)) if owner else []
    for start in range(0, len(marks), MARKED):
        yield from with_samples(run, marks[start : start + MARKED])


def with_samples(run: OpenRun, marks: Sequence[LocatedMark]) -> list[tuple[LocatedMark, query.SampleItem | None]]:
    """Return marks, each with its sample if the run still has it."""
    return found(marks, lambda keys: query.named(run, keys), lambda uids: query.by_uid(run, uids))


def state_reply(library: Library, kept: State, since: int) -> wire.StateReply:
    """Return the changes since a version, and their runs."""
    owners = {kept.owner(run): run.id for run in library.runs}
    held = kept.items(since, STATE_CHARS)
    return wire.StateReply(
        version=held.version,
        more=held.more,
        items=[state_item(item) for item in held.items],
        owners=[
            wire.StateOwner(owner=one.key, run=owners.get(one.key, ""), name=one.name, format=one.format, path=one.path)
            for one in kept.owners()
        ],
        place=str(kept.path),
        trouble=kept.trouble,
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
        setting=replies.plain(value) if isinstance(value, dict) else None,
    )


def write(kept: State, run: OpenRun | None, asked: wire.StateChange) -> Written:
    """Make a change. Raises `BadQuery` for an invalid one, `NotFound` for a sample that the run lacks."""
    given = [one for one in (asked.run_mark, asked.sample_mark, asked.setting) if one is not None]
    if len(given) > 1:
        raise BadQuery("a change concerns a run, a sample or a setting: send only one of them")
    value: RunMark | SampleMark | dict[str, object] | None = None
    if asked.run_mark is not None:
        value = RunMark(**msgspec.structs.asdict(asked.run_mark))
    elif asked.sample_mark is not None:
        value = sample_mark(run, asked.name, asked.sample_mark)
    elif asked.setting is not None:
        if not isinstance(asked.setting, dict):
            raise BadQuery("a setting must be an object")
        value = asked.setting
    return kept.write(Change(kind=asked.kind, name=asked.name, value=value, seen=asked.seen), run, asked.owner)


def sample_mark(run: OpenRun | None, sample: str, given: wire.SampleMarkView) -> SampleMark:
    """Return a mark with the data that identifies its sample. If the run is not open, the mark stays as sent."""
    if run is None:
        return SampleMark(**msgspec.structs.asdict(given))
    key = params.sample_key(sample)
    try:
        item = query.named(run, [key]).get(key)
    except SourceChanged:
        item = None
    if item is None:
        if not (given.uid or given.excerpt):
            raise NotFound(f"no sample {key} in run {run.id!r}")
        return SampleMark(**msgspec.structs.asdict(given))
    return SampleMark(bookmarked=given.bookmarked, note=given.note, uid=item.uid, excerpt=item.response[:240])
