"""The runs in a database of trackio that hold samples: traces, and tables of samples among the metrics.

A run has several ids where several processes write for it: the workers of verl log traces under the name of the
trainer's run, each with an id of its own.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import apsw

from rolloupe.formats.reading.trackers.curves import seconds_of
from rolloupe.formats.reading.trackers.sqlite import read_database
from rolloupe.formats.reading.trackers.trackio import LISTING_S, MOST_RUNS, DatabaseTexts, columns_of
from rolloupe.formats.trackers.trackio_metrics import MARK, samples_in
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
    has_metrics: bool
    traces: Extent | None
    tables: Extent | None
    """Of the metrics, if there are tables or traces among them."""


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
    """Join the ids with traces alone to the run of their name that began before them, or else after them."""
    runs: list[list[ProjectId]] = []
    waiting: dict[str, list[ProjectId]] = {}
    for one in ids:
        is_part = one.traces is not None and not (one.has_metrics or one.tables)
        host = next((run for run in reversed(runs) if run[0].name == one.name), None) if is_part else None
        if host is not None:
            host.append(one)
        elif is_part:
            waiting.setdefault(one.name, []).append(one)
        else:
            runs.append([one, *waiting.pop(one.name, [])])
    return [LoggedIds(tuple(run)) for run in (*runs, *waiting.values())]


class _RunTable:
    """A table whose rows belong to runs."""

    def __init__(self, database: apsw.Connection, name: str, needed: Collection[str], size: str) -> None:
        self._database = database
        self.name = name
        columns = columns_of(database, name)
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
        wanted = f"SELECT CAST({column} AS BLOB) FROM {self.name} WHERE rowid = ?"  # noqa: S608 - names of ours
        return next((value or b"" for (value,) in self._database.execute(wanted, (number,))), b"")

    def extent(self, one: bytes, span: tuple[int, int]) -> Extent:
        """Return where the rows of an id lie, and how large they are."""
        first, last = span
        sizes = (
            f"SELECT avg({self._size}) FROM {self.name} WHERE {self.key} = CAST(? AS TEXT) "  # noqa: S608 - names of ours
            f"AND rowid BETWEEN {first} AND {first + FIRST_ROWS - 1}"
        )
        size_bytes = next((size for (size,) in self._database.execute(sizes, (one,))), None)
        seconds = seconds_of(self.value("timestamp", last).decode("utf-8", "replace")) if self._has_time else None
        return Extent(first, last, size_bytes or 0, int((seconds or 0) * 1e9))

    def rows(self, one: bytes, column: str, order: str, condition: str, *values: bytes) -> Iterator[bytes]:
        """Yield a value of some rows of an id, those that fit among the first in an order."""
        some = (
            f"SELECT CAST({column} AS BLOB) AS value_ FROM {self.name} WHERE {self.key} = CAST(? AS TEXT) "  # noqa: S608 - names of ours
            f"{order} LIMIT {LOOKED_ROWS}"
        )
        wanted = f"SELECT value_ FROM ({some}) WHERE {condition}"  # noqa: S608 - the same
        yield from (value for (value,) in self._database.execute(wanted, (one, *values)))


def _ids(database: apsw.Connection) -> Iterator[ProjectId]:
    texts = DatabaseTexts(database)
    configs = _RunTable(database, "configs", (), "")
    metrics = _RunTable(database, METRICS, ("step", "metrics"), "length(metrics)")
    traces = _RunTable(database, TRACES, OF_TRACES, "length(messages) + length(metadata)")
    logged, traced = metrics.spans(), traces.spans()
    names = configs.names()
    for table, spans in ((metrics, logged), (traces, traced)):
        names |= {one: table.value("run_name", first) for one, (first, _) in spans.items() if one not in names}
    for one, name in names.items():
        if one in logged or one in traced:
            yield ProjectId(
                texts.name(one),
                texts.name(name),
                one in logged and any(True for _ in metrics.rows(one, "metrics", "", "length(value_) > 2")),
                traces.extent(one, traced[one]) if one in traced else None,
                metrics.extent(one, logged[one]) if one in logged and _has_samples(metrics, one) else None,
            )


def _has_samples(metrics: _RunTable, one: bytes) -> bool:
    """Tell whether there are samples among the first or the last metrics of a run."""
    return any(
        next(samples_in(values, None), None) is not None
        for order in ("ASC", "DESC")
        for values in metrics.rows(one, "metrics", f"ORDER BY step {order}", "instr(value_, ?)", MARK)
    )
