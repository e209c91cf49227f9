"""One sample: found in the index, read whole from its source."""

from collections import Counter
from typing import Any, NamedTuple

from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, SampleKey, Source
from rolloupe.query import engine, said
from rolloupe.query.engine import Question

GROUP = """
SELECT idx, source, byte_start, byte_length, part, uid FROM rows
WHERE split = ? AND step = ? AND grp = ? ORDER BY source, ordinal, byte_start, part
"""


class Found(NamedTuple):
    """Where a sample lies, by what annotations are joined to it, and its group, in order."""

    source: Source
    locator: Locator
    uid: str
    group: list[SampleKey]


def locate(run: OpenRun, key: SampleKey) -> Found:
    """Find a sample. Raises `NotFound`, and `SourceChanged` where its file is gone."""
    rows = _group(run, key)
    own = [row for row in rows if row[0] == key.index]
    if not own or key.attempt > len(own):
        raise NotFound(f"no sample {key} in run {run.id!r}; list its samples with `rolloupe query`")
    _, name, start, length, part, uid = own[(key.attempt or len(own)) - 1]
    source = run.source(name)
    if source is None:
        raise SourceChanged(f"{name} is gone: the sample {key} was in it when it was indexed")
    locator = Locator(source=name, start=start, length=length, part=part)
    return Found(source, locator, uid, _keys(key, [row[0] for row in rows]))


def _group(run: OpenRun, key: SampleKey) -> list[tuple[Any, ...]]:
    pieces = run.snapshot().holding([key.split], key.step, key.step)
    known = -(2**63) <= key.step < 2**63 and bool(pieces)
    return engine.ask(run, Question(pieces, GROUP, [key.split, key.step, key.group])) if known else []


def _keys(key: SampleKey, indices: list[str]) -> list[SampleKey]:
    """Of samples with the same index all but the last are earlier attempts."""
    left, seen = Counter(indices), Counter[str]()
    found = []
    for index in indices:
        left[index] -= 1
        seen[index] += 1
        found.append(SampleKey(key.split, key.step, key.group, index, seen[index] if left[index] else 0))
    return found


def sample(run: OpenRun, key: SampleKey) -> Sample:
    """One sample, whole, read from its source. Raises `NotFound`, and `SourceChanged` where the file was rewritten."""
    return sample_and_group(run, key)[0]


def sample_and_group(run: OpenRun, key: SampleKey) -> tuple[Sample, list[SampleKey]]:
    """One sample as `sample`, and the samples of its group in order, itself among them."""
    place = locate(run, key)
    found = said.load(run, place.source, place.locator, said.places(run, [place.uid]).get(place.uid, []))
    if (found.row.split, found.row.step, found.row.group, found.row.index) != key.shared:
        at = f"{place.locator.source} no longer holds {key} at byte {place.locator.start}"
        raise SourceChanged(f"{at}: look at the list again")
    found.key = key
    return found, place.group


def raw(run: OpenRun, key: SampleKey) -> tuple[Locator, bytes]:
    """Where a sample stands and its record's bytes, verbatim."""
    place = locate(run, key)
    return place.locator, run.format.raw(place.source, place.locator)


def read(run: OpenRun, file: str, start: int, length: int) -> bytes:
    """Bytes of one of the run's files from `start` on, whatever they are; fewer where the file ends.

    `file` is a name as `Problem.source` and `Locator.source` have it. Raises `NotFound` for any other.
    """
    source = run.source(file)
    if source is None:
        raise NotFound(f"run {run.id!r} has no file {file!r}; `rolloupe doctor` names the files that have problems")
    return run.format.read(source, max(0, start), max(0, length))


def neighbours(run: OpenRun, key: SampleKey) -> list[SampleKey]:
    """The samples of a sample's group, in order."""
    return _keys(key, [row[0] for row in _group(run, key)])
