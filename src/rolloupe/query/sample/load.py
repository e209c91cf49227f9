"""One sample: looked up in the index by its id, of today or of former times, and read whole from its source.

Former ids are of the time when the format `generic` read the run: they name the file, and the sample's start in it.
When a more specific format takes over, group and index become those of the framework, and the place stays. An id that
the run lacks therefore refers to the sample that begins at its place.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, overload

import numpy as np
import pyarrow as pa

from rolloupe.errors import NotFound
from rolloupe.formats.reading import trainer_files
from rolloupe.formats.reading.files import stem
from rolloupe.index import OpenRun
from rolloupe.model import Locator, Sample, SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import FILE_ORDER
from rolloupe.query.engine.database import Question
from rolloupe.query.sample.read import annotation_places, read_scored, source_of

T = TypeVar("T")

_INDEX = re.compile(r"(?P<file>.+):(?P<start>[0-9]{1,18})", re.DOTALL)

AT_PLACES = """
SELECT nth, split, step, grp, idx
FROM rows JOIN asked ON source = own_file AND (byte_start = own_start OR ends_with(idx, own_end))
ORDER BY nth, ends_with(idx, own_end), part DESC
"""
"""The last row of each counts: of a table, `own_start` is the number of a row, which is at the end of its index too."""

OF_GROUP = """
SELECT idx, launch, source, byte_start, byte_length, part, uid, reward FROM base
WHERE split = ? AND step = ? AND grp = ?
"""

GROUP = f"{OF_GROUP} ORDER BY {FILE_ORDER}"

OWN = f"{OF_GROUP} AND idx = ? ORDER BY {FILE_ORDER}"


def current_ids(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, SampleKey]:
    """Map former ids to current ones; the first sample of a line counts."""
    places = {key: place for key in keys if (place := _place(run, key.index)) is not None}
    pieces = run.snapshot().holding() if places else []
    if not pieces:
        return {}
    former = list(places)
    files, starts = zip(*places.values(), strict=True)
    columns = {"nth": range(len(former)), "own_file": files, "own_start": starts}
    asked = pa.table(columns | {"own_end": [f":{start}" for start in starts]})
    answer = database.ask(run, Question(pieces, AT_PLACES, tables={"asked": asked}))
    return {former[nth]: SampleKey(*key) for nth, *key in answer}


def by_former_id(ask: Callable[[OpenRun, SampleKey], T]) -> Callable[[OpenRun, SampleKey], T]:
    """Retry with the current id if a sample is not found by the given id."""

    @wraps(ask)
    def answer(run: OpenRun, key: SampleKey) -> T:
        try:
            return ask(run, key)
        except NotFound:
            current = current_ids(run, [key]).get(key)
            if current is None or current == key:
                raise
            return ask(run, current)

    return answer


def _place(run: OpenRun, index: str) -> tuple[str, int] | None:
    """The file that an index names, relative to the run, and the byte."""
    match = _INDEX.fullmatch(index)
    if match is None:
        return None
    file = f"/{match['file']}"
    names = [source.name for source in run.sample_files() if source.what == "samples"]
    # the paths of one file may begin at different folders
    same = [name for name in names if f"/{stem(name)}".endswith(file) or file.endswith(f"/{stem(name)}")]
    return (same[0], int(match["start"])) if len(same) == 1 else None


@dataclass(frozen=True)
class GroupRow:
    """The index's facts about a sample of a group."""

    index: str
    launch: int
    locator: Locator
    uid: str
    reward: float | None = None


def group_rows(run: OpenRun, key: SampleKey) -> list[GroupRow]:
    """The rows of a group in file order, earlier attempts included."""
    return _rows(run, key, GROUP, [key.split, key.step, key.group])


def _rows(run: OpenRun, key: SampleKey, sql: str, values: list[object]) -> list[GroupRow]:
    question = _question(run, key, sql, values)
    return [_row(record) for record in (database.ask(run, question) if question else ())]


def _row(record: Sequence[Any]) -> GroupRow:
    index, launch, source, start, length, part, uid, reward = record
    return GroupRow(index, launch, Locator(source=source, start=start, length=length, part=part), uid, reward)


def _question(run: OpenRun, key: SampleKey, sql: str, values: list[object]) -> Question | None:
    """A query on the step of a key; None if there is no such step."""
    pieces = run.snapshot().holding([key.split], key.step, key.step)
    return Question(pieces, sql, values) if pieces and -(2**63) <= key.step < 2**63 else None


def _table(run: OpenRun, key: SampleKey) -> pa.Table:
    """The rows of a group as in `group_rows`, as a table. Raises `NotFound` for an unknown step."""
    question = _question(run, key, GROUP, [key.split, key.step, key.group])
    if question is None:
        raise NotFound(f"no sample {key} in run {run.id!r}. Next: see the list of its samples")
    return database.table(run, question)


def _group_rows(table: pa.Table) -> list[GroupRow]:
    return [_row(record) for record in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _is_plain(run: OpenRun, key: SampleKey, table: pa.Table) -> bool:
    """True if each sample of a group has an index of its own, and none is of an older launch."""
    launches = table["launch"].to_numpy()
    is_current = (launches == 0) | (launches == _newest(run, key))
    return bool(is_current.all()) and len({*table["idx"].to_numpy()}) == len(table)


def group_keys(run: OpenRun, key: SampleKey, rows: list[GroupRow]) -> list[SampleKey]:
    """The keys of a group's rows. All but the last with the same index are earlier attempts, as are older launches."""
    newest = _newest(run, key)
    remaining, seen = Counter(row.index for row in rows), Counter[str]()
    attempts = {}
    for number, row in sorted(enumerate(rows), key=lambda pair: pair[1].launch):
        remaining[row.index] -= 1
        seen[row.index] += 1
        is_current = not remaining[row.index] and row.launch in (0, newest)
        attempts[number] = 0 if is_current else seen[row.index]
    return [SampleKey(key.split, key.step, key.group, row.index, attempts[n]) for n, row in enumerate(rows)]


def counted(run: OpenRun, key: SampleKey, rows: list[GroupRow]) -> list[bool]:
    """For each row of a group, whether it counts: an older launch's records of the step do not."""
    newest = _newest(run, key)
    return [row.launch in (0, newest) for row in rows]


def _newest(run: OpenRun, key: SampleKey) -> int:
    """The launch that recorded a step last; 0 if the run names none."""
    stats = run.snapshot().steps.get((key.split, key.step))
    return stats.launch if stats else 0


def _chosen(run: OpenRun, key: SampleKey, rows: list[GroupRow]) -> GroupRow:
    """The row of the attempt that a key names, among rows in file order. Raises `NotFound`."""
    attempts = sorted((row for row in rows if row.index == key.index), key=lambda row: row.launch)
    if not attempts or key.attempt > len(attempts):
        raise NotFound(f"no sample {key} in run {run.id!r}. Next: see the list of its samples")
    return attempts[(key.attempt or len(attempts)) - 1]


def _alone(run: OpenRun, key: SampleKey) -> GroupRow:
    """The row of a sample, looked up without its group, which may be large. Raises `NotFound`."""
    return _chosen(run, key, _rows(run, key, OWN, [*key.shared]))


@by_former_id
def locate(run: OpenRun, key: SampleKey) -> Locator:
    """The place of a sample. Raises `NotFound`, and `SourceChanged` if its file is gone."""
    locator = _alone(run, key).locator
    source_of(run, key, locator)
    return locator


def _read(run: OpenRun, key: SampleKey, row: GroupRow) -> Sample:
    return read_scored(run, key, row.locator, annotation_places(run, [row.uid]).get(row.uid, []))


@by_former_id
def sample(run: OpenRun, key: SampleKey) -> Sample:
    """One whole sample, read from its source. Raises `NotFound`, and `SourceChanged` if the file was rewritten."""
    return _read(run, key, _alone(run, key))


class Keys(Sequence[SampleKey]):
    """The keys of a group without earlier attempts, created on access."""

    def __init__(self, of: SampleKey, indices: pa.Array) -> None:
        self._of, self._indices = of, indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, at: int) -> SampleKey: ...
    @overload
    def __getitem__(self, at: slice) -> list[SampleKey]: ...
    def __getitem__(self, at: int | slice) -> SampleKey | list[SampleKey]:
        group = self._of
        if isinstance(at, int):
            return SampleKey(group.split, group.step, group.group, self._indices[at].as_py())
        return [SampleKey(group.split, group.step, group.group, index) for index in self._indices[at].to_pylist()]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, SampleKey) and self.place(key) >= 0

    def index(self, value: SampleKey, start: int = 0, stop: int | None = None) -> int:
        """The place of a key. Raises `ValueError` if it is not between `start` and `stop`."""
        place = self.place(value)
        if not start <= place < (len(self) if stop is None else stop):
            raise ValueError(f"{value} is not in the group")
        return place

    def place(self, key: SampleKey) -> int:
        """The place of a key, -1 for an unknown one."""
        group = self._of
        is_of = (key.split, key.step, key.group, key.attempt) == (group.split, group.step, group.group, 0)
        if not is_of:
            return -1
        places = np.flatnonzero(self._indices.to_numpy(zero_copy_only=False) == key.index)
        return int(places[0]) if len(places) else -1


@by_former_id
def sample_and_group(run: OpenRun, key: SampleKey) -> tuple[Sample, Sequence[SampleKey]]:
    """One sample as in `sample`, and its group as in lists, in order, including the sample.

    Of a group without earlier attempts, which may be very large, only the sample's own row becomes an object.
    """
    table = _table(run, key)
    if _is_plain(run, key, table):
        plain = Keys(key, table["idx"].combine_chunks())
        place = plain.place(SampleKey(*key.shared))
        row = _chosen(run, key, _group_rows(table.slice(max(0, place), int(place >= 0))))
        return _read(run, key, row), plain
    rows = _group_rows(table)
    row = _chosen(run, key, rows)
    keys = zip(group_keys(run, key, rows), rows, counted(run, key, rows), strict=True)
    return _read(run, key, row), [own for own, of, counts in keys if counts or of is row]


@by_former_id
def raw(run: OpenRun, key: SampleKey) -> tuple[Locator, bytes]:
    """The place of a sample and its record's bytes, verbatim. Raises as `sample`."""
    locator = _alone(run, key).locator
    return locator, run.format.raw(source_of(run, key, locator), locator)


def read(run: OpenRun, file: str, start: int, length: int) -> bytes:
    """Bytes of one of the run's files from `start` on, whatever they are; fewer at the end of the file.

    `file` is a name as in `Problem.source` and `Locator.source`. Raises `NotFound` for any other.
    """
    source = run.source(file)
    if source is not None:
        return run.format.read(source, max(0, start), max(0, length))
    by_name = {trainer_file.name: trainer_file for trainer_file in run.format.trainer_files(run.info)}
    if file not in by_name:
        raise NotFound(f"run {run.id!r} has no file {file!r}; `rolloupe doctor` names the files that have problems")
    return trainer_files.read(by_name[file], max(0, start), max(0, length))


def neighbours(run: OpenRun, key: SampleKey) -> list[SampleKey]:
    """The samples of a sample's group, in order."""
    keys = group_keys(run, key, group_rows(run, key))
    current = None if keys else current_ids(run, [key]).get(key)
    return keys if current in (None, key) else neighbours(run, current)
