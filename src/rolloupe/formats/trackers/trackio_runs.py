"""The runs in a database of trackio that hold samples: traces, and tables of samples among the metrics.

A run has several ids where several processes write for it: the workers of verl log traces under the name of the
trainer's run, each with an id of its own.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import apsw

from rolloupe.formats.reading.trackers.curves import parsed, seconds_of
from rolloupe.formats.reading.trackers.databases import LISTING_S, MOST_RUNS, DatabaseTexts
from rolloupe.formats.reading.trackers.sqlite import bounded, read_database, size_of, stored_columns
from rolloupe.formats.trackers.trackio_metrics import MARK, samples_in
from rolloupe.formats.trackers.verl_calls import is_call
from rolloupe.model import Location

METRICS, TRACES = "metrics", "traces"
OF_TRACES = ("step", "key", "messages", "metadata")
FIRST_ROWS = 64
"""How many rows tell how large the rows of a run are."""

LOOKED_ROWS = 300
"""How many of the first and of the last metrics of a run are looked at for tables."""


class Extent(NamedTuple):
    """Where the rows of a run lie in a table."""

    first: int
    last: int
    size_bytes: float
    """The average size of the first rows."""
    changed_ns: int


class ProjectId(NamedTuple):
    """What was logged under one id."""

    id: str
    name: str
    traces: Extent | None
    tables: Extent | None
    """Of the metrics, if there are tables or traces among them."""
    began_ns: int
    is_of_worker: bool
    """Whether it has traces of verl's calls and no metrics."""


class LoggedIds(NamedTuple):
    """A run, under one or more ids: the first is that of its metrics, if it has some."""

    ids: tuple[ProjectId, ...]

    @property
    def has_samples(self) -> bool:
        """Whether there may be samples."""
        return any(one.traces or one.tables for one in self.ids)


def runs_of(location: Location) -> list[LoggedIds]:
    """List the runs of a project. Raises `BadDatabase`."""
    return _merged(read_database(location, lambda database: [*_ids(database)], LISTING_S))


def _merged(ids: Iterable[ProjectId]) -> list[LoggedIds]:
    """Join verl's workers to the last run of their name that began before their last trace, or else to the first."""
    own, workers = _parted(ids)
    runs = [[one] for one in own]
    alone: dict[str, list[ProjectId]] = {}
    for one in workers:
        hosts = [run for run in runs if run[0].name == one.name] or [alone.setdefault(one.name, [])]
        last_ns = one.traces.changed_ns if one.traces else 0
        next((run for run in reversed(hosts) if run and run[0].began_ns <= last_ns), hosts[0]).append(one)
    return [LoggedIds(tuple(run)) for run in (*runs, *alone.values())]


def _parted(ids: Iterable[ProjectId]) -> tuple[list[ProjectId], list[ProjectId]]:
    parted: tuple[list[ProjectId], list[ProjectId]] = ([], [])
    for one in ids:
        parted[one.is_of_worker].append(one)
    return parted


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
        names = f"SELECT CAST({self.key} AS BLOB), CAST(run_name AS BLOB) FROM {self.name} LIMIT {MOST_RUNS}"  # noqa: S608 - names of ours
        return dict(self._database.execute(names)) if self.is_there else {}

    def spans(self) -> dict[bytes, tuple[int, int]]:
        """Return the first and the last row of each id."""
        spans = (
            f"SELECT CAST({self.key} AS BLOB), min(rowid), max(rowid) FROM {self.name} "  # noqa: S608 - names of ours
            f"GROUP BY {self.key} ORDER BY min(rowid) LIMIT {MOST_RUNS}"
        )
        found = self._database.execute(spans) if self.is_there else ()
        return {one: (first, last) for one, first, last in found}

    def value(self, column: str, number: int) -> bytes:
        """Return a value of a row."""
        wanted = f"SELECT {bounded(column)} FROM {self.name} WHERE rowid = ?"  # noqa: S608 - names of ours
        return next((value or b"" for (value,) in self._database.execute(wanted, (number,))), b"")

    def extent(self, one: bytes, span: tuple[int, int]) -> Extent:
        """Return where the rows of an id lie, and how large they are."""
        first, last = span
        sizes = (
            f"SELECT avg({self._size}) FROM {self.name} WHERE {self.key} = CAST(? AS TEXT) "  # noqa: S608 - names of ours
            f"AND rowid BETWEEN {first} AND {first + FIRST_ROWS - 1}"
        )
        size_bytes = next((size for (size,) in self._database.execute(sizes, (one,))), None)
        return Extent(first, last, size_bytes or 0, self.time_ns(last))

    def time_ns(self, number: int) -> int:
        """Return the time of a row, 0 if it is unknown."""
        seconds = seconds_of(self.value("timestamp", number).decode("utf-8", "replace")) if self._has_time else None
        return int((seconds or 0) * 1e9)

    def rows(self, one: bytes, column: str, order: str, condition: str, *values: bytes) -> Iterator[bytes | None]:
        """Yield a value of some rows of an id, those that fit among the first in an order; None for too large a row."""
        some = (
            f"SELECT {bounded(column)} AS value_ FROM {self.name} WHERE {self.key} = CAST(? AS TEXT) "  # noqa: S608 - names of ours
            f"{order} LIMIT {LOOKED_ROWS}"
        )
        wanted = f"SELECT value_ FROM ({some}) WHERE {condition}"  # noqa: S608 - the same
        yield from (value for (value,) in self._database.execute(wanted, (one, *values)))


def _ids(database: apsw.Connection) -> Iterator[ProjectId]:
    texts = DatabaseTexts(database)
    configs = _RunTable(database, "configs", (), "")
    metrics = _RunTable(database, METRICS, ("step", "metrics"), size_of(("metrics",)))
    traces = _RunTable(database, TRACES, OF_TRACES, size_of(("messages", "metadata")))
    logged, traced = metrics.spans(), traces.spans()
    names = configs.names()
    for table, spans in ((metrics, logged), (traces, traced)):
        names |= {one: table.value("run_name", first) for one, (first, _) in spans.items() if one not in names}
    for one, name in names.items():
        if one in logged or one in traced:
            has_metrics = one in logged and any(True for _ in metrics.rows(one, "metrics", "", "length(value_) > 2"))
            table, first = (metrics, logged[one][0]) if one in logged else (traces, traced[one][0])
            yield ProjectId(
                texts.name(one),
                texts.name(name),
                traces.extent(one, traced[one]) if one in traced else None,
                metrics.extent(one, logged[one]) if one in logged and _has_samples(metrics, one) else None,
                table.time_ns(first),
                one in traced and not has_metrics and _is_call(traces.value("metadata", traced[one][0])),
            )


def _is_call(metadata: bytes) -> bool:
    """Tell whether the metadata of a trace are those of a call that verl's workers log."""
    known = parsed(metadata)
    return isinstance(known, dict) and is_call(known)


def _has_samples(metrics: _RunTable, one: bytes) -> bool:
    """Tell whether there are samples among the first or the last metrics of a run."""
    return any(
        values is None or next(samples_in(values, None), None) is not None
        for order in ("ASC", "DESC")
        for values in metrics.rows(one, "metrics", f"ORDER BY step {order}", "value_ IS NULL OR instr(value_, ?)", MARK)
    )
