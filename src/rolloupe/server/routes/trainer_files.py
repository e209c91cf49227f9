"""Routes for a run's other files: configuration, checkpoints, code, files, reports."""

import os
from collections import defaultdict

from msgspec.structs import asdict, replace
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, wire
from rolloupe.index import OpenRun
from rolloupe.model import LogNode
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.storage import address_of
from rolloupe.wire.encoding import plain
from rolloupe.wire.views import transcripts

MAX_FILES = 2000
MAX_DIFF_CHARS = 2_000_000
MAX_TRACKERS, MAX_NAMES = 100, 200


async def about(request: Request) -> Response:
    """`GET /api/runs/{run}/about`."""
    context, run = context_of(request), await context_of(request).run(request)
    return await context.replies.fresh(request, lambda: about_reply(run))


async def configs(request: Request) -> Response:
    """`GET /api/configs`."""
    context = context_of(request)
    library = await context.runs(request)

    def make() -> wire.ConfigsReply:
        found = query.config_differences(library.runs)
        runs = [wire.ConfigItem(run=run_id, values=values) for run_id, values in found.values.items()]
        return wire.ConfigsReply(keys=found.keys, telling=found.telling, runs=runs, left=found.left)

    return await context.replies.fresh(request, make)


async def report(request: Request) -> Response:
    """`GET /api/runs/{run}/report?split=&step=`."""
    context, run = context_of(request), await context_of(request).run(request)
    split, step = params.word(request.query_params, "split"), params.integer(request.query_params, "step")

    def make() -> wire.ReportReply:
        return wire.ReportReply(run=run.id, split=split, step=step, root=report_node(query.logtree(run, split, step)))

    return await context.replies.fresh(request, make)


def about_reply(run: OpenRun) -> wire.AboutReply:
    """Return everything known of a run except its samples."""
    files, reports = query.files(run), defaultdict[str, list[int]](list)
    for split, step in query.logtrees(run):
        reports[split].append(step)
    return wire.AboutReply(
        run=run.id,
        superseded=sum(split.superseded for split in query.splits(run, quick=True)),
        path=address_of(run.info.root),
        format=run.info.format,
        reason=run.info.reason,
        config=plain(query.config(run)),
        checkpoints=[replace(saved, extra=plain(saved.extra)) for saved in query.checkpoints(run)],
        code_diff=query.code_diff(run)[:MAX_DIFF_CHARS],
        files=files[:MAX_FILES],
        files_left=max(0, len(files) - MAX_FILES),
        reports=[wire.ReportSteps(split=split, steps=sorted(steps)) for split, steps in reports.items()],
        trackers=[
            wire.TrackerItem(
                kind=one.kind,
                path=os.path.relpath(one.path, run.info.root),
                name=one.run,
                metrics=one.names[:MAX_NAMES],
                metric_count=len(one.names),
                step_name=one.step_name,
                note=one.note,
            )
            for one in query.curve_sources(run)[:MAX_TRACKERS]
        ],
    )


def report_node(node: LogNode) -> wire.ReportNode:
    """Convert a piece of a report to the browser's record."""
    turns = [transcripts.turn_view(turn) for turn in node.turns]
    children = [report_node(child) for child in node.children]
    return wire.ReportNode(**{**asdict(node), "turns": turns, "children": children})
