"""Databases of trackio and MLflow: the runs in them, with their metrics and configurations.

Sources: trackio 0.43.0, whose projects are a database each, `{project}.db`, and MLflow 3.17
(`mlflow/store/tracking/dbmodels/models.py`). For values that JSON lacks, trackio has texts such as `"NaN"`, MLflow a
column. A metric of trackio may be an object, such as a table, which is no number. Older databases of trackio have no
`run_id`: there a run is its name.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import apsw
from msgspec.structs import replace

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import while_unchanged
from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, flat, parsed, seconds_of
from rolloupe.formats.reading.trackers.sqlite import (
    BadDatabase,
    about_views,
    bounded,
    read_database,
    states_of,
    stored_columns,
    table_rows,
)
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


def _runs_of_project(database: apsw.Connection) -> list[ProjectRun]:
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
    return read_database(location, _runs_of_trackio)


def _runs_of_trackio(database: apsw.Connection) -> dict[str, LoggedRun]:
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


NEEDED = {
    "runs": {"run_uuid", "name", "lifecycle_stage", "experiment_id"},
    "metrics": {"run_uuid", "key", "value", "step", "timestamp", "is_nan"},
    "params": {"run_uuid", "key", "value"},
}


def runs_with_metrics(database: apsw.Connection) -> list[dict[str, Any]] | None:
    """Return the rows of such runs; None of another database."""
    if any(not needed <= stored_columns(database, table) for table, needed in NEEDED.items()):
        return None
    has_metrics = "EXISTS (SELECT 1 FROM metrics WHERE metrics.run_uuid = runs.run_uuid)"
    wanted = f"FROM runs WHERE lifecycle_stage = 'active' AND {has_metrics} ORDER BY start_time LIMIT {MOST_RUNS}"
    return [*table_rows(database, ("run_uuid", "name", "experiment_id"), wanted)]


def _logged_runs(database: apsw.Connection) -> list[ProjectRun] | None:
    found = runs_with_metrics(database)
    if found is None:
        return None
    return [ProjectRun(str(row["run_uuid"]), fields.name(row["name"]) or str(row["run_uuid"])) for row in found]


def read_mlflow(location: Location) -> list[LoggedRun]:
    """Read the metrics and parameters of every run with metrics. Raises `BadDatabase`."""
    return read_database(location, _runs_of_mlflow)


def _runs_of_mlflow(database: apsw.Connection) -> list[LoggedRun]:
    runs = {run.id: LoggedRun(run.name, [], {}, run.id) for run in _logged_runs(database) or ()}
    damage = about_views(database)
    columns = ("run_uuid", "key", "value", "step", "timestamp", "is_nan")
    for number, row in enumerate(table_rows(database, columns, f"FROM metrics ORDER BY rowid LIMIT {MOST_ROWS + 1}")):
        if number == MOST_ROWS:
            damage = f"only the first {MOST_ROWS:,} rows of its database are read"
        elif run := runs.get(str(row["run_uuid"])):
            _add(run.rows, logged_row(row))
    for row in table_rows(database, ("run_uuid", "key", "value"), "FROM params"):
        if run := runs.get(str(row["run_uuid"])):
            run.config[str(row["key"])] = row["value"]
    return [replace(run, damage=damage) for run in runs.values()]


def logged_row(row: dict[str, Any]) -> LoggedRow:
    """Return a row of the table `metrics`, which has one number."""
    value = math.nan if row["is_nan"] else fields.number(row["value"])
    time_ms = fields.number(row["timestamp"])
    values = {} if value is None else {str(row["key"]): value}
    return LoggedRow(fields.integer(row["step"]), values, None if time_ms is None else time_ms / 1000)


def _add(rows: list[LoggedRow], row: LoggedRow) -> None:
    """Add a row, to the last one if both are of one call."""
    last = rows[-1] if rows else None
    if last and (last.step, last.time_s) == (row.step, row.time_s) and not last.values.keys() & row.values.keys():
        last.values.update(row.values)
    else:
        rows.append(row)


def project_runs(location: Location) -> list[ProjectRun]:
    """List the runs with metrics of a database of trackio or MLflow; none of another file."""
    return _database(location)[1]


def database_kind(location: Location) -> str:
    """Return whose database a file is; that of trackio may have no runs yet."""
    return _database(location)[0]


def _database(location: Location) -> tuple[str, list[ProjectRun]]:
    try:
        return _runs_in(location)
    except (BadDatabase, OSError):
        return "trackio", []


def database_configs(location: Location) -> dict[str, dict[str, Any]]:
    """Return the configurations of the runs of a database of trackio, by their ids; none of another file."""
    try:
        return _configs_in(location)
    except (BadDatabase, OSError):
        return {}


@while_unchanged(512, states_of)
def _runs_in(location: Location) -> tuple[str, list[ProjectRun]]:
    logged = read_database(location, _logged_runs, LISTING_S)
    if logged is not None:
        return "MLflow", logged
    return "trackio", read_database(location, _runs_of_project, LISTING_S)


@while_unchanged(512, states_of)
def _configs_in(location: Location) -> dict[str, dict[str, Any]]:
    return read_database(location, lambda database: dict(_configs(database)), LISTING_S)
