"""Some of the samples of arrays, whole: for rules that need more of a sample than the index has."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rolloupe.errors import RolloupeError
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, SampleKey
from rolloupe.query.sample import annotations
from rolloupe.query.samples.arrays import SampleArrays
from rolloupe.query.samples.pages import PLACED, items_of, list_rows


class _Wanted(NamedTuple):
    place: int
    key: SampleKey
    uid: str
    locator: Locator


def whole_samples(
    run: OpenRun, arrays: SampleArrays, places: Sequence[int], most_bytes: int
) -> Iterator[tuple[int, Sample]]:
    """Yield the samples at some places, in the order of their files, each with its place.

    Leaves out those that cannot be read, and those after the first `most_bytes` of records.
    """
    wanted = _looked_up(run, arrays, places)
    noted = annotations.places(run, [one.uid for one in wanted])
    kept, size = [], 0
    for one in wanted:
        size += one.locator.length
        if size <= most_bytes:
            kept.append(one)
    for one in sorted(kept, key=lambda one: (one.locator.source, one.locator.start)):
        try:
            yield one.place, annotations.load(run, one.key, one.locator, noted.get(one.uid, []))
        except RolloupeError:
            continue


def _looked_up(run: OpenRun, arrays: SampleArrays, places: Sequence[int]) -> list[_Wanted]:
    rows = list(list_rows(run, arrays.snapshot, arrays.row_places(places), columns=()))
    facts = {
        nth: (uid, Locator(source=source, start=start, length=length, part=part))
        for one in rows
        for nth, uid, source, start, length, part in zip(
            *(one.rows[name].to_pylist() for name in ("nth", "uid", *PLACED)), strict=True
        )
    }
    items = zip(sorted(facts), items_of(rows), strict=True)
    return [_Wanted(places[nth], item.key, *facts[nth]) for nth, item in items]
