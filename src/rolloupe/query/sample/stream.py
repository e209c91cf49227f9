"""Many whole samples, one after another: of a step, of a list with their texts, or named one by one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from rolloupe import tokens
from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Problem, Sample, SampleKey, Texts
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import ATTEMPT_ORDER
from rolloupe.query.engine.database import Question
from rolloupe.query.records import SampleItem, SampleQuery
from rolloupe.query.sample.load import sample
from rolloupe.query.sample.read import (
    annotation_places,
    annotation_table,
    read_sample,
    read_scored,
    read_texts,
    texts_of,
)
from rolloupe.query.samples.listing import listed
from rolloupe.query.samples.pages import every, in_known_splits, samples
from rolloupe.query.samples.rows import LocatedItem, list_rows, located_items

CHUNK = 65_536
"""Number of rows whose keys exist as Python objects at a time."""

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

LOOKED_UP = 2000
"""Number of samples to look up at a time."""

BATCH_BYTES = 8 * 2**20
"""Size of records, as they lie in files, to read at a time."""


class KeyedTable:
    """A table by key. Keys are the values of `columns`, texts, in order; several rows may share one."""

    def __init__(self, table: pa.Table, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._arrays = {name: _whole(table[name]) for name in table.column_names}
        hashes = np.empty(len(table), np.int64)
        for start in range(0, len(table), CHUNK):
            part = [self._arrays[name].slice(start, CHUNK).to_pylist() for name in columns]
            hashes[start : start + CHUNK] = [hash(key) for key in zip(*part, strict=True)]
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def rows(self, *key: str) -> list[dict[str, Any]]:
        """The rows of a key, in table order."""
        key_hash = hash(key)
        first = stop = int(self._hashes.searchsorted(key_hash))
        while stop < len(self._hashes) and self._hashes[stop] == key_hash:  # usually one: quicker than another search
            stop += 1
        rows = [self._row(at) for at in self._order[first:stop].tolist()]
        return [row for row in rows if tuple(row[name] for name in self._columns) == key]

    def _row(self, at: int) -> dict[str, Any]:
        return {name: array[at].as_py() for name, array in self._arrays.items()}


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


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
        return self._read(key, read_scored, lambda: sample(self._run, key))

    def texts(self, key: SampleKey) -> Texts:
        """The texts of one sample, which is cheaper than the whole sample. Raises as a call of the reader."""
        return self._read(key, read_texts, lambda: texts_of(sample(self._run, key)))

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
        noted = annotation_table(self._run, rows["uid"])
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
    noted = annotation_places(run, [place[-1] for place in places])
    for nth, name, start, length, part, uid in places:
        locator = Locator(source=name, start=start, length=length, part=part)
        yield _annotated(read_sample(run, items[nth].key, locator, noted.get(uid, [])), items[nth])


def _annotated(sample: Sample, item: SampleItem) -> Sample:
    row = sample.row
    row.advantage = item.advantage if row.advantage is None else row.advantage
    row.discarded = row.discarded or item.discarded
    row.metrics = row.metrics | item.metrics
    row.tags = row.tags | item.tags
    return sample


class TextedSample(NamedTuple):
    """A sample of a list, with what its record holds; the record may lack annotations and token series."""

    item: SampleItem
    place: str
    """The word for its place: see `PLACE_WORD`."""
    sample: Sample | Problem
    size: int
    """The size of its record in bytes."""


def groups_with_texts(run: OpenRun, query: SampleQuery) -> Iterator[list[TextedSample]]:
    """Yield the samples of each group in the order of the run, read from their files.

    Memory is bounded by the largest group. Raises `NotFound` for an unknown split, `BadQuery` for an unknown column.
    """
    waiting: list[list[LocatedItem]] = []
    size = 0

    def group_of(member: LocatedItem) -> tuple[str, int, str]:
        return member.item.split, member.item.step, member.item.group

    for _, members in groupby(_located(run, query), key=group_of):
        group = list(members)
        waiting.append(group)
        size += sum(member.locator.length for member in group)
        if size > BATCH_BYTES:
            yield from _with_texts(run, waiting)
            waiting, size = [], 0
    yield from _with_texts(run, waiting)


def _located(run: OpenRun, query: SampleQuery) -> Iterator[LocatedItem]:
    snapshot = run.snapshot()
    listing = listed(run, snapshot, in_known_splits(snapshot, query))
    for offset in range(0, listing.total, LOOKED_UP):
        yield from located_items(list_rows(run, listing.snapshot, listing.page(run, offset, LOOKED_UP)))


def _with_texts(run: OpenRun, groups: Sequence[Sequence[LocatedItem]]) -> Iterator[list[TextedSample]]:
    by_source: dict[str, set[Locator]] = defaultdict(set)
    for member in chain.from_iterable(groups):
        by_source[member.locator.source].add(member.locator)
    records: dict[Locator, Sample | Problem] = {}
    for name, locators in by_source.items():
        source = run.source(name)
        if source is None:
            raise SourceChanged(f"{name} is gone: its samples were there when it was indexed. Next: try again")
        in_order = sorted(locators, key=lambda locator: (locator.start, len(locator.part), locator.part))
        records.update(zip(in_order, run.format.samples_at(run.info, source, in_order), strict=True))
    for group in groups:
        yield [TextedSample(item, word, records[at], at.length) for _, item, at, word in group]


def with_group_advantages(run: OpenRun, samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield samples; those with logprobs and without an advantage have one within their group.

    The members that were trained on count: see `tokens.group_advantages`. A group of one has none, and no sample with
    the values of a critic, which advantages are made of then. One query serves all samples of a group that follow each
    other.
    """
    advantages: dict[SampleKey, float] = {}
    group = None
    for each in samples:
        if _lacks_advantage(each):
            if group != (group := (each.key.split, each.key.step, each.key.group)):
                advantages = _group_advantages(run, each.key)
            each.group_advantage = advantages.get(each.key)
        yield each


def _lacks_advantage(of: Sample) -> bool:
    names = {series.name for series in of.series}
    has_others = of.row.advantage is not None or not names.isdisjoint((tokens.ADVANTAGES, "values", "returns"))
    return not has_others and not names.isdisjoint(tokens.POLICY)


def _group_advantages(run: OpenRun, key: SampleKey) -> dict[SampleKey, float]:
    group = SampleQuery(splits=(key.split,), step_min=key.step, step_max=key.step, group=key.group, trained=True)
    members = [member for member in every(run, group) if member.reward is not None]
    if len(members) < 2:
        return {}
    rewards = np.array([member.reward for member in members], dtype=np.float64)
    return dict(zip((member.key for member in members), tokens.group_advantages(rewards).tolist(), strict=True))
