"""The samples of some steps with their texts, group by group, in batches: a quick way to read many samples."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Problem, Sample
from rolloupe.query.engine.relation import PLACE_WORD
from rolloupe.query.records import SampleItem, SampleQuery
from rolloupe.query.samples.listing import listed
from rolloupe.query.samples.pages import PLACED, in_known_splits, items_of, list_rows

PAGE = 2000
"""Number of samples to look up at a time."""

BATCH_BYTES = 8 * 2**20
"""Size of records, as they lie in files, to read at a time."""


class TextedSample(NamedTuple):
    """A sample of a list, with what its record holds; the record may lack annotations and token series."""

    item: SampleItem
    place: str
    """The word for its place: see `PLACE_WORD`."""
    sample: Sample | Problem
    size: int
    """Of its record, in bytes."""


class _PlacedItem(NamedTuple):
    item: SampleItem
    locator: Locator
    place: str


def groups_with_texts(run: OpenRun, query: SampleQuery) -> Iterator[list[TextedSample]]:
    """Yield the samples of each group in the order of the run, read from their files.

    Memory is bounded by the largest group. Raises `NotFound` for an unknown split, `BadQuery` for an unknown column.
    """
    waiting: list[list[_PlacedItem]] = []
    size = 0
    for _, members in groupby(_placed(run, query), key=lambda one: (one.item.split, one.item.step, one.item.group)):
        group = list(members)
        waiting.append(group)
        size += sum(one.locator.length for one in group)
        if size > BATCH_BYTES:
            yield from _read(run, waiting)
            waiting, size = [], 0
    yield from _read(run, waiting)


def _placed(run: OpenRun, query: SampleQuery) -> Iterator[_PlacedItem]:
    snapshot = run.snapshot()
    found = listed(run, snapshot, in_known_splits(snapshot, query))
    for offset in range(0, found.total, PAGE):
        rows = list(list_rows(run, found.snapshot, found.page(run, offset, PAGE)))
        facts: dict[int, list[Any]] = {}
        for one in rows:
            columns = (one.rows[name].to_pylist() for name in ("nth", *PLACED, PLACE_WORD))
            facts.update((nth, place) for nth, *place in zip(*columns, strict=True))
        for item, (_, (source, start, length, part, word)) in zip(items_of(rows), sorted(facts.items()), strict=True):
            yield _PlacedItem(item, Locator(source=source, start=start, length=length, part=part), word)


def _read(run: OpenRun, groups: Sequence[Sequence[_PlacedItem]]) -> Iterator[list[TextedSample]]:
    by_source: dict[str, list[Locator]] = defaultdict(list)
    for one in (one for group in groups for one in group):
        by_source[one.locator.source].append(one.locator)
    found: dict[Locator, Sample | Problem] = {}
    for name, locators in by_source.items():
        in_order = sorted(set(locators), key=lambda one: (one.start, len(one.part), one.part))
        found.update(zip(in_order, _samples_at(run, name, in_order), strict=True))
    for group in groups:
        yield [TextedSample(one.item, one.place, found[one.locator], one.locator.length) for one in group]


def _samples_at(run: OpenRun, name: str, locators: Sequence[Locator]) -> Iterator[Sample | Problem]:
    source = run.source(name)
    if source is None:
        raise SourceChanged(f"{name} is gone: its samples were there when it was indexed. Next: try again")
    return run.format.samples_at(run.info, source, locators)
