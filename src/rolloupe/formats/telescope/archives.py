"""The archives of a Telescope run, in merge order, and the samples that each of them contributes.

Archives overlap: a tail repeats the block that is being filled, events repeat under `_kept` the samples of steps. A
sample belongs to the first archive, in the order below, that holds it. The source of an archive carries a word for the
samples that it leaves to earlier archives: the archive is scanned again whenever the word changes, and only then.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from rolloupe.formats.reading.files import FolderEntry, entries, links_of
from rolloupe.formats.reading.tables.zip_archives import Tables, Unreadable, integers, taken
from rolloupe.formats.reading.trainer_files import read_json
from rolloupe.lru import Lru
from rolloupe.model import Location, RunInfo, Source
from rolloupe.storage import is_file, path_state, stamp_of_state

STEPS, EVENTS, AFTERWARDS = "steps", "events", "evals_after_training"
FOLDERS = (STEPS, EVENTS, AFTERWARDS)
SUMMARY = "summary.json"
MISSING = -(2**62)
"""Represents a missing number."""

UNDISPATCHED = -1
"""The sample id of every cancelled sample that was never sent to a server."""

_BLOCK = re.compile(r"block_(?P<number>[0-9]{1,9})\.zip")
_AFTERWARDS = re.compile(r"evals_after_training_(?P<stamp>[0-9]{8}_[0-9]{6})\.zip")
_LAST = {"block_live.zip": 10**9, "tail.zip": 10**9 + 1}
_KEPT_OPEN = 4
_KEPT_BYTES = 256 * 2**20
"""Outlines of the most recently used archives, eight bytes for each sample."""
_open: Lru[str, tuple[tuple[int, int, int], Tables]] = Lru(_KEPT_OPEN)

Row = dict[str, Any]

NO_ID: Final = -(2**62)

RAW = frozenset(("raw_string",))
"""A whole sample in one text, as long as all other columns together: read only with a single sample."""

MAX_SAMPLES = 2**22
MAX_PROMPTS = 2**20
"""A table with more samples or prompts is not read. A block of 500 steps with 1,024 groups of 4 has half of both."""

MAX_ROWS = 20_000
"""Number of rows of a table to read for one sample."""

ABOUT = (
    "generations", "env_responses", "tool_calls", "rollouts_metrics", "golden_answers", "info_turns", "sample_tags",
    "turn_metrics",
)  # fmt: skip
"""The tables with rows about samples."""


class Kind(NamedTuple):
    """One of the five forms of the tables about samples."""

    suffix: str
    is_eval: bool = False
    is_trained: bool = False
    is_cancelled: bool = False


KINDS: Final = (
    Kind("", is_trained=True),
    Kind("_kept", is_trained=True),
    Kind("_discarded"),
    Kind("_cancelled", is_cancelled=True),
    Kind("_eval", is_eval=True),
)


class Archive(NamedTuple):
    """A file of a run: `name` is its path below the run, `state` changes with its contents."""

    path: str
    root: str
    name: str
    state: tuple[int, int, int]
    stamp: str = ""
    """The time of a later evaluation."""

    @property
    def location(self) -> Location:
        """The place to open."""
        return Location(self.path, self.root)


class Outline(NamedTuple):
    """An archive's facts for a merge: sorted ids of its samples, its last steps, the last trained step."""

    ids: np.ndarray
    steps: np.ndarray
    trained: int

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.ids.nbytes + self.steps.nbytes


class Merged(NamedTuple):
    """The archives of a run as they are now. `earlier_ids`: for each, the ids that an earlier one has."""

    archives: list[Archive]
    earlier_ids: dict[str, np.ndarray]
    untrained: list[int]
    """Steps with samples that were not trained; the newest of them may still be."""

    def sources(self) -> list[Source]:
        """The archives as sources."""
        return [
            Source(
                path=archive.path, name=archive.name, root=archive.root, depends=_word(self.earlier_ids[archive.name])
            )
            for archive in self.archives
        ]


NOTHING = Outline(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), MISSING)

_outlines: Lru[str, tuple[tuple[int, int, int], Outline]] = Lru(total=_KEPT_BYTES, least=1)
_merged: Lru[str, tuple[object, Merged]] = Lru(64)


def tables_of(location: Location) -> Tables:
    """The tables of an archive as it is now; a cache keeps the last few. Raises `Unreadable`."""
    state, opened = _state(location.path), _open.get(location.path)
    if opened is None or opened[0] != state:
        opened = state, Tables(location, state)
        _open.put(location.path, opened)
    return opened[1]


def check_unchanged(tables: Tables) -> None:
    """Raise `Unreadable` if an archive is no longer the one whose tables these are: each is read on its own."""
    if _state(tables.location.path) != tables.state:
        raise Unreadable("it changed while it was read")


def archives_of(run: RunInfo) -> list[Archive]:
    """The archives of a run in merge order."""
    found = []
    for part in run.parts:
        if is_file(part.path):
            found.append(_archive(Location(part.path, links_of(run)), os.path.basename(part.path)))
            continue
        for folder in FOLDERS:
            listed = sorted(zips(os.path.join(part.path, folder), links_of(run), folder), key=_place)
            found += [_archive(entry.location, f"{folder}/{entry.name}") for entry in listed]
    return found


def stamp_of(source: Source) -> str:
    """The time of a later evaluation, from the name of its archive; nothing for any other archive."""
    match = _AFTERWARDS.fullmatch(os.path.basename(source.path))
    return match["stamp"] if match else ""


def zips(folder: str, links: str, kind: str) -> list[FolderEntry]:
    """The archives in a folder that follow Telescope's naming."""
    try:
        listed = entries(folder, links)
    except OSError:
        return []
    return [entry for entry in listed if not entry.is_folder and not entry.refused and _is_named(entry.name, kind)]


def _is_named(name: str, folder: str) -> bool:
    if folder == AFTERWARDS:
        return _AFTERWARDS.fullmatch(name) is not None
    return name in _LAST or _BLOCK.fullmatch(name) is not None


def _place(entry: FolderEntry) -> tuple[int, str]:
    block = _BLOCK.fullmatch(entry.name)
    return int(block["number"]) if block else _LAST.get(entry.name, 0), entry.name


def _archive(location: Location, name: str) -> Archive:
    match = _AFTERWARDS.fullmatch(os.path.basename(location.path))
    return Archive(location.path, location.root, name, _state(location.path), match["stamp"] if match else "")


def _state(path: str) -> tuple[int, int, int]:
    try:
        return stamp_of_state(path_state(path))
    except OSError:
        return 0, 0, 0


def merged(run: RunInfo) -> Merged:
    """Merge a run as it is now. Cheap if nothing has changed since the last merge."""
    archives = archives_of(run)
    summary = os.path.join(run.root, SUMMARY)
    key = (tuple(archives), _state(summary))
    cached = _merged.get(run.root)
    if cached is not None and cached[0] == key:
        return cached[1]
    found = _merge(archives, _trained(Location(summary, links_of(run))))
    _merged.put(run.root, (key, found))
    return found


def _merge(archives: list[Archive], trained: int) -> Merged:
    before = np.empty(0, dtype=np.int64)
    earlier_ids, steps = {}, np.empty(0, dtype=np.int64)
    for archive in archives:
        outline = outline_of(archive)
        earlier_ids[archive.name] = (
            NOTHING.ids if archive.stamp else np.intersect1d(outline.ids, before, assume_unique=True)
        )
        if not archive.stamp:  # another process renumbers its samples
            before = np.union1d(before, outline.ids)
        steps = np.union1d(steps, outline.steps)
        trained = max(trained, outline.trained)
    untrained = [] if trained == MISSING else [int(step) for step in steps if step > trained]
    return Merged(archives, earlier_ids, untrained)


def _trained(summary: Location) -> int:
    found = read_json(summary) if is_file(summary.path) else None
    last = found.get("steps/last_training_step") if isinstance(found, dict) else None
    return last if isinstance(last, int) and not isinstance(last, bool) else MISSING


def outline_of(archive: Archive) -> Outline:
    """The facts about an archive that a merge needs; empty for one that cannot be opened."""
    cached = _outlines.get(archive.path)
    if cached is not None and cached[0] == archive.state:
        return cached[1]
    try:
        found = _outlined(tables_of(archive.location))
    except Unreadable:
        found = NOTHING
    _outlines.put(archive.path, (archive.state, found), found.nbytes)
    return found


def _outlined(tables: Tables) -> Outline:
    ids, steps, trained = NOTHING.ids, NOTHING.steps, MISSING
    for kind in KINDS:
        table = tables.columns(name_of("samples_data", kind), frozenset(("sample_id", "group_id", "step")), MAX_SAMPLES)
        if table is None:
            continue
        ids = np.union1d(ids, marks(integers(table, "sample_id", MISSING), integers(table, "group_id", 0)))
        if kind.is_trained:
            steps = np.union1d(steps, integers(table, "step", MISSING))
    metrics = tables.columns("metrics", frozenset(("step",)))
    if metrics is not None and metrics.num_rows:
        trained = int(integers(metrics, "step", MISSING).max())
    return Outline(ids, steps, trained)


def marks(samples: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Keys that distinguish samples: their ids; samples of a group without ids share one key of the group."""
    return np.where(samples == UNDISPATCHED, -(groups + 2), samples)


def kinds_in(tables: Tables) -> list[Kind]:
    """The kinds of samples for which an archive has tables."""
    return [kind for kind in KINDS if tables.has(name_of("samples_data", kind))]


def _word(ids: np.ndarray) -> str:
    return hashlib.blake2b(ids.tobytes(), digest_size=8).hexdigest() if len(ids) else ""


class Facts(NamedTuple):
    """A sample's own row, that of its prompt, and by table the rows about it, in their order."""

    row: Row
    prompt: Row
    about: dict[str, list[Row]]
    cut: list[str]
    """Tables whose rows were cut because there are too many."""


def name_of(table: str, kind: Kind) -> str:
    """The name of a table in one of its forms."""
    return table + kind.suffix


def kind_of(table: str) -> Kind | None:
    """The form of a `samples_data` table, by its name."""
    return next((kind for kind in KINDS if name_of("samples_data", kind) == table), None)


class Index(NamedTuple):
    """The rows of a table in the order of their samples."""

    table: pa.Table
    ids: np.ndarray
    order: np.ndarray

    def of(self, sample: int) -> np.ndarray:
        """The numbers of the rows of a sample, ascending."""
        low, high = np.searchsorted(self.ids, (sample, sample + 1))
        return np.sort(self.order[low : min(high, low + MAX_ROWS)])

    def count(self, sample: int) -> int:
        """The number of rows of a sample."""
        low, high = np.searchsorted(self.ids, (sample, sample + 1))
        return int(high - low)


class KindTables:
    """All tables of one form in one archive, ready for look-ups by sample."""

    def __init__(self, tables: Tables, kind: Kind) -> None:
        self.kind = kind
        self.samples = tables.table(name_of("samples_data", kind), RAW, MAX_SAMPLES)
        self.ids = np.empty(0, dtype=np.int64) if self.samples is None else integers(self.samples, "sample_id", NO_ID)
        self.tables = tables
        self._prompts = tables.table(name_of("prompts", kind), most=MAX_PROMPTS)
        self._prompt_rows = self._index_prompts()
        self._about = {name: found for name in ABOUT if (found := self._index(name)) is not None}

    def _index(self, name: str) -> Index | None:
        table = self.tables.table(name_of(name, self.kind))
        if table is None:
            return None
        ids = integers(table, "sample_id", NO_ID)
        order = np.argsort(ids, kind="stable")
        return Index(table, ids[order], order)

    def _prompt_key(self) -> tuple[str, ...]:
        return ("step", "sample_idx") if self.kind.is_eval else ("group_id",)

    def _index_prompts(self) -> dict[tuple[Any, ...], int]:
        if self._prompts is None:
            return {}
        columns = [integers(self._prompts, name, NO_ID).tolist() for name in self._prompt_key()]
        if self.kind.is_eval:
            columns.append(texts(self._prompts, "eval_name"))
        return {key: number for number, key in enumerate(zip(*columns, strict=True))}

    def nth_without_id(self, number: int) -> int:
        """The ordinal, from 1 on, of a sample without an id within its group."""
        assert self.samples is not None
        groups = integers(self.samples, "group_id", 0)
        return int(((groups == groups[number]) & (self.ids < 0))[: number + 1].sum())

    def facts(self, numbers: np.ndarray, *, raw: bool = False) -> list[Facts]:
        """All rows about some samples, given by the numbers of their rows, ascending."""
        if self.samples is None:
            return []
        rows = taken(self.samples, numbers)
        about: list[dict[str, list[Row]]] = [{} for _ in rows]
        ids = [int(self.ids[number]) for number in numbers]
        for name, index in self._about.items():
            self._share(name, index, ids, about)
        if raw:
            self._add_raw(rows, numbers)
        prompts = self._prompts_of(rows)
        cut = [[name for name, index in self._about.items() if index.count(sample_id) > MAX_ROWS] for sample_id in ids]
        return [Facts(*four) for four in zip(rows, prompts, about, cut, strict=True)]

    def weights(self, numbers: np.ndarray) -> list[int]:
        """The number of rows about each of some samples."""
        found = np.ones(len(numbers), dtype=np.int64)
        for index in self._about.values():
            low = np.searchsorted(index.ids, self.ids[numbers])
            found += np.minimum(np.searchsorted(index.ids, self.ids[numbers], side="right") - low, MAX_ROWS)
        return [int(number) for number in found]

    @staticmethod
    def _share(name: str, index: Index, ids: Sequence[int], about: list[dict[str, list[Row]]]) -> None:
        row_numbers = [index.of(sample_id) if sample_id >= 0 else np.empty(0, dtype=np.int64) for sample_id in ids]
        wanted = np.unique(np.concatenate(row_numbers)) if row_numbers else np.empty(0, dtype=np.int64)
        if not len(wanted):
            return
        rows = dict(zip(wanted.tolist(), taken(index.table, wanted), strict=True))
        for found, numbers in zip(about, row_numbers, strict=True):
            if len(numbers):
                found[name] = [rows[number] for number in numbers.tolist()]

    def _prompts_of(self, rows: Sequence[Row]) -> list[Row]:
        if self._prompts is None:
            return [{} for _ in rows]
        names = (*self._prompt_key(), "eval_name") if self.kind.is_eval else self._prompt_key()
        places = [self._prompt_rows.get(tuple(row.get(name) for name in names)) for row in rows]
        wanted = np.unique(np.array([place for place in places if place is not None], dtype=np.int64))
        found = dict(zip(wanted.tolist(), taken(self._prompts, wanted), strict=True))
        return [found.get(place, {}) if place is not None else {} for place in places]

    def _add_raw(self, rows: Sequence[Row], numbers: np.ndarray) -> None:
        table = self.tables.table(name_of("samples_data", self.kind), most=MAX_SAMPLES)
        if table is not None and "raw_string" in table.column_names:
            for row, raw_column in zip(rows, taken(table.select(["raw_string"]), numbers), strict=True):
                row.update(raw_column)


def texts(table: pa.Table, name: str) -> list[str]:
    """A column as texts; all empty without such a column."""
    if name not in table.column_names:
        return [""] * table.num_rows
    rows = taken(table.select([name]), np.arange(table.num_rows))
    return [value if isinstance(value := row[name], str) else "" for row in rows]
