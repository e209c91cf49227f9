"""Distributions: of a sample metric over the steps (`distribution`), and of several at one step (`step_values`)."""

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, wire
from rolloupe.query import Stats
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.wire import number

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


async def step_values(request: Request) -> Response:
    """`GET /api/runs/{run}/step-values?split=&step=&names=&also=`; `names` and `also` may be repeated."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    split, step = params.word(parameters, "split"), params.integer(parameters, "step")
    names, also = (list(dict.fromkeys(parameters.getlist(one))) for one in ("names", "also"))

    def make() -> wire.StepValuesReply:
        found = query.step_values(run, split, step, names, also)
        metrics = [
            wire.StepMetric(
                name=one.name, stats=stats_of(one.stats), counts=one.counts.tolist(),
                before=None if one.before is None else stats_of(one.before),
            )
            for one in found.metrics
        ]  # fmt: skip
        samples = [wire.StepSample(id=one.id, group=one.group, values=numbers_of(one)) for one in found.samples]
        return wire.StepValuesReply(
            run=run.id, version=version, split=split, step=step, before=found.before, edges=found.edges,
            metrics=metrics, samples=samples, total=found.total,
        )  # fmt: skip

    return await context.replies.answer(request, version, make)


def stats_of(stats: Stats) -> wire.MetricStats:
    """Convert statistics to the browser's record."""
    return wire.MetricStats(
        count=stats.count, mean=number(stats.mean), std=number(stats.std), min=number(stats.min), max=number(stats.max)
    )


def numbers_of(sample: query.SampleItem) -> list[wire.Number]:
    """Return the values of a sample as the browser's numbers."""
    return [None if isinstance(value, str) else number(value) for value in sample.values]
