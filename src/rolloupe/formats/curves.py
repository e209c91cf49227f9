"""Runs of which only curves are left, or were ever kept: files of a tracker, without rollouts.

Discovery asks this format last, so a folder with samples is never one of these. Its rules are strict: names and
contents both have to fit, and tables of numbers in a folder of source code are no run.

A run of a tracker that lies in the folder of another run, or beside it under its name, holds the curves of that run
(`hosts_of`). One that has samples of a split that the other run lacks stays a run as well: verl may log its validations
to a tracker alone.
"""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rolloupe.formats.base import Format, changed
from rolloupe.formats.curve_files import (
    ALONE,
    DATABASES,
    FOLDERS,
    OF_TRACKERS,
    OFFLINE,
    PLAIN_NAMES,
    begins_as,
    config_of,
    curve_files,
    curve_locations,
    file_named,
    home_of,
    kind_of,
)
from rolloupe.formats.reading.files import FolderEntry, entries, is_one_file, stem
from rolloupe.formats.reading.peek import look
from rolloupe.formats.reading.trackers.sqlite import ENDINGS, database_kind, project_runs, why_unread
from rolloupe.formats.reading.trainer_files import described_files, json_sources
from rolloupe.formats.registry import by_name
from rolloupe.model import Location, Locator, RunFile, RunInfo, Sample, SampleRow, Scanned, Source
from rolloupe.storage import is_folder

OF_CODE = frozenset((
    ".git", "Cargo.toml", "__init__.py", "conftest.py", "go.mod", "package.json", "pyproject.toml", "setup.cfg",
    "setup.py",
))  # fmt: skip
"""A folder with one of these holds source code: a table of numbers in it is no run."""
_CHECKPOINT = re.compile(r"checkpoint-\d+")
_VERL = {"step", "data"}
"""The keys of all rows that verl's `file` logger writes."""


class Curves(Format):
    """Curves of a tracker, without samples."""

    name = ALONE
    title = "Curves without samples"
    endings = ENDINGS
    has_samples = False

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        if is_one_file(path):
            return self._of_file(file_named(str(path)).kind, path, forced=forced)
        links = link_root or str(path.resolve())
        try:
            listed = [entry for entry in entries(str(path), links) if not (entry.is_folder or entry.refused)]
        except OSError:
            return []
        named = [(kind, entry) for entry in listed if (kind := kind_of(entry.name))]
        return self._of_folder(path, named, links) if named else []

    def _of_folder(self, folder: Path, named: list[tuple[str, FolderEntry]], links: str) -> list[RunInfo]:
        offline = [entry for kind, entry in named if kind in OFFLINE and begins_as(entry.location, kind).fits]
        kinds: dict[str, None] = {}
        for kind, entry in named:  # event files, and tables under the names that trainers give them
            is_saved = kind == "trainer state" and _CHECKPOINT.fullmatch(folder.name)
            is_table = entry.name in PLAIN_NAMES and not is_saved
            is_code = is_table and any(beside.name in OF_CODE for beside in entries(str(folder), links))
            if (kind == "TensorBoard" or (is_table and not is_code)) and begins_as(entry.location, kind).fits:
                kinds[kind] = None
        if offline and (kinds or len(offline) == 1):
            kinds |= dict.fromkeys(kind_of(entry.name) for entry in offline)
        if kinds:
            names = [begins_as(entry.location, kind_of(entry.name)).name for entry in offline if len(offline) == 1]
            name = next(filter(None, names), folder.name)
            return [self._run(folder, name, f"curves of {', '.join(kinds)}, no samples", links)]
        runs = [run for entry in offline for run in self._of_file(kind_of(entry.name), Path(entry.path), links=links)]
        for kind, entry in named:
            rows = look(entry.location).objects if kind == "JSON lines" else ()
            is_of_verl = bool(rows) and all(row.keys() == _VERL and isinstance(row["data"], dict) for row in rows)
            if kind == "trackio" or is_of_verl:
                runs += self._of_file(kind, Path(entry.path), links=links)
        return runs

    def _of_file(self, kind: str, path: Path, *, forced: bool = False, links: str = "") -> list[RunInfo]:
        """The runs in a file: that of a link only if it lies below `links`."""
        location = Location(str(path), links or str(path))
        if kind in DATABASES:
            if why_unread(location):  # by the format of its samples
                return []
            reason = f"a run of a database of {database_kind(location)}, no samples"
            return [self._run(path, run.name, reason, links, run.id) for run in project_runs(location)]
        seen = begins_as(location, kind)
        if not (seen.fits or (forced and kind != "JSON lines")):
            return []
        bare = stem(path.name) if kind_of(path.name) in ("", "JSON lines", "TensorBoard") else path.stem
        return [self._run(path, seen.name or bare, f"curves of {kind}, one file, no samples", links)]

    def _run(self, root: Path, name: str, reason: str, links: str, within: str = "") -> RunInfo:
        return replace(self._run_at(root, reason, links, name), within=within)

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`. Files with curves alone, which the run follows: a scan of them yields nothing."""
        return json_sources(run.root, (location for file in curve_files(run) for location in file.locations))

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:  # noqa: ARG002
        return iter(())

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:  # noqa: ARG002
        raise changed(source, locator.start, "it holds curves alone")

    def config(self, run: RunInfo) -> dict[str, Any]:
        return config_of(run)

    def files(self, run: RunInfo) -> list[RunFile]:
        return described_files(curve_locations(run))


LOOKED_SOURCES = 64
LOOKED_ROWS = 256
LOOKED_BYTES = 2**20
"""The bytes of a source that are searched for splits, if it can be read in parts."""
UNSEEN = (
    "its samples are of splits that the run {name} has, so that it is no run of its own but the curves of that. Next: "
    "name it to open it"
)


def hosts_of(runs: Sequence[RunInfo]) -> list[tuple[RunInfo, RunInfo]]:
    """Return the runs of trackers that belong to other runs, each with that run."""
    folders = {run.root: run for run in runs if run.format not in OF_TRACKERS and is_folder(run.root)}
    for root, run in [*folders.items()]:
        folders.setdefault(home_of(root), run)
    beside = {(os.path.dirname(root), os.path.basename(root)): run for root, run in folders.items()}
    return [
        (run, host)
        for run in runs
        if run.format in OF_TRACKERS and folders and (host := _host(run, folders, beside)) is not None
    ]


def _host(run: RunInfo, folders: dict[str, RunInfo], beside: dict[tuple[str, str], RunInfo]) -> RunInfo | None:
    place = Path(run.root)
    for folder in (place, *place.parents):
        if host := folders.get(str(folder)):
            return host
        names = (run.name, place.name) if folder.name.lower() in FOLDERS else ()
        if host := next((beside[key] for name in names if (key := (str(folder.parent), name)) in beside), None):
            return host
    return None


def has_more_splits(run: RunInfo, host: RunInfo) -> bool:
    """Tell whether a run has a split that another lacks, judging by a part of each source."""
    own = _splits(run)
    return bool(own) and not own <= _splits(host)


def _splits(run: RunInfo) -> set[str]:
    reader = by_name(run.format)
    stop = LOOKED_BYTES if reader.splittable else 2**62
    return {
        row.split
        for source in reader.sources(run)[:LOOKED_SOURCES]
        for row in islice(reader.scan(run, source, 0, stop), LOOKED_ROWS)
        if isinstance(row, SampleRow)
    }
