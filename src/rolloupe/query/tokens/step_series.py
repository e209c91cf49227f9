"""The token series of a step from its whole samples, for formats where only these (with annotations) hold them."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rolloupe import tokens
from rolloupe.index import Extreme, merged_moments, most_extreme
from rolloupe.model import Sample, SampleKey, SeriesFacts
from rolloupe.query.records import ExtremeToken, StepSeries
from rolloupe.query.steps.summaries import stats_of

MASK = "loss_mask"
"""Marks the tokens that count; it is not a series with extremes."""

WITHOUT = 256
"""After this many samples without a series, the step counts as having none."""

AT_ONCE = 1_000
"""Number of samples to hold before dropping all but the most extreme."""


class _Series:
    """One token series, as far as it has been read."""

    def __init__(self) -> None:
        self.facts: list[SeriesFacts] = []
        self.keys: dict[tuple[str, int, str], SampleKey] = {}
        self.low: list[Extreme] = []
        self.high: list[Extreme] = []

    def add(self, sample: Sample, facts: SeriesFacts) -> None:
        """Add the series of one sample."""
        at = sample.locator
        self.facts.append(facts)
        self.keys[at.source, at.start, at.part] = sample.key
        self.low.append(Extreme(facts.min, facts.min_at, at.start, at.part, at.source))
        self.high.append(Extreme(facts.max, facts.max_at, at.start, at.part, at.source))
        if len(self.low) > AT_ONCE:
            self._prune()

    def _prune(self) -> None:
        self.low = most_extreme(self.low, highest=False)
        self.high = most_extreme(self.high, highest=True)
        places = [(one.source, one.start, one.part) for one in (*self.low, *self.high)]
        self.keys = {place: self.keys[place] for place in places}

    def result(self, name: str) -> StepSeries:
        """The series over all samples."""
        self._prune()
        moments = merged_moments(self.facts)
        return StepSeries(name, stats_of(moments, moments.count), self._tokens(self.low), self._tokens(self.high))

    def _tokens(self, some: Iterable[Extreme]) -> list[ExtremeToken]:
        return [ExtremeToken(self.keys[one.source, one.start, one.part], one.token, one.value) for one in some]


def of_samples(samples: Iterable[Sample]) -> list[StepSeries]:
    """The token series of the trained samples among some, by their first appearance. Holds one sample at a time.

    None if the first samples have none: a run of plain text is not read to its end for that.
    """
    series_by_name: dict[str, _Series] = defaultdict(_Series)
    for number, sample in enumerate(samples):
        if number == WITHOUT and not series_by_name:
            break
        for one in () if sample.row.discarded else sample.series:
            facts = tokens.facts_of({one.name: np.array(one.values, dtype=np.float64)})
            if one.name != MASK and one.name in facts:
                series_by_name[one.name].add(sample, facts[one.name])
    return [series.result(name) for name, series in series_by_name.items()]
