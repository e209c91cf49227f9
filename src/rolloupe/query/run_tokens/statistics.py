"""Token series by step: their statistics, their means by position, and the shares that rules of masks take out."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from rolloupe import tokens
from rolloupe.index import OpenRun, StepKey
from rolloupe.index.segments.step_stats import UNIT
from rolloupe.index.token_stats.files import MaskedSums, unpacked_masks
from rolloupe.index.token_stats.series import (
    EDGES,
    PositionSums,
    merged_histograms,
    merged_positions,
    unpacked_histogram,
    unpacked_positions,
)
from rolloupe.model import Real, RunLoss
from rolloupe.query.records import SampleQuery, scope_of
from rolloupe.query.run.trainer_files import loss_of
from rolloupe.query.run_tokens import token_index
from rolloupe.questions import TokenMaskQuery, TokenPositionQuery, TokenSeriesQuery, TokenStepQuery
from rolloupe.tokens import Origin

PERCENTILES = (1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0)
SHOWN_PERCENTILES = (10.0, 50.0, 90.0)

SUMS = ("origin", "tokens", "infinite", "samples", "total", "mean_total", "low", "high")  # of `SeriesTotals`


class TokenStats(NamedTuple):
    """The finite values of a series at a step."""

    split: str
    step: int
    origin: Origin  # as in `SampleSeries`
    tokens: int
    infinite: int  # how many tokens have an infinite value
    samples: int  # how many samples have a value
    mean: float  # the mean over all tokens
    sample_mean: float  # the mean over the samples of each sample's mean
    min: float
    max: float
    percentiles: dict[float, float]  # by percentile, a value at most 0.8% away from the true one


class TokenStatsBySteps(NamedTuple):
    """A series at every step that has values."""

    series: str
    steps: list[TokenStats]
    coverage: token_index.TokenCoverage


def token_stats(
    run: OpenRun, query: SampleQuery, series: str, percentiles: Sequence[float] = PERCENTILES
) -> TokenStatsBySteps:
    """Return the statistics of a series at each step, from the index; of a group or a filter, from its samples."""
    series = token_index.series_meant(run, series)
    by_step: dict[StepKey, list[list[Any]]] = defaultdict(list)
    if token_index.is_read(query):
        totals_by_step, keys = token_index.read_totals(run, query, series)
        coverage = token_index.TokenCoverage(len(keys))
        for key, totals in totals_by_step.items():
            by_step[key].append([*(getattr(totals, name) for name in SUMS), totals.histogram()])
    else:
        rows, coverage = token_index.indexed(run, run.snapshot(), query, (*SUMS, "buckets", "counts"), series)
        for row in rows:
            *own, edges, sizes = row.values
            by_step[row.split, row.step].append([*own, unpacked_histogram(edges, sizes)])
    steps = []
    for key, parts in token_index.in_order(by_step):
        origins, counts, infinite, samples, sums, means, lows, highs, histograms = zip(*parts, strict=True)
        count = sum(counts)
        if not count:
            continue
        low, high, whole = min(lows), max(highs), merged_histograms(histograms)
        both = math.fsum(sums) / count * UNIT, math.fsum(means) / sum(samples) * UNIT
        by_percentile = {share: min(high, max(low, whole.percentile(share / 100))) for share in percentiles}
        numbers = count, sum(infinite), sum(samples), *both, low, high
        steps.append(TokenStats(*key, origins[0], *numbers, by_percentile))
    return TokenStatsBySteps(series, steps, coverage)


class PositionCurve(NamedTuple):
    """The mean of a series by position at a step, over the trained tokens."""

    split: str
    step: int
    first: list[int]  # the first position of each bucket: how many trained tokens of the sample precede it
    tokens: list[int]
    means: list[float | None]  # none for a bucket without tokens


class CurvesByPosition(NamedTuple):
    """A series at every step that has values."""

    series: str
    curves: list[PositionCurve]
    coverage: token_index.TokenCoverage


def position_curves(run: OpenRun, query: SampleQuery, series: str) -> CurvesByPosition:
    """The mean of a series by position in the response, by step.

    Up to the 64th trained token each position counts alone; beyond, buckets grow with the position. Raises `BadQuery`
    for a query with a group or a filter.
    """
    token_index.of_index(query)
    series = token_index.series_meant(run, series)
    rows, coverage = token_index.indexed(run, run.snapshot(), query, ("position_counts", "position_totals"), series)
    by_step: dict[StepKey, list[PositionSums]] = defaultdict(list)
    for row in rows:
        by_step[row.split, row.step].append(unpacked_positions(*row.values))
    curves = []
    for (split, step), parts in token_index.in_order(by_step):
        sums = merged_positions(parts)
        counts, totals = sums.tokens.tolist(), sums.total.tolist()
        means = [total / count if count else None for count, total in zip(counts, totals, strict=True)]
        if counts:
            curves.append(PositionCurve(split, step, EDGES[: len(counts)].tolist(), counts, means))
    return CurvesByPosition(series, curves, coverage)


class MaskedShares(NamedTuple):
    """The shares of the trained tokens of a step that a rule takes out."""

    split: str
    step: int
    rule: str  # a name of `tokens.MASK_RULES`, or `recorded` for what the trainer recorded
    thresholds: dict[str, float]  # the run's for the rule of its loss, the usual ones for others; none for `recorded`
    tokens: int
    masked: float
    high: float
    low: float
    update_lost: float | None  # the share of the update, as in `MassShares.lost`; None if nothing is known to be pushed


class MaskedBySteps(NamedTuple):
    """Every rule at every step."""

    shares: list[MaskedShares]
    coverage: token_index.TokenCoverage


def masked_shares(run: OpenRun, query: SampleQuery) -> MaskedBySteps:
    """Return the shares of tokens that each rule takes out, by step. Raises `BadQuery` for a group or a filter."""
    rows, coverage = token_index.whole_steps(run, query, "masked")
    sums: dict[tuple[str, int, str, str], MaskedSums] = {}
    for row in rows:
        for rule, masked in unpacked_masks(row.values[0]).items():
            key = row.split, row.step, rule, str(masked.thresholds)
            sums[key] = sums[key].plus(masked) if key in sums else masked
    shares = [
        MaskedShares(
            *key[:3],
            masked.thresholds,
            tokens=masked.tokens,
            masked=masked.masked / masked.tokens,
            high=masked.high / masked.tokens,
            low=masked.low / masked.tokens,
            update_lost=masked.lost / masked.update if masked.update else None,
        )
        for key, masked in token_index.in_order(sums)
        if masked.tokens
    ]
    return MaskedBySteps(shares, coverage)


def masked_by_rule(run: OpenRun, split: str) -> dict[str, dict[int, MaskedShares]]:
    """Return the shares by rule, then by step; a rule with several thresholds has those of the run's loss."""
    loss = loss_of(run)
    by_rule: dict[str, dict[int, MaskedShares]] = {}
    for shares in masked_shares(run, SampleQuery(splits=(split,))).shares:
        by_step = by_rule.setdefault(shares.rule, {})
        by_step[shares.step] = shares if _is_of_loss(shares, loss) else by_step.get(shares.step, shares)
    return by_rule


def _is_of_loss(shares: MaskedShares, loss: RunLoss | None) -> bool:
    return loss is not None and loss.rule == shares.rule and loss.thresholds.items() <= shares.thresholds.items()


def usual_rules(run: OpenRun, rules: dict[str, dict[int, MaskedShares]]) -> list[str]:
    """Return the rules that a run applies: its trainer's flags and the rule of its loss; all rules if none is known."""
    loss = loss_of(run)
    own = [name for name in (tokens.RECORDED, loss.rule if loss else "") if name in rules]
    return own or sorted(rules)


class RunSeries(Struct, frozen=True):
    """A token series that samples of the run have."""

    name: str
    title: str
    about: str
    scale: Literal["linear", "symmetric", "log"]
    high: Real
    """The largest finite value."""


class RunTokenSeries(Struct, frozen=True):
    """The series that the index knows, in the order of the samples."""

    series: list[RunSeries]
    coverage: token_index.TokenCoverage


def token_series_answer(run: OpenRun, asked: TokenSeriesQuery) -> RunTokenSeries:
    """Return the series that the index has values of."""
    rows, coverage = token_index.indexed(run, run.snapshot(), scope_of(asked), ["series", "tokens", "high"])
    highs: dict[str, float] = {}
    for *_, (name, count, high) in rows:
        if count:
            highs[name] = max(high, highs.get(name, high))
    kinds = ((name, tokens.kind_of(name), high) for name, high in highs.items())
    series = [RunSeries(name, kind.title, kind.about, kind.scale, high) for name, kind, high in kinds]
    return RunTokenSeries(series, coverage)


class RunTokenSteps(Struct, frozen=True, kw_only=True):
    """A series at each step that has values, over finite values."""

    series: str
    steps: list[int]
    tokens: list[int]
    infinite: list[int]
    """How many tokens have an infinite value."""
    samples: list[int]
    """How many samples have a value."""
    mean: list[Real]
    """Over all tokens."""
    sample_mean: list[Real]
    """The mean of the means of the samples."""
    min: list[Real]
    max: list[Real]
    p10: list[Real]
    """A percentile is at most 0.8% from the true one."""
    p50: list[Real]
    p90: list[Real]
    coverage: token_index.TokenCoverage


def token_steps_answer(run: OpenRun, asked: TokenStepQuery) -> RunTokenSteps:
    """Return the statistics of a series by step. Raises `NotFound` for an unknown scope or series."""
    scope = scope_of(asked)
    stats = token_stats(run, scope, asked.series, SHOWN_PERCENTILES)
    if not stats.steps:
        token_index.check_known(run, scope, asked.series)
    names = ("tokens", "infinite", "samples", "mean", "sample_mean", "min", "max")
    columns = {"steps": _column(stats.steps, "step"), **{name: _column(stats.steps, name) for name in names}}
    columns |= {f"p{share:.0f}": [step.percentiles[share] for step in stats.steps] for share in SHOWN_PERCENTILES}
    return RunTokenSteps(series=asked.series, coverage=stats.coverage, **columns)


def _column(records: Sequence[object], name: str) -> list[Any]:
    return [getattr(record, name) for record in records]


class RunTokenPositions(Struct, frozen=True, kw_only=True):
    """The mean of a series by position at one step.

    A position is how many trained tokens of the sample come before. The first 64 have a bucket each; later buckets grow
    with the position.
    """

    series: str
    step: int
    first: list[int]
    """The first position of each bucket."""
    tokens: list[int]
    means: list[Real | None]
    """Null for a bucket without tokens."""
    coverage: token_index.TokenCoverage


def token_positions_answer(run: OpenRun, asked: TokenPositionQuery) -> RunTokenPositions:
    """Return a series by position at a step. Raises `NotFound` for an unknown scope or series."""
    scope = scope_of(asked)
    _, curves, coverage = position_curves(run, scope, asked.series)
    if not curves:
        token_index.check_known(run, scope, asked.series)
    _, _, first, counts, means = curves[0] if curves else PositionCurve("", asked.step, [], [], [])
    return RunTokenPositions(
        series=asked.series, step=asked.step, first=first, tokens=counts, means=means, coverage=coverage
    )


class MaskSteps(Struct, frozen=True, kw_only=True):
    """What a rule takes out, by step, as shares of the trained tokens."""

    rule: str
    """`recorded` for what the trainer recorded."""
    title: str
    thresholds: dict[str, float]
    """The thresholds behind these shares; none for `recorded`."""
    is_of_run: bool
    """True if the run was trained with the rule."""
    steps: list[int]
    tokens: list[int]
    masked: list[float]
    high: list[float]
    """Masked because they moved up too far."""
    low: list[float]
    update_lost: list[Real | None]
    """The share of the update that the rule masks or clips; null if nothing is known to be pushed."""


class RunTokenMasks(Struct, frozen=True):
    """Each rule that the series suffice for, what was recorded first."""

    rules: list[MaskSteps]
    coverage: token_index.TokenCoverage


def token_masks_answer(run: OpenRun, asked: TokenMaskQuery) -> RunTokenMasks:
    """Return which shares of the tokens each rule takes out, by step."""
    masked = masked_shares(run, scope_of(asked))
    by_rule = defaultdict[tuple[str, str], list[MaskedShares]](list)
    for shares in masked.shares:
        by_rule[shares.rule, str(shares.thresholds)].append(shares)
    loss, places = loss_of(run), {rule.name: place for place, rule in enumerate(tokens.MASK_RULES)}
    answers = []
    for (rule, _), own in sorted(by_rule.items(), key=lambda item: places.get(item[0][0], -1)):
        columns = {name: _column(own, name) for name in ("tokens", "masked", "high", "low", "update_lost")}
        title, steps = tokens.UPDATES[rule].title, _column(own, "step")
        thresholds, is_of_run = own[0].thresholds, _is_of_loss(own[0], loss)
        answers.append(
            MaskSteps(rule=rule, title=title, thresholds=thresholds, is_of_run=is_of_run, steps=steps, **columns)
        )
    return RunTokenMasks(answers, masked.coverage)
