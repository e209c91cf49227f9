"""Statistics of any token series, recorded or derived, step by step."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from rolloupe.index import OpenRun, StepKey
from rolloupe.index.segments.step_stats import UNIT
from rolloupe.index.token_stats.histogram import Histogram, merged, unpacked
from rolloupe.index.token_stats.series_totals import SeriesTotals
from rolloupe.query.records import SampleQuery
from rolloupe.query.run_tokens.token_index import TokenCoverage, indexed, is_read, read_totals, series_meant
from rolloupe.tokens import Origin

T = TypeVar("T")

PERCENTILES = (1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0)

COLUMNS = ("origin", "tokens", "infinite", "samples", "total", "mean_total", "low", "high", "buckets", "counts")


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
    """As in `SeriesTotals`."""

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
    if is_read(query):
        return _of_samples(run, query, series, percentiles)
    rows, coverage = indexed(run, run.snapshot(), query, COLUMNS, series)
    by_step: dict[tuple[str, int], list[_Sums]] = defaultdict(list)
    for row in rows:
        *sums, buckets, counts = row.values
        by_step[row.split, row.step].append(_Sums._make([*sums, unpacked(buckets, counts)]))
    return TokenStatsBySteps(
        series,
        [
            _stats(split, step, parts, percentiles)
            for (split, step), parts in _in_order(by_step)
            if any(one.tokens for one in parts)
        ],
        coverage,
    )


def known_series(run: OpenRun, query: SampleQuery) -> KnownSeries:
    """The series that the index has values of, in the splits and steps of a query."""
    rows, coverage = indexed(run, run.snapshot(), query, ["series", "tokens"])
    return KnownSeries(list(dict.fromkeys(name for *_, (name, count) in rows if count)), coverage)


def _of_samples(run: OpenRun, query: SampleQuery, series: str, percentiles: Sequence[float]) -> TokenStatsBySteps:
    by_step, keys = read_totals(run, query, series)
    steps = [_stats(*key, [_sums(one)], percentiles) for key, one in _in_order(by_step) if one.tokens]
    return TokenStatsBySteps(series, steps, TokenCoverage(len(keys)))


def _in_order(by_step: Mapping[StepKey, T]) -> list[tuple[StepKey, T]]:
    return sorted(by_step.items(), key=lambda one: (one[0][0] != "train", one[0]))


def _sums(one: SeriesTotals) -> _Sums:
    return _Sums(
        one.origin, one.tokens, one.infinite, one.samples, one.total, one.mean_total, one.low, one.high, one.histogram()
    )


def _stats(split: str, step: int, some: Iterable[_Sums], percentiles: Sequence[float]) -> TokenStats:
    parts = list(some)
    count, samples = sum(one.tokens for one in parts), sum(one.samples for one in parts)
    low, high = min(one.low for one in parts), max(one.high for one in parts)
    histogram = merged(one.histogram for one in parts)
    found = {share: min(high, max(low, histogram.percentile(share / 100))) for share in percentiles}
    return TokenStats(
        split,
        step,
        parts[0].origin,
        count,
        sum(one.infinite for one in parts),
        samples,
        math.fsum(one.total for one in parts) / count * UNIT,
        math.fsum(one.mean_total for one in parts) / samples * UNIT,
        low,
        high,
        found,
    )
