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
from rolloupe.query.sample.load import (
    annotation_places,
    annotation_table,
    read_sample,
    read_scored,
    read_texts,
    texts_of,
)
from rolloupe.query.sample.load import sample as whole_sample
from rolloupe.query.samples.listing import listed
from rolloupe.query.samples.pages import every, in_known_splits
from rolloupe.query.samples.rows import ORDER, LocatedItem, list_rows, located_items

CHUNK = 65_536  # number of rows whose keys exist as Python objects at a time
PAGE = 500  # number of samples to look up at a time; only one is in memory as a whole

OF_STEP = f"""
SELECT grp, idx, byte_length, uid, {ATTEMPT_ORDER} FROM rows WHERE split = ? AND step = ?
"""

MOST = 2**20  # number of places to hold, some hundred bytes each: a larger step is looked up sample by sample
T = TypeVar("T")

Load: TypeAlias = Callable[[OpenRun, SampleKey, Locator, Sequence[Locator]], T]
"""Reads some data of a sample at a place, given the places of its annotations."""

NO_PLACES = pa.table({name: pa.nulls(0, pa.string()) for name in ("grp", "idx")})
LOOKED_UP = 2000  # number of samples to look up at a time
BATCH_BYTES = 8 * 2**20  # size of records, as they lie in files, to read at a time


class KeyedTable:
    """A table by key. Keys are the values of `columns`, texts, in order; several rows may share one."""

    def __init__(self, table: pa.Table, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._arrays = {name: table[name].combine_chunks() for name in table.column_names}
        hashes = np.empty(len(table), np.int64)
        for start in range(0, len(table), CHUNK):
            part = [self._arrays[name].slice(start, CHUNK).to_pylist() for name in columns]
            hashes[start : start + CHUNK] = [hash(key) for key in zip(*part, strict=True)]
        self._order = np.argsort(hashes, kind="stable")
        self.hashes = hashes[self._order]

    def rows(self, *key: str) -> list[dict[str, Any]]:
        """The rows of a key, in table order."""
        key_hash = hash(key)
        first = stop = int(self.hashes.searchsorted(key_hash))
        while stop < len(self.hashes) and self.hashes[stop] == key_hash:  # usually one: quicker than another search
            stop += 1
        places = self._order[first:stop].tolist()
        rows = [{name: array[at].as_py() for name, array in self._arrays.items()} for at in places]
        return [row for row in rows if tuple(row[name] for name in self._columns) == key]


class _Step(NamedTuple):
    """A reader's knowledge about the step that it read last."""

    of: tuple[str, int, str]  # Split, step, and the version of the run
    places: KeyedTable | None = None
    """By group and index: the place of a sample, and its uid. None until a second sample is requested."""
    noted: KeyedTable | None = None
    """By uid: the places of annotations, oldest first. None without annotations."""


class Reader:
    """Reads samples like `query.sample`, and looks up the step of consecutive ones once. Threads may share it."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run
        self._last: _Step | None = None

    def __call__(self, key: SampleKey) -> Sample:
        """Return one sample. Raises `NotFound`, and `SourceChanged` if its file was rewritten."""
        return self._read(key, read_scored, lambda: whole_sample(self._run, key))

    def texts(self, key: SampleKey) -> Texts:
        """Return the texts of one sample, which is cheaper than the whole sample. Raises as a call of the reader."""
        return self._read(key, read_texts, lambda: texts_of(whole_sample(self._run, key)))

    def _read(self, key: SampleKey, load: Load[T], alone: Callable[[], T]) -> T:
        """Read by the places of a known step, else by `alone`."""
        of = (key.split, key.step, self._run.version)
        last = self._last
        if last is None or last.of != of:
            self._last = _Step(of)
            return alone()
        if last.places is None:
            self._last = last = self._looked_up(of)
        attempts = last.places.rows(key.group, key.index) if last.places and not key.attempt else []
        if not attempts:
            return alone()
        row = max(attempts, key=lambda row: tuple(row[name] for name in ORDER))
        locator = Locator(source=row["source"], start=row["byte_start"], length=row["byte_length"], part=row["part"])
        noted = last.noted.rows(row["uid"]) if last.noted and row["uid"] else []
        notes = [Locator(source=note["file"], start=note["byte_start"], length=note["byte_length"]) for note in noted]
        try:
            return load(self._run, key, locator, notes)
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
    """Yield the samples of a step or of one group, read from their files, group by group.

    The first `offset` samples are left out. A sample's row includes its annotations (advantage, why it was discarded,
    metrics, tags). Raises `SourceChanged` if a file was rewritten meanwhile.
    """
    query = SampleQuery(splits=(split,), step_min=step, step_max=step, group=group or None, offset=offset)
    for page in _located(run, query, PAGE):
        noted = annotation_places(run, [located.item.uid for located in page])
        for _, item, locator, _ in page:
            sample = read_sample(run, item.key, locator, noted.get(item.uid, []))
            row = sample.row
            row.advantage = item.advantage if row.advantage is None else row.advantage
            row.discarded = row.discarded or item.discarded
            row.metrics, row.tags = row.metrics | item.metrics, row.tags | item.tags
            yield sample


class TextedSample(NamedTuple):
    """A sample of a list, with what its record holds; the record may lack annotations and token series."""

    item: SampleItem
    place: str  # the word for its place: see `PLACE_WORD`
    sample: Sample | Problem
    size: int  # the size of its record in bytes


def groups_with_texts(run: OpenRun, query: SampleQuery) -> Iterator[list[TextedSample]]:
    """Yield the samples of each group in the order of the run, read from their files, a few groups in memory."""
    waiting: list[list[LocatedItem]] = []
    size = 0

    def group_of(member: LocatedItem) -> tuple[str, int, str]:
        return member.item.split, member.item.step, member.item.group

    located = chain.from_iterable(_located(run, query, LOOKED_UP))
    for _, members in groupby(located, key=group_of):
        group = list(members)
        waiting.append(group)
        size += sum(member.locator.length for member in group)
        if size > BATCH_BYTES:
            yield from _with_texts(run, waiting)
            waiting, size = [], 0
    yield from _with_texts(run, waiting)


def _located(run: OpenRun, query: SampleQuery, size: int) -> Iterator[list[LocatedItem]]:
    """Yield the samples of a query with their places, `size` at a time."""
    snapshot = run.snapshot()
    listing = listed(run, snapshot, in_known_splits(snapshot, query))
    for offset in range(query.offset, listing.total, size):
        yield located_items(list_rows(run, listing.snapshot, listing.page(run, offset, size)))


def _with_texts(run: OpenRun, groups: Sequence[Sequence[LocatedItem]]) -> Iterator[list[TextedSample]]:
    by_source: dict[str, set[Locator]] = defaultdict(set)
    for member in chain.from_iterable(groups):
        by_source[member.locator.source].add(member.locator)
    records: dict[Locator, Sample | Problem] = {}
    for name, locators in by_source.items():
        source = run.sources.get(name)
        if source is None:
            raise SourceChanged(f"{name} is gone: its samples were there when it was indexed. Next: try again")
        in_order = sorted(locators, key=lambda locator: (locator.start, len(locator.part), locator.part))
        records.update(zip(in_order, run.format.samples_at(run.info, source, in_order), strict=True))
    for group in groups:
        yield [TextedSample(item, word, records[at], at.length) for _, item, at, word in group]


def with_group_advantages(run: OpenRun, samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield samples; those with logprobs and without an advantage get one within their group.

    The members that were trained on count: see `tokens.group_advantages`. A group of one sample gets none, nor does a
    sample with the values of a critic. One query serves the samples of a group that follow each other.
    """
    advantages: dict[SampleKey, float] = {}
    group = None
    for sample in samples:
        names = {series.name for series in sample.series}
        has_advantage = sample.row.advantage is not None or names & {tokens.ADVANTAGES, "values", "returns"}
        if not has_advantage and not names.isdisjoint(tokens.POLICY):
            if group != (group := sample.key.shared[:3]):
                split, step, name = group
                query = SampleQuery(splits=(split,), step_min=step, step_max=step, group=name, trained=True)
                rewards = {member.key: member.reward for member in every(run, query) if member.reward is not None}
                own = tokens.group_advantages(np.array([*rewards.values()], np.float64)).tolist()
                advantages = dict(zip(rewards, own, strict=True)) if len(rewards) > 1 else {}
            sample.group_advantage = advantages.get(sample.key)
        yield sample
