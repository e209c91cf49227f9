"""Databases of trackio: one a project, `{project}.db`, with the metrics and configurations of its runs.

Source: trackio 0.43.0. Values that JSON lacks are texts such as `"NaN"`; a metric may be an object, such as a table,
which is no number. Older databases have no `run_id`: there a run is its name.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import apsw
from msgspec.structs import replace

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.documents.database_rows import about_views, bounded, stored_columns
from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, flat, parsed, seconds_of
from rolloupe.formats.reading.trackers.sqlite import read_database
from rolloupe.model import Location

MOST_ROWS = 5_000_000
MOST_RUNS = 10_000
LISTING_S = 10
"""The most time of a processor that listing the runs takes."""

_USED = {"run_name", "step", "timestamp", "metrics"}


class ProjectRun(NamedTuple):
    """A run of a project that has metrics."""

    id: str
    name: str


def project_runs(location: Location) -> list[ProjectRun]:
    """List the runs with metrics, in the order of their configurations. Raises `BadDatabase`."""
    return read_database(location, _project_runs, LISTING_S)


def _project_runs(database: apsw.Connection) -> list[ProjectRun]:
    metrics = stored_columns(database, "metrics")
    if not {*metrics} >= _USED:
        return []
    texts = DatabaseTexts(database)
    key = "run_id" if "run_id" in metrics else "run_name"
    table = "configs" if key in stored_columns(database, "configs") else "metrics"
    logged = f"SELECT 1 FROM metrics AS row WHERE row.{key} = one.{key} AND octet_length(row.metrics) > 2"  # noqa: S608 - names of ours
    runs = f"SELECT DISTINCT CAST({key} AS BLOB), CAST(run_name AS BLOB) FROM {table} AS one WHERE EXISTS ({logged})"  # noqa: S608 - the same
    rows = database.execute(f"{runs} ORDER BY rowid LIMIT {MOST_RUNS}")
    return [ProjectRun(texts.name(run_id), texts.name(name)) for run_id, name in rows]


def read_trackio(location: Location) -> dict[str, LoggedRun]:
    """Read the metrics of every run of a project, by its id, in the order of its rows. Raises `BadDatabase`."""
    return read_database(location, _runs)


def _runs(database: apsw.Connection) -> dict[str, LoggedRun]:
    runs: dict[str, LoggedRun] = {}
    columns, texts = stored_columns(database, "metrics"), DatabaseTexts(database)
    if not {*columns} >= _USED:
        raise ValueError("it is no database of trackio")
    key = "run_id" if "run_id" in columns else "run_name"
    taken = ", ".join(bounded(name) for name in (key, "run_name", "timestamp", "metrics"))
    damage = about_views(database)
    rows = database.execute(
        f"SELECT {taken}, iif(typeof(step) = 'integer', step, NULL) FROM metrics ORDER BY rowid LIMIT {MOST_ROWS + 1}"  # noqa: S608 - names of ours
    )
    for number, (run_id, name, time, metrics, step) in enumerate(rows):
        if number == MOST_ROWS:
            damage = f"only the first {MOST_ROWS:,} rows of its database are read"
            break
        values = dict(_numbers(metrics))
        row = LoggedRow(step, values, seconds_of(texts.of(time)))
        own_id = texts.name(run_id)
        run = runs.setdefault(own_id, LoggedRun(texts.name(name), [], {}, own_id))
        if values:
            run.rows.append(row)
    for own_id, config in _configs(database):
        if own_id in runs:
            runs[own_id].config.update(config)
    return {own_id: replace(run, damage=damage) for own_id, run in runs.items()}


def read_configs(location: Location) -> dict[str, dict[str, Any]]:
    """Read the configuration of every run of a project, by its id. Raises `BadDatabase`."""
    return read_database(location, lambda database: dict(_configs(database)), LISTING_S)


def _configs(database: apsw.Connection) -> Iterator[tuple[str, dict[str, Any]]]:
    columns, texts = stored_columns(database, "configs"), DatabaseTexts(database)
    key = "run_id" if "run_id" in columns else "run_name"
    if {key, "config"} <= {*columns}:
        configs = f"SELECT CAST({key} AS BLOB), {bounded('config')} FROM configs LIMIT {MOST_RUNS}"  # noqa: S608 - names of ours
        for run_id, config in database.execute(configs):
            if isinstance(found := parsed(config or b""), dict):
                yield texts.name(run_id), {name: value for name, value in found.items() if not name.startswith("_")}


class DatabaseTexts:
    """Texts of a database as its bytes: SQLite fails for all rows where one is not in its encoding."""

    def __init__(self, database: apsw.Connection) -> None:
        self._encoding = str(database.pragma("encoding"))

    def of(self, value: bytes | None) -> str:
        """A text."""
        return str(value) if value is None else value.decode(self._encoding, "replace")

    def name(self, value: bytes | None) -> str:
        """A name; a long one becomes its hash."""
        return fields.name(self.of(value)) or ""


def _numbers(metrics: bytes | None) -> Iterator[tuple[str, float]]:
    found = parsed(metrics or b"")
    for name, value in found.items() if isinstance(found, dict) else ():
        if not (isinstance(value, dict) and "_type" in value):  # a table, a histogram, a picture
            yield from flat(value, name)
