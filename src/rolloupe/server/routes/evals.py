"""Routes for evaluations: their steps, the grid of prompts, and the samples of a cell."""

import math

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, wire
from rolloupe.errors import BadQuery
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.wire import number

LIMIT = 100
MAX_LIMIT = 500
MAX_K = 10_000


def bar_of(parameters: QueryParams) -> float | None:
    """Return the threshold of a correct answer; None if the address leaves it to the run."""
    text = parameters.get("bar", "").strip()
    try:
        bar = float(text) if text else None
    except ValueError:
        bar = math.nan
    if bar is not None and not math.isfinite(bar):
        raise BadQuery(f"bar={text[:40]!r} is not a finite number; it is the threshold of a correct answer")
    return bar


def ks_of(parameters: QueryParams) -> list[int]:
    """Return the values of k in an address, separated by commas."""
    words = [word.strip() for word in parameters.get("k", "").split(",") if word.strip()]
    if not all(word.isascii() and word.isdigit() and len(word) < 6 and 1 <= int(word) <= MAX_K for word in words):
        raise BadQuery(
            f"k={parameters.get('k', '')[:40]!r} is not a list of whole numbers from 1 to {MAX_K}, such as 1,4,8"
        )
    return [int(word) for word in words]


async def evals(request: Request) -> Response:
    """`GET /api/runs/{run}/evals?metric=&bar=&k=`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    bar, ks = bar_of(parameters), ks_of(parameters)

    def make() -> wire.EvalsReply:
        found = [eval_item(one) for one in query.evals(run, parameters.get("metric", ""), bar, ks)]
        return wire.EvalsReply(run=run.id, version=version, evals=found)

    return await context.replies.answer(request, version, make)


def eval_item(one: query.EvalSummary) -> wire.EvalItem:
    """Return an evaluation by step."""
    return wire.EvalItem(
        split=one.split,
        metric=one.metric,
        bar=number(one.bar),
        falls=one.falls,
        reason=one.reason,
        metrics=one.metrics,
        ks=list(one.ks),
        steps=[step_item(step) for step in one.steps],
    )


def step_item(step: query.EvalStep) -> wire.EvalStepItem:
    """Return one step of an evaluation."""
    return wire.EvalStepItem(
        step=step.step,
        prompts=step.prompts,
        samples=step.samples,
        without=step.without,
        score=number(step.score),
        correct=number(step.correct),
        pass_at=[number(value) for value in step.pass_at],
        pass_all=[number(value) for value in step.pass_all],
        prompts_at=step.prompts_at,
    )


async def grid(request: Request) -> Response:
    """`GET /api/runs/{run}/grid?split=&metric=&bar=&only=&sort=&step_min=&step_max=&offset=&limit=`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    split, bar, metric = params.word(parameters, "split"), bar_of(parameters), parameters.get("metric", "")
    offset = params.integer(parameters, "offset", 0, low=0)
    limit = params.integer(parameters, "limit", LIMIT, low=1, high=MAX_LIMIT)
    only, sort = parameters.get("only", ""), parameters.get("sort") or "index"
    first, last = params.optional(parameters, "step_min"), params.optional(parameters, "step_max")

    def make() -> wire.GridReply:
        prompt_grid = query.grid(
            run, split, metric, bar, only=only, sort=sort, step_min=first, step_max=last, offset=offset, limit=limit
        )
        return wire.GridReply(
            run=run.id,
            split=split,
            version=version,
            metric=prompt_grid.metric,
            metrics=prompt_grid.metrics,
            bar=number(prompt_grid.bar.value),
            falls=prompt_grid.bar.falls,
            reason=prompt_grid.bar.reason,
            steps=prompt_grid.steps,
            total=prompt_grid.total,
            offset=prompt_grid.offset,
            prompts=[
                wire.PromptRow(name=one.name, prompt=one.prompt, verdict=one.verdict, n=one.n, c=one.c, beat=one.beat)
                for one in prompt_grid.prompts
            ],
            counts=prompt_grid.counts,
            once=prompt_grid.once,
        )

    return await context.replies.answer(request, version, make)


async def answers(request: Request) -> Response:
    """`GET /api/runs/{run}/evals/answers?split=&step=&prompt=&metric=&bar=`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters, version = request.query_params, run.version
    split, step = params.word(parameters, "split"), params.integer(parameters, "step")
    prompt, bar, metric = params.word(parameters, "prompt"), bar_of(parameters), parameters.get("metric", "")

    def make() -> wire.CellReply:
        found = [
            wire.AnswerItem(
                id=str(one.key),
                value=number(one.value),
                correct=one.correct,
                discarded=one.discarded,
                status=one.status,
                preview=one.response,
            )
            for one in query.answers(run, split, step, prompt, metric, bar)
        ]
        return wire.CellReply(run=run.id, answers=found)

    return await context.replies.answer(request, version, make)
