"""The distribution of a sample metric over the steps."""

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, wire
from rolloupe.server import params
from rolloupe.server.context import context_of

COLUMNS = 200
MAX_COLUMNS = 1000


async def distribution(request: Request) -> Response:
    """`GET /api/runs/{run}/distribution?name=&split=&where=&columns=&step_min=&step_max=`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    name, split = params.word(parameters, "name"), parameters.get("split", "")
    columns = params.integer(parameters, "columns", COLUMNS, 1, MAX_COLUMNS)
    where = parameters.get("where", "")
    low, high = params.optional(parameters, "step_min"), params.optional(parameters, "step_max")

    def make() -> wire.DistributionReply:
        found = query.distribution(run, name, split, where=where, most=columns, step_min=low, step_max=high)
        return wire.DistributionReply(
            run=run.id, version=version, name=name, split=found.split, edges=found.edges,
            first_steps=found.first_steps.tolist(), last_steps=found.last_steps.tolist(), counts=found.counts.tolist(),
        )  # fmt: skip

    return await context.replies.answer(request, version, make)
