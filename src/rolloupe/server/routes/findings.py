"""What the reward and its parts pay for, where the gradient came from, and what is wrong with the samples."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import wire
from rolloupe.derive import METRICS, PREFIX
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.insight import findings as search
from rolloupe.insight.gradient import RunGradient, in_bins
from rolloupe.insight.gradient import gradient as gradient_of
from rolloupe.insight.lint import LINT_RULES, LintQuery, RunLint
from rolloupe.insight.lint import lint as lint_of
from rolloupe.insight.parts import RunParts
from rolloupe.insight.parts import parts as parts_of
from rolloupe.server import params
from rolloupe.server.context import context_of


async def findings(request: Request) -> Response:
    """`GET /api/runs/{run}/findings?split=&step_min=&step_max=&env=&correct=`."""
    context, run = context_of(request), await context_of(request).run(request)
    asked = _asked(request)
    version = await context.in_thread(lambda: search.version_of(run, asked))
    return await context.replies.answer(
        request, version, lambda: reply_of(run, search.findings(run, asked)), in_thread=context.in_look_thread
    )


async def gradient(request: Request) -> Response:
    """`GET /api/runs/{run}/gradient?step_min=&step_max=&env=&correct=`."""
    context, run = context_of(request), await context_of(request).run(request)
    asked = _asked(request)
    return await context.replies.answer(request, run.version, lambda: _gradient_reply(run, _gradient_of(run, asked)))


def _gradient_of(run: OpenRun, asked: search.FindingQuery) -> RunGradient:
    """The gradient; one of no samples where nothing was trained on, for which the page asks of every run."""
    try:
        return gradient_of(run, asked)
    except NotFound:
        if asked.split:
            raise
        return RunGradient(
            step_min=asked.step_min, step_max=asked.step_max, env=asked.env, samples=0, discarded=0, groups=0,
            dead=0, single=0, effective=0.0, by_step=[], correct="", all_right=0, all_wrong=0, shaping=None,
            shaping_samples=[], dead_samples=[], by_env=[], by_length=[], by_outcome=[], prompts=None,
        )  # fmt: skip


async def parts(request: Request) -> Response:
    """`GET /api/runs/{run}/parts?split=&step_min=&step_max=&env=`."""
    context, run = context_of(request), await context_of(request).run(request)
    asked = _asked(request)
    version = await context.in_thread(lambda: search.version_of(run, asked))
    return await context.replies.answer(
        request, version, lambda: _parts_reply(run, parts_of(run, asked)), in_thread=context.in_look_thread
    )


async def lint(request: Request) -> Response:
    """`GET /api/runs/{run}/lint?split=&step_min=&step_max=`."""
    context, run = context_of(request), await context_of(request).run(request)
    of = _asked(request)
    asked = LintQuery(of.split, of.step_min, of.step_max)
    return await context.replies.answer(request, run.version, lambda: _lint_reply(run, lint_of(run, asked)))


def _asked(request: Request) -> search.FindingQuery:
    parameters = request.query_params
    return search.FindingQuery(
        split=parameters.get("split", ""),
        step_min=params.optional(parameters, "step_min"),
        step_max=params.optional(parameters, "step_max"),
        env=parameters.get("env") or None,
        correct=parameters.get("correct", ""),
    )


def _gradient_reply(run: OpenRun, found: RunGradient) -> wire.GradientReply:
    plain = {**msgspec.to_builtins(found), "by_step": msgspec.to_builtins(in_bins(found.by_step)), "run": run.id}
    return msgspec.convert(plain, wire.GradientReply)


def _parts_reply(run: OpenRun, found: RunParts) -> wire.PartsReply:
    return msgspec.convert({**msgspec.to_builtins(found), "run": run.id}, wire.PartsReply)


def _lint_reply(run: OpenRun, found: RunLint) -> wire.LintReply:
    plain = msgspec.to_builtins(found)
    broken = [{**one, "words": LINT_RULES[one["rule"]].words} for one in plain["broken"]]
    return msgspec.convert({**plain, "broken": broken, "run": run.id}, wire.LintReply)


def reply_of(run: OpenRun, found: search.RunFindings) -> wire.FindingsReply:
    """Convert findings to the browser's record."""
    plain = msgspec.to_builtins(found)
    for one in plain["findings"]:
        one["pattern"] = one["pattern"] or _pattern(one["behaviour"])
    return msgspec.convert({**plain, "run": run.id, "meanings": search.MEANINGS}, wire.FindingsReply)


def _pattern(behaviour: str) -> str:
    metric = METRICS.get(behaviour.removeprefix(PREFIX))
    return metric.pattern if metric is not None else ""
