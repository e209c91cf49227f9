"""Samples in the databases of trackio: traces, and tables among the metrics.

Source: trackio 0.43.0 (`sqlite_storage.py`), and files of versions from 0.24 on. The folder `traces/` beside a database
has copies of its traces for coding agents, which are not more samples.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import apsw
from msgspec.structs import replace

from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import links_of, while_unchanged
from rolloupe.formats.reading.trackers import sqlite
from rolloupe.formats.reading.trackers.curves import TRAINER_STEPS, parsed, seconds_of
from rolloupe.formats.trackers.database_format import FIRST_ROWS, DatabaseFormat, RowsOfTable, TableExtent, width_for
from rolloupe.formats.trackers.samples import LoggedSample, Placed, is_call, sample_of_trace, samples_of_table
from rolloupe.formats.trainers.trl import RewardFunctions, reward_functions
from rolloupe.model import Location, RunInfo
from rolloupe.storage import is_file

METRICS, TRACES = "metrics", "traces"
TITLES = {TRACES: "traces", METRICS: "tables"}
"""The tables of a database with samples, and words for their contents."""
NEEDED = {TRACES: {"run_name", "step", "key", "messages", "metadata"}, METRICS: {"run_name", "step", "metrics"}}
REWARDS = b"rewards/"
LOOKED_ROWS = 300
"""The number of first rows, and of last rows, of metrics that are searched for tables."""
MARK = b'"trackio.t'
"""Bytes that occur in every row of metrics with a table or a trace."""
_MARKED = f"(metrics NOT NULL AND {sqlite.bounded('metrics')} IS NULL OR instr({sqlite.bounded('metrics')}, ?))"
"""The condition for rows of metrics that may have samples: marked rows, and rows that are too large to check."""
TABLE, TRACE = "trackio.table", "trackio.trace"
OF_EVAL = "eval/"
EVAL = "eval/eval"
Sampled = tuple[str, LoggedSample | str, Any]
"""The part of a row that is a sample; the sample, or why it cannot be read; and the JSON of the part."""


class Extent(NamedTuple):
    """The place of a run's rows in a table."""

    first: int
    last: int
    size_bytes: float
    """The average size of the first rows."""
    changed_ns: int


class ProjectId(NamedTuple):
    """The data logged under one id."""

    id: str
    name: str
    extents: dict[str, Extent]
    """The place of its rows by table; metrics without samples are left out."""
    began_ns: int
    is_of_worker: bool
    """True if it has traces of verl's calls and no metrics."""


LoggedIds = tuple[ProjectId, ...]
"""A run, under one or more ids; the first has its metrics, if it has any."""


class Trackio(DatabaseFormat):
    """Samples in databases of trackio."""

    name = "trackio"
    title = "trackio"
    sizes: ClassVar = {TRACES: sqlite.size_of(("messages", "metadata")), METRICS: sqlite.size_of(("metrics",))}

    def runs_in(self, location: Location, links: str) -> list[RunInfo]:
        try:
            logged_runs = _logged_runs(location) if is_file(location.path) else ()
        except (sqlite.BadDatabase, OSError):
            return []
        runs = []
        for logged in logged_runs:
            what = [title for table, title in TITLES.items() if any(table in own.extents for own in logged)]
            merged = f", logged under {len(logged)} ids" if len(logged) > 1 else ""
            content = f" with {' and '.join(what)} of samples{merged}" if what else ", without samples"
            first = logged[0]
            reason = f"a run of a trackio database{content}"
            run = self._run_at(Path(location.path), reason, links, first.name or first.id)
            runs.append(replace(run, within=first.id))
        return runs if any(own.extents for logged in logged_runs for own in logged) else []

    def tables(self, run: RunInfo) -> list[TableExtent]:
        location = Location(run.root, links_of(run))
        ids = next((logged for logged in _logged_runs(location) if logged[0].id == run.within), ())
        tables = []
        for table in TITLES:
            if own := {logged.id: logged.extents[table] for logged in ids if table in logged.extents}:
                first_rows, last_rows, sizes, times = zip(*own.values(), strict=True)
                rows = RowsOfTable(table, tuple(own), min(first_rows), width_for(sizes[0]))
                tables.append(TableExtent(rows, max(last_rows), max(times)))
        return tables

    def samples(self, database: apsw.Connection, rows: RowsOfTable, first: int, stop: int) -> Iterator[Placed]:
        columns, is_traces = sqlite.stored_columns(database, rows.table), rows.table == TRACES
        key = sqlite.id_column(columns)
        taken = ("key", "messages", "metadata", *({"spans"} & columns)) if is_traces else (key, "metrics")
        functions = RewardFunctions() if is_traces else _functions(database, rows.ids[0])
        own = f"+{key} IN ({', '.join(['CAST(? AS TEXT)'] * len(rows.ids))})" + ("" if is_traces else f" AND {_MARKED}")
        wanted = f"FROM {rows.table} WHERE rowid >= ? AND rowid < ? AND {own} ORDER BY rowid"
        values = (first, stop, *rows.ids, *(() if is_traces else (MARK,)))
        for row in sqlite.table_rows(database, ("rowid", "step", *taken), wanted, values):
            number = row["rowid"]
            if sqlite.TOO_LARGE in row:
                yield rows.placed(number, row[sqlite.TOO_LARGE])
                continue
            for part, sample, about in _trace(row) if is_traces else _metrics(database, rows, key, row, functions):
                yield rows.placed(number, sample, part, about)


@while_unchanged(128, sqlite.states_of)
def _logged_runs(location: Location) -> tuple[LoggedIds, ...]:
    """List the runs of a project. verl's workers belong to the last run of their name that began before their end."""
    if not sqlite.is_database(location):
        return ()
    ids = sqlite.read_database(location, lambda database: [*_ids(database)], sqlite.LISTING_S)
    runs = [[logged] for logged in ids if not logged.is_of_worker]
    alone: dict[str, list[ProjectId]] = {}
    for worker in [logged for logged in ids if logged.is_of_worker]:
        hosts = [run for run in runs if run[0].name == worker.name] or [alone.setdefault(worker.name, [])]
        last_ns = worker.extents[TRACES].changed_ns
        next((run for run in reversed(hosts) if run and run[0].began_ns <= last_ns), hosts[0]).append(worker)
    return tuple(tuple(run) for run in (*runs, *alone.values()))


def _functions(database: apsw.Connection, run_id: str) -> RewardFunctions:
    """Read TRL's reward functions from its configuration and from the first metrics with a reward."""
    columns = sqlite.stored_columns(database, "configs")
    key = sqlite.id_column(columns)
    if not {key, "config"} <= columns:
        return RewardFunctions()
    configs = sqlite.table_rows(database, ("config",), f"FROM configs WHERE {key} = CAST(? AS TEXT)", (run_id,))
    config = next((row["config"] for row in configs), None)
    wanted = f"FROM metrics WHERE +{key} = CAST(? AS TEXT) AND instr({sqlite.bounded('metrics')}, ?) ORDER BY rowid"
    logged = sqlite.table_rows(database, ("metrics",), wanted, (run_id, REWARDS))
    return reward_functions(parsed(config or ""), (_object(row["metrics"]) for row in logged))


def _trace(row: dict[str, Any]) -> Iterator[Sampled]:
    stored = {name: parsed(row[name] or "") for name in ("messages", "metadata")}
    spans = parsed(row.get("spans") or "")
    key = str(row["key"])
    sample = sample_of_trace(key, stored["messages"], stored["metadata"], parsers.integer(row["step"]))
    if sample is None:
        return
    if spans and not isinstance(sample, str):
        sample.record["spans"] = spans
    yield "", sample, {"key": key, "step": row["step"]} | stored | ({"spans": spans} if spans else {})


def _metrics(
    database: apsw.Connection, rows: RowsOfTable, key: str, row: dict[str, Any], functions: RewardFunctions
) -> Iterator[Sampled]:
    """Yield the samples of a row; earlier rows show which tables it repeats, and whether it follows an evaluation."""

    def before(fits: str, *values: bytes) -> dict[str, Any]:
        earlier = f"+{key} = CAST(? AS TEXT) AND rowid < ? AND rowid >= ? AND {fits}"
        wanted = f"SELECT {sqlite.bounded('metrics')} FROM metrics WHERE {earlier} ORDER BY rowid DESC LIMIT 1"
        last = database.execute(wanted, (row[key], row["rowid"], rows.first, *values)).fetchone()
        return _object(last[0] if last else None)

    split = EVAL if any(name.startswith(OF_EVAL) for name in before("octet_length(metrics) > 2")) else ""
    marked = before(f"instr({sqlite.bounded('metrics')}, ?)", MARK)
    return samples_in(_object(row["metrics"]), parsers.integer(row["step"]), split, functions, marked)


class _RunTable:
    """A table whose rows belong to runs."""

    def __init__(self, database: apsw.Connection, name: str) -> None:
        columns = sqlite.stored_columns(database, name)
        self._database, self._name, self._key = database, name, sqlite.id_column(columns)
        self._has_time = "timestamp" in columns
        self.spans: dict[bytes, tuple[int, int]] = {}
        """The first and the last row of each id."""
        if {self._key, *NEEDED[name]} <= columns:
            spans = (
                f"SELECT CAST({self._key} AS BLOB), min(rowid), max(rowid) FROM {name} "
                f"GROUP BY {self._key} ORDER BY min(rowid) LIMIT {sqlite.MOST_RUNS}"
            )
            self.spans = {run_id: (first, last) for run_id, first, last in database.execute(spans)}

    def value(self, column: str, number: int) -> bytes:
        wanted = f"SELECT {sqlite.bounded(column)} FROM {self._name} WHERE rowid = ?"
        return next((value or b"" for (value,) in self._database.execute(wanted, (number,))), b"")

    def time_ns(self, number: int) -> int:
        """Return the time of a row, 0 if it is unknown."""
        seconds = seconds_of(self.value("timestamp", number).decode("utf-8", "replace")) if self._has_time else None
        return int((seconds or 0) * 1e9)

    def extent(self, run_id: bytes) -> Extent:
        first, last = self.spans[run_id]
        where = f"{self._key} = CAST(? AS TEXT) AND rowid BETWEEN {first} AND {first + FIRST_ROWS - 1}"
        sizes = f"SELECT avg({Trackio.sizes[self._name]}) FROM {self._name} WHERE {where}"
        ((size_bytes,),) = self._database.execute(sizes, (run_id,))
        return Extent(first, last, size_bytes or 0, self.time_ns(last))

    def metrics(self, run_id: bytes, order: str, condition: str, *values: bytes) -> Iterator[bytes | None]:
        """Yield the metrics that fit among the first rows of an id, in an order; None for a row that is too large."""
        own = f"{sqlite.bounded('metrics')} AS value_ FROM metrics WHERE {self._key} = CAST(? AS TEXT)"
        wanted = f"SELECT value_ FROM (SELECT {own} {order} LIMIT {LOOKED_ROWS}) WHERE {condition}"
        yield from (value for (value,) in self._database.execute(wanted, (run_id, *values)))


def _ids(database: apsw.Connection) -> Iterator[ProjectId]:
    encoding = str(database.pragma("encoding"))
    metrics, traces = (_RunTable(database, name) for name in (METRICS, TRACES))
    columns = sqlite.stored_columns(database, "configs")
    key, names = sqlite.id_column(columns), dict[bytes, bytes]()
    if {key, "run_name"} <= columns:
        configs = f"SELECT CAST({key} AS BLOB), CAST(run_name AS BLOB) FROM configs LIMIT {sqlite.MOST_RUNS}"
        names = dict(database.execute(configs))
    for table in (metrics, traces):
        names |= {
            run_id: table.value("run_name", first) for run_id, (first, _) in table.spans.items() if run_id not in names
        }
    for run_id, name in names.items():
        table = metrics if run_id in metrics.spans else traces
        if run_id not in table.spans:
            continue
        extents, is_of_worker = {}, False
        if run_id in traces.spans:
            extents[TRACES] = traces.extent(run_id)
            if table is traces or not any(True for _ in metrics.metrics(run_id, "", "length(value_) > 2")):
                is_of_worker = is_call(_object(traces.value("metadata", traces.spans[run_id][0])))
        if table is metrics and _has_samples(metrics, run_id):
            extents[METRICS] = metrics.extent(run_id)
        began_ns = table.time_ns(table.spans[run_id][0])
        yield ProjectId(_name_in(run_id, encoding), _name_in(name, encoding), extents, began_ns, is_of_worker)


def _name_in(text: bytes | None, encoding: str) -> str:
    return parsers.name(str(text) if text is None else text.decode(encoding, "replace")) or ""


def _has_samples(metrics: _RunTable, run_id: bytes) -> bool:
    """Tell whether the first or the last metrics of a run have samples."""
    fits = "value_ IS NULL OR instr(value_, ?)"
    return any(
        values is None or next(samples_in(_object(values), None), None) is not None
        for order in ("ASC", "DESC")
        for values in metrics.metrics(run_id, f"ORDER BY step {order}", fits, MARK)
    )


def samples_in(
    metrics: dict[str, Any],
    step: int | None,
    split: str = "",
    functions: RewardFunctions | None = None,
    before: dict[str, Any] | None = None,
) -> Iterator[Sampled]:
    """Yield the samples in a row of metrics, except those of tables that the row `before` has too."""
    own_step = parsers.first(metrics, TRAINER_STEPS, parsers.integer)
    own_step = step if own_step is None else own_step
    for key, value in metrics.items():
        if _type(value) == TABLE and value != (before or {}).get(key):
            rows = parsers.as_list(value.get("_value"))
            logged = samples_of_table(key, rows, own_step, split, functions)
            each = max(1, len(logged) // max(1, len(rows)))  # a wide row holds several
            for n, logged_sample in enumerate(logged):
                yield f"{key}.{n}", logged_sample, rows[min(len(rows) - 1, n // each)]
        for n, trace in enumerate(value if isinstance(value, list) else [value]):
            if _type(trace) == TRACE:
                sample = sample_of_trace(key, trace.get("messages"), trace.get("metadata"), own_step)
                if sample is not None:
                    yield f"{key}.{n}", sample, trace


def _object(metrics: bytes | str | None) -> dict[str, Any]:
    return parsers.as_dict(parsed(metrics or ""))


def _type(value: object) -> object:
    return parsers.as_dict(value).get("_type")
