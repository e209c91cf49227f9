"""Routes for the tokens of one sample, and for the update of many samples by a training step."""

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping
from threading import Event
from typing import Any, TypeVar

from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import MAX_READ, SampleQuery, UpdateChoice, UpdateInputs, UpdateMass
from rolloupe.server import params, replies
from rolloupe.server.context import STEP_BYTES, Context, Gone, StepInputs, context_of, watched
from rolloupe.server.endpoints import of_sample
from rolloupe.server.routes.sample import loaded
from rolloupe.wire import encoding, token_bytes
from rolloupe.wire.samples import SampleDifference, TopLogprobsReply, UpdatePush, UpdateReply

T = TypeVar("T")

MAX_TOKENS = 262_144
"""Tokens in one answer, each with all its series; a longer sample takes several requests."""

MAX_TEXT = 1_000
"""Characters of an alternative of a token; every token of a vocabulary is shorter."""

TABLES = ("by_sample", "by_group", "by_role", "by_string")
MOST_NAMES = 500
"""Samples, groups or strings with the largest pushes in one answer."""


@of_sample
def tokens(request: Request, run: OpenRun, key: SampleKey) -> replies.Reply:
    """`GET /api/runs/{run}/sample/tokens?id=&after=&start=&count=`: a range of tokens; see docs/tokens-wire.md.

    With `rule=` and `threshold.NAME=`, what the step does to these tokens under that rule.
    """
    parameters = request.query_params
    start = params.integer(parameters, "start", 0, low=0)
    count = params.integer(parameters, "count", MAX_TOKENS, low=1, high=MAX_TOKENS)
    choice = choice_of(parameters) if parameters.get("rule") else None
    (sample,) = query.with_group_advantages(run, [loaded(request, run, key)[0]])
    update = None if choice is None else (choice.rule, query.token_update(sample, choice))
    page = query.token_page(sample, start, count, query.loss_of(run))
    return replies.Reply(token_bytes.encoded(str(key), page, update), replies.BINARY)


@of_sample
def top_logprobs(request: Request, run: OpenRun, key: SampleKey) -> TopLogprobsReply:
    """`GET /api/runs/{run}/sample/top-logprobs?id=&token=`: see `TopLogprobsReply`."""
    token = params.integer(request.query_params, "token", low=0)
    found = query.token_alternatives(loaded(request, run, key)[0], token)
    return TopLogprobsReply(alternatives=[replace(one, text=one.text[:MAX_TEXT]) for one in found])


async def update(request: Request) -> Response:
    """`GET /api/runs/{run}/update?split=&step=&group=&rule=&weights=&against=`: see `UpdateReply`.

    Reads these samples. `against` is a rule to compare with, with `against.threshold.NAME=` and `against.kl_weight=`.
    """
    context, run = context_of(request), await context_of(request).run(request)
    parameters, choice = request.query_params, choice_of(request.query_params)
    against = choice_of(parameters, "against", "against.") if parameters.get("against") else None
    split, step = params.word(parameters, "split"), params.integer(parameters, "step")
    group, weights = parameters.get("group"), query.aggregation_of(parameters.get("weights") or "token_mean")

    def make(stop: Event) -> UpdateReply:
        inputs = step_inputs(context, run, (split, step, group or ""), stop)
        found = query.grouped_update(inputs, choice, weights, against)
        differing = sorted((pair for pair in found.differing.items() if pair[1]), key=lambda pair: -pair[1])
        return encoding.record_from(
            UpdateReply,
            found,
            rule=choice.rule,
            whole=token_bytes.pushed("", found.whole),
            by_position=token_bytes.pushed_by_position(found.by_position),
            samples=len(found.by_sample),
            differing=[
                SampleDifference(id=str(key), differing=count, tokens=found.by_sample[key].tokens)
                for key, count in differing[:MOST_NAMES]
            ],
            differing_samples=len(differing),
            **{name: largest_pushes(getattr(found, name)) for name in TABLES},
        )

    async with watched(request) as stop:
        in_thread = context.threads.step
        return await context.replies.answer(request, run.version, lambda: make(stop), in_thread=in_thread)


def step_inputs(
    context: Context, run: OpenRun, scope: tuple[str, int, str], stop: Event
) -> Iterator[UpdateInputs | str]:
    """Yield the inputs of the update of a step, or of a group of it, and keep them if they are small enough.

    Raises the errors of `read_remaining`, and `Gone` once nobody waits: the next request continues from here.
    """
    split, step, group = scope
    key = (run.id, run.version, split, str(step), group)
    known = context.updates.get(key) or StepInputs([], 0, is_whole=False)
    kept, size_bytes, is_whole = [*known.found], known.size_bytes, False
    try:
        yield from stop_if_abandoned(stop, known.found)
        for one in stop_if_abandoned(stop, [] if known.is_whole else read_remaining(run, scope, len(kept), stop)):
            size_bytes += 0 if isinstance(one, str) else one.size_bytes
            if size_bytes <= STEP_BYTES:
                kept.append(one)
            else:
                kept.clear()
            yield one
        is_whole = True
    finally:
        if kept and size_bytes <= STEP_BYTES:
            context.updates.put(key, StepInputs(kept, size_bytes, is_whole or known.is_whole), size_bytes)


def stop_if_abandoned(stop: Event, some: Iterable[T]) -> Iterator[T]:
    """Yield items. Raises `Gone` once nobody waits."""
    for item in some:
        if stop.is_set():
            raise Gone
        yield item


def read_remaining(run: OpenRun, scope: tuple[str, int, str], offset: int, stop: Event) -> Iterator[UpdateInputs | str]:
    """Read the inputs from a sample on. Raises `BadQuery` for too many samples, `NotFound` for none, and `Gone`.

    A sample may be large: its inputs are computed only if somebody still waits once it is read.
    """
    split, step, group = scope
    samples = SampleQuery(splits=(split,), step_min=step, step_max=step, group=group or None, limit=0)
    total = query.samples(run, samples).total
    if not total:
        query.in_known_scope(run, samples)
    if total > MAX_READ:
        raise BadQuery(
            f"step {step} has {total:,} samples, and one answer reads at most {MAX_READ:,}: choose one of its groups"
        )
    for sample in query.with_group_advantages(run, query.whole(run, split, step, group, offset)):
        if stop.is_set():
            raise Gone
        yield from query.update_inputs([sample])


def choice_of(parameters: QueryParams, rule: str = "rule", before: str = "") -> UpdateChoice:
    """Return the rule that an address names, with its thresholds and the weight of a KL penalty."""
    prefix = f"{before}threshold."
    given = {name.removeprefix(prefix): name for name in parameters if name.startswith(prefix)}
    thresholds = {threshold: _finite(parameters, name) for threshold, name in given.items()}
    weight = f"{before}kl_weight"
    kl_weight = _finite(parameters, weight) if parameters.get(weight) else 0.0
    return UpdateChoice(params.word(parameters, rule), thresholds, kl_weight)


def _finite(parameters: QueryParams, name: str) -> float:
    value, number = parameters[name], math.nan
    with contextlib.suppress(ValueError):
        number = float(value)
    if not math.isfinite(number):
        raise BadQuery(f"{name}={value[:40]!r} is not a number")
    return number


def largest_pushes(pushes: Mapping[Any, UpdateMass]) -> list[UpdatePush]:
    """Return the largest pushes, in descending order."""
    by_size = sorted(pushes.items(), key=lambda pair: -pair[1].size)
    return [token_bytes.pushed(str(name), push) for name, push in by_size[:MOST_NAMES]]
