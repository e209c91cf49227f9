"""The token series of a step: their statistics, and their most extreme tokens."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from rolloupe import tokens
from rolloupe.errors import NotFound
from rolloupe.index import Extreme, OpenRun, Snapshot, StepKey, extreme_tokens, merged_moments, most_extreme
from rolloupe.model import Sample, SampleKey, SeriesFacts
from rolloupe.query.engine import database
from rolloupe.query.engine.caches import AnswerCache
from rolloupe.query.engine.database import Question
from rolloupe.query.records import ExtremeToken, StepSeries
from rolloupe.query.sample.stream import whole
from rolloupe.query.samples.rows import KEY, ORDER, attempts_of
from rolloupe.query.steps.discards import discarded_by_step
from rolloupe.query.steps.token_points import annotated_steps
from rolloupe.query.steps.trained import stats_of

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


Place = tuple[str, int, str]
"""Source, first byte and part: they identify a row of the index."""

KEPT_SERIES = 4_000
"""Number of cached token series of steps whose samples had to be read."""

_cache: AnswerCache[list[StepSeries]] = AnswerCache(KEPT_SERIES, len)

ROWS = f"""
SELECT (row_number() OVER ()) - 1 AS nth, {", ".join((*KEY, *ORDER))}
FROM rows SEMI JOIN places USING (source, byte_start, part) WHERE split = ? AND step = ?
"""


def token_series(run: OpenRun, split: str, step: int) -> list[StepSeries]:
    """Every token series of a step, over its trained samples. Raises `NotFound` for a step without samples.

    If a format has its series in whole samples alone, or annotations say which samples were trained on, all samples of
    the step are read, once until the run changes; this raises `SourceChanged` if a file was rewritten meanwhile.
    """
    snapshot, key = run.snapshot(), (split, step)
    stats = snapshot.steps.get(key)
    if stats is None:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    if (not stats.series and run.format.series_in_samples) or _is_annotated(run, snapshot, key):
        return _cache.get(run, snapshot, key, lambda: of_samples(whole(run, split, step)))
    extremes = {name: extreme_tokens(snapshot, key, name) for name in stats.series}
    keys = _keys(run, snapshot, key, [one for pair in extremes.values() for some in pair for one in some])
    result = []
    for name, (low, high) in extremes.items():
        moments = stats.series[name].moments
        result.append(StepSeries(name, stats_of(moments, moments.count), _tokens(low, keys), _tokens(high, keys)))
    return result


def _is_annotated(run: OpenRun, snapshot: Snapshot, key: StepKey) -> bool:
    """True if annotations change which samples of a step count."""
    if not snapshot.annotates_discarded:
        return False
    own = sum(snapshot.steps[key].discarded.values())
    return discarded_by_step(run).get(key, 0) != own or key in annotated_steps(run, snapshot)


def _tokens(some: list[Extreme], keys: dict[Place, SampleKey]) -> list[ExtremeToken]:
    """The tokens with their samples, without tokens whose sample has left the index since."""
    return [
        ExtremeToken(keys[place], one.token, one.value)
        for one in some
        if (place := (one.source, one.start, one.part)) in keys
    ]


def _keys(run: OpenRun, snapshot: Snapshot, key: StepKey, some: list[Extreme]) -> dict[Place, SampleKey]:
    places = {(one.source, one.start, one.part) for one in some}
    if not places:
        return {}
    columns = zip(*sorted(places), strict=True)
    table = pa.table(dict(zip(("source", "byte_start", "part"), map(list, columns), strict=True)))
    pieces = snapshot.holding([key[0]], key[1], key[1])
    rows = database.table(run, Question(pieces, ROWS, key, tables={"places": table}))
    attempts = attempts_of(run, snapshot, rows)
    values = (rows[name].to_pylist() for name in ("nth", "source", "byte_start", "part", "grp", "idx"))
    return {
        (source, start, part): SampleKey(*key, group, index, attempts.get(nth, 0))
        for nth, source, start, part, group, index in zip(*values, strict=True)
    }
