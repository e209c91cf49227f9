"""Routes for several runs side by side: configurations, prompts at a step, and a metric in each."""

from typing import Any

from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.server.people import Runs
from rolloupe.server.routes.curves import MAX_ENTRIES, catalogue_entry
from rolloupe.wire.encoding import number, record_from
from rolloupe.wire.runs import RunMetricItem, RunMetricsReply, RunMetricsRequest, RunsCatalogueReply
from rolloupe.wire.samples import SharedPromptItem, SharedPromptsReply

LIMIT, MAX_LIMIT = 100, 500
VALUE_CHARS = 2000
"""Of a value of a configuration; the page of its run has all of it."""
MAX_COMPARED = 1000
"""Maximum number of runs side by side."""


def runs_of(library: Runs, parameters: QueryParams) -> list[OpenRun]:
    """Return the runs that an address names. Raises `BadQuery` for none or too many, `NotFound` for an unknown one."""
    ids = list(dict.fromkeys(parameters.getlist("run")))
    if not 1 <= len(ids) <= MAX_COMPARED:
        raise BadQuery(f"run= names 1 to {MAX_COMPARED} runs; there are {len(ids):,}")
    return [library.run(run_id) for run_id in ids]


async def configs(request: Request) -> Response:
    """`GET /api/compare/configs?run=&run=&all=&find=&offset=&limit=`."""
    context, parameters = context_of(request), request.query_params
    runs, all_keys = runs_of(await context.runs(request), parameters), params.flag(parameters, "all")
    offset = params.integer(parameters, "offset", 0, low=0)
    limit = params.integer(parameters, "limit", LIMIT, low=1, high=MAX_LIMIT)

    def make() -> query.ConfigTable:
        find = parameters.get("find", "")
        table = query.config_table(runs, all_keys=all_keys, find=find, offset=offset, limit=limit)
        rows = []
        for row in table.rows:
            cut = [place for place, value in enumerate(row.values) if value is not None and len(value) > VALUE_CHARS]
            rows.append(replace(row, values=[value and value[:VALUE_CHARS] for value in row.values], cut=cut))
        return replace(table, rows=rows)

    return await context.replies.fresh(request, make)


async def prompts(request: Request) -> Response:
    """`GET /api/compare/prompts?run=&run=&split=&step=&sort=&offset=&limit=`."""
    context, parameters = context_of(request), request.query_params
    runs = runs_of(await context.runs(request), parameters)
    split, step = params.word(parameters, "split"), params.integer(parameters, "step")
    sort = parameters.get("sort") or query.PROMPT_SORTS[0]
    offset = params.integer(parameters, "offset", 0, low=0)
    limit = params.integer(parameters, "limit", LIMIT, low=1, high=MAX_LIMIT)

    def make() -> SharedPromptsReply:
        found = query.shared_prompts(runs, split, step, sort=sort, offset=offset, limit=limit)
        return record_from(
            SharedPromptsReply,
            found,
            runs=[run.id for run in runs],
            split=split,
            step=step,
            prompts=[
                record_from(SharedPromptItem, prompt, reward_mean=[number(mean) for mean in prompt.means])
                for prompt in found.prompts
            ],
        )

    return await context.replies.answer(request, " ".join(run.version for run in runs), make)


async def run_metrics(request: Request) -> Response:
    """`POST /api/run-metrics`."""
    context, body = context_of(request), await params.body_of(request, RunMetricsRequest)
    library = await context.runs(request)
    ids = params.run_ids(body.runs) or [run.id for run in library.runs[: params.MAX_RUNS]]
    runs, curve = [library.run(run_id) for run_id in ids], body.curve

    def make() -> RunMetricsReply:
        found, left = query.metric_values(runs, curve)
        items = []
        for run_id, values in found.items():
            places: dict[str, Any] = {}
            for name in ("last", "highest", "lowest"):
                point = getattr(values, name)
                places |= {name: number(point and point.value), f"{name}_step": point and point.step}
            items.append(RunMetricItem(run=run_id, smooth=number(values.smooth), **places))
        return RunMetricsReply(runs=items, left=left)

    return await context.replies.fresh(request, make)


async def catalogue(request: Request) -> Response:
    """`GET /api/catalogue`."""
    context = context_of(request)
    library = await context.runs(request)

    def make() -> RunsCatalogueReply:
        runs_with, left = query.runs_catalogue(library.runs[: params.MAX_RUNS])
        entries = [*runs_with][:MAX_ENTRIES]
        return RunsCatalogueReply(
            entries=[catalogue_entry(entry) for entry in entries],
            runs_with=[runs_with[entry] for entry in entries],
            left=left,
        )

    return await context.replies.fresh(request, make)
