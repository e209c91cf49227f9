"""One sample: found in the index, read whole from its source."""

from typing import NamedTuple

from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, SampleKey, Source
from rolloupe.query import engine, said
from rolloupe.query.engine import Question
from rolloupe.query.terms import ATTEMPT, ATTEMPT_ORDER, FILE_ORDER

LOCATE = """
SELECT source, byte_start, byte_length, part, uid FROM rows
WHERE split = ? AND step = ? AND grp = ? AND idx = ? ORDER BY launch, source, ordinal, byte_start, part
"""


class Found(NamedTuple):
    """Where a sample lies, and by what annotations are joined to it."""

    source: Source
    locator: Locator
    uid: str


def locate(run: OpenRun, key: SampleKey) -> Found:
    """Find a sample. Raises `NotFound`, and `SourceChanged` where its file is gone."""
    pieces = run.snapshot().holding([key.split], key.step, key.step)
    known = -(2**63) <= key.step < 2**63 and bool(pieces)
    answer = engine.ask(run, Question(pieces, LOCATE, list(key.shared))) if known else []
    if not answer or key.attempt > len(answer):
        raise NotFound(f"no sample {key} in run {run.id!r}; list its samples with `rolloupe query`")
    name, start, length, part, uid = answer[(key.attempt or len(answer)) - 1]
    source = run.source(name)
    if source is None:
        raise SourceChanged(f"{name} is gone: the sample {key} was in it when it was indexed")
    return Found(source, Locator(source=name, start=start, length=length, part=part), uid)


def sample(run: OpenRun, key: SampleKey) -> Sample:
    """One sample, whole, read from its source. Raises `NotFound`, and `SourceChanged` where the file was rewritten."""
    source, locator, uid = locate(run, key)
    found = said.load(run, source, locator, said.places(run, [uid]).get(uid, []))
    if (found.row.split, found.row.step, found.row.group, found.row.index) != key.shared:
        raise SourceChanged(f"{locator.source} no longer holds {key} at byte {locator.start}: look at the list again")
    found.key = key
    return found


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


NEIGHBOURS = f"""
, counted AS (
    SELECT *, row_number() OVER (PARTITION BY idx ORDER BY {ATTEMPT_ORDER}) AS n, count(*) OVER (PARTITION BY idx) AS m
    FROM rows WHERE split = ? AND step = ? AND grp = ?
)
SELECT idx, {ATTEMPT.format("?")} FROM counted ORDER BY {FILE_ORDER}
"""


def neighbours(run: OpenRun, key: SampleKey) -> list[SampleKey]:
    """The samples of a sample's group, in order."""
    snapshot = run.snapshot()
    pieces = snapshot.holding([key.split], key.step, key.step)
    if not pieces:
        return []
    values = [key.split, key.step, key.group, snapshot.steps[key.split, key.step].launch]
    answer = engine.ask(run, Question(pieces, NEIGHBOURS, values))
    return [SampleKey(key.split, key.step, key.group, index, attempt) for index, attempt in answer]
