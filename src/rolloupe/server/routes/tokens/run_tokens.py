"""Routes for the tokens of a run: a series by step and by position, shares of rules, words, the worst tokens."""

from collections import defaultdict
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import query, tokens, wire
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.query import SampleQuery, TokenCoverage, TokenWord
from rolloupe.server import params
from rolloupe.server.context import context_of
from rolloupe.wire import number

WORST, MOST_WORST = 20, 64
"""How many of the worst tokens a request gets, and how many it may ask for."""

WORDS, MOST_WORDS = 20, 200
"""The same for words."""

PERCENTILES = (10.0, 50.0, 90.0)

MAX_TEXT = 1_000
"""Characters of a token string; no token of a vocabulary has as many."""


async def series(request: Request) -> Response:
    """`GET /api/runs/{run}/token-series?split=`: see `wire.TokenSeriesReply`."""
    context, run = context_of(request), await context_of(request).run(request)
    scope = params.sample_query(request.query_params)

    def make() -> wire.TokenSeriesReply:
        found = query.known_series(run, scope)
        kinds = ((name, tokens.kind_of(name)) for name in found.names)
        return wire.TokenSeriesReply(
            series=[
                wire.RunSeriesItem(name=name, title=kind.title, about=kind.about, scale=kind.scale)
                for name, kind in kinds
            ],
            coverage=_coverage(found.coverage),
        )

    return await context.replies.answer(request, run.version, make)


async def by_step(request: Request) -> Response:
    """`GET /api/runs/{run}/token-steps?split=&series=`: see `wire.TokenStepsReply`."""
    context, run = context_of(request), await context_of(request).run(request)
    name, scope = params.word(request.query_params, "series"), params.sample_query(request.query_params)

    def make() -> wire.TokenStepsReply:
        found = query.token_stats(run, scope, name, PERCENTILES)
        _check(run, scope, name, is_empty=not found.steps)
        return wire.TokenStepsReply(
            series=name,
            steps=[one.step for one in found.steps],
            tokens=[one.tokens for one in found.steps],
            infinite=[one.infinite for one in found.steps],
            samples=[one.samples for one in found.steps],
            mean=[number(one.mean) for one in found.steps],
            sample_mean=[number(one.sample_mean) for one in found.steps],
            min=[number(one.min) for one in found.steps],
            max=[number(one.max) for one in found.steps],
            p10=[number(one.percentiles[10.0]) for one in found.steps],
            p50=[number(one.percentiles[50.0]) for one in found.steps],
            p90=[number(one.percentiles[90.0]) for one in found.steps],
            coverage=_coverage(found.coverage),
        )

    return await context.replies.answer(request, run.version, make)


async def by_position(request: Request) -> Response:
    """`GET /api/runs/{run}/token-positions?split=&step=&series=`: see `wire.TokenPositionsReply`."""
    context, run = context_of(request), await context_of(request).run(request)
    parameters = request.query_params
    name, step, scope = (
        params.word(parameters, "series"),
        params.integer(parameters, "step"),
        params.sample_query(parameters),
    )

    def make() -> wire.TokenPositionsReply:
        found = query.position_curves(run, scope, name)
        curve = next(iter(found.curves), None)
        _check(run, scope, name, is_empty=curve is None)
        return wire.TokenPositionsReply(
            series=name,
            step=step,
            first=curve.first if curve else [],
            tokens=curve.tokens if curve else [],
            means=[number(one) for one in curve.means] if curve else [],
            coverage=_coverage(found.coverage),
        )

    return await context.replies.answer(request, run.version, make)


async def masks(request: Request) -> Response:
    """`GET /api/runs/{run}/token-masks?split=`: see `wire.TokenMasksReply`."""
    context, run = context_of(request), await context_of(request).run(request)
    scope = params.sample_query(request.query_params)

    def make() -> wire.TokenMasksReply:
        found = query.masked_shares(run, scope)
        by_rule = defaultdict[tuple[str, str], list[query.MaskedShares]](list)
        for one in found.shares:
            by_rule[one.rule, str(one.thresholds)].append(one)
        loss, rules = query.loss_of(run), {kind.name: kind for kind in tokens.MASK_RULES}
        places = {name: place for place, name in enumerate(rules)}
        return wire.TokenMasksReply(
            rules=[
                wire.MaskSteps(
                    rule=rule,
                    title=(rules[rule] if rule in rules else tokens.UPDATES[rule]).title,
                    thresholds=shares[0].thresholds,
                    is_of_run=loss is not None
                    and loss.rule == rule
                    and loss.thresholds.items() <= shares[0].thresholds.items(),
                    steps=[one.step for one in shares],
                    tokens=[one.tokens for one in shares],
                    masked=[one.masked for one in shares],
                    high=[one.high for one in shares],
                    low=[one.low for one in shares],
                    update_lost=[number(one.update_lost) for one in shares],
                )
                for (rule, _), shares in sorted(by_rule.items(), key=lambda one: places.get(one[0][0], -1))
            ],
            coverage=_coverage(found.coverage),
        )

    return await context.replies.answer(request, run.version, make)


async def words(request: Request) -> Response:
    """`GET /api/runs/{run}/token-words?split=&step=&by=kl|tokens&limit=`: see `wire.TokenWordsReply`."""
    context, run = context_of(request), await context_of(request).run(request)
    by = request.query_params.get("by") or "kl"
    limit = params.integer(request.query_params, "limit", WORDS, low=1, high=MOST_WORDS)
    scope = params.sample_query(request.query_params)

    def make() -> wire.TokenWordsReply:
        found = query.words_of_steps(run, scope, by=by, limit=limit)
        _check(run, scope, is_empty=not found.words)
        return wire.TokenWordsReply(
            words=_words(found.words),
            kl=found.kl,
            tokens=found.tokens,
            listed=found.listed,
            coverage=_coverage(found.coverage),
        )

    return await context.replies.answer(request, run.version, make)


async def changes(request: Request) -> Response:
    """`GET /api/runs/{run}/token-changes?split=&before=&after=&by=probability|share&min_tokens=&limit=`.

    See `wire.TokenChangesReply`.
    """
    context, run = context_of(request), await context_of(request).run(request)
    parameters = request.query_params
    split = params.word(parameters, "split")
    before, after = params.integer(parameters, "before"), params.integer(parameters, "after")
    by, least = parameters.get("by") or "probability", params.integer(parameters, "min_tokens", query.MIN_TOKENS)
    limit = params.integer(parameters, "limit", WORDS, low=1, high=MOST_WORDS)

    def make() -> wire.TokenChangesReply:
        found = query.word_changes(run, split, before, after, by=by, min_tokens=least, limit=limit)
        some = [*found.gained, *found.lost]
        words = zip(_words([one.before for one in some]), _words([one.after for one in some]), strict=True)
        changes = [
            wire.WordChangeItem(before=before, after=after, change=one.change)
            for (before, after), one in zip(words, some, strict=True)
        ]
        return wire.TokenChangesReply(
            tokens=list(found.tokens),
            gained=changes[: len(found.gained)],
            lost=changes[len(found.gained) :],
            compared=found.compared,
            unknown=found.unknown,
            min_tokens=found.min_tokens,
            coverage=_coverage(found.coverage),
        )

    return await context.replies.answer(request, run.version, make)


async def worst(request: Request) -> Response:
    """`GET /api/runs/{run}/worst-tokens?split=&step=&group=&series=&side=high|low&limit=`: see `wire.WorstTokensReply`.

    Without a step, of the whole split; without a split, of the whole run.
    """
    context, run = context_of(request), await context_of(request).run(request)
    parameters = request.query_params
    name, side = params.word(parameters, "series"), parameters.get("side") or "high"
    limit = params.integer(parameters, "limit", WORST, low=1, high=MOST_WORST)
    if side not in ("high", "low"):
        raise BadQuery(f"side={side[:40]!r} is neither high nor low")
    scope = params.sample_query(parameters)

    def make() -> wire.WorstTokensReply:
        found = query.worst_tokens(run, scope, name, highest=side == "high", limit=limit)
        _check(run, scope, name, is_empty=not found.tokens)
        texts = query.each_readable([one.token_string or "" for one in found.tokens])
        return wire.WorstTokensReply(
            series=name,
            tokens=[
                wire.WorstTokenItem(
                    value=number(one.value),
                    id=str(one.key),
                    token=one.token,
                    text=None if one.token_string is None else text[:MAX_TEXT],
                    token_id=one.token_id,
                )
                for one, text in zip(found.tokens, texts, strict=True)
            ],
            coverage=_coverage(found.coverage),
        )

    return await context.replies.answer(request, run.version, make)


def _check(run: OpenRun, scope: SampleQuery, series: str | None = None, *, is_empty: bool) -> None:
    """Raise `NotFound` if an answer is empty because there is no such step, group or series."""
    if not is_empty:
        return
    query.in_known_scope(run, scope)
    if series is not None:
        query.in_known_series(run, series)


def _coverage(one: TokenCoverage) -> wire.TokenCoverageView:
    return wire.TokenCoverageView(samples=one.samples, pending=one.pending, unread=one.unread)


def _words(some: Sequence[TokenWord]) -> list[wire.TokenWordItem]:
    return [
        wire.TokenWordItem(
            text=text[:MAX_TEXT],
            token_id=one.token_id,
            tokens=one.tokens,
            kl=number(one.kl),
            mean_kl=number(one.kl / one.with_kl) if one.with_kl else None,
            with_kl=one.with_kl,
            probability=number(one.probability / one.rated) if one.rated else None,
            is_exact=one.is_exact,
        )
        for one, text in zip(some, query.each_readable([one.word for one in some]), strict=True)
    ]
