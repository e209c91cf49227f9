"""The runs with traces in a database of MLflow, by the spans that are samples: those of verl's agent loops, else roots.

Spans that were counted once stay counted.

The tags of a trace may follow its spans, so that the newest spans are counted again each time.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import apsw

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.trackers.databases import runs_with_metrics
from rolloupe.formats.reading.trackers.sqlite import is_database, read_database, stored_columns, table_rows
from rolloupe.model import Location
from rolloupe.storage import path_state

SPANS = "spans"
NEEDED = {
    SPANS: {"trace_id", "experiment_id", "parent_span_id", "name", "status", "content"},
    "trace_tags": {"request_id", "key", "value"},
    "trace_info": {"request_id", "experiment_id"},
    "experiments": {"experiment_id", "name"},
}
LISTING_S = 10
MOST_RUNS = 10_000
FIRST_ROWS = 64
"""How many rows tell how large the rows of a run are."""

NEW_ROWS = 10_000
"""How many of the last spans may yet get their tags."""

ROWS_AT_ONCE = 100_000
"""After how many spans the count is kept, whatever happens to the rest."""

OF_VERL = "SELECT 1 FROM trace_tags WHERE request_id = trace_id AND key IN ('rollout_n', 'validate')"
IS_SAMPLE = f"(name LIKE '%.run' OR parent_span_id IS NULL AND NOT EXISTS ({OF_VERL}))"
NAMED = "SELECT value FROM trace_tags WHERE request_id = trace_id AND key = 'experiment_name'"
WITHIN = "SELECT value FROM trace_request_metadata WHERE request_id = trace_id AND key = 'mlflow.sourceRun'"
"""The run of MLflow in which a trace was logged."""

ENDS = f"""
FROM (
  SELECT experiment_id, {{run}} AS run, min(rowid) AS first, max(rowid) AS last, max(end_time_unix_nano) AS changed_ns
  FROM spans WHERE rowid >= ? AND rowid < ? AND {IS_SAMPLE} GROUP BY experiment_id, run
) LIMIT {MOST_RUNS}"""  # noqa: S608 - a condition and a number of ours


class TracedRun(NamedTuple):
    """The traces of an experiment that have one name of a run, were logged in one run of MLflow, or neither."""

    experiment: int
    title: str
    """For a person."""
    name: str
    """What verl calls it, else the id of the run of MLflow; empty for neither."""
    first: int
    last: int
    size_bytes: float
    changed_ns: int

    @property
    def has_traces(self) -> bool:
        """False for a run beside others that has metrics alone."""
        return self.first <= self.last

    @property
    def reason(self) -> str:
        """Why it is a run, for a person."""
        return f"a run in MLflow's database {'with' if self.has_traces else 'without'} traces"

    @property
    def id(self) -> str:
        """What identifies it in its database."""
        return f"{self.experiment}/{self.name}"


class _Ends(NamedTuple):
    """The first and the last span of a run that is a sample, and when the last ended."""

    first: int
    last: int
    changed_ns: int


_Runs = dict[tuple[int, str], _Ends]


class _Counted(NamedTuple):
    """The runs of the spans before a row, and the trace of the last of these spans."""

    stop: int = 0
    trace: object = None
    runs: _Runs = {}  # noqa: RUF012 - each count makes one of its own


class _Spans:
    """What is known of the spans of a database."""

    counted = _Counted()


def of_run(database: apsw.Connection) -> str:
    """Return the condition for the spans of a run that are samples, with its experiment and its name to bind."""
    return f"+experiment_id = ? AND {IS_SAMPLE} AND {_run_of_trace(database)} = ?"


def _run_of_trace(database: apsw.Connection) -> str:
    is_stored = {"request_id", "key", "value"} <= stored_columns(database, "trace_request_metadata")
    return f"coalesce(({NAMED}), {f'({WITHIN}), ' if is_stored else ''}'')"


def traced_runs(location: Location) -> Iterator[TracedRun]:
    """List the runs in a database. Raises `BadDatabase` and OSError."""
    if is_database(location):
        known = _known(location, path_state(location.path).st_ino)
        yield from read_database(location, lambda database: [*_listed(database, known)], LISTING_S)


@lru_cache(maxsize=128)
def _known(_location: Location, _inode: int) -> _Spans:
    return _Spans()


def _listed(database: apsw.Connection, known: _Spans) -> Iterator[TracedRun]:
    if any(not needed <= stored_columns(database, table) for table, needed in NEEDED.items()):
        return
    found = table_rows(database, ("experiment_id", "name"), "FROM experiments")
    names = {one["experiment_id"]: one["name"] for one in found}
    titles = _titles(database)
    runs = _runs(database, known)
    for (experiment, name), ends in sorted(runs.items()):
        if experiment in names:
            size_bytes = _size_bytes(database, experiment, name, ends.first)
            title = titles.get(name, name) or names[experiment]
            yield TracedRun(experiment, title, name, ends.first, ends.last, size_bytes, ends.changed_ns)
    taken = {name for _, name in runs}
    nameless = {experiment for experiment, name in runs if not name}  # their metrics may be of any run there
    for row in (runs_with_metrics(database) or ()) if runs else ():
        if taken.isdisjoint((row["run_uuid"], row["name"])) and row["experiment_id"] not in nameless:
            yield TracedRun(row["experiment_id"], row["name"] or row["run_uuid"], row["run_uuid"], 0, -1, 0, 0)


def _titles(database: apsw.Connection) -> dict[object, str]:
    """The names of MLflow's runs."""
    columns = ("run_uuid", "name")
    is_stored = {*columns} <= stored_columns(database, "runs")
    rows = table_rows(database, columns, f"FROM runs LIMIT {MOST_RUNS}") if is_stored else ()
    return {row["run_uuid"]: row["name"] or "" for row in rows}


def _runs(database: apsw.Connection, known: _Spans) -> _Runs:
    last = next((number or 0 for (number,) in database.execute("SELECT max(rowid) FROM spans")), 0)
    counted = known.counted
    if counted.stop > last or counted.trace != _trace(database, counted.stop - 1):
        counted = _Counted()
    while counted.stop < last - NEW_ROWS:
        stop = min(counted.stop + ROWS_AT_ONCE, last - NEW_ROWS)
        runs = _joined(counted.runs, _ends(database, counted.stop, stop))
        counted = known.counted = _Counted(stop, _trace(database, stop - 1), runs)
    return _joined(counted.runs, _ends(database, counted.stop, last + 1))


def _trace(database: apsw.Connection, number: int) -> object:
    wanted = "SELECT CAST(trace_id AS BLOB) FROM spans WHERE rowid = ?"
    return next((trace for (trace,) in database.execute(wanted, (number,))), None)


def _ends(database: apsw.Connection, first: int, stop: int) -> _Runs:
    names = ("experiment_id", "run", "first", "last", "changed_ns")
    return {
        (one["experiment_id"], one["run"]): _Ends(one["first"], one["last"], fields.integer(one["changed_ns"]) or 0)
        for one in table_rows(database, names, ENDS.format(run=_run_of_trace(database)), (first, stop))
    }


def _joined(runs: _Runs, later: _Runs) -> _Runs:
    joined = dict(runs)
    for key, ends in later.items():
        before = runs.get(key, ends)
        joined[key] = _Ends(before.first, ends.last, max(before.changed_ns, ends.changed_ns))
    return joined


def _size_bytes(database: apsw.Connection, experiment: int, name: str, first: int) -> float:
    wanted = f"SELECT avg(octet_length(content)) FROM spans WHERE rowid >= ? AND rowid < ? AND {of_run(database)}"  # noqa: S608 - ours
    values = (first, first + FIRST_ROWS, experiment, name)
    return next((size or 0 for (size,) in database.execute(wanted, values)), 0)
