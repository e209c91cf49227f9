"""The routes of the declared questions: `GET /api/runs/{run}/NAME`, with the fields of the question as parameters."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from rolloupe.questions import QUESTIONS, Question
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.server.replies import JSON, Reply
from rolloupe.wire import encoding

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def routes() -> list[tuple[str, Endpoint]]:
    """Return the address and the endpoint of every question."""
    return [(f"/api/runs/{{run}}/{question.name}", route_of(question)) for question in QUESTIONS.values()]


def route_of(question: Question) -> Endpoint:
    """Return the endpoint of a question."""

    async def endpoint(request: Request) -> Response:
        context, run = context_of(request), await context_of(request).run(request, judged=question.judged)
        asked = params.query_of(request.query_params, question.query)
        version = run.version
        if question.version:
            version = await context.threads.query(lambda: question.version_of(run, asked))

        def make() -> Reply:
            answer = encoding.builtins_of(question.answer(run, asked))
            return Reply(encoding.encode({"run": run.id, "version": version, **encoding.plain(answer)}), JSON)

        if not question.is_cached:
            return await context.replies.fresh(request, make)
        in_thread = context.threads.look if question.pool == "looks" else None
        return await context.replies.answer(request, version, make, in_thread=in_thread)

    return endpoint
