"""Samples in the databases of trackio: traces, and tables among the metrics.

Source: trackio 0.43.0 (`sqlite_storage.py`), and files of versions from 0.24 on. The folder `traces/` beside a database
has copies of its traces for coding agents, which are no further samples.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import apsw
from msgspec.structs import replace

from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import links_of, while_unchanged
from rolloupe.formats.reading.trackers.curves import TRAINER_STEPS, parsed, seconds_of
from rolloupe.formats.reading.trackers.sqlite import (
    LISTING_S,
    MOST_RUNS,
    BadDatabase,
    DatabaseTexts,
    bounded,
    is_database,
    read_database,
    size_of,
    states_of,
    stored_columns,
    why_too_large,
)
from rolloupe.formats.trackers.database_format import DatabaseFormat, RowsOfTable, TableExtent, width_for
from rolloupe.formats.trackers.samples import LoggedSample, Placed, is_call, sample_of_trace, samples_of_table
from rolloupe.formats.trainers.trl import RewardFunctions, reward_functions
from rolloupe.model import Location, RunInfo
from rolloupe.storage import is_file

REWARDS = b"rewards/"
_MARKED = f"(metrics NOT NULL AND {bounded('metrics')} IS NULL OR instr({bounded('metrics')}, ?))"
"""The condition for rows of metrics that may have samples: any that are too large."""
METRICS, TRACES = "metrics", "traces"
OF_TRACES = ("step", "key", "messages", "metadata")
FIRST_ROWS = 64
"""The rows of a run whose average size is measured."""
LOOKED_ROWS = 300
"""The first and the last rows of metrics that are searched for tables, this many each."""
MARK = b'"trackio.t'
"""Bytes that occur in every row of metrics with a table or a trace."""
TABLE, TRACE = "trackio.table", "trackio.trace"
OF_EVAL = "eval/"
EVAL = "eval/eval"
Sampled = tuple[str, LoggedSample | str, Any]
"""The part of a row that is a sample, the sample or why it cannot be read, and what the row holds of it."""


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
    traces: Extent | None
    tables: Extent | None
    """The place of the metrics, if tables or traces are among them."""
    began_ns: int
    is_of_worker: bool
    """True if it has traces of verl's calls and no metrics."""


LoggedIds = tuple[ProjectId, ...]
"""A run, under one or more ids: the first is that of its metrics, if it has some."""


class Trackio(DatabaseFormat):
    """Samples in databases of trackio."""

    name = "trackio"
    title = "trackio"
    sizes: ClassVar = {
        TRACES: size_of(("messages", "metadata")),
        METRICS: size_of(("metrics",)),
    }

    def runs_in(self, location: Location, links: str) -> list[RunInfo]:
        try:
            logged_runs = _logged_runs(location) if is_file(location.path) else ()
        except (BadDatabase, OSError):
            return []
        runs = []
        for logged in logged_runs:
            what = [name for name in ("traces", "tables") if any(getattr(own, name) for own in logged)]
            merged = f", logged under {len(logged)} ids" if len(logged) > 1 else ""
            content = f" with {' and '.join(what)} of samples{merged}" if what else ", without samples"
            first = logged[0]
            reason = f"a run of a trackio database{content}"
            run = self._run_at(Path(location.path), reason, links, first.name or first.id)
            runs.append(replace(run, within=first.id))
        return runs if any(own.traces or own.tables for logged in logged_runs for own in logged) else []

    def tables(self, run: RunInfo) -> list[TableExtent]:
        location = Location(run.root, links_of(run))
        ids = next((logged for logged in _logged_runs(location) if logged[0].id == run.within), ())
        tables = []
        for table, extents in ((TRACES, [own.traces for own in ids]), (METRICS, [own.tables for own in ids])):
            own = [(logged.id, extent) for logged, extent in zip(ids, extents, strict=True) if extent]
            if own:
                first = min(extent.first for _, extent in own)
                rows = RowsOfTable(table, tuple(own_id for own_id, _ in own), first, width_for(own[0][1].size_bytes))
                last, changed_ns = max(extent.last for _, extent in own), max(extent.changed_ns for _, extent in own)
                tables.append(TableExtent(rows, last, changed_ns))
        return tables

    def samples(self, database: apsw.Connection, rows: RowsOfTable, first: int, stop: int) -> Iterator[Placed]:
        columns = stored_columns(database, rows.table)
        key = "run_id" if "run_id" in columns else "run_name"
        yield from (_traces if rows.table == TRACES else _metrics)(database, rows, key, (first, stop))


@while_unchanged(128, states_of)
def _logged_runs(location: Location) -> tuple[LoggedIds, ...]:
    """List the runs of a project. Raises `BadDatabase`.

    verl's workers belong to the last run of their name that began before their last trace, or else to the first.
    """
    if not is_database(location):
        return ()
    ids = read_database(location, lambda database: [*_ids(database)], LISTING_S)
    runs = [[logged] for logged in ids if not logged.is_of_worker]
    alone: dict[str, list[ProjectId]] = {}
    for worker in [logged for logged in ids if logged.is_of_worker]:
        hosts = [run for run in runs if run[0].name == worker.name] or [alone.setdefault(worker.name, [])]
        last_ns = worker.traces.changed_ns if worker.traces else 0
        next((run for run in reversed(hosts) if run and run[0].began_ns <= last_ns), hosts[0]).append(worker)
    return tuple(tuple(run) for run in (*runs, *alone.values()))


def _functions(database: apsw.Connection, rows: RowsOfTable) -> RewardFunctions:
    """Read TRL's reward functions from its configuration and the first metrics with a reward."""
    columns = stored_columns(database, "configs")
    key = "run_id" if "run_id" in columns else "run_name"
    if not {key, "config"} <= {*columns}:
        return RewardFunctions()
    own_id, metrics = rows.ids[0].encode(), bounded("metrics")
    wanted = f"SELECT {bounded('config')} FROM configs WHERE {key} = CAST(? AS TEXT)"
    (config,) = database.execute(wanted, (own_id,)).fetchone() or (None,)
    wanted = f"SELECT {metrics} FROM metrics WHERE +{key} = CAST(? AS TEXT) AND instr({metrics}, ?) ORDER BY rowid"
    logged = database.execute(wanted, (own_id, REWARDS))
    return reward_functions(parsed(config or b""), (parsed(values) for (values,) in logged))


def _own(key: str, rows: RowsOfTable) -> str:
    """The condition for the rows of a run."""
    return f"{key} IN ({', '.join(['CAST(? AS TEXT)'] * len(rows.ids))})"


def _traces(database: apsw.Connection, rows: RowsOfTable, key: str, span: tuple[int, int]) -> Iterator[Placed]:
    texts = DatabaseTexts(database)
    columns = stored_columns(database, TRACES)
    taken = ("key", "messages", "metadata", *(name for name in ("spans",) if name in columns))
    names = ", ".join((size_of(taken), *map(bounded, taken)))
    wanted = f"rowid >= ? AND rowid < ? AND +{_own(key, rows)} ORDER BY rowid"
    ids = [run_id.encode() for run_id in rows.ids]
    logged = database.execute(f"SELECT rowid, step, {names} FROM traces WHERE {wanted}", (*span, *ids))
    for number, step, size_bytes, trace_key, messages, metadata, *rest in logged:
        if too_large := why_too_large(size_bytes):
            yield Placed(rows.place_of(number), rows.width, "", str(number), too_large)
            continue
        stored = {"messages": parsed(messages or b""), "metadata": parsed(metadata or b"")}
        spans = parsed(rest[0]) if rest and rest[0] else None
        sample = sample_of_trace(texts.of(trace_key), stored["messages"], stored["metadata"], parsers.integer(step))
        if sample is None:
            continue
        if spans and not isinstance(sample, str):
            sample.record["spans"] = spans
        about = {"key": texts.of(trace_key), "step": step} | stored | ({"spans": spans} if spans else {})
        yield Placed(rows.place_of(number), rows.width, "", str(number), sample, about)


def _metrics(database: apsw.Connection, rows: RowsOfTable, key: str, span: tuple[int, int]) -> Iterator[Placed]:
    functions = _functions(database, rows)
    wanted = f"rowid >= ? AND rowid < ? AND +{_own(key, rows)} AND {_MARKED} ORDER BY rowid"
    names = f"rowid, step, CAST({key} AS BLOB), {size_of(('metrics',))}, {bounded('metrics')}"
    ids = [run_id.encode() for run_id in rows.ids]
    logged = database.execute(f"SELECT {names} FROM metrics WHERE {wanted}", (*span, *ids, MARK))
    for number, step, own_id, size_bytes, metrics in logged:
        if too_large := why_too_large(size_bytes):
            yield Placed(rows.place_of(number), rows.width, "", str(number), too_large)
            continue
        run = (key, own_id, rows.first)
        last, table = (row_before(database, run, number, marked=marked) for marked in (False, True))
        split = EVAL if any(name.startswith(OF_EVAL) for name in _object(last)) else ""
        for part, sample, about in samples_in(metrics, parsers.integer(step), split, functions, table):
            yield Placed(rows.place_of(number), rows.width, part, f"{number}.{part}", sample, about)


class _RunTable:
    """A table whose rows belong to runs."""

    def __init__(self, database: apsw.Connection, name: str, needed: Collection[str], size: str) -> None:
        self._database = database
        self.name = name
        columns = stored_columns(database, name)
        self.key = "run_id" if "run_id" in columns else "run_name"
        self.is_there = {self.key, "run_name", *needed} <= {*columns}
        self._size = size
        self._has_time = "timestamp" in columns

    def names(self) -> dict[bytes, bytes]:
        """Return the ids in the table in its order, each with the name of its run."""
        names = f"SELECT CAST({self.key} AS BLOB), CAST(run_name AS BLOB) FROM {self.name} LIMIT {MOST_RUNS}"
        return dict(self._database.execute(names)) if self.is_there else {}

    def spans(self) -> dict[bytes, tuple[int, int]]:
        """Return the first and the last row of each id."""
        spans = (
            f"SELECT CAST({self.key} AS BLOB), min(rowid), max(rowid) FROM {self.name} "
            f"GROUP BY {self.key} ORDER BY min(rowid) LIMIT {MOST_RUNS}"
        )
        ends = self._database.execute(spans) if self.is_there else ()
        return {run_id: (first, last) for run_id, first, last in ends}

    def value(self, column: str, number: int) -> bytes:
        """Return a value of a row."""
        wanted = f"SELECT {bounded(column)} FROM {self.name} WHERE rowid = ?"
        return next((value or b"" for (value,) in self._database.execute(wanted, (number,))), b"")

    def extent(self, run_id: bytes, span: tuple[int, int]) -> Extent:
        """Return where the rows of an id lie, and how large they are."""
        first, last = span
        sizes = (
            f"SELECT avg({self._size}) FROM {self.name} WHERE {self.key} = CAST(? AS TEXT) "
            f"AND rowid BETWEEN {first} AND {first + FIRST_ROWS - 1}"
        )
        size_bytes = next((size for (size,) in self._database.execute(sizes, (run_id,))), None)
        return Extent(first, last, size_bytes or 0, self.time_ns(last))

    def time_ns(self, number: int) -> int:
        """Return the time of a row, 0 if it is unknown."""
        seconds = seconds_of(self.value("timestamp", number).decode("utf-8", "replace")) if self._has_time else None
        return int((seconds or 0) * 1e9)

    def rows(self, run_id: bytes, column: str, order: str, condition: str, *values: bytes) -> Iterator[bytes | None]:
        """Yield a value of some rows of an id, those that fit among the first in an order; None for too large a row."""
        some = (
            f"SELECT {bounded(column)} AS value_ FROM {self.name} WHERE {self.key} = CAST(? AS TEXT) "
            f"{order} LIMIT {LOOKED_ROWS}"
        )
        wanted = f"SELECT value_ FROM ({some}) WHERE {condition}"
        yield from (value for (value,) in self._database.execute(wanted, (run_id, *values)))


def _ids(database: apsw.Connection) -> Iterator[ProjectId]:
    texts = DatabaseTexts(database)
    configs = _RunTable(database, "configs", (), "")
    metrics = _RunTable(database, METRICS, ("step", "metrics"), size_of(("metrics",)))
    traces = _RunTable(database, TRACES, OF_TRACES, size_of(("messages", "metadata")))
    logged, traced = metrics.spans(), traces.spans()
    names = configs.names()
    for table, spans in ((metrics, logged), (traces, traced)):
        names |= {run_id: table.value("run_name", first) for run_id, (first, _) in spans.items() if run_id not in names}
    for run_id, name in names.items():
        if run_id not in logged and run_id not in traced:
            continue
        has_metrics = run_id in logged and any(True for _ in metrics.rows(run_id, "metrics", "", "length(value_) > 2"))
        table, first = (metrics, logged[run_id][0]) if run_id in logged else (traces, traced[run_id][0])
        is_of_worker = False
        if run_id in traced and not has_metrics:
            is_of_worker = is_call(parsers.as_dict(parsed(traces.value("metadata", traced[run_id][0]))))
        yield ProjectId(
            texts.name(run_id),
            texts.name(name),
            traces.extent(run_id, traced[run_id]) if run_id in traced else None,
            metrics.extent(run_id, logged[run_id]) if run_id in logged and _has_samples(metrics, run_id) else None,
            table.time_ns(first),
            is_of_worker,
        )


def _has_samples(metrics: _RunTable, run_id: bytes) -> bool:
    """Tell whether there are samples among the first or the last metrics of a run."""
    return any(
        values is None or next(samples_in(values, None), None) is not None
        for order in ("ASC", "DESC")
        for values in metrics.rows(
            run_id, "metrics", f"ORDER BY step {order}", "value_ IS NULL OR instr(value_, ?)", MARK
        )
    )


def samples_in(
    metrics: bytes | None,
    step: int | None,
    split: str = "",
    functions: RewardFunctions | None = None,
    before: bytes | None = None,
) -> Iterator[Sampled]:
    """Yield the samples in a row of metrics; those of a table that the row `before` has as well are left out."""
    logged_values, earlier = _object(metrics), _object(before)
    own_step = parsers.first(logged_values, TRAINER_STEPS, parsers.integer)
    own = step if own_step is None else own_step
    for key, value in logged_values.items():
        if _type(value) == TABLE and value != earlier.get(key):
            rows = parsers.as_list(value.get("_value"))
            logged = samples_of_table(key, rows, own, split, functions)
            each = max(1, len(logged) // max(1, len(rows)))  # a wide row holds several
            for n, logged_sample in enumerate(logged):
                yield f"{key}.{n}", logged_sample, rows[min(len(rows) - 1, n // each)]
        listed = value if isinstance(value, list) else [value]
        for n, trace in enumerate(listed):
            if _type(trace) == TRACE:
                sample = sample_of_trace(key, trace.get("messages"), trace.get("metadata"), own)
                if sample is not None:
                    yield f"{key}.{n}", sample, trace


def row_before(database: apsw.Connection, rows: tuple[str, bytes, int], number: int, *, marked: bool) -> bytes | None:
    """Return the metrics that a run logged before a row, of those with tables if `marked`.

    `rows` are the column of the run's id, the id, and the first row of the run.
    """
    key, run_id, first = rows
    fits = f"instr({bounded('metrics')}, ?)" if marked else "octet_length(metrics) > 2 OR ? IS NULL"
    before = (
        f"SELECT {bounded('metrics')} FROM metrics WHERE +{key} = CAST(? AS TEXT) AND rowid < ? AND rowid >= ? "
        f"AND ({fits}) ORDER BY rowid DESC LIMIT 1"
    )
    row = database.execute(before, (run_id, number, first, MARK)).fetchone()
    return row[0] if row else None


def _object(metrics: bytes | None) -> dict[str, Any]:
    return parsers.as_dict(parsed(metrics or b""))


def _type(value: object) -> object:
    return parsers.as_dict(value).get("_type")
