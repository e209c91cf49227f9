"""Many whole samples, one after another: for copying a run, or extracting samples."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import pyarrow as pa

from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, SampleKey, Texts
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import ATTEMPT_ORDER
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.keyed_table import KeyedTable
from rolloupe.query.records import SampleItem, SampleQuery
from rolloupe.query.sample import annotations
from rolloupe.query.sample.load import load_scored, sample
from rolloupe.query.samples.pages import samples

PAGE = 500
"""Number of samples to look up at a time; only one is in memory as a whole."""

PLACES = f"""
, numbered AS (SELECT base.*, row_number() OVER (of_key ORDER BY {ATTEMPT_ORDER}) AS n, count(*) OVER of_key AS most
               FROM base SEMI JOIN asked ON grp = own_group AND idx = own_index
               WHERE split = ? AND step = ? WINDOW of_key AS (PARTITION BY grp, idx))
SELECT nth, source, byte_start, byte_length, part, uid
FROM asked JOIN numbered ON grp = own_group AND idx = own_index AND n = if(own_attempt = 0, most, own_attempt)
ORDER BY nth
"""
"""The places of the samples of a page."""


OF_STEP = f"""
SELECT grp, idx, byte_length, uid, {ATTEMPT_ORDER} FROM rows WHERE split = ? AND step = ?
"""

MOST = 2**20
"""Number of places to hold, some hundred bytes each: a larger step is looked up sample by sample."""


T = TypeVar("T")
Load: TypeAlias = Callable[[OpenRun, SampleKey, Locator, Sequence[Locator]], T]
"""Reads some data of a sample at a place, given the places of its annotations."""

ATTEMPTS = tuple(ATTEMPT_ORDER.split(", "))
NO_PLACES = pa.table({name: pa.nulls(0, pa.string()) for name in ("grp", "idx")})


class _Step(NamedTuple):
    """A reader's knowledge about the step that it read last."""

    of: tuple[str, int, str]
    """Split, step, and the version of the run."""
    places: KeyedTable | None = None
    """By group and index: the place of a sample, and its uid. None until a second sample is requested."""
    noted: KeyedTable | None = None
    """By uid: the places of annotations, oldest first. None without annotations."""

    def place(self, key: SampleKey) -> tuple[Locator, str] | None:
        """The place of a key's sample, and its uid; the last of several attempts. None if unknown."""
        rows = self.places.rows(key.group, key.index) if self.places and not key.attempt else []
        if not rows:
            return None
        last = max(rows, key=lambda row: tuple(row[name] for name in ATTEMPTS))
        place = Locator(source=last["source"], start=last["byte_start"], length=last["byte_length"], part=last["part"])
        return place, last["uid"]

    def notes(self, uid: str) -> list[Locator]:
        """The places of a sample's annotations."""
        rows = self.noted.rows(uid) if self.noted and uid else []
        return [Locator(source=row["file"], start=row["byte_start"], length=row["byte_length"]) for row in rows]


class Reader:
    """Reads samples like `query.sample`; for consecutive samples of one step, it looks the step up once.

    Threads may share a reader.
    """

    def __init__(self, run: OpenRun) -> None:
        self._run = run
        self._last: _Step | None = None

    def __call__(self, key: SampleKey) -> Sample:
        """One sample. Raises `NotFound`, and `SourceChanged` if its file was rewritten."""
        return self._read(key, load_scored, lambda: sample(self._run, key))

    def texts(self, key: SampleKey) -> Texts:
        """The texts of one sample, which is cheaper than the whole sample. Raises as a call of the reader."""
        return self._read(key, annotations.load_texts, lambda: annotations.texts_of(sample(self._run, key)))

    def _read(self, key: SampleKey, load: Load[T], alone: Callable[[], T]) -> T:
        """Read by the places of a known step, else by `alone`."""
        of = (key.split, key.step, self._run.version)
        last = self._last
        if last is None or last.of != of:
            self._last = _Step(of)
            return alone()
        if last.places is None:
            self._last = last = self._looked_up(of)
        place = last.place(key)
        if place is None:
            return alone()
        locator, uid = place
        try:
            return load(self._run, key, locator, last.notes(uid))
        except SourceChanged:
            return alone()  # the file was rewritten since the look-up

    def _looked_up(self, of: tuple[str, int, str]) -> _Step:
        split, step, _ = of
        snapshot = self._run.snapshot()
        stats = snapshot.steps.get((split, step))
        if stats is None or stats.rows > MOST:
            return _Step(of, KeyedTable(NO_PLACES, ("grp", "idx")))
        rows = database.table(self._run, Question(snapshot.holding([split], step, step), OF_STEP, [split, step]))
        noted = annotations.noted(self._run, rows["uid"])
        return _Step(of, KeyedTable(rows, ("grp", "idx")), None if noted is None else KeyedTable(noted, ("uid",)))


def whole(run: OpenRun, split: str, step: int, group: str | None = None, offset: int = 0) -> Iterator[Sample]:
    """Yield the samples of a step or of one group, read from their files, group by group: all samples in its means.

    The first `offset` samples are left out. A sample's row includes its annotations (advantage, why it was discarded,
    metrics, tags). Raises `SourceChanged` if a file was rewritten meanwhile.
    """
    while True:
        query = SampleQuery(
            splits=(split,), step_min=step, step_max=step, group=group or None, offset=offset, limit=PAGE
        )
        page = samples(run, query).samples
        yield from _read(run, page)
        offset += len(page)
        if len(page) < PAGE:
            return


def _read(run: OpenRun, items: Sequence[SampleItem]) -> Iterator[Sample]:
    if not items:
        return
    split, step = items[0].split, items[0].step
    pieces = run.snapshot().holding([split], step, step)
    wanted = pa.table({
        "nth": range(len(items)), "own_group": [item.group for item in items],
        "own_index": [item.index for item in items], "own_attempt": [item.attempt for item in items],
    })  # fmt: skip
    question = Question(pieces, PLACES, [split, step], tables={"asked": wanted})
    places = database.ask(run, question) if pieces else []
    if len(places) < len(items):
        raise SourceChanged(f"samples of step {step} of split {split!r} were written again since: ask again")
    noted = annotations.places(run, [place[-1] for place in places])
    for nth, name, start, length, part, uid in places:
        locator = Locator(source=name, start=start, length=length, part=part)
        yield _annotated(annotations.load(run, items[nth].key, locator, noted.get(uid, [])), items[nth])


def _annotated(sample: Sample, item: SampleItem) -> Sample:
    row = sample.row
    row.advantage = item.advantage if row.advantage is None else row.advantage
    row.discarded = row.discarded or item.discarded
    row.metrics = row.metrics | item.metrics
    row.tags = row.tags | item.tags
    return sample
