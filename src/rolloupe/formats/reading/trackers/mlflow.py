"""Databases of MLflow: the metrics and parameters of its runs.

Source: MLflow 3.17 (`mlflow/store/tracking/dbmodels/models.py`). A value that JSON lacks has a column of its own.
"""

import math
from typing import Any

import apsw
from msgspec.structs import replace

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.documents.database_rows import about_views, stored_columns, table_rows
from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun
from rolloupe.formats.reading.trackers.sqlite import read_database
from rolloupe.formats.reading.trackers.trackio import LISTING_S, MOST_ROWS, MOST_RUNS, ProjectRun
from rolloupe.model import Location

NEEDED = {
    "runs": {"run_uuid", "name", "lifecycle_stage", "experiment_id"},
    "metrics": {"run_uuid", "key", "value", "step", "timestamp", "is_nan"},
    "params": {"run_uuid", "key", "value"},
}


def logged_runs(location: Location) -> list[ProjectRun] | None:
    """List the runs with metrics, in the order of their start; None of another database. Raises `BadDatabase`."""
    return read_database(location, _logged_runs, LISTING_S)


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
    return [ProjectRun(str(one["run_uuid"]), fields.name(one["name"]) or str(one["run_uuid"])) for one in found]


def read_mlflow(location: Location) -> list[LoggedRun]:
    """Read the metrics and parameters of every run with metrics. Raises `BadDatabase`."""
    return read_database(location, _runs)


def _runs(database: apsw.Connection) -> list[LoggedRun]:
    runs = {one.id: LoggedRun(one.name, [], {}, one.id) for one in _logged_runs(database) or ()}
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
