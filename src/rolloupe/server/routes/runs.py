"""Routes for runs: their list, their steps and groups, and their problems."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe import query, wire
from rolloupe._version import __version__
from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import Problem
from rolloupe.server import params, replies
from rolloupe.server.context import context_of
from rolloupe.server.people import PERSON, who_sees_alike
from rolloupe.wire import number
from rolloupe.wire.views import run_items

PROGRAM = f"rolloupe {__version__}"
EXCERPT_BYTES = 240
BLOCK_BYTES = 2**20
MAX_BYTE = 2**62
MAX_PROBLEMS = 1000


async def runs(request: Request) -> Response:
    """`GET /api/runs`."""
    context = context_of(request)
    library = await context.runs(request)

    def make() -> wire.RunsReply:
        is_searching = library.is_searching  # first: an event follows its end
        notes = [wire.NoteView(path=str(note.path), reason=note.reason) for note in library.notes]
        with query.listing_once():  # each asks several times which files a run has
            found = run_items.run_items(library.runs)
        return wire.RunsReply(runs=found, notes=notes, searching=is_searching, program=PROGRAM)

    reply = await context.replies.fresh_for_all(request, who_sees_alike(request.scope.get(PERSON)), make)
    context.events.look_on()
    return reply


async def steps(request: Request) -> Response:
    """`GET /api/runs/{run}/steps?split=`."""
    context, run = context_of(request), await context_of(request).run(request)
    split, version = params.word(request.query_params, "split"), run.version

    def make() -> wire.StepsReply:
        found = query.steps(run, split)
        return wire.StepsReply(
            run=run.id,
            split=split,
            version=version,
            steps=[step.step for step in found],
            samples=[step.samples - step.discarded for step in found],
            discarded=[step.discarded for step in found],
            reward_mean=[number(step.reward.mean) for step in found],
            reward_std=[number(step.reward.std) for step in found],
            reward_excluded=[step.reward.excluded for step in found],
            states={str(step.step): step.state for step in found if step.state},
            stamps=[step.stamp for step in found],
        )

    return await context.replies.answer(request, version, make)


async def problems(request: Request) -> Response:
    """`GET /api/runs/{run}/problems?offset=&limit=`."""
    context, run = context_of(request), await context_of(request).run(request)
    offset = params.integer(request.query_params, "offset", 0, low=0)
    limit = params.integer(request.query_params, "limit", 100, low=1, high=MAX_PROBLEMS)

    def make() -> wire.ProblemsReply:
        found = [problem_item(run, problem) for problem in query.problems(run)[offset : offset + limit]]
        return wire.ProblemsReply(run=run.id, total=query.problem_count(run), offset=offset, problems=found)

    return await context.replies.fresh(request, make)


def problem_item(run: OpenRun, problem: Problem) -> wire.ProblemItem:
    """Return a problem with the start of its record."""
    return wire.ProblemItem(
        file=problem.source,
        start=problem.start,
        stop=problem.stop,
        reason=problem.reason,
        excerpt=excerpt(run, problem),
    )


def excerpt(run: OpenRun, problem: Problem) -> str:
    """Return the first bytes of the record, as text; empty if they cannot be read."""
    if problem.start is None:
        return ""
    length = EXCERPT_BYTES if problem.stop is None else min(EXCERPT_BYTES, problem.stop - problem.start)
    try:
        return query.read(run, problem.source, problem.start, length).decode("utf-8", "replace")
    except (NotFound, SourceChanged):
        return ""


async def problem_raw(request: Request) -> Response:
    """`GET /api/runs/{run}/problems/raw?file=&start=&stop=`: any number of bytes of a file, as a download."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters = request.query_params
    file, start = params.word(parameters, "file"), params.integer(parameters, "start", low=0, high=MAX_BYTE)
    stop = params.integer(parameters, "stop", low=start, high=MAX_BYTE)
    first = await context.threads.query(lambda: query.read(run, file, start, min(BLOCK_BYTES, stop - start)))

    def blocks() -> Iterator[bytes]:
        block, at = first, start
        while block:
            yield block
            at += len(block)
            try:
                block = query.read(run, file, at, min(BLOCK_BYTES, stop - at))
            except (NotFound, SourceChanged):
                return

    headers = replies.attachment(f"{PurePosixPath(file).name}.{start}-{stop}")
    return StreamingResponse(blocks(), media_type=replies.BINARY, headers=headers)
