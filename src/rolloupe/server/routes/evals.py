"""Routes for evaluations: their steps, the grid of prompts, and the samples of a cell."""

import math

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.server import params, wire
from rolloupe.server.context import context_of
from rolloupe.server.wire import number

LIMIT = 100
MAX_LIMIT = 500
MAX_K = 10_000


def bar_of(address: QueryParams) -> float | None:
    """Return the threshold of a correct answer; None if the address leaves it to the run."""
    text = address.get("bar", "").strip()
    try:
        bar = float(text) if text else None
    except ValueError:
        bar = math.nan
    if bar is not None and not math.isfinite(bar):
        raise BadQuery(f"bar={text[:40]!r} is not a finite number; it is the threshold of a correct answer")
    return bar


def ks_of(address: QueryParams) -> list[int]:
    """Return the values of k in an address, separated by commas."""
    words = [word.strip() for word in address.get("k", "").split(",") if word.strip()]
    if not all(word.isascii() and word.isdigit() and len(word) < 6 and 1 <= int(word) <= MAX_K for word in words):
        raise BadQuery(
            f"k={address.get('k', '')[:40]!r} is not a list of whole numbers from 1 to {MAX_K}, such as 1,4,8"
        )
    return [int(word) for word in words]


async def evals(request: Request) -> Response:
    """`GET /api/runs/{run}/evals?metric=&bar=&k=`."""
    context, run = context_of(request), await context_of(request).run(request)
    address, version = request.query_params, run.version
    bar, ks = bar_of(address), ks_of(address)

    def make() -> wire.EvalsReply:
        found = [eval_item(one) for one in query.evals(run, address.get("metric", ""), bar, ks)]
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
    address, version = request.query_params, run.version
    split, bar, metric = params.word(address, "split"), bar_of(address), address.get("metric", "")
    offset = params.integer(address, "offset", 0, low=0)
    limit = params.integer(address, "limit", LIMIT, low=1, high=MAX_LIMIT)
    only, sort = address.get("only", ""), address.get("sort") or "index"
    first, last = params.optional(address, "step_min"), params.optional(address, "step_max")

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
    address, version = request.query_params, run.version
    split, step = params.word(address, "split"), params.integer(address, "step")
    prompt, bar, metric = params.word(address, "prompt"), bar_of(address), address.get("metric", "")

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
