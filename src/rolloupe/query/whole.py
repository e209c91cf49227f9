"""Many samples, whole, one after another: for what copies a run, or takes samples out of it."""

from collections.abc import Iterator, Mapping, Sequence

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
, found AS (SELECT rows.*, nth FROM rows JOIN asked ON grp = asked.own_group AND idx = asked.own_index
            WHERE split = ? AND step = ?)
SELECT nth, arg_max(source, place), arg_max(byte_start, place), arg_max(byte_length, place), arg_max(part, place),
       arg_max(uid, place)
FROM (SELECT *, row({ATTEMPT_ORDER}) AS place FROM found) GROUP BY nth ORDER BY nth
"""
"""Where the samples of a page lie; of several attempts the last."""


OF_STEP = f"""
, found AS (SELECT *, row({ATTEMPT_ORDER}) AS place FROM rows WHERE split = ? AND step = ?)
SELECT grp, idx, arg_max(source, place), arg_max(byte_start, place), arg_max(byte_length, place),
       arg_max(part, place), arg_max(uid, place)
FROM found GROUP BY grp, idx
"""

MOST = 50_000
"""Places that are held: of a larger step each sample is asked for by itself."""


class Reader:
    """Reads samples as `query.sample` does; where two of a step are asked for in turn, the step is looked up once."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run
        self._step: tuple[str, int, str] | None = None
        self._places: dict[tuple[str, str], tuple[Locator, str]] = {}
        self._noted: Mapping[str, Sequence[Locator]] = {}

    def __call__(self, key: SampleKey) -> Sample:
        """One sample. Raises `NotFound`, and `SourceChanged` where its file was rewritten."""
        step = (key.split, key.step, self._run.version)
        if self._step != step:
            self._step, self._places = step, {}
        elif not self._places:
            self._look_up(key)
        place = None if key.attempt else self._places.get((key.group, key.index))
        source = None if place is None else self._run.source(place[0].source)
        if place is None or source is None:
            return sample(self._run, key)
        locator, uid = place
        found = said.load(self._run, source, locator, self._noted.get(uid, []))
        row = found.row
        if (row.split, row.step, row.group, row.index) != key.shared:
            return sample(self._run, key)  # the file was written again since
        found.key = key
        return found

    def _look_up(self, key: SampleKey) -> None:
        snapshot = self._run.snapshot()
        sketch = snapshot.steps.get((key.split, key.step))
        if sketch is None or sketch.rows > MOST:
            return
        pieces = snapshot.holding([key.split], key.step, key.step)
        for group, index, source, start, length, part, uid in engine.ask(
            self._run, Question(pieces, OF_STEP, [key.split, key.step])
        ):
            self._places[group, index] = Locator(source=source, start=start, length=length, part=part), uid
        self._noted = said.places(self._run, [uid for _, uid in self._places.values()])


def whole(run: OpenRun, split: str, step: int) -> Iterator[Sample]:
    """Yield the samples of a step, read from their files, those of a group side by side; earlier attempts aside.

    What annotations say of a sample (advantage, why it was discarded, metrics, tags) is in its row. Raises
    `SourceChanged` where a file was rewritten meanwhile.
    """
    offset = 0
    while True:
        query = SampleQuery(splits=(split,), step_min=step, step_max=step, offset=offset, limit=PAGE)
        page = samples(run, query).samples
        yield from _read(run, [item for item in page if not item.key.attempt])
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
        "own_index": [item.key.index for item in items],
    })  # fmt: skip
    places = engine.ask(run, Question(pieces, PLACES, [key.split, key.step], tables={"asked": asked}))
    noted = said.places(run, [place[-1] for place in places])
    for nth, name, start, length, part, uid in places:
        source = run.source(name)
        if source is None:
            raise SourceChanged(f"{name} is gone: the sample {items[nth].key} was in it when it was indexed")
        locator = Locator(source=name, start=start, length=length, part=part)
        found = said.load(run, source, locator, noted.get(uid, []))
        yield _annotated(found, items[nth])


def _annotated(found: Sample, item: SampleItem) -> Sample:
    row = found.row
    if (row.split, row.step, row.group, row.index) != item.key.shared:
        raise SourceChanged(f"{found.locator.source} no longer holds {item.key}: convert again")
    found.key = item.key
    row.advantage = item.advantage if row.advantage is None else row.advantage
    row.discarded = row.discarded or item.discarded
    row.metrics = row.metrics | item.metrics
    row.tags = row.tags | item.tags
    return found
