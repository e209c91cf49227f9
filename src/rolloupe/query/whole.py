"""Many samples, whole, one after another: for what copies a run, or takes samples out of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, SampleKey
from rolloupe.query import engine, said
from rolloupe.query.engine import Question
from rolloupe.query.listing import samples
from rolloupe.query.records import SampleItem, SampleQuery
from rolloupe.query.single import sample
from rolloupe.query.terms import ATTEMPT_ORDER

PAGE = 500
"""Samples that are looked up at a time; one alone is held whole."""

PLACES = f"""
, numbered AS (SELECT base.*, row_number() OVER (of_key ORDER BY {ATTEMPT_ORDER}) AS n, count(*) OVER of_key AS most
               FROM base SEMI JOIN asked ON grp = own_group AND idx = own_index
               WHERE split = ? AND step = ? WINDOW of_key AS (PARTITION BY grp, idx))
SELECT nth, source, byte_start, byte_length, part, uid
FROM asked JOIN numbered ON grp = own_group AND idx = own_index AND n = if(own_attempt = 0, most, own_attempt)
ORDER BY nth
"""
"""Where the samples of a page lie."""


OF_STEP = f"""
, found AS (SELECT *, row({ATTEMPT_ORDER}) AS place FROM rows WHERE split = ? AND step = ?)
SELECT grp, idx, arg_max(source, place), arg_max(byte_start, place), arg_max(byte_length, place),
       arg_max(part, place), arg_max(uid, place)
FROM found GROUP BY grp, idx
"""

MOST = 50_000
"""Places that are held: of a larger step each sample is asked for by itself."""


class _Step(NamedTuple):
    """What a reader knows of the step that it was asked for last."""

    of: tuple[str, int, str]
    """Split, step, and the version of the run."""
    places: Mapping[tuple[str, str], tuple[Locator, str]] | None = None
    """By group and index: where a sample lies, and its uid. None until a second sample is asked for."""
    noted: Mapping[str, Sequence[Locator]] = {}


class Reader:
    """Reads samples as `query.sample` does; where two of a step are asked for in turn, the step is looked up once.

    Threads may share a reader.
    """

    def __init__(self, run: OpenRun) -> None:
        self._run = run
        self._last: _Step | None = None

    def __call__(self, key: SampleKey) -> Sample:
        """One sample. Raises `NotFound`, and `SourceChanged` where its file was rewritten."""
        of = (key.split, key.step, self._run.version)
        last = self._last
        if last is None or last.of != of:
            self._last = _Step(of)
            return sample(self._run, key)
        if last.places is None:
            self._last = last = self._looked_up(of)
        place = None if key.attempt else (last.places or {}).get((key.group, key.index))
        if place is None:
            return sample(self._run, key)
        locator, uid = place
        try:
            return said.load(self._run, key, locator, last.noted.get(uid, []))
        except SourceChanged:
            return sample(self._run, key)  # the file was written again since it was looked up

    def _looked_up(self, of: tuple[str, int, str]) -> _Step:
        split, step, _ = of
        snapshot = self._run.snapshot()
        sketch = snapshot.steps.get((split, step))
        if sketch is None or sketch.rows > MOST:
            return _Step(of, {})
        answer = engine.ask(self._run, Question(snapshot.holding([split], step, step), OF_STEP, [split, step]))
        places = {
            (group, index): (Locator(source=source, start=start, length=length, part=part), uid)
            for group, index, source, start, length, part, uid in answer
        }
        return _Step(of, places, said.places(self._run, [uid for _, uid in places.values()]))


def whole(run: OpenRun, split: str, step: int) -> Iterator[Sample]:
    """Yield the samples of a step, read from their files, those of a group side by side: all that its means count.

    What annotations say of a sample (advantage, why it was discarded, metrics, tags) is in its row. Raises
    `SourceChanged` where a file was rewritten meanwhile.
    """
    offset = 0
    while True:
        query = SampleQuery(splits=(split,), step_min=step, step_max=step, offset=offset, limit=PAGE)
        page = samples(run, query).samples
        yield from _read(run, page)
        offset += len(page)
        if len(page) < PAGE:
            return


def _read(run: OpenRun, items: Sequence[SampleItem]) -> Iterator[Sample]:
    if not items:
        return
    key = items[0].key
    pieces = run.snapshot().holding([key.split], key.step, key.step)
    asked = pa.table({
        "nth": range(len(items)), "own_group": [item.key.group for item in items],
        "own_index": [item.key.index for item in items], "own_attempt": [item.key.attempt for item in items],
    })  # fmt: skip
    places = engine.ask(run, Question(pieces, PLACES, [key.split, key.step], tables={"asked": asked}))
    noted = said.places(run, [place[-1] for place in places])
    for nth, name, start, length, part, uid in places:
        locator = Locator(source=name, start=start, length=length, part=part)
        yield _annotated(said.load(run, items[nth].key, locator, noted.get(uid, [])), items[nth])


def _annotated(found: Sample, item: SampleItem) -> Sample:
    row = found.row
    row.advantage = item.advantage if row.advantage is None else row.advantage
    row.discarded = row.discarded or item.discarded
    row.metrics = row.metrics | item.metrics
    row.tags = row.tags | item.tags
    return found
