"""What the reward pays for (`findings`)."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import wire
from rolloupe.derive import METRICS, PREFIX
from rolloupe.index import OpenRun
from rolloupe.insight import findings as search
from rolloupe.server import params
from rolloupe.server.context import context_of


async def findings(request: Request) -> Response:
    """`GET /api/runs/{run}/findings?split=&step_min=&step_max=&env=&correct=`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters = request.query_params
    asked = search.FindingQuery(
        split=parameters.get("split", ""),
        step_min=params.optional(parameters, "step_min"),
        step_max=params.optional(parameters, "step_max"),
        env=parameters.get("env") or None,
        correct=parameters.get("correct", ""),
    )
    version = await context.in_thread(lambda: search.version_of(run, asked))
    return await context.replies.answer(request, version, lambda: reply_of(run, search.findings(run, asked)))


def reply_of(run: OpenRun, found: search.RunFindings) -> wire.FindingsReply:
    """Convert findings to the browser's record."""
    plain = msgspec.to_builtins(found)
    for one in plain["findings"]:
        one["pattern"] = one["pattern"] or _pattern(one["behaviour"])
    return msgspec.convert({**plain, "run": run.id}, wire.FindingsReply)


def _pattern(behaviour: str) -> str:
    metric = METRICS.get(behaviour.removeprefix(PREFIX))
    return metric.pattern if metric is not None else ""
