"""The trainer's metrics as columns, read once for each change of the files and then looked up by name."""

import contextlib
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.formats.reading.trackers.tables import EARLIEST_S, TIMES
from rolloupe.index import OpenRun
from rolloupe.model import MetricRow
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.run.tracker_curves import CurveSource, tracker_version, with_tracker_curves
from rolloupe.storage import file_state

KEPT_BYTES = 128 * 2**20

LATEST_S = 1e11
"""Larger numbers are no seconds since 1970: this is the year 5138."""

Column: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]


class MetricTable(NamedTuple):
    """The metrics of a run by name: steps, ascending, and values. A metric that no row with a step has is empty."""

    columns: dict[str, Column]
    times: Column
    """When each step was logged, in seconds since 1970; steps without a time are left out."""
    sources: Sequence[CurveSource] = ()
    """What trackers keep of the run, and what was taken from it."""

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return sum(steps.nbytes + values.nbytes + 200 for steps, values in [*self.columns.values(), self.times])

    @property
    def start_s(self) -> float | None:
        """The earliest time of a step, in seconds since 1970; None without any."""
        return float(self.times[1].min()) if len(self.times[1]) else None


_tables: AnswerCache[MetricTable] = AnswerCache(KEPT_BYTES, lambda table: table.nbytes)


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
    return _tables.get(run, run.snapshot(), trainer_version(run), lambda: _read(run))


def _read(run: OpenRun) -> MetricTable:
    rows, sources = with_tracker_curves(run, run.format.metrics(run.info))
    return table_of(rows)._replace(sources=sources)


def trainer_version(run: OpenRun) -> str:
    """Return a word that changes whenever one of the trainer's metrics files changes."""
    states = []
    for source in run.format.trainer_files(run.info):
        with contextlib.suppress(OSError):
            state = file_state(source.location)
            states.append(f"{source.name}:{state.st_ino}:{state.st_size}:{state.st_mtime_ns}")
    return " ".join([*states, tracker_version(run)])


def table_of(rows: Sequence[MetricRow]) -> MetricTable:
    """Turn rows into columns. Names are in the order of their first appearance."""
    points: dict[str, tuple[list[int], list[float]]] = {}
    times: tuple[list[int], list[float]] = [], []
    for row in rows:
        for name, value in row.values.items():
            steps, values = points.setdefault(name, ([], []))
            if row.step is not None:
                steps.append(row.step)
                values.append(value)
        if row.step is not None and (time_s := _time_of(row)) is not None:
            times[0].append(row.step)
            times[1].append(time_s)
    return MetricTable({name: _column(*lists) for name, lists in points.items()}, _column(*times))


def _time_of(row: MetricRow) -> float | None:
    """The time of a row, or the metric that holds it."""
    if row.time_s is not None:
        return row.time_s if math.isfinite(row.time_s) else None
    return next((row.values[name] for name in TIMES if EARLIEST_S < row.values.get(name, 0) < LATEST_S), None)


def _column(steps: list[int], values: list[float]) -> Column:
    return np.array(steps, dtype=np.int64), np.array(values, dtype=np.float64)
