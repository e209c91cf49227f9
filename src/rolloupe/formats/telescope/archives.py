"""The archives of a Telescope run, in merge order, and the samples that each of them contributes.

Archives overlap: a tail repeats the block that is being filled, events repeat under `_kept` the samples of steps. A
sample belongs to the first archive, in the order below, that holds it. The source of an archive carries a word for the
samples that it leaves to earlier archives: the archive is scanned again whenever the word changes, and only then.
"""

import hashlib
import os
import re
from typing import NamedTuple

import numpy as np

from rolloupe.formats.reading.files import FolderEntry, entries, links_of
from rolloupe.formats.reading.tables.zip_archives import Tables, Unreadable, integers
from rolloupe.formats.reading.trainer_files import read_json
from rolloupe.formats.telescope.tables import KINDS, MAX_SAMPLES, Kind, name_of
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
            Source(path=one.path, name=one.name, root=one.root, depends=_word(self.earlier_ids[one.name]))
            for one in self.archives
        ]


NOTHING = Outline(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), MISSING)

_outlines: Lru[str, tuple[tuple[int, int, int], Outline]] = Lru(total=_KEPT_BYTES, least=1)
_merged: Lru[str, tuple[object, Merged]] = Lru(64)
_open: Lru[str, tuple[tuple[int, int, int], Tables]] = Lru(_KEPT_OPEN)


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
    return [one for one in listed if not one.is_folder and not one.refused and _is_named(one.name, kind)]


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
