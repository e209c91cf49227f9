"""The trainer's metrics as columns, read once for each change of the files and then looked up by name."""

import contextlib
import threading
from collections.abc import Sequence
from itertools import chain, groupby
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from rolloupe.formats.reading.files import once
from rolloupe.index import OpenRun
from rolloupe.index.metric_columns import MetricColumn, MetricColumns, read_columns, write_columns
from rolloupe.lru import Lru
from rolloupe.model import MetricRow
from rolloupe.query.run.tracker_curves import CurveSource, time_of, tracker_version, with_tracker_curves
from rolloupe.storage import file_state

KEPT_BYTES = 128 * 2**20

SMALL_BYTES = 256 * 2**10

VERSION = 4
"""Changes with what columns mean."""


class MetricTable(NamedTuple):
    """The metrics of a run by name: steps, ascending, and values. A metric that no row with a step has is empty."""

    columns: dict[str, MetricColumn]
    times: MetricColumn
    """When each step was logged, in seconds since 1970; steps without a time are left out."""
    sources: Sequence[CurveSource] = ()
    """What trackers keep of the run, and what was taken from it."""
    is_mapped: bool = False
    """True if the numbers are in a file, which the system reads as needed."""

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        columns = [*self.columns.values(), self.times]
        return 200 * len(columns) + (0 if self.is_mapped else sum(a.nbytes + b.nbytes for a, b in columns))

    @property
    def start_s(self) -> float | None:
        """The earliest time of a step, in seconds since 1970; None without any."""
        return float(self.times[1].min()) if len(self.times[1]) else None


_tables: Lru[str, MetricTable] = Lru(total=KEPT_BYTES, least=1)
_reading: Lru[str, threading.Lock] = Lru(entries=1000)
"""The logs of a run are read once, however many ask for them; those of another run need not wait."""


def metric_rows(run: OpenRun) -> list[MetricRow]:
    """Read the trainer's metrics from its files: one row for each step, then the rows without a step.

    Metrics that only a tracker has, in or beside the run or where its reading says, are among them.
    """
    return with_tracker_curves(run, run.format.metrics(run.info))[0]


def metric_arrow(run: OpenRun) -> pa.Table:
    """Return the trainer's metrics as a table: `step`, `time_s`, and a column for each metric.

    What a row lacks is null. A metric with the name of one of the first two is left out.
    """
    rows = metric_rows(run)
    first = {"step": pa.array([row.step for row in rows], pa.int64())}
    first["time_s"] = pa.array([row.time_s for row in rows], pa.float64())
    names = dict.fromkeys(name for row in rows for name in row.values if name not in first)
    return pa.table(first | {name: pa.array([row.values.get(name) for row in rows], pa.float64()) for name in names})


def curve_sources(run: OpenRun) -> Sequence[CurveSource]:
    """Return what trackers keep of a run, and what was taken from it."""
    return metric_table(run).sources


def metric_table(run: OpenRun) -> MetricTable:
    """Return the current metrics in the trainer's files."""
    version = f"{VERSION} {run.info.reading!r} {trainer_version(run)}"
    name = f"{run.catalog.folder} {version}"
    table = _tables.get(name)
    if table is None:
        with _reading.setdefault(str(run.catalog.folder), threading.Lock()):
            table = _tables.get(name) or _kept(run, version) or _read(run, version)
            _tables.put(name, table, table.nbytes)
    return table


def _kept(run: OpenRun, version: str) -> MetricTable | None:
    """Return the columns that an earlier look at the same logs left."""
    found = read_columns(run.catalog.folder, version)
    if found is None:
        return None
    sources = msgspec.json.decode(found.about, type=list[CurveSource])
    return MetricTable(dict(found.columns), found.times, sources, is_mapped=True)


def _read(run: OpenRun, version: str) -> MetricTable:
    rows, sources = with_tracker_curves(run, run.format.metrics(run.info))
    table = table_of(rows)._replace(sources=sources)
    with contextlib.suppress(OSError, UnicodeError):  # a full disk or a strange name costs time, not curves
        columns = MetricColumns(table.columns, table.times, msgspec.json.encode(sources))
        write_columns(run.catalog.folder, version, columns)
    return table


def has_metrics(run: OpenRun) -> bool:
    """True if a run has a metric of the trainer. Large logs have some; only small ones are read to see."""
    size = 0
    for source in run.format.trainer_files(run.info):
        with contextlib.suppress(OSError):
            size += file_state(source.location).st_size
    return size > SMALL_BYTES or bool(metric_table(run).columns)


def trainer_version(run: OpenRun) -> str:
    """Return a word that changes whenever one of the trainer's metrics files changes; within `listing_once` the same.

    An answer about many curves of a run is then of one version, and looks at its files once.
    """
    return once(("trainer version", run), lambda: _version_now(run))


def _version_now(run: OpenRun) -> str:
    states = []
    for source in run.format.trainer_files(run.info):
        with contextlib.suppress(OSError):
            state = file_state(source.location)
            states.append(f"{source.name}:{state.st_ino}:{state.st_size}:{state.st_mtime_ns}")
    return " ".join([*states, tracker_version(run)])


def table_of(rows: Sequence[MetricRow]) -> MetricTable:
    """Turn rows into columns. Names are in the order of their first appearance."""
    names = dict.fromkeys(chain.from_iterable(row.values for row in rows))
    parts: dict[str, list[MetricColumn]] = {name: [] for name in names}
    placed = [row for row in rows if row.step is not None]
    for own_names, group in groupby(placed, lambda row: tuple(row.values)):
        own = list(group)  # most rows have the same metrics
        steps = np.array([row.step for row in own], dtype=np.int64)
        values = np.array([list(row.values.values()) for row in own], dtype=np.float64)
        for name, column in zip(own_names, values.T, strict=True):
            parts[name].append((steps, column))
    times = [(row.step, time_s) for row in placed if (time_s := time_of(row)) is not None]
    columns = {name: _joined(own) for name, own in parts.items()}
    at = np.array([step for step, _ in times], dtype=np.int64)
    return MetricTable(columns, (at, np.array([time_s for _, time_s in times], dtype=np.float64)))


def _joined(parts: Sequence[MetricColumn]) -> MetricColumn:
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0)
    return np.concatenate([steps for steps, _ in parts]), np.concatenate([values for _, values in parts])
