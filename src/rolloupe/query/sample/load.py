"""One sample: looked up in the index by its current or its former id, and read whole from its source.

The index has the places of its annotations, and a person's scores. A former id is from the time when the format
`generic` read the run: it names the file, and the start of the sample in it. A more specific format uses the group and
index of the framework, but the place stays. So an id that the run lacks stands for the sample at its place.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
import pyarrow as pa
from msgspec import Struct

from rolloupe import text, tokens
from rolloupe.errors import NotFound, SourceChanged
from rolloupe.formats.reading import trainer_files
from rolloupe.formats.reading.causes import cause_of
from rolloupe.formats.reading.files import stem
from rolloupe.formats.token_texts import add_strings
from rolloupe.index import OpenRun, metric_column, tag_column
from rolloupe.model import Locator, Sample, SampleKey, Source, Texts
from rolloupe.query.engine import database, relation
from rolloupe.query.engine.compile import FILE_ORDER
from rolloupe.query.engine.database import Question

T = TypeVar("T")

_INDEX = re.compile(r"(?P<file>.+):(?P<start>[0-9]{1,18})", re.DOTALL)

AT_PLACES = """
SELECT nth, split, step, grp, idx
FROM rows JOIN asked ON source = own_file AND (byte_start = own_start OR ends_with(idx, own_end))
ORDER BY nth, ends_with(idx, own_end), part DESC
"""
"""The last row of each counts. In a table, `own_start` is the number of a row, with which its index ends, too."""

OF_GROUP = """
SELECT idx, launch, source, byte_start, byte_length, part, uid, reward, prompt_hash, ordinal FROM base
WHERE split = ? AND step = ? AND grp = ?
"""

GROUP = f"{OF_GROUP} ORDER BY {FILE_ORDER}"

OWN = f"{OF_GROUP} AND idx = ?"  # attempts are few: to sort them here saves a sixth of the time of a sample

PLACES = """
SELECT uid, file, byte_start, byte_length FROM rows WHERE {} ORDER BY source, byte_start, nth
"""
OF_ONE, OF_SOME = PLACES.format("uid = ?"), PLACES.format("uid IN (SELECT uid FROM asked)")

POLICY_VERSIONS = (
    "policy_version", "weight_version", "weight_versions", "weights_version", "model_version", "policy_step",
)  # fmt: skip
LAGS = ("lag", "policy_lag", "version_lag", "staleness", "off_policy_steps", "async_level", "off_policyness")
_MAX = 120


def current_ids(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, SampleKey]:
    """Map former ids to current ones; the first sample of a line counts."""
    places = {key: place for key in keys if (place := _place(run, key.index)) is not None}
    if not places:
        return {}
    former = list(places)
    files, starts = zip(*places.values(), strict=True)
    columns = {"nth": range(len(former)), "own_file": files, "own_start": starts}
    asked = pa.table(columns | {"own_end": [f":{start}" for start in starts]})
    answer = database.ask(run, Question(run.snapshot().holding(), AT_PLACES, tables={"asked": asked}))
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
    names = [source.name for source in run.sources.files() if source.what == "samples"]
    # the paths of one file may begin at different folders
    same = [name for name in names if f"/{stem(name)}".endswith(file) or file.endswith(f"/{stem(name)}")]
    return (same[0], int(match["start"])) if len(same) == 1 else None


class GroupRow(Struct, frozen=True):
    """The index's facts about a sample of a group."""

    index: str
    launch: int
    locator: Locator
    uid: str
    reward: float | None = None
    prompt_hash: int = 0


def group_members(run: OpenRun, key: SampleKey) -> "list[GroupMember]":
    """Return the members of a sample's group in file order, earlier attempts included."""
    records = database.ask(run, _question(run, key, GROUP, key.shared[:3]))
    return members_of(run, key, list(map(row_of, records)))


def row_of(record: Sequence[Any]) -> GroupRow:
    """Return the row of a record of `OF_GROUP`."""
    index, launch, source, start, length, part, uid, reward, prompt_hash, _ = record
    locator = Locator(source=source, start=start, length=length, part=part)
    return GroupRow(index, launch, locator, uid, reward, prompt_hash or 0)


def _question(run: OpenRun, key: SampleKey, sql: str, values: Sequence[object]) -> Question:
    return Question(run.snapshot().holding([key.split], key.step, key.step), sql, values)


class GroupMember(NamedTuple):
    """A row of a group, its key, and whether it counts: an older launch's records of the step do not."""

    key: SampleKey
    row: GroupRow
    counts: bool


def members_of(run: OpenRun, key: SampleKey, rows: Sequence[GroupRow]) -> list[GroupMember]:
    """Return the members of a group. Of one index, all but the last, and older launches, are earlier attempts."""
    newest = _newest(run, key)
    remaining, seen = Counter(row.index for row in rows), Counter[str]()
    members = {}
    for number, row in sorted(enumerate(rows), key=lambda pair: pair[1].launch):
        remaining[row.index] -= 1
        seen[row.index] += 1
        counts = row.launch in (0, newest)
        attempt = 0 if counts and not remaining[row.index] else seen[row.index]
        members[number] = GroupMember(SampleKey(*key.shared[:3], row.index, attempt), row, counts)
    return [members[number] for number in range(len(rows))]


def _newest(run: OpenRun, key: SampleKey) -> int:
    """Return the launch that recorded a step last; 0 if the run names none."""
    stats = run.snapshot().steps.get((key.split, key.step))
    return stats.launch if stats else 0


def _chosen(run: OpenRun, key: SampleKey, rows: list[GroupRow]) -> GroupRow:
    """Return the row of the attempt that a key names, among rows in file order. Raises `NotFound`."""
    attempts = sorted((row for row in rows if row.index == key.index), key=lambda row: row.launch)
    if not attempts or key.attempt > len(attempts):
        raise no_sample(run, key)
    return attempts[(key.attempt or len(attempts)) - 1]


def _alone(run: OpenRun, key: SampleKey) -> GroupRow:
    """Return the row of a sample, looked up without its group, which may be large. Raises `NotFound`."""
    records = database.ask(run, _question(run, key, OWN, key.shared))
    in_file_order = sorted(records, key=itemgetter(2, 8, 3, 5))  # source, ordinal, byte_start, part
    return _chosen(run, key, [row_of(record) for record in in_file_order])


def no_sample(run: OpenRun, key: SampleKey) -> NotFound:
    """Return the error for the id of a sample that the run lacks."""
    return NotFound(f"no sample {key} in run {run.id!r}. Next: see the list of its samples")


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
        of_group = self._of.shared[:3]
        if isinstance(at, int):
            return SampleKey(*of_group, self._indices[at].as_py())
        return [SampleKey(*of_group, index) for index in self._indices[at].to_pylist()]

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
        if key.attempt or key.shared[:3] != self._of.shared[:3]:
            return -1
        places = np.flatnonzero(self._indices.to_numpy(zero_copy_only=False) == key.index)
        return int(places[0]) if len(places) else -1


@by_former_id
def sample_and_group(run: OpenRun, key: SampleKey) -> tuple[Sample, Sequence[SampleKey]]:
    """Return one sample, with the hash of its prompt, and its group, in order.

    In a group without attempts, only that sample becomes an object.
    """
    table = database.table(run, _question(run, key, GROUP, key.shared[:3]))
    launches = table["launch"].to_numpy()
    is_current = (launches == 0) | (launches == _newest(run, key))
    is_plain = is_current.all() and len({*table["idx"].to_numpy()}) == len(table)
    plain = Keys(key, table["idx"].combine_chunks()) if is_plain else None
    if plain is not None:
        place = plain.place(SampleKey(*key.shared))
        table = table.slice(max(0, place), int(place >= 0))
    rows = [row_of(record) for record in zip(*(column.to_pylist() for column in table.columns), strict=True)]
    row = _chosen(run, key, rows)
    found = _read(run, key, row)
    found.row.prompt_hash = row.prompt_hash
    if plain is not None:
        return found, plain
    return found, [member.key for member in members_of(run, key, rows) if member.counts or member.row is row]


@by_former_id
def raw(run: OpenRun, key: SampleKey) -> tuple[Locator, bytes]:
    """The place of a sample and its record's bytes, verbatim. Raises as `sample`."""
    locator = _alone(run, key).locator
    return locator, run.format.raw(source_of(run, key, locator), locator)


def read(run: OpenRun, file: str, start: int, length: int) -> bytes:
    """Return bytes of a file of the run, named as in `Problem.source`; fewer at its end. Raises `NotFound`."""
    source = run.sources.get(file)
    if source is not None:
        return run.format.read(source, max(0, start), max(0, length))
    by_name = {trainer_file.name: trainer_file for trainer_file in run.format.trainer_files(run.info)}
    if file not in by_name:
        raise NotFound(f"run {run.id!r} has no file {file!r}; `rolloupe doctor` names the files that have problems")
    return trainer_files.read(by_name[file], max(0, start), max(0, length))


def neighbours(run: OpenRun, key: SampleKey) -> list[SampleKey]:
    """Return the samples of a sample's group, in order."""
    keys = [member.key for member in group_members(run, key)]
    current = None if keys else current_ids(run, [key]).get(key)
    return keys if current is None or current == key else neighbours(run, current)


def annotation_places(run: OpenRun, uids: Collection[str]) -> Mapping[str, Sequence[Locator]]:
    """The places of annotations of some samples, by uid, oldest first; empty if the format does not need them."""
    locators: dict[str, list[Locator]] = defaultdict(list)
    pieces, names = run.snapshot().annotations, sorted({*uids} - {""})
    if names and run.format.annotates_by_place:
        of_one = Question(pieces, OF_ONE, names)
        of_some = Question(pieces, OF_SOME, tables={"asked": pa.table({"uid": names})})
        for uid, file, start, length in database.ask(run, of_one if len(names) == 1 else of_some):
            locators[uid].append(Locator(source=file, start=start, length=length))
    return locators


def annotation_table(run: OpenRun, uids: pa.ChunkedArray) -> pa.Table | None:
    """Return the same places as a table for many samples, oldest first; None without annotations that have places."""
    pieces = run.snapshot().annotations
    if not pieces or not run.format.annotates_by_place:
        return None
    return database.table(run, Question(pieces, OF_SOME, tables={"asked": pa.table({"uid": uids})}))


def source_of(run: OpenRun, key: SampleKey, locator: Locator) -> Source:
    """The source that holds a sample. Raises `SourceChanged` if it is gone."""
    source = run.sources.get(locator.source)
    if source is None:
        raise SourceChanged(f"{locator.source} is gone: the sample {key} was in it when it was indexed")
    return source


def read_sample(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Sample:
    """Read a whole sample, annotated at `noted`. Raises `SourceChanged` if its file now holds another sample there."""
    sample = run.format.load_annotated(run.info, source_of(run, key, locator), locator, noted)
    _check(sample.row.key, key, locator)
    sample.key = key
    tokens.cut_tokens(sample)
    add_strings(run.info, sample)
    return sample


def read_scored(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Sample:
    """Read a whole sample as `read_sample` does, with the scores of a person's own graders."""
    sample = read_sample(run, key, locator, noted)
    metrics, tags = _scores_of(run, key, locator)
    sample.row.cause = sample.row.cause or cause_of(sample.row.status, sample.row.status_raw)
    sample.row.metrics, sample.row.tags = sample.row.metrics | metrics, sample.row.tags | tags
    if not (sample.turns or sample.notes):
        sample.notes.append("the record has neither a prompt nor a response")
    return sample


def read_texts(run: OpenRun, key: SampleKey, locator: Locator, noted: Sequence[Locator] = ()) -> Texts:
    """Read all texts of a sample. Raises as `read_sample`."""
    texts = run.format.load_texts(run.info, source_of(run, key, locator), locator)
    if texts is None:
        return texts_of(read_sample(run, key, locator, noted))
    _check(texts.key, key, locator)
    return texts


def texts_of(sample: Sample) -> Texts:
    """The texts of a loaded sample."""
    return Texts(
        key=sample.row.key,
        prompt=sample.prompt_text or sample.row.prompt,
        response=sample.row.response,
        label=sample.label,
        reference="".join(map(text.verbatim, sample.ref_turns)),
    )


def _check(stored: SampleKey, key: SampleKey, locator: Locator) -> None:
    if stored.shared != key.shared:
        at = f"{locator.source} no longer holds {key} at byte {locator.start}"
        raise SourceChanged(f"{at}: it was written again since; ask for the list again")


def _scores_of(run: OpenRun, key: SampleKey, locator: Locator) -> tuple[dict[str, float], dict[str, str]]:
    snapshot = run.snapshot()
    metrics = list(dict.fromkeys(name for piece in snapshot.scores for name in piece.metrics))
    tags = list(dict.fromkeys(name for piece in snapshot.scores for name in piece.tags))
    columns = [*map(metric_column, metrics), *map(tag_column, tags)]
    if not columns:
        return {}, {}
    sql = f"""SELECT {", ".join(map(relation.quote, columns))} FROM rows
        WHERE split = ? AND step = ? AND source = ? AND byte_start = ? AND part = ?"""
    values = [key.split, key.step, locator.source, locator.start, locator.part]
    overlay = relation.AnnotationOverlay(columns=columns, scores=snapshot.scores)
    pieces = snapshot.holding([key.split], key.step, key.step)
    scores = next(iter(database.ask(run, Question(pieces, sql, values, overlay=overlay))), ())
    numbers, words = zip(metrics, scores, strict=False), zip(tags, scores[len(metrics) :], strict=False)
    return {name: score for name, score in numbers if score is not None}, {
        name: tag for name, tag in words if tag is not None
    }


class Policy(NamedTuple):
    """One version or several, as text; the lag in versions."""

    version: str
    lag: float | None


def policy(sample: Sample) -> Policy:
    """Find version and lag among metrics, tags and other fields."""
    fields = {**sample.extra, **sample.row.tags, **sample.row.metrics}
    version = next((word for name in POLICY_VERSIONS if (word := _word(fields.get(name)))), "")
    lag = next((sample.row.metrics[name] for name in LAGS if name in sample.row.metrics), None)
    return Policy(version, lag)


def _word(value: Any) -> str:
    """Return a version as text; for several turns, the first and the last version if they differ."""
    if isinstance(value, list):
        words = [word for item in value[:10_000] if (word := _word(item) if not isinstance(item, list) else "")]
        if not words:
            return ""
        return words[0] if words[0] == words[-1] else f"{words[0]} to {words[-1]}"
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)[:_MAX] if isinstance(value, str | int) else ""
