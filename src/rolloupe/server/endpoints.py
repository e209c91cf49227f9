"""Endpoints of functions that answer: a question about a run, about a sample of it, or about all runs.

Such a function knows neither requests nor threads: it gets the run, and the parameters of the address.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.questions import QUESTIONS, Question
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.server.people import Runs
from rolloupe.server.replies import JSON, Made, Reply
from rolloupe.wire import encoding

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def of_run(make: Callable[[OpenRun, QueryParams], Made], *, is_cached: bool = True) -> Endpoint:
    """Return the endpoint of an answer that is the same until the run changes."""

    async def endpoint(request: Request) -> Response:
        context, run = context_of(request), await context_of(request).run(request)
        version, work = run.version, partial(make, run, request.query_params)
        replies = context.replies
        return await (replies.answer(request, version, work) if is_cached else replies.fresh(request, work))

    return endpoint


of_run_now = partial(of_run, is_cached=False)
"""The same for an answer that depends on more than the run's version, such as the trainer's files."""


def of_runs_now(make: Callable[[Runs, QueryParams], Made]) -> Endpoint:
    """Return the endpoint of such an answer about all runs that its reader may see."""

    async def endpoint(request: Request) -> Response:
        context, library = context_of(request), await context_of(request).runs(request)
        return await context.replies.fresh(request, partial(make, library, request.query_params))

    return endpoint


def of_sample(make: Callable[[Request, OpenRun, SampleKey], Made]) -> Endpoint:
    """Return the endpoint of an answer about the sample in the address."""

    async def endpoint(request: Request) -> Response:
        context, run = context_of(request), await context_of(request).run(request)
        key, work = query.sample_key(params.word(request.query_params, "id")), partial(make, request, run)
        size_bytes = lambda: query.locate(run, key).length  # noqa: E731
        return await context.replies.answer(request, run.version, partial(work, key), size_bytes)

    return endpoint


def of_question(question: Question) -> Endpoint:
    """Return the endpoint of a declared question, with its fields as parameters."""

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


def question_routes() -> list[tuple[str, Endpoint]]:
    """Return the route of each declared question."""
    return [(f"/api/runs/{{run}}/{question.name}", of_question(question)) for question in QUESTIONS.values()]
