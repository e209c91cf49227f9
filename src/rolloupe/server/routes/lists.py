"""Routes for lists: pages of samples and groups, CSV, columns, and completions of a filter."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TypeVar

from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe import export, query
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import Group, SampleQuery
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.wire import encoding, to_wire
from rolloupe.wire.encoding import record_from
from rolloupe.wire.samples import GroupsReply, SamplesReply

LIMIT = 200
MAX_LIMIT = 5000
MAX_COLUMNS = 1000

T = TypeVar("T")


def page_query(parameters: QueryParams) -> SampleQuery:
    """Return the query for a page of samples: of one step, of a range of steps, or of a whole split."""
    params.word(parameters, "split")
    return replace(
        params.sample_query(parameters),
        offset=params.integer(parameters, "offset", 0, low=0),
        limit=params.integer(parameters, "limit", LIMIT, low=1, high=MAX_LIMIT),
    )


def columns_of(run: OpenRun, parameters: QueryParams) -> list[str]:
    """Return the columns that an address requests."""
    return query.without_aliases(run, [name for name in parameters.getlist("column") if name][:MAX_COLUMNS])


def around_of(parameters: QueryParams) -> SampleKey | None:
    """Return the sample that the page must contain, if any."""
    return query.sample_key(parameters["around"]) if parameters.get("around") else None


def reasons_of(run: OpenRun, wanted: SampleQuery, page: query.SamplePage | query.GroupPage) -> list[str]:
    """Return what samples lack of what the filter of a query names: all if none matches, else what only some have."""
    if not wanted.where or page.pending:
        return []
    return query.why_few(run, wanted) if page.total else query.why_none(run, wanted)


def with_progress(request: Request, make: Callable[[], T]) -> Callable[[], T]:
    """Return `make` as it lets `progress` say how far it is."""
    lists, key = context_of(request).lists, (request.scope["path"], request.url.query)

    def follow() -> T:
        lists[key] = query.Progress()
        try:
            with query.watched(lists[key]):
                return make()
        finally:
            lists.pop(key, None)

    return follow


async def progress(request: Request) -> Response:
    """`GET /api/runs/{run}/samples/progress`, and of groups: see `query.Progress`."""
    context = context_of(request)
    await context.run(request)  # whoever may not see the run learns nothing
    path = request.scope["path"].removesuffix("/progress")
    now = context.lists.get((path, request.url.query), query.Progress())
    body = encoding.encode(now)
    return Response(body, headers={"cache-control": "no-store"}, media_type=replies.JSON)


async def samples(request: Request) -> Response:
    """`GET /api/runs/{run}/samples`: see `SamplesReply`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    scope, columns, around = page_query(parameters), columns_of(run, parameters), around_of(parameters)

    def make() -> SamplesReply:
        wanted = query.with_length(run, scope)
        page = query.samples(run, wanted, around, columns)
        return record_from(
            SamplesReply,
            page,
            run=run.id,
            split=wanted.splits[0],
            version=version,
            of=query.in_scope(run, wanted) if wanted.where or wanted.group is not None else page.total,
            discarded=query.discarded_too(run, wanted),
            reasons=reasons_of(run, wanted, page),
            columns=columns,
        )

    return await context.replies.answer(request, version, with_progress(request, make))


async def groups(request: Request) -> Response:
    """`GET /api/runs/{run}/groups`: see `GroupsReply`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    scope, named, around = page_query(parameters), columns_of(run, parameters), around_of(parameters)
    is_usual = params.flag(parameters, "usual")

    def make() -> GroupsReply:
        wanted = query.with_length(run, scope)
        usual = query.usual_columns(run, wanted.splits[0]) if is_usual else []
        columns = list(dict.fromkeys([*named, *usual]))
        present = [name for name in columns if query.has_column(run, name)]
        page = query.groups_page(run, wanted, present, around)
        return record_from(
            GroupsReply,
            page,
            run=run.id,
            split=wanted.splits[0],
            version=version,
            of=query.in_scope(run, wanted) if wanted.where else page.samples,
            discarded=query.discarded_too(run, wanted),
            reasons=reasons_of(run, wanted, page),
            columns=columns,
            groups=[to_wire.group_item(align_columns(group, present, columns)) for group in page.groups],
        )

    return await context.replies.answer(request, version, with_progress(request, make))


def align_columns(group: Group, present: list[str], columns: list[str]) -> Group:
    """Return a group without values for columns that its run lacks: a page requests the same columns of all runs."""
    at = {name: n for n, name in enumerate(present)}
    return group._replace(
        means=[group.means[at[name]] if name in at else None for name in columns],
        cells=[group.cells[at[name]] if name in at else [None] * len(group.members) for name in columns],
    )


async def as_csv(request: Request) -> Response:
    """`GET /api/runs/{run}/samples.csv`: all samples of a list, as a download."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters = request.query_params
    scope = page_query(parameters) if parameters.get("limit") else replace(page_query(parameters), offset=0, limit=None)
    names = columns_of(run, parameters) or ["reward", "status", "response_tokens"]

    def begin() -> Iterator[bytes]:
        found = query.every(run, query.with_length(run, scope), names)
        first = next(found, None)  # an invalid filter is refused before the reply starts
        items = found if first is None else chain([first], found)
        rows = ([item.id, *item.values] for item in items)
        return export.csv_lines(["id", *names], rows)

    found = await context.downloads.send(request, begin)
    headers = replies.attachment(f"{run.info.name}.csv")
    return StreamingResponse(found, media_type=export.KINDS["csv"], headers=headers)
