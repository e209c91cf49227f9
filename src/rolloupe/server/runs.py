"""The routes about runs: the list of them, their steps and groups, and what in them could not be read."""

import os
import stat

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query
from rolloupe._version import __version__
from rolloupe.formats import compression_of, open_binary
from rolloupe.index import OpenRun
from rolloupe.model import Problem
from rolloupe.server import params, views, wire
from rolloupe.server.context import context_of
from rolloupe.server.wire import number

PROGRAM = f"rolloupe {__version__}"
EXCERPT_BYTES = 240
MAX_PROBLEMS = 1000


async def runs(request: Request) -> Response:
    """`GET /api/runs`."""
    context = context_of(request)
    library = await context.library()

    def make() -> wire.RunsReply:
        notes = [wire.Note(path=str(note.path), reason=note.reason) for note in library.notes]
        return wire.RunsReply(runs=[views.run_item(run) for run in library.runs], notes=notes, program=PROGRAM)

    return await context.fresh(request, make)


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
            samples=[step.samples for step in found],
            reward_mean=[number(step.reward.mean) for step in found],
            reward_std=[number(step.reward.std) for step in found],
            reward_excluded=[step.reward.excluded for step in found],
        )

    return await context.answer(request, version, make)


async def groups(request: Request) -> Response:
    """`GET /api/runs/{run}/groups?split=&step=`."""
    context, run = context_of(request), await context_of(request).run(request)
    split, step = params.word(request.query_params, "split"), params.integer(request.query_params, "step")
    version = run.version

    def make() -> wire.GroupsReply:
        found = [views.group_item(group) for group in query.groups(run, split, step)]
        return wire.GroupsReply(run=run.id, split=split, step=step, version=version, groups=found)

    return await context.answer(request, version, make)


async def problems(request: Request) -> Response:
    """`GET /api/runs/{run}/problems?offset=&limit=`."""
    context, run = context_of(request), await context_of(request).run(request)
    offset = params.integer(request.query_params, "offset", 0, low=0)
    limit = params.integer(request.query_params, "limit", 100, low=1, high=MAX_PROBLEMS)
    version = run.version

    def make() -> wire.ProblemsReply:
        found = [problem_item(run, problem) for problem in run.problems()[offset : offset + limit]]
        return wire.ProblemsReply(run=run.id, total=run.problem_count(), offset=offset, problems=found)

    return await context.answer(request, version, make)


def problem_item(run: OpenRun, problem: Problem) -> wire.ProblemItem:
    """A problem with the start of the record that has it."""
    return wire.ProblemItem(
        file=problem.source,
        start=problem.start,
        stop=problem.stop,
        reason=problem.reason,
        excerpt=excerpt(run, problem),
    )


def excerpt(run: OpenRun, problem: Problem) -> str:
    """The first bytes of the record, as text; empty where they cannot be had. Opens only files the run has issued."""
    source = run.source(problem.source)
    if source is None or problem.start is None:
        return ""
    length = EXCERPT_BYTES if problem.stop is None else min(EXCERPT_BYTES, problem.stop - problem.start)
    if compression_of(source.path):
        return _decoded(source.path, problem.start, length)
    try:
        handle = os.open(source.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe in its place must not block
    except OSError:
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        return os.pread(handle, max(0, length), problem.start).decode("utf-8", "replace") if is_file else ""
    except OSError:
        return ""
    finally:
        os.close(handle)


def _decoded(path: str, start: int, length: int) -> str:
    """A piece of what a compressed file holds."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open_binary(path) as file:
            file.seek(start)
            return file.read(max(0, length)).decode("utf-8", "replace")
    except OSError:
        return ""
