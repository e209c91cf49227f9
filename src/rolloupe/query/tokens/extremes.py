"""The token series of a step: their statistics, and where they are most extreme."""

import pyarrow as pa

from rolloupe.errors import NotFound
from rolloupe.formats.base import SeriesInSamples
from rolloupe.index import Extreme, OpenRun, Snapshot, StepKey, extreme_tokens
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.database import Question
from rolloupe.query.records import ExtremeToken, StepSeries
from rolloupe.query.sample.stream import whole
from rolloupe.query.samples.list_items import KEY, ORDER, attempts_of
from rolloupe.query.steps.summaries import stats_of
from rolloupe.query.tokens.step_series import of_samples

Place = tuple[str, int, str]
"""Source, first byte and part: what tells one row of the index from any other."""

KEPT_SERIES = 4_000
"""Token series of steps whose samples were read for them."""

_kept: AnswerCache[list[StepSeries]] = AnswerCache(KEPT_SERIES, len)

ROWS = f"""
SELECT (row_number() OVER ()) - 1 AS nth, {", ".join((*KEY, *ORDER))}
FROM rows SEMI JOIN places USING (source, byte_start, part) WHERE split = ? AND step = ?
"""


def token_series(run: OpenRun, split: str, step: int) -> list[StepSeries]:
    """Every token series of a step. Raises `NotFound` where the step has no sample; empty where it has no series.

    Where a format knows its series from whole samples alone, all of the step are read, once as long as the run stays as
    it is; then `SourceChanged` is raised where a file was rewritten meanwhile.
    """
    snapshot, key = run.snapshot(), (split, step)
    sketch = snapshot.steps.get(key)
    if sketch is None:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    if not sketch.series and isinstance(run.format, SeriesInSamples):
        return _kept.get(run, snapshot, key, lambda: of_samples(whole(run, split, step)))
    extremes = {name: extreme_tokens(snapshot, key, name) for name in sketch.series}
    keys = _keys(run, snapshot, key, [one for pair in extremes.values() for some in pair for one in some])
    found = []
    for name, (low, high) in extremes.items():
        moments = sketch.series[name].moments
        found.append(StepSeries(name, stats_of(moments, moments.count), _tokens(low, keys), _tokens(high, keys)))
    return found


def _tokens(some: list[Extreme], keys: dict[Place, SampleKey]) -> list[ExtremeToken]:
    """The tokens by the samples that they are of; without those whose sample has left the index since."""
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
    found = (rows[name].to_pylist() for name in ("nth", "source", "byte_start", "part", "grp", "idx"))
    return {
        (source, start, part): SampleKey(*key, group, index, attempts.get(nth, 0))
        for nth, source, start, part, group, index in zip(*found, strict=True)
    }
