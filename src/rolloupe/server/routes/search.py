"""Routes for the search: a stream of hits, further hits, and their places in a sample."""

import contextlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe.errors import BadPattern, BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import SampleQuery, judgements_in, sample_key
from rolloupe.query.filter.parser import conditions
from rolloupe.query.search import MAX_SPANS, Pattern, Search, SearchOptions, places_in, speaks, utf16_length
from rolloupe.server import params, people, replies
from rolloupe.server.context import context_of
from rolloupe.server.routes.sample import loaded
from rolloupe.server.searches import LISTED, TOLD, Running
from rolloupe.wire.samples import Span
from rolloupe.wire.session import SearchHitsReply, SearchRequest, SpansReply, SpansRequest
from rolloupe.wire.to_wire import shown_text

MAX_PAGE = 500
NDJSON = "application/x-ndjson"


async def search(request: Request) -> Response:
    """`POST /api/search`: one `SearchEvent` on each line."""
    context = context_of(request)
    body = await params.body_of(request, SearchRequest)
    if context.searches.is_full:
        return replies.error_reply(503, "too many searches are running", "Wait for some of them.")
    library = await context.runs(request)
    runs = [library.run(run_id) for run_id in params.run_ids(body.runs)] or list(library.runs)
    if judgements_in(SampleQuery(where=conditions(body.where))):
        runs = await context.judged(request, runs)
    running = await context.threads.query(lambda: begin_search(runs, body, people.name_of(request)))
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    stream = context.searches.stream(body.tab, running)
    still_sees_all = people.still_sees(request.scope.get(people.PERSON), runs)
    return StreamingResponse(while_seen(stream, still_sees_all), headers=headers, media_type=NDJSON)


async def while_seen(stream: AsyncGenerator[bytes], may_go_on: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Yield the messages of a search until the person may no longer see one of its runs."""
    async with contextlib.aclosing(stream):
        async for message in stream:
            if not may_go_on():
                return
            yield message


def begin_search(runs: list[OpenRun], body: SearchRequest, person: str = "") -> Running:
    """Start a search of some runs. Leaves out runs without the split or column, with a note, unless all lack it."""
    query = SampleQuery(
        splits=(body.split,) if body.split else (),
        step_min=body.step_min,
        step_max=body.step_max,
        where=conditions(body.where),
        typed=body.where,
    )
    text, stop = body.search, threading.Event()
    options = SearchOptions(TOLD, LISTED - TOLD, body.oldest_first, by_step=len(runs) == 1, transcripts=TOLD)
    searches: list[tuple[OpenRun, Search]] = []
    notes: list[str] = []
    for run in runs:
        try:
            run_search = Search(run, text, query, options, stop.is_set)
        except (BadQuery, NotFound) as error:
            if len(notes) + 1 == len(runs) or isinstance(error, BadPattern):
                raise
            notes.append(f"{run.id} is left out: {error}")
            continue
        searches.append((run, run_search))
    return Running(searches, notes, stop, person)


async def hits(request: Request) -> Response:
    """`GET /api/search/hits?search=&offset=&limit=`."""
    context, parameters = context_of(request), request.query_params
    running = context.searches.get(params.word(parameters, "search"), people.name_of(request))
    runs = await context.runs(request)
    for run_id in running.runs:  # access to a run may have ended since
        runs.run(run_id)
    offset = params.integer(parameters, "offset", 0, low=0)
    limit = params.integer(parameters, "limit", TOLD, low=1, high=MAX_PAGE)

    def make() -> SearchHitsReply:
        return SearchHitsReply(hits=running.page(offset, limit))

    return await context.replies.fresh(request, make)


async def spans(request: Request) -> Response:
    """`POST /api/runs/{run}/sample/spans`."""
    context, run = context_of(request), await context_of(request).run(request)
    body = await params.body_of(request, SpansRequest)
    key, pattern = sample_key(body.id), Pattern(body.search)

    def make() -> SpansReply:
        turns = enumerate(loaded(request, run, key)[0].turns)
        places = (
            Span(at=f"{number}.{part}", start=start, stop=stop)
            for number, turn in turns
            if speaks(turn, pattern.query.roles)
            for part, start, stop in places_in(pattern, turn.parts, [*map(shown_text, turn.parts)], utf16_length)
        )  # in UTF-16 units
        found = list(islice(places, MAX_SPANS + 1))
        return SpansReply(spans=found[:MAX_SPANS], more=len(found) > MAX_SPANS)

    return await context.replies.fresh(request, make)
