"""The token series of a step, from its samples: their statistics, and their most extreme tokens."""

import heapq
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rolloupe import tokens
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun, merged_moments
from rolloupe.model import Sample, SampleKey, SeriesFacts
from rolloupe.query.engine import caches
from rolloupe.query.records import ExtremeToken, StepSeries
from rolloupe.query.sample.stream import whole
from rolloupe.query.steps.moments import stats_of

MAX_TOKENS = 16  # more extreme tokens than a person looks at
WITHOUT = 256  # after this many samples without a series, the step counts as having none
KEPT_SERIES = 4_000  # number of cached token series of steps

_cache: caches.AnswerCache[list[StepSeries]] = caches.AnswerCache(KEPT_SERIES, len)


def token_series(run: OpenRun, split: str, step: int) -> list[StepSeries]:
    """Return every token series of a step, over its trained samples. Raises `NotFound` for a step without samples.

    All samples of the step are read, once until the run changes; this raises `SourceChanged` if a file was rewritten
    meanwhile.
    """
    snapshot, key = run.snapshot(), (split, step)
    if key not in snapshot.steps:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    return _cache.get(run, snapshot, key, lambda: of_samples(whole(run, split, step)))


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
