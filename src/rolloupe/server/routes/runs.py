"""Routes for runs: their list, their steps, their problems, and their other files."""

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath

from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rolloupe import query
from rolloupe._version import __version__
from rolloupe.errors import BadQuery, NotFound, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import LogNode, Problem
from rolloupe.query.several_runs.configs import ConfigsReply
from rolloupe.server import params, people, replies
from rolloupe.server.context import context_of
from rolloupe.server.endpoints import of_run, of_run_now, of_runs_now
from rolloupe.storage import address_of
from rolloupe.wire import run_items, to_wire
from rolloupe.wire import runs as wire
from rolloupe.wire.encoding import number, plain, record_from

PROGRAM = f"rolloupe {__version__}"
EXCERPT_BYTES = 240
BLOCK_BYTES = 2**20
MAX_BYTE = 2**62
MAX_PROBLEMS = 1000
MAX_FILES = 2000
MAX_WORDS = 16
MAX_DIFF_CHARS = 2_000_000
MAX_TRACKERS, MAX_NAMES = 100, 200


async def runs(request: Request) -> Response:
    """`GET /api/runs`."""
    context = context_of(request)
    library = await context.runs(request)

    def make() -> wire.RunsReply:
        is_searching = library.is_searching  # first: an event follows its end
        notes = [wire.NoteView(path=str(note.path), reason=note.reason) for note in library.notes]
        with query.listing_once():  # each asks several times which files a run has
            found = run_items.run_items(library.runs)
        opens_on = context.settings.opens_on
        return wire.RunsReply(runs=found, notes=notes, searching=is_searching, program=PROGRAM, opens_on=opens_on)

    person = request.scope.get(people.PERSON)
    who = (person.name,) if person is not None and person.access.now.rules else ()  # others see the same runs
    reply = await context.replies.fresh_for_all(request, who, make)
    context.events.look_on()
    return reply


@of_run
def steps(run: OpenRun, parameters: QueryParams) -> wire.StepsReply:
    """`GET /api/runs/{run}/steps?split=`."""
    split, version = params.word(parameters, "split"), run.version  # before the steps
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


@of_run_now
def problems(run: OpenRun, parameters: QueryParams) -> wire.ProblemsReply:
    """`GET /api/runs/{run}/problems?offset=&limit=`."""
    offset = params.integer(parameters, "offset", 0, low=0)
    limit = params.integer(parameters, "limit", 100, low=1, high=MAX_PROBLEMS)
    found = [
        record_from(wire.ProblemItem, problem, file=problem.source, excerpt=excerpt(run, problem))
        for problem in query.problems(run)[offset : offset + limit]
    ]
    return wire.ProblemsReply(total=query.problem_count(run), problems=found)


def excerpt(run: OpenRun, problem: Problem) -> str:
    """Return the first bytes of the record, as text; empty if they cannot be read."""
    with contextlib.suppress(NotFound, SourceChanged):
        if problem.start is not None:
            length = EXCERPT_BYTES if problem.stop is None else min(EXCERPT_BYTES, problem.stop - problem.start)
            return query.read(run, problem.source, problem.start, length).decode("utf-8", "replace")
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
        with contextlib.suppress(NotFound, SourceChanged):
            while block:
                yield block
                at += len(block)
                block = query.read(run, file, at, min(BLOCK_BYTES, stop - at))

    headers = replies.attachment(f"{PurePosixPath(file).name}.{start}-{stop}")
    return StreamingResponse(blocks(), media_type=replies.BINARY, headers=headers)


@of_runs_now
def configs(library: people.Runs, _: QueryParams) -> ConfigsReply:
    """`GET /api/configs`."""
    return query.config_differences(library.runs)


@of_run_now
def report(run: OpenRun, parameters: QueryParams) -> wire.ReportNode:
    """`GET /api/runs/{run}/report?split=&step=`."""
    return report_node(query.logtree(run, params.word(parameters, "split"), params.integer(parameters, "step")))


@of_runs_now
def configured(library: people.Runs, parameters: QueryParams) -> wire.ConfiguredReply:
    """`GET /api/configs/find?word=&word=`."""
    words = parameters.getlist("word")
    if len(words) > MAX_WORDS:
        raise BadQuery(f"word= may be repeated {MAX_WORDS} times; there are {len(words):,}")
    return wire.ConfiguredReply(found=query.runs_configured(library.runs, words))


@of_run_now
def about(run: OpenRun, _: QueryParams) -> wire.AboutReply:
    """`GET /api/runs/{run}/about`."""
    return about_reply(run)


def about_reply(run: OpenRun) -> wire.AboutReply:
    """Return everything known of a run except its samples."""
    files, reports = query.files(run), defaultdict[str, list[int]](list)
    for split, step in run.format.logtrees(run.info):
        reports[split].append(step)
    return record_from(
        wire.AboutReply,
        run.info,
        superseded=sum(split.superseded for split in query.splits(run, quick=True)),
        path=address_of(run.info.root),
        config=plain(run.format.config(run.info)),
        checkpoints=[replace(saved, extra=plain(saved.extra)) for saved in run.format.checkpoints(run.info)],
        code_diff=run.format.code_diff(run.info)[:MAX_DIFF_CHARS],
        files=files[:MAX_FILES],
        files_left=max(0, len(files) - MAX_FILES),
        reports=[wire.ReportSteps(split=split, steps=sorted(steps)) for split, steps in reports.items()],
        trackers=[
            record_from(
                wire.TrackerItem,
                one,
                path=os.path.relpath(one.path, run.info.root),
                name=one.run,
                metrics=one.names[:MAX_NAMES],
                metric_count=len(one.names),
            )
            for one in query.curve_sources(run)[:MAX_TRACKERS]
        ],
    )


def report_node(node: LogNode) -> wire.ReportNode:
    """Convert a piece of a report to the browser's record."""
    turns = to_wire.turn_views(node.turns)
    return record_from(wire.ReportNode, node, turns=turns, children=[report_node(child) for child in node.children])
