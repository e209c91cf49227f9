"""The trainer's metrics of a run as columns in a file, which queries map into memory instead of reading logs again.

Queries on many runs look at one metric of each. A log of 5,000 steps and 200 metrics takes a second to read; its
columns take 8 bytes per point, and only those of that metric come from the disk.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.storage import atomic

FOLDER, FILE = "metrics", "columns.arrow"

LEAST_POINTS = 50_000
"""Logs with fewer points are read again."""

MetricColumn: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Steps, ascending, and values."""

Number = TypeVar("Number", np.int64, np.float64)

_VERSION, _ABOUT = b"version", b"about"
_SCHEMA = pa.schema({
    "name": pa.large_string(),
    "shared": pa.int64(),
    "steps": pa.large_list(pa.int64()),
    "values": pa.large_list(pa.float64()),
})  # fmt: skip
"""A row for the times, and one for each metric; `shared` is the row with the same steps, which are stored once."""


class CurveSource(NamedTuple):
    """Where curves of a run come from."""

    kind: str  # the tracker that wrote it: `TensorBoard`, `trackio`,
    path: str
    run: str  # the name of the run there, if it has one
    names: list[str]  # the metrics that it adds
    step_name: str  # the metric that holds the trainer's step; empty: steps are as the tracker counts
    note: str = ""  # a remark for people: the rows or metrics left out, and why
    is_named: bool = False  # true if a person named it (`--metrics`): data left out of it is a problem


class MetricTable(NamedTuple):
    """The metrics of a run by name: steps, ascending, and values. A metric that no row with a step has is empty."""

    columns: dict[str, MetricColumn]
    times: MetricColumn  # when each step was logged, in seconds since 1970; steps without a time are left out
    sources: Sequence[CurveSource] = ()  # the curves that trackers keep of the run, and which metrics they add
    is_mapped: bool = False  # true if the numbers are in a file, which the system reads as needed

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        columns = [*self.columns.values(), self.times]
        return 200 * len(columns) + (0 if self.is_mapped else sum(a.nbytes + b.nbytes for a, b in columns))

    @property
    def start_s(self) -> float | None:
        """The earliest time of a step, in seconds since 1970; None without any."""
        return float(self.times[1].min()) if len(self.times[1]) else None


def read_columns(folder: Path, version: str) -> MetricTable | None:
    """Map the columns in an index folder; None if they are missing, damaged or of another version."""
    try:
        with pa.memory_map(str(folder / FOLDER / FILE)) as file:
            table = pa.ipc.open_file(file).read_all()
        about = table.schema.metadata or {}
        if about.get(_VERSION) != version.encode("utf-8", "surrogateescape") or not table.schema.equals(_SCHEMA):
            return None
        table.validate(full=True)
        steps, values = _arrays(table["steps"], np.int64), _arrays(table["values"], np.float64)
        times, *columns = [(steps[row], own) for row, own in zip(table["shared"].to_pylist(), values, strict=True)]
        names = table["name"].to_pylist()[1:]
        sources = msgspec.json.decode(about.get(_ABOUT, b"[]"), type=list[CurveSource])
    except (OSError, pa.ArrowException, msgspec.MsgspecError, UnicodeError, TypeError, IndexError, ValueError):
        return None
    if any(len(steps) != len(values) for steps, values in (times, *columns)):
        return None
    return MetricTable(dict(zip(names, columns, strict=True)), times, sources, is_mapped=True)


def write_columns(folder: Path, version: str, table: MetricTable) -> None:
    """Write the columns, or replace older ones, if they are worth a file. Raises OSError."""
    if sum(len(values) for _, values in table.columns.values()) < LEAST_POINTS:
        return
    columns = [table.times, *table.columns.values()]
    rows: dict[bytes, int] = {}
    shared = [rows.setdefault(steps.tobytes(), row) for row, (steps, _) in enumerate(columns)]
    none = np.zeros(0, np.int64)
    own = [steps if shared[row] == row else none for row, (steps, _) in enumerate(columns)]
    lists = [["", *table.columns], shared, own, [values for _, values in columns]]
    about = {_VERSION: version.encode("utf-8", "surrogateescape"), _ABOUT: msgspec.json.encode(table.sources)}
    stored = pa.table(lists, schema=_SCHEMA).replace_schema_metadata(about)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, stored.schema) as writer:
        writer.write_table(stored)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    atomic.write(folder / FOLDER / FILE, memoryview(sink.getvalue()))


def _arrays(column: pa.ChunkedArray, kind: type[Number]) -> list[NDArray[Number]]:
    """Return the lists of a column as views."""
    (chunk,) = column.chunks
    offsets, flat = chunk.offsets.to_pylist(), np.asarray(chunk.values.to_numpy(), kind)
    return [flat[start:stop] for start, stop in itertools.pairwise(offsets)]
