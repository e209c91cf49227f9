"""Runs of trackers that belong to another run: those in its folder, and those beside it under its name.

They are its curves. One that has samples of a split that the other run lacks stays a run as well: verl may log its
validations to a tracker alone.
"""

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from rolloupe.formats.curve_files import FOLDERS, OF_TRACKERS, home_of
from rolloupe.formats.registry import by_name
from rolloupe.model import RunInfo, SampleRow
from rolloupe.storage import is_folder

LOOKED_SOURCES = 64
LOOKED_ROWS = 256
LOOKED_BYTES = 2**20
"""How much of a source is looked at for the splits of its samples, where it can be read in parts."""

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
    for one in (place, *place.parents):
        if host := folders.get(str(one)):
            return host
        names = (run.name, place.name) if one.name.lower() in FOLDERS else ()
        if host := next((beside[key] for name in names if (key := (str(one.parent), name)) in beside), None):
            return host
    return None


def has_more_splits(run: RunInfo, host: RunInfo) -> bool:
    """Tell whether a run has a split that another lacks, as far as a part of each source shows."""
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
