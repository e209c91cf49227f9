"""Trainer files of a run, read on request: metrics, configuration, checkpoints, code, files and reports."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import Struct

from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.model import Checkpoint, LoggedTranscript, LogNode, RunFile, RunLoss
from rolloupe.query.engine.names import is_asked, unknown
from rolloupe.query.run.trainer_metrics import metric_table
from rolloupe.questions import LandmarkQuery, MetricNameQuery

MAX_LANDMARKS = 2000  # of each kind, the last ones; nobody can tell more apart on a chart
MAX_METRICS = 5000

_reports: WeakKeyDictionary[OpenRun, tuple[str, bool]] = WeakKeyDictionary()
"""The version of a run that was checked, and True for a report. A run with a report is not checked again."""

_losses: WeakKeyDictionary[OpenRun, tuple[str, RunLoss | None]] = WeakKeyDictionary()
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


def config(run: OpenRun) -> dict[str, Any]:
    """The configuration; empty without one."""
    return run.format.config(run.info)


def loss_of(run: OpenRun) -> RunLoss | None:
    """The loss that the run was trained with; None if its configuration does not name it."""
    known = _losses.get(run)
    if known is None or known[0] != run.version:
        known = _losses[run] = run.version, run.format.loss(run.info)
    return known[1]


def checkpoints(run: OpenRun) -> list[Checkpoint]:
    """The checkpoints, in order."""
    return run.format.checkpoints(run.info)


def code_diff(run: OpenRun) -> str:
    """The diff of the code; empty if the run stores none."""
    return run.format.code_diff(run.info)


def files(run: OpenRun) -> list[RunFile]:
    """The files of the run's folder, or at least those with samples."""
    return run.format.files(run.info) or run.sources.files()


def logtrees(run: OpenRun) -> list[tuple[str, int]]:
    """The splits and steps that have a report."""
    return run.format.logtrees(run.info)


def logtree(run: OpenRun, split: str, step: int) -> LogNode:
    """A trainer's report of a step, as an outline. Raises `NotFound` for a step without one."""
    root = run.format.logtree(run.info, split, step)
    if root is None:
        logged: dict[str, list[int]] = {}
        for name, at in logtrees(run):
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
        has_report = bool(logtrees(run))
        _reports[run] = version, has_report
    return has_report


def report_files(run: OpenRun, split: str, step: int) -> dict[str, bytes]:
    """The report of a step as stored in the run's files, by kind; see `Format`. Empty without a report."""
    return run.format.report_files(run.info, split, step)


def conversations(run: OpenRun, split: str, step: int) -> list[LoggedTranscript]:
    """The conversations of a report that cannot be tied to one sample with certainty."""
    return run.format.conversations(run.info, split, step)


def all_conversations(run: OpenRun, split: str | None = None) -> Iterator[LoggedTranscript]:
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
    """The first step of which its samples count."""
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
    saved = sorted(Saved(saved.step, saved.name) for saved in checkpoints(run) if saved.step is not None)
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
