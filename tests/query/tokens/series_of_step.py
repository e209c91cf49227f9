"""The token series of a step, read from its samples: what the index of tokens is compared with."""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rolloupe import tokens
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.index.segments.step_stats import merged_moments
from rolloupe.model import Sample, SampleKey, SeriesFacts
from rolloupe.query.records import Stats
from rolloupe.query.sample.stream import whole
from rolloupe.query.steps.moments import stats_of

MAX_TOKENS = 16  # more extreme tokens than a person looks at
WITHOUT = 256  # after this many samples without a series, the step counts as having none


class ExtremeToken(NamedTuple):
    """A token with an extreme value: its sample, and its index in the sample's series."""

    key: SampleKey
    token: int
    value: float


class StepSeries(NamedTuple):
    """A token series at a step, over the tokens of all samples; absent values are not counted.

    `lowest` and `highest` are each from different samples, the most extreme first.
    """

    name: str
    stats: Stats
    lowest: list[ExtremeToken]
    highest: list[ExtremeToken]


def series_of_step(run: OpenRun, split: str, step: int) -> list[StepSeries]:
    """Every token series of a step, over its trained samples. Raises `NotFound` for a step without samples."""
    if (split, step) not in run.snapshot().steps:
        raise NotFound(f"no samples at step {step}")
    return of_samples(whole(run, split, step))


def of_samples(samples: Iterable[Sample]) -> list[StepSeries]:
    """Return the token series of the trained samples, one in memory at a time; none if the first samples have none."""
    by_name: dict[str, list[tuple[SampleKey, SeriesFacts]]] = defaultdict(list)
    for number, sample in enumerate(samples):
        if number == WITHOUT and not by_name:
            break
        for series in () if sample.row.discarded else sample.series:
            facts = tokens.facts_of({series.name: np.array(series.values, dtype=np.float64)})
            if series.name != tokens.MASK and series.name in facts:
                by_name[series.name].append((sample.key, facts[series.name]))
    return [_step_series(name, of_series) for name, of_series in by_name.items()]


def _step_series(name: str, of_samples: list[tuple[SampleKey, SeriesFacts]]) -> StepSeries:
    moments = merged_moments([facts for _, facts in of_samples])
    lowest = heapq.nsmallest(MAX_TOKENS, of_samples, key=lambda pair: pair[1].min)
    highest = heapq.nlargest(MAX_TOKENS, of_samples, key=lambda pair: pair[1].max)
    return StepSeries(
        name,
        stats_of(moments, moments.count),
        [ExtremeToken(key, facts.min_at, facts.min) for key, facts in lowest],
        [ExtremeToken(key, facts.max_at, facts.max) for key, facts in highest],
    )
