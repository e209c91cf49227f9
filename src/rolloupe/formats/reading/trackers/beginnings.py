"""How files of trackers begin: whether one is what its name says, and what the tracker calls its run."""

import contextlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from rolloupe.formats.reading.peek import look
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trackers import csv_tables, mlflow, swanlab, tables, tensorboard, trackio, wandb
from rolloupe.formats.reading.trackers.curves import TRAINER_STEPS, LoggedRow, LoggedRun, is_step
from rolloupe.formats.reading.trackers.sqlite import SIDE_FILES, BadDatabase, side_file
from rolloupe.formats.reading.trackers.trackio import ProjectRun
from rolloupe.model import Location
from rolloupe.storage import path_state, stamp_of_state

HEAD_BYTES = 64 * 2**10
LOOKED_ROWS = 8
MOST_NAME_CHARS = 200

EVENTS = b"brain.Event:"
"""The first event of TensorBoard says this, and its version."""
EVENTS_BYTES = 64


class Beginning(LoggedRun):
    """What the beginning of a file shows. Without `fits`, the file is not what its name says."""

    fits: bool = False


def begins_as(kind: str, location: Location) -> Beginning:
    """Look at the beginning of a file of some kind; a file that cannot be read fits nothing."""
    try:
        return _begins_as(kind, location, *stamp_of_state(path_state(location.path)))
    except OSError:
        return _NOTHING


def project_runs(location: Location) -> list[ProjectRun]:
    """List the runs with metrics of a database of trackio or MLflow; none of another file."""
    return _database(location)[1]


def database_kind(location: Location) -> str:
    """Return whose database a file is; that of trackio may have no runs yet."""
    return _database(location)[0]


def _database(location: Location) -> tuple[str, list[ProjectRun]]:
    try:
        return _runs_in(location, *states_of(location))
    except (BadDatabase, OSError):
        return "trackio", []


def database_configs(location: Location) -> dict[str, dict[str, Any]]:
    """Return the configurations of the runs of a database of trackio, by their ids; none of another file."""
    try:
        return _configs_in(location, *states_of(location))
    except (BadDatabase, OSError):
        return {}


def states_of(location: Location) -> tuple[int, ...]:
    """Return what changes with a row of a database, also in the files beside it."""
    found = [*stamp_of_state(path_state(location.path))]
    for ending in SIDE_FILES:
        with contextlib.suppress(OSError):
            beside = path_state(side_file(location, ending).path)
            found += [beside.st_size, beside.st_mtime_ns]
    return tuple(found)


@lru_cache(maxsize=512)
def _runs_in(location: Location, *_states: int) -> tuple[str, list[ProjectRun]]:
    logged = mlflow.logged_runs(location)
    return ("trackio", trackio.project_runs(location)) if logged is None else ("MLflow", logged)


@lru_cache(maxsize=512)
def _configs_in(location: Location, *_states: int) -> dict[str, dict[str, Any]]:
    return trackio.read_configs(location)


_NOTHING = Beginning("", [])


@lru_cache(maxsize=1024)
def _begins_as(kind: str, location: Location, _inode: int, size: int, _mtime_ns: int) -> Beginning:
    if kind == "JSON lines":
        return _of_rows(tables.rows_of(look(location).objects))
    with open_binary(location) as file:
        head = file.read(HEAD_BYTES)
    if kind == "TensorBoard":
        known = tensorboard.read_beginning(head)
        return Beginning("", known.rows, known.config, fits=EVENTS in head[:EVENTS_BYTES])
    if kind == "CSV":
        whole = head if size <= HEAD_BYTES else head[: head.rfind(b"\n") + 1]
        try:
            return _of_rows(csv_tables.read_csv(whole).rows)
        except ValueError:
            return _NOTHING
    if kind == "trainer state":
        return Beginning("", [], fits=b'"log_history"' in head and b'"global_step"' in head)
    try:
        run = wandb.read_wandb(head) if kind == "Weights & Biases" else swanlab.read_swanlab(head)
    except ValueError:
        return _NOTHING
    name = run.name if run.name.isprintable() and len(run.name) <= MOST_NAME_CHARS else ""
    return Beginning(name, [], run.config, fits=True)


def _of_rows(rows: Iterable[LoggedRow]) -> Beginning:
    """Rows of a table are curves if each of the first has a step that is a whole number, and another number."""
    first = [row for row, _ in zip(rows, range(LOOKED_ROWS), strict=False)]
    return Beginning("", [], fits=bool(first) and all(map(_is_logged, first)))


def _is_logged(row: LoggedRow) -> bool:
    steps = [name for name in TRAINER_STEPS if is_step(row.values.get(name, 0.5))]
    return len(row.values) > len(steps) and (row.step is not None or bool(steps))
