"""The archives of a Telescope run, in merge order, and the samples that each of them contributes.

Archives overlap: a tail repeats the block that is being filled, and the `_kept` tables of events repeat the samples of
steps. A sample belongs to the first archive, in the order below, that holds it. The source of an archive has a word
that stands for the samples left to earlier archives: the archive is scanned again only if the word changes.
"""

import os
import re
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from rolloupe.formats.reading.files import FolderEntry, entries, links_of
from rolloupe.formats.reading.tables.zip_archives import Tables, Unreadable, integers, taken
from rolloupe.formats.reading.trainer_files import read_json
from rolloupe.lru import Lru
from rolloupe.model import Location, RunInfo
from rolloupe.storage import is_file, path_state, stamp_of_state

STEPS, EVENTS, AFTERWARDS = "steps", "events", "evals_after_training"
FOLDERS = (STEPS, EVENTS, AFTERWARDS)
SUMMARY = "summary.json"
MISSING = -(2**62)

UNDISPATCHED = -1
"""The sample id of every cancelled sample that was never sent to a server."""

_BLOCK = re.compile(r"block_(?P<number>[0-9]{1,9})\.zip")
_AFTERWARDS = re.compile(r"evals_after_training_(?P<stamp>[0-9]{8}_[0-9]{6})\.zip")
_LAST = {"block_live.zip": 10**9, "tail.zip": 10**9 + 1}
State = tuple[int, int, int]
_open: Lru[tuple[str, State], Tables] = Lru(entries=4)

Row = dict[str, Any]

RAW = frozenset(("raw_string",))
"""A whole sample in one text, as long as all other columns together: read only with a single sample."""

MAX_SAMPLES = 2**22
MAX_PROMPTS = 2**20
"""A table with more samples or prompts is not read: the limit is twice a block of 500 steps with 1,024 groups of 4."""

MAX_ROWS = 20_000
"""The most rows of a table to read for one sample."""

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

    def table(self, name: str) -> str:
        return name + self.suffix

    @property
    def samples(self) -> str:
        return self.table("samples_data")


KINDS: Final = (
    Kind("", is_trained=True),
    Kind("_kept", is_trained=True),
    Kind("_discarded"),
    Kind("_cancelled", is_cancelled=True),
    Kind("_eval", is_eval=True),
)


class Archive(NamedTuple):
    """A file of a run: `name` is its path below the run, `state` changes with its contents."""

    location: Location
    name: str
    state: State


class Outline(NamedTuple):
    """An archive's facts for a merge: sorted ids of its samples, its last steps, the last trained step."""

    ids: np.ndarray
    steps: np.ndarray
    trained: int

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes + self.steps.nbytes


class Merged(NamedTuple):
    """The archives of a run as they are now."""

    archives: list[Archive]
    earlier_ids: dict[str, np.ndarray]
    """For each archive, by name, the ids that earlier archives hold."""
    untrained: list[int]
    """Steps with samples that were not trained; the newest may yet be trained."""


NOTHING = Outline(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), MISSING)

OUTLINES: Lru[tuple[str, State], Outline] = Lru(total=256 * 2**20)
"""Eight bytes for each sample of an archive."""
MERGED: Lru[str, tuple[object, Merged]] = Lru(64)


def tables_of(location: Location) -> Tables:
    """Return the tables of an archive as it is now; a cache keeps the last few. Raises `Unreadable`."""
    state = _state(location.path)
    return _open.get_or_make((location.path, state), lambda: Tables(location, state), lambda _: 0)


def check_unchanged(tables: Tables) -> None:
    """Raise `Unreadable` if an archive has changed since: each table is read on its own."""
    if _state(tables.location.path) != tables.state:
        raise Unreadable("it changed while it was read")


def archives_of(run: RunInfo) -> list[Archive]:
    """Return the archives of a run in merge order."""
    archives = []
    for part in run.parts:
        if is_file(part.path):
            place = Location(part.path, links_of(run))
            archives.append(Archive(place, os.path.basename(part.path), _state(part.path)))
            continue
        for folder in FOLDERS:
            listed = zips(os.path.join(part.path, folder), links_of(run), folder)
            archives += [Archive(e.location, f"{folder}/{e.name}", _state(e.path)) for e in listed]
    return archives


def stamp_of(path: str) -> str:
    """Return the time of a later evaluation, from the name of its archive; nothing for any other archive."""
    match = _AFTERWARDS.fullmatch(os.path.basename(path))
    return match["stamp"] if match else ""


def zips(folder: str, links: str, kind: str) -> list[FolderEntry]:
    """List the archives in a folder that follow Telescope's naming, in merge order."""
    try:
        listed = entries(folder, links)
    except OSError:
        return []
    numbers: dict[FolderEntry, int] = {}
    for entry in listed:
        block = _BLOCK.fullmatch(entry.name)
        number = int(block["number"]) if block else _LAST.get(entry.name)
        if kind == AFTERWARDS:
            number = 0 if _AFTERWARDS.fullmatch(entry.name) else None
        if number is not None and not (entry.is_folder or entry.refused):
            numbers[entry] = number
    return sorted(numbers, key=lambda entry: (numbers[entry], entry.name))


def _state(path: str) -> State:
    try:
        return stamp_of_state(path_state(path))
    except OSError:
        return 0, 0, 0


def merged(run: RunInfo) -> Merged:
    """Merge a run as it is now. Cheap if nothing has changed since the last merge."""
    archives = archives_of(run)
    summary = os.path.join(run.root, SUMMARY)
    key = (tuple(archives), _state(summary))
    cached = MERGED.get(run.root)
    if cached is not None and cached[0] == key:
        return cached[1]
    summary_values = read_json(Location(summary, links_of(run))) if is_file(summary) else None
    last = summary_values.get("steps/last_training_step") if isinstance(summary_values, dict) else None
    whole = _merge(archives, last if isinstance(last, int) and not isinstance(last, bool) else MISSING)
    MERGED.put(run.root, (key, whole))
    return whole


def _merge(archives: list[Archive], trained: int) -> Merged:
    ids, earlier_ids, steps = NOTHING.ids, {}, NOTHING.steps
    for archive in archives:
        key = archive.location.path, archive.state
        outline = OUTLINES.get_or_make(key, partial(_outline, archive.location), lambda outline: outline.nbytes)
        earlier_ids[archive.name] = NOTHING.ids
        if not stamp_of(archive.location.path):  # after training, another process numbers the samples again
            earlier_ids[archive.name] = np.intersect1d(outline.ids, ids, assume_unique=True)
            ids = np.union1d(ids, outline.ids)
        steps = np.union1d(steps, outline.steps)
        trained = max(trained, outline.trained)
    untrained = [] if trained == MISSING else [int(step) for step in steps if step > trained]
    return Merged(archives, earlier_ids, untrained)


def _outline(location: Location) -> Outline:
    """Return the facts about an archive that a merge needs; empty for one that cannot be opened."""
    ids, steps, trained = NOTHING
    try:
        tables = tables_of(location)
        for kind in KINDS:
            table = tables.columns(kind.samples, frozenset(("sample_id", "group_id", "step")), MAX_SAMPLES)
            if table is not None:
                ids = np.union1d(ids, marks(integers(table, "sample_id", MISSING), integers(table, "group_id", 0)))
                steps = np.union1d(steps, integers(table, "step", MISSING)) if kind.is_trained else steps
        metrics = tables.columns("metrics", frozenset(("step",)))
    except Unreadable:
        return NOTHING
    if metrics is not None and metrics.num_rows:
        trained = int(integers(metrics, "step", MISSING).max())
    return Outline(ids, steps, trained)


def marks(samples: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return keys that identify samples: their ids; the samples of a group without ids share a key."""
    return np.where(samples == UNDISPATCHED, -(groups + 2), samples)


def kinds_in(tables: Tables) -> list[Kind]:
    """Return the kinds of samples for which an archive has tables."""
    return [kind for kind in KINDS if tables.has(kind.samples)]


class Facts(NamedTuple):
    """A sample's row, the row of its prompt, and the rows about it, by table and in order."""

    row: Row
    prompt: Row
    about: dict[str, list[Row]]
    cut: list[str]
    """Tables with more rows than are read."""


class Index(NamedTuple):
    """The rows of a table in the order of their samples."""

    table: pa.Table
    ids: np.ndarray
    order: np.ndarray

    def counts(self, samples: np.ndarray) -> np.ndarray:
        """Return the number of rows of each sample."""
        return np.searchsorted(self.ids, samples, side="right") - np.searchsorted(self.ids, samples)

    def rows_of(self, samples: np.ndarray) -> list[list[Row]]:
        """Return the rows of each sample, at most `MAX_ROWS`, in the order of the table; none without an id."""
        starts = np.searchsorted(self.ids, samples)
        counts = np.where(samples >= 0, np.minimum(self.counts(samples), MAX_ROWS), 0)
        numbers = [np.sort(self.order[at : at + count]) for at, count in zip(starts, counts, strict=True)]
        wanted = np.unique(np.concatenate(numbers)) if numbers else np.empty(0, dtype=np.int64)
        rows = dict(zip(wanted.tolist(), taken(self.table, wanted), strict=True)) if len(wanted) else {}
        return [[rows[number] for number in of_sample.tolist()] for of_sample in numbers]


class KindTables:
    """All tables of one form in one archive, ready for look-ups by sample."""

    def __init__(self, tables: Tables, kind: Kind) -> None:
        self.kind = kind
        self.tables = tables
        self.samples = tables.table(kind.samples, RAW, MAX_SAMPLES)
        self.ids = np.empty(0, dtype=np.int64) if self.samples is None else integers(self.samples, "sample_id", MISSING)
        self._prompts = tables.table(kind.table("prompts"), most=MAX_PROMPTS)
        self._prompt_key = ("step", "sample_idx", "eval_name") if kind.is_eval else ("group_id",)
        self._prompt_rows: dict[tuple[Any, ...], int] = {}
        if self._prompts is not None:
            columns = [
                texts(self._prompts, name) if name == "eval_name" else integers(self._prompts, name, MISSING).tolist()
                for name in self._prompt_key
            ]
            self._prompt_rows = {key: number for number, key in enumerate(zip(*columns, strict=True))}
        self._about: dict[str, Index] = {}
        for name in ABOUT:
            if (table := tables.table(kind.table(name))) is not None:
                ids = integers(table, "sample_id", MISSING)
                order = np.argsort(ids, kind="stable")
                self._about[name] = Index(table, ids[order], order)

    def nth_without_id(self, number: int) -> int:
        """Return the ordinal, from 1 on, of a sample without an id within its group."""
        assert self.samples is not None
        groups = integers(self.samples, "group_id", 0)
        return int(((groups == groups[number]) & (self.ids < 0))[: number + 1].sum())

    def facts(self, numbers: np.ndarray, *, raw: bool = False) -> list[Facts]:
        """Return all rows about some samples, given by the numbers of their rows, ascending."""
        if self.samples is None:
            return []
        rows, ids = taken(self.samples, numbers), self.ids[numbers]
        table = self.tables.table(self.kind.samples, most=MAX_SAMPLES) if raw else None
        if table is not None and "raw_string" in table.column_names:
            for row, raw_column in zip(rows, taken(table.select(["raw_string"]), numbers), strict=True):
                row.update(raw_column)
        places = [self._prompt_rows.get(tuple(row.get(name) for name in self._prompt_key), -1) for row in rows]
        wanted = np.unique([place for place in places if place >= 0]).astype(np.int64)
        prompts = {} if self._prompts is None else dict(zip(wanted.tolist(), taken(self._prompts, wanted), strict=True))
        facts = [Facts(row, prompts.get(place, {}), {}, []) for row, place in zip(rows, places, strict=True)]
        for name, index in self._about.items():
            for sample, about, count in zip(facts, index.rows_of(ids), index.counts(ids), strict=True):
                if about:
                    sample.about[name] = about
                if count > MAX_ROWS:
                    sample.cut.append(name)
        return facts

    def weights(self, numbers: np.ndarray) -> np.ndarray:
        """Return the number of rows about each of these samples."""
        weights = np.ones(len(numbers), dtype=np.int64)
        for index in self._about.values():
            weights += np.minimum(index.counts(self.ids[numbers]), MAX_ROWS)
        return weights


def texts(table: pa.Table, name: str) -> list[str]:
    """Return a column as texts; all are empty if the column is missing."""
    if name not in table.column_names:
        return [""] * table.num_rows
    rows = taken(table.select([name]), np.arange(table.num_rows))
    return [value if isinstance(value := row[name], str) else "" for row in rows]
