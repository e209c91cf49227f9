"""Files of the trainer: its metrics as columns, with the curves of trackers; configuration, checkpoints, reports."""

import contextlib
import hashlib
import os
import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import model
from rolloupe.errors import NotFound
from rolloupe.formats import curve_files
from rolloupe.formats.reading.files import once
from rolloupe.formats.reading.trackers.curves import EARLIEST_S, TIMES, LoggedRun, is_step, trainer_step_of
from rolloupe.formats.reading.trackers.curves import metric_rows as rows_by_step
from rolloupe.index import OpenRun
from rolloupe.lru import Lru
from rolloupe.query.engine.names import is_asked, unknown
from rolloupe.questions import LandmarkQuery, MetricNameQuery
from rolloupe.storage import atomic, file_state, is_folder

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
    """Write the columns, or replace older ones, if they are worth a file. Raises OSError.

    Queries on many runs look at one metric of each: its columns alone come from the disk, and no log is read again.
    """
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
    return [flat[start:stop] for start, stop in pairwise(offsets)]


LATEST_S = 1e11  # larger numbers are not seconds since 1970: this is the year 5138
NO_CURVES = "it holds no curves"
LISTED = 10  # how many metrics a note lists
KEPT_BYTES = 128 * 2**20

SMALL_BYTES = 256 * 2**10
VERSION = 4  # changes with what columns mean

_reading: Lru[str, threading.Lock] = Lru(entries=1000)
"""The logs of a run are read once, however many ask for them; other runs do not wait for them."""


def with_tracker_curves(
    run: OpenRun, own: Sequence[model.MetricRow]
) -> tuple[list[model.MetricRow], list[CurveSource]]:
    """Add the curves of trackers to a run's own metrics. Where both have a metric, the run's own counts."""
    known = {name for row in own for name in row.values}
    by_step = {row.step: dict(row.values) for row in own if row.step is not None}
    times = {row.step: row.time_s for row in own if row.step is not None}
    loose = [row for row in own if row.step is None]
    timed = {row.step for row in own if time_of(row) is not None}
    sources = [
        CurveSource("", path, "", [], "", NO_CURVES, is_named=True) for path in curve_files.without_curves(run.info)
    ]
    for file in curve_files.curve_files(run.info):
        for logged, note in _chosen(file, run.info):
            step_name = _step_name(logged, run.info.reading.metrics_step)
            rows, of_eval = rows_by_step(logged.rows, step_name), curve_files.evaluation_of(file.kind, file.path)
            for row in rows if of_eval else ():
                row.values = {of_eval + name.removeprefix("eval/"): value for name, value in row.values.items()}
            names = {name: None for row in rows for name in row.values}
            added = {name: None for name in names if name not in known}
            for row in rows:
                values = {name: value for name, value in row.values.items() if name in added}
                if row.step is None:
                    loose.append(model.MetricRow(step=None, values=values, time_s=row.time_s))
                elif values:
                    by_step.setdefault(row.step, {}).update(values)
                    if row.step not in timed:  # two clocks are not mixed at a step
                        times[row.step] = times.get(row.step) or row.time_s
            known |= added.keys()
            same = [name for name in names if name not in added] if file.is_named else []
            notes = [note or logged.damage, "" if step_name else _without_large_steps(logged)]
            loose_here = [row for row in rows if row.step is None and row.values]
            if loose_here:
                why = f"no row before them has a step in {step_name!r}" if step_name else "Next: --metrics-step NAME"
                names_of = _listed([*{name: None for row in loose_here for name in row.values}])
                notes.append(f"rows without a step, which no chart shows: {len(loose_here):,} ({names_of}); {why}")
            if same:
                about_same = "metrics left out because the run has others of their names"
                notes.append(f"{about_same}: {len(same):,} ({_listed(same)})")
            about = "; ".join(filter(None, notes))
            sources.append(CurveSource(file.kind, file.path, logged.name, [*added], step_name, about, file.is_named))
    merged = [model.MetricRow(step=step, values=by_step[step], time_s=times[step]) for step in sorted(by_step)]
    return merged + loose, sources


def _step_name(logged: LoggedRun, asked: str) -> str:
    """Return the metric that holds the step: the one that a person names, else a usual one; empty for neither."""
    name = asked or trainer_step_of(logged.rows)
    return "" if name == model.TRACKER_STEP else name


def time_of(row: model.MetricRow) -> float | None:
    """Return the time of a row, or the metric that holds it, in seconds since 1970."""
    if row.time_s is not None:
        return row.time_s if EARLIEST_S < row.time_s < LATEST_S else None
    return next((row.values[name] for name in TIMES if EARLIEST_S < row.values.get(name, 0) < LATEST_S), None)


def _without_large_steps(logged: LoggedRun) -> str:
    count = sum(row.step is not None and not is_step(row.step) for row in logged.rows)
    return f"rows left out because their step is too large: {count:,}" if count else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")


def tracker_damage(info: model.RunInfo) -> list[model.Problem]:
    """List what could not be read of the files that trackers keep of a run; `left_out_of_named` has the named files."""
    folder = info.root if is_folder(info.root) else os.path.dirname(info.root)
    problems = []
    for file in (file for file in curve_files.curve_files(info) if not file.is_named):
        runs = [logged for logged, _ in _chosen(file, info)]
        large = [_without_large_steps(logged) for logged in runs if not _step_name(logged, info.reading.metrics_step)]
        for damage in dict.fromkeys(filter(None, [*(logged.damage for logged in runs), *large])):
            source = os.path.relpath(file.locations[0].path, folder)
            problems.append(model.Problem(source=source, reason=f"{file.kind}: {damage}", transient=True))
    return problems


def left_out_of_named(sources: Sequence[CurveSource]) -> list[model.Problem]:
    """List what was left out of the files with curves that a person named, and why."""
    return [
        model.Problem(source=source.path, reason=": ".join(filter(None, (source.kind, source.note))), transient=True)
        for source in sources
        if source.is_named and source.note
    ]


def _chosen(file: curve_files.CurveFile, info: model.RunInfo) -> list[tuple[LoggedRun, str]]:
    """Return the runs in a file that are this run, each with a note; without any, an empty run with a note."""
    try:
        runs = curve_files.current_curves(file)
    except ValueError as error:
        return [(LoggedRun("", [], damage="" if str(error) == curve_files.EMPTY else str(error)), str(error))]
    if info.within and file.path == info.root:
        return [(run, "") for run in runs if run.id == info.within]
    name = info.name
    is_named = len(runs) == 1 and name in curve_files.path_names(file)
    same = [run for run in runs if is_named or run.name == name]
    if file.is_beside or (len(runs) > 1 and same):
        return [(run, "") for run in same]
    if len(runs) > 1:
        names = ", ".join(dict.fromkeys(run.name for run in runs[:20]))
        return [(LoggedRun("", []), f"it holds {len(runs)} runs, and none is named {name!r}: {names}")]
    return [(run, "") for run in runs]


kept_tables: Lru[str, MetricTable] = Lru(total=KEPT_BYTES, least=1)


def metric_rows(run: OpenRun) -> list[model.MetricRow]:
    """Read the trainer's metrics, and those of trackers: one row for each step, then the rows without a step."""
    return with_tracker_curves(run, run.format.metrics(run.info))[0]


def metric_arrow(run: OpenRun) -> pa.Table:
    """Return the trainer's metrics as a table: `step`, `time_s`, and a column for each metric with another name."""
    rows = metric_rows(run)
    first = {"step": pa.array([row.step for row in rows], pa.int64())}
    first["time_s"] = pa.array([row.time_s for row in rows], pa.float64())
    names = dict.fromkeys(name for row in rows for name in row.values if name not in first)
    return pa.table(first | {name: pa.array([row.values.get(name) for row in rows], pa.float64()) for name in names})


def curve_sources(run: OpenRun) -> Sequence[CurveSource]:
    """Return the curves that trackers keep of a run, and which metrics they add."""
    return metric_table(run).sources


def metric_table(run: OpenRun) -> MetricTable:
    """Return the current metrics in the trainer's files."""
    version = f"{VERSION} {run.info.reading!r} {trainer_version(run)}"
    name = f"{run.catalog.folder} {version}"
    table = kept_tables.get(name)
    if table is None:
        with _reading.setdefault(str(run.catalog.folder), threading.Lock()):
            table = kept_tables.get(name) or read_table(run, version)
            kept_tables.put(name, table, table.nbytes)
    return table


def read_table(run: OpenRun, version: str) -> MetricTable:
    """Read the trainer's files, or the columns that an earlier look at the same files saved."""
    kept = read_columns(run.catalog.folder, version)
    if kept is not None:
        return kept
    rows, sources = with_tracker_curves(run, run.format.metrics(run.info))
    table = table_of(rows)._replace(sources=sources)
    with contextlib.suppress(OSError, UnicodeError):  # a full disk or a strange name costs time, not curves
        write_columns(run.catalog.folder, version, table)
    return table


def has_metrics(run: OpenRun) -> bool:
    """True if a run has a metric of the trainer. Large logs have some; only small ones are read to see."""
    return _log_bytes(run) > SMALL_BYTES or bool(metric_table(run).columns)


def _log_bytes(run: OpenRun) -> int:
    size = 0
    for source in run.format.trainer_files(run.info):
        with contextlib.suppress(OSError):
            size += file_state(source.location).st_size
    return size


_REWARD = re.compile(r"(?:.*[._/])?(?:rewards?|total_reward|score)(?:[._/](?:mean|avg|all|total))?")
_OF_EVALUATION = re.compile(r"(?:val|eval|test|validation)\b.*/")


def logged_reward(run: OpenRun) -> float | None:
    """Return the last reward that the trainer of a run logged; None without one, and for large logs."""
    if _log_bytes(run) > SMALL_BYTES:
        return None
    columns = metric_table(run).columns
    names = [name for name in columns if _REWARD.fullmatch(name) and not _OF_EVALUATION.match(name)]
    values = columns[min(names, key=len)][1] if names else np.empty(0)
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if len(finite) else None


def trainer_version(run: OpenRun) -> str:
    """Return a word that changes with the files of the trainer's metrics; `listing_once` looks at them once."""
    return once(("trainer version", run), lambda: current_version(run))


def current_version(run: OpenRun) -> str:
    """Return the `trainer_version` of this moment."""
    states = []
    for source in run.format.trainer_files(run.info):
        with contextlib.suppress(OSError):
            state = file_state(source.location)
            states.append(f"{source.name}:{state.st_ino}:{state.st_size}:{state.st_mtime_ns}")
    stamps = " ".join(f"{stamp}" for file in curve_files.curve_files(run.info) for stamp in curve_files.stamps_of(file))
    word = " ".join([*states, stamps])
    return hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).hexdigest()


def table_of(rows: Sequence[model.MetricRow]) -> MetricTable:
    """Turn rows into columns. Names are in the order of their first appearance."""
    names = dict.fromkeys(chain.from_iterable(row.values for row in rows))
    parts: dict[str, list[MetricColumn]] = {name: [(np.zeros(0, np.int64), np.zeros(0))] for name in names}
    placed = [row for row in rows if row.step is not None]
    for own_names, group in groupby(placed, lambda row: tuple(row.values)):
        own = list(group)  # most rows have the same metrics
        steps = np.array([row.step for row in own], dtype=np.int64)
        values = np.array([list(row.values.values()) for row in own], dtype=np.float64)
        for name, column in zip(own_names, values.T, strict=True):
            parts[name].append((steps, column))
    times = [(row.step, time_s) for row in placed if (time_s := time_of(row)) is not None]
    columns = {
        name: (np.concatenate([steps for steps, _ in own]), np.concatenate([values for _, values in own]))
        for name, own in parts.items()
    }
    at = np.array([step for step, _ in times], dtype=np.int64)
    return MetricTable(columns, (at, np.array([time_s for _, time_s in times], dtype=np.float64)))


MAX_LANDMARKS = 2000  # of each kind, the last ones; nobody can tell more apart on a chart
MAX_METRICS = 5000

_reports: WeakKeyDictionary[OpenRun, tuple[str, bool]] = WeakKeyDictionary()
"""The version of a run that was checked, and True for a report. A run with a report is not checked again."""

_losses: WeakKeyDictionary[OpenRun, tuple[str, model.RunLoss | None]] = WeakKeyDictionary()
"""The loss of a run, and the version in which it was read."""


class MetricPoint(NamedTuple):
    """A trainer's metric at a step."""

    step: int
    value: float


def metric_names(run: OpenRun) -> list[str]:
    """The names of the trainer's metrics, in the order of their first appearance."""
    return list(metric_table(run).columns)


def metrics(run: OpenRun, name: str) -> list[MetricPoint]:
    """Return one of the trainer's metrics by step. Raises `BadQuery`, which lists the run's metrics."""
    columns = metric_table(run).columns
    if name not in columns:
        raise unknown("metric", name, sorted(columns), f" in run {run.id!r}")
    steps, values = columns[name]
    return [MetricPoint(*point) for point in zip(steps.tolist(), values.tolist(), strict=True)]


def loss_of(run: OpenRun) -> model.RunLoss | None:
    """The loss that the run was trained with; None if its configuration does not name it."""
    known = _losses.get(run)
    if known is None or known[0] != run.version:
        known = _losses[run] = run.version, run.format.loss(run.info)
    return known[1]


def files(run: OpenRun) -> list[model.RunFile]:
    """The files of the run's folder, or at least those with samples."""
    return run.format.files(run.info) or run.sources.files()


def logtree(run: OpenRun, split: str, step: int) -> model.LogNode:
    """A trainer's report of a step, as an outline. Raises `NotFound` for a step without one."""
    root = run.format.logtree(run.info, split, step)
    if root is None:
        logged: dict[str, list[int]] = {}
        for name, at in run.format.logtrees(run.info):
            logged.setdefault(name, []).append(at)
        known = "; ".join(f"{name}, steps {', '.join(map(str, steps[-20:]))}" for name, steps in logged.items())
        known = f"; there are reports of {known[:400]}" if known else ""
        raise NotFound(f"nothing was logged for step {step} of {split!r} in run {run.id!r}{known}")
    return root


def may_report(run: OpenRun) -> bool:
    """False if the run has no report; its folders are checked once for each change of the run."""
    version = run.version
    looked_at, has_report = _reports.get(run, ("", False))
    if not has_report and looked_at != version:
        has_report = bool(run.format.logtrees(run.info))
        _reports[run] = version, has_report
    return has_report


def all_conversations(run: OpenRun, split: str | None = None) -> Iterator[model.LoggedTranscript]:
    """Yield all conversations of all reports, or of those of a split, loading one report at a time."""
    for name, step in run.format.logtrees(run.info):
        if is_asked(name, split):
            yield from run.format.all_conversations(run.info, name, step)


class Saved(Struct, frozen=True, order=True):
    """A checkpoint with a step."""

    step: int
    name: str


class Resumed(Struct, frozen=True, order=True):
    """A launch of the run after the first one."""

    step: int
    """The first step whose samples of this launch count."""
    launch: int
    again: int
    """The number of its steps that an earlier launch had recorded, too."""


class Landmarks(Struct, frozen=True):
    """Steps at which a run saved a checkpoint or was resumed, in ascending order."""

    saved: list[Saved]
    resumed: list[Resumed]
    left_out: int
    """Number of earlier ones, which are in no list."""


def landmarks(run: OpenRun, _asked: LandmarkQuery) -> Landmarks:
    """Return the steps at which a run saved a checkpoint, or was resumed."""
    saved = sorted(Saved(own.step, own.name) for own in run.format.checkpoints(run.info) if own.step is not None)
    steps, again = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for stats in run.snapshot().steps.values():
        if stats.launch > 1:
            steps[stats.launch].add(stats.step)
            again[stats.launch] |= {stats.step} if stats.superseded else set()
    resumed = sorted(Resumed(min(own), launch, len(again[launch])) for launch, own in steps.items())
    left_out = sum(max(0, len(marks) - MAX_LANDMARKS) for marks in (saved, resumed))
    return Landmarks(saved[-MAX_LANDMARKS:], resumed[-MAX_LANDMARKS:], left_out)


class MetricNames(Struct, frozen=True):
    """The names of the trainer's metrics, which are read from its files."""

    names: list[str]
    """The first names, if there are too many."""


def metric_names_answer(run: OpenRun, _asked: MetricNameQuery) -> MetricNames:
    """Return the names of the trainer's metrics."""
    return MetricNames(metric_names(run)[:MAX_METRICS])
