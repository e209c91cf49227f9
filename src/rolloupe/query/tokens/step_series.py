"""The token series of a step: their statistics, and their most extreme tokens."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from rolloupe import tokens
from rolloupe.errors import NotFound
from rolloupe.index import Extreme, OpenRun, Snapshot, StepKey, extreme_tokens, merged_moments, most_extreme
from rolloupe.model import Sample, SampleKey, SeriesFacts
from rolloupe.query.engine import caches, database
from rolloupe.query.records import ExtremeToken, StepSeries
from rolloupe.query.sample.stream import whole
from rolloupe.query.samples.rows import KEY, ORDER, keyed_values
from rolloupe.query.steps.moments import annotated_steps, discarded_by_step, stats_of

Place = tuple[str, int, str]  # Source, first byte and part: they identify a row of the index
WITHOUT = 256  # after this many samples without a series, the step counts as having none
AT_ONCE = 1_000  # number of samples to hold before dropping all but the most extreme
KEPT_SERIES = 4_000  # number of cached token series of steps whose samples had to be read

ROWS = f"""
SELECT (row_number() OVER ()) - 1 AS nth, {", ".join((*KEY, *ORDER))}
FROM rows SEMI JOIN places USING (source, byte_start, part) WHERE split = ? AND step = ?
"""

_cache: caches.AnswerCache[list[StepSeries]] = caches.AnswerCache(KEPT_SERIES, len)


def token_series(run: OpenRun, split: str, step: int) -> list[StepSeries]:
    """Return every token series of a step, over its trained samples. Raises `NotFound` for a step without samples.

    If a format has its series in whole samples alone, or annotations say which samples were trained on, all samples of
    the step are read, once until the run changes; this raises `SourceChanged` if a file was rewritten meanwhile.
    """
    snapshot, key = run.snapshot(), (split, step)
    stats = snapshot.steps.get(key)
    if stats is None:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    is_read = not stats.series and run.format.series_in_samples
    if snapshot.annotates_discarded and not is_read:  # annotations may change which samples of the step count
        own = sum(stats.discarded.values())
        is_read = discarded_by_step(run).get(key, 0) != own or key in annotated_steps(run, snapshot)
    if is_read:
        return _cache.get(run, snapshot, key, lambda: of_samples(whole(run, split, step)))
    extremes = {name: extreme_tokens(snapshot, key, name) for name in stats.series}
    keys = _keys(run, snapshot, key, [extreme for pair in extremes.values() for side in pair for extreme in side])
    moments = {name: stats.series[name].moments for name in extremes}
    return [
        StepSeries(name, stats_of(moments[name], moments[name].count), _tokens(low, keys), _tokens(high, keys))
        for name, (low, high) in extremes.items()
    ]


def _keys(run: OpenRun, snapshot: Snapshot, key: StepKey, extremes: list[Extreme]) -> dict[Place, SampleKey]:
    places = set(map(_place, extremes))
    if not places:
        return {}
    columns = ("source", "byte_start", "part")
    table = pa.table(dict(zip(columns, map(list, zip(*sorted(places), strict=True)), strict=True)))
    pieces = snapshot.holding([key[0]], key[1], key[1])
    rows = database.table(run, database.Question(pieces, ROWS, key, tables={"places": table}))
    return {
        (source, start, part): sample for sample, (source, start, part) in keyed_values(run, snapshot, rows, columns)
    }


def _place(extreme: Extreme) -> Place:
    return extreme.source, extreme.start, extreme.part


def _tokens(extremes: Iterable[Extreme], keys: Mapping[Place, SampleKey]) -> list[ExtremeToken]:
    """The tokens with their samples, without tokens whose sample has left the index since."""
    return [
        ExtremeToken(keys[place], extreme.token, extreme.value)
        for extreme in extremes
        if (place := _place(extreme)) in keys
    ]


class _Series:
    def __init__(self) -> None:
        self.facts: list[SeriesFacts] = []
        self.keys: dict[Place, SampleKey] = {}
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
        places = map(_place, (*self.low, *self.high))
        self.keys = {place: self.keys[place] for place in places}

    def result(self, name: str) -> StepSeries:
        """The series over all samples."""
        self._prune()
        moments = merged_moments(self.facts)
        low, high = _tokens(self.low, self.keys), _tokens(self.high, self.keys)
        return StepSeries(name, stats_of(moments, moments.count), low, high)


def of_samples(samples: Iterable[Sample]) -> list[StepSeries]:
    """Return the token series of the trained samples, one in memory at a time; none if the first samples have none."""
    series_by_name: dict[str, _Series] = defaultdict(_Series)
    for number, sample in enumerate(samples):
        if number == WITHOUT and not series_by_name:
            break
        for series in () if sample.row.discarded else sample.series:
            facts = tokens.facts_of({series.name: np.array(series.values, dtype=np.float64)})
            if series.name != tokens.MASK and series.name in facts:
                series_by_name[series.name].add(sample, facts[series.name])
    return [series.result(name) for name, series in series_by_name.items()]
