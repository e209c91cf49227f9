"""Databases of trackio: one a project, `{project}.db`, with the metrics and configurations of its runs.

Source: trackio 0.43.0. Values that JSON lacks are texts such as `"NaN"`; a metric may be an object, such as a table,
which is no number. Older databases have no `run_id`: there a run is its name.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import apsw

from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, flat, parsed, seconds_of
from rolloupe.formats.reading.trackers.sqlite import read_database
from rolloupe.model import Location

MOST_ROWS = 5_000_000
MOST_RUNS = 10_000


class ProjectRun(NamedTuple):
    """A run of a project that has metrics."""

    id: str
    name: str


def project_runs(location: Location) -> list[ProjectRun]:
    """List the runs with metrics, in the order of their configurations. Raises `BadDatabase`."""
    return read_database(location, _project_runs)


def _project_runs(database: apsw.Connection) -> list[ProjectRun]:
    metrics = _columns(database, "metrics")
    if not {"run_name", "step", "metrics"} <= {*metrics}:
        return []
    key = "run_id" if "run_id" in metrics else "run_name"
    table = "configs" if key in _columns(database, "configs") else "metrics"
    logged = f"SELECT 1 FROM metrics AS row WHERE row.{key} = one.{key} AND CAST(row.metrics AS TEXT) != '{{}}'"  # noqa: S608 - names of ours
    runs = f"SELECT DISTINCT {key}, run_name FROM {table} AS one WHERE EXISTS ({logged})"  # noqa: S608 - the same
    rows = database.execute(f"{runs} ORDER BY rowid LIMIT {MOST_RUNS}")
    return [ProjectRun(str(run_id), str(name)) for run_id, name in rows]


def read_trackio(location: Location) -> dict[str, LoggedRun]:
    """Read the metrics of every run of a project, by its id, in the order of its rows. Raises `BadDatabase`."""
    return read_database(location, _runs)


def _runs(database: apsw.Connection) -> dict[str, LoggedRun]:
    runs: dict[str, LoggedRun] = {}
    key = "run_id" if "run_id" in _columns(database, "metrics") else "run_name"
    for run_id, name, step, time, metrics in database.execute(
        f"SELECT {key}, run_name, step, timestamp, metrics FROM metrics ORDER BY rowid LIMIT {MOST_ROWS}"  # noqa: S608 - names of ours
    ):
        values = dict(_numbers(metrics))
        row = LoggedRow(step if isinstance(step, int) else None, values, seconds_of(time))
        run = runs.setdefault(str(run_id), LoggedRun(str(name), [], {}, str(run_id)))
        if values:
            run.rows.append(row)
    if "config" in _columns(database, "configs"):
        key = "run_id" if "run_id" in _columns(database, "configs") else "run_name"
        for run_id, config in database.execute(f"SELECT {key}, config FROM configs"):  # noqa: S608 - names of ours
            found = parsed(_bytes(config))
            if str(run_id) in runs and isinstance(found, dict):
                own = {name: value for name, value in found.items() if not name.startswith("_")}
                runs[str(run_id)].config.update(own)
    return runs


def _columns(database: apsw.Connection, table: str) -> list[str]:
    return [str(row[0]) for row in database.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _numbers(metrics: object) -> Iterator[tuple[str, float]]:
    found = parsed(_bytes(metrics))
    for name, value in found.items() if isinstance(found, dict) else ():
        if not (isinstance(value, dict) and "_type" in value):  # a table, a histogram, a picture
            yield from flat(value, name)


def _bytes(value: Any) -> bytes | str:
    return value if isinstance(value, bytes | str) else b""
