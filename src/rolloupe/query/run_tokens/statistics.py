"""Token series step by step: their statistics, their means by position, and the shares that rules of masks take out."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from rolloupe.index import OpenRun, StepKey
from rolloupe.index.segments.step_stats import UNIT
from rolloupe.index.token_stats.files import MaskedSums, unpacked_masks
from rolloupe.index.token_stats.series import (
    EDGES,
    Histogram,
    PositionSums,
    merged_histograms,
    merged_positions,
    unpacked_histogram,
    unpacked_positions,
)
from rolloupe.query.records import SampleQuery
from rolloupe.query.run.trainer_files import loss_of
from rolloupe.query.run_tokens.token_index import (
    TokenCoverage,
    in_order,
    indexed,
    is_read,
    of_index,
    read_totals,
    series_meant,
    whole_steps,
)
from rolloupe.tokens import Origin

T = TypeVar("T")

PERCENTILES = (1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0)

COLUMNS = ("origin", "tokens", "infinite", "samples", "total", "mean_total", "low", "high", "buckets", "counts")

RECORDED = "recorded"
"""The rule of the trainer's own flags."""


class TokenStats(NamedTuple):
    """The finite values of a series at a step."""

    split: str
    step: int
    origin: Origin
    """As in `SampleSeries`."""
    tokens: int
    infinite: int
    """How many tokens have an infinite value."""
    samples: int
    """How many samples have a value."""
    mean: float
    """The mean over all tokens."""
    sample_mean: float
    """The mean over the samples of each sample's mean."""
    min: float
    max: float
    percentiles: dict[float, float]
    """By percentile, a value at most 0.8 % away from the true one."""


class TokenStatsBySteps(NamedTuple):
    """A series at every step that has values."""

    series: str
    steps: list[TokenStats]
    coverage: TokenCoverage


class KnownSeries(NamedTuple):
    """The names of series, in the order of the samples."""

    names: list[str]
    coverage: TokenCoverage


class _Sums(NamedTuple):
    """The sums of a series at a step in one piece: see `SeriesTotals`."""

    origin: Origin
    tokens: int
    infinite: int
    samples: int
    total: float
    mean_total: float
    low: float
    high: float
    histogram: Histogram


def token_stats(
    run: OpenRun, query: SampleQuery, series: str, percentiles: Sequence[float] = PERCENTILES
) -> TokenStatsBySteps:
    """The statistics of a series at each step of a query. Raises `BadQuery` for too many samples to read.

    A query with a group or a filter reads its samples, any other is answered by the index.
    """
    series = series_meant(run, series)
    by_step: dict[StepKey, list[_Sums]] = defaultdict(list)
    if is_read(query):
        totals_by_step, keys = read_totals(run, query, series)
        coverage = TokenCoverage(len(keys))
        for key, totals in totals_by_step.items():
            fields = [getattr(totals, name) for name in _Sums._fields[:-1]]
            by_step[key].append(_Sums._make([*fields, totals.histogram()]))
    else:
        rows, coverage = indexed(run, run.snapshot(), query, COLUMNS, series)
        for row in rows:
            *sums, buckets, counts = row.values
            by_step[row.split, row.step].append(_Sums._make([*sums, unpacked_histogram(buckets, counts)]))
    steps = [_stats(*key, parts, percentiles) for key, parts in in_order(by_step) if any(part.tokens for part in parts)]
    return TokenStatsBySteps(series, steps, coverage)


def known_series(run: OpenRun, query: SampleQuery) -> KnownSeries:
    """The series that the index has values of, in the splits and steps of a query."""
    rows, coverage = indexed(run, run.snapshot(), query, ["series", "tokens"])
    return KnownSeries(list(dict.fromkeys(name for *_, (name, count) in rows if count)), coverage)


def _stats(split: str, step: int, parts: Sequence[_Sums], percentiles: Sequence[float]) -> TokenStats:
    count, samples = sum(part.tokens for part in parts), sum(part.samples for part in parts)
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    whole = merged_histograms(part.histogram for part in parts)
    by_percentile = {share: min(high, max(low, whole.percentile(share / 100))) for share in percentiles}
    return TokenStats(
        split,
        step,
        parts[0].origin,
        count,
        sum(part.infinite for part in parts),
        samples,
        math.fsum(part.total for part in parts) / count * UNIT,
        math.fsum(part.mean_total for part in parts) / samples * UNIT,
        low,
        high,
        by_percentile,
    )


class PositionCurve(NamedTuple):
    """The mean of a series by position at a step, over the trained tokens."""

    split: str
    step: int
    first: list[int]
    """The first position of each bucket: how many trained tokens of the sample precede it."""
    tokens: list[int]
    means: list[float | None]
    """None for a bucket without tokens."""


class CurvesByPosition(NamedTuple):
    """A series at every step that has values."""

    series: str
    curves: list[PositionCurve]
    coverage: TokenCoverage


def position_curves(run: OpenRun, query: SampleQuery, series: str) -> CurvesByPosition:
    """The mean of a series by position in the response, by step.

    Up to the 64th trained token each position counts alone; beyond, buckets grow with the position. Raises `BadQuery`
    for a query with a group or a filter.
    """
    of_index(query)
    series = series_meant(run, series)
    rows, coverage = indexed(run, run.snapshot(), query, ("position_counts", "position_totals"), series)
    by_step: dict[StepKey, list[PositionSums]] = defaultdict(list)
    for row in rows:
        by_step[row.split, row.step].append(unpacked_positions(*row.values))
    curves = [_curve(*key, merged_positions(sums)) for key, sums in in_order(by_step)]
    return CurvesByPosition(series, [curve for curve in curves if curve.tokens], coverage)


def _curve(split: str, step: int, sums: PositionSums) -> PositionCurve:
    counts, totals = sums.tokens.tolist(), sums.total.tolist()
    means = [total / count if count else None for count, total in zip(counts, totals, strict=True)]
    return PositionCurve(split, step, EDGES[: len(counts)].tolist(), counts, means)


class MaskedShares(NamedTuple):
    """The shares of the trained tokens of a step that a rule takes out."""

    split: str
    step: int
    rule: str
    """A name of `tokens.MASK_RULES`, or `recorded` for what the trainer recorded."""
    thresholds: dict[str, float]
    """The run's for the rule of its loss, the usual ones for others; none for `recorded`."""
    tokens: int
    masked: float
    high: float
    low: float
    update_lost: float | None
    """The share of the update, as in `MassShares.lost`; None if nothing is known to be pushed."""


class MaskedBySteps(NamedTuple):
    """Every rule at every step."""

    shares: list[MaskedShares]
    coverage: TokenCoverage


def masked_shares(run: OpenRun, query: SampleQuery) -> MaskedBySteps:
    """The shares of tokens that each rule takes out, by step, for the rules that the recorded series suffice for.

    Raises `BadQuery` for a query with a group or a filter.
    """
    rows, coverage = whole_steps(run, query, "masked")
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
        for key, masked in in_order(sums)
        if masked.tokens
    ]
    return MaskedBySteps(shares, coverage)


def masked_by_rule(run: OpenRun, split: str) -> dict[str, dict[int, MaskedShares]]:
    """Return the shares by rule, then by step; of a rule with several thresholds those of the run's loss."""
    loss = loss_of(run)
    by_rule: dict[str, dict[int, MaskedShares]] = {}
    for shares in masked_shares(run, SampleQuery(splits=(split,))).shares:
        is_own = loss is not None and loss.rule == shares.rule and loss.thresholds.items() <= shares.thresholds.items()
        by_step = by_rule.setdefault(shares.rule, {})
        by_step[shares.step] = shares if is_own else by_step.get(shares.step, shares)
    return by_rule


def usual_rules(run: OpenRun, rules: dict[str, dict[int, MaskedShares]]) -> list[str]:
    """Return the rules that a run applies: its trainer's flags and that of its loss; all if none is known."""
    loss = loss_of(run)
    own = [name for name in (RECORDED, loss.rule if loss else "") if name in rules]
    return own or sorted(rules)
