"""What a run holds beside its samples: the trainer's metrics, configuration, checkpoints, code, files and reports.

Read from the run's own files when asked for; a run whose format has no such thing has none.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable
from weakref import WeakSet

from rolloupe.errors import BadQuery, NotFound
from rolloupe.formats.base import HasReports, TrainerFiles
from rolloupe.index import OpenRun
from rolloupe.model import Checkpoint, LoggedTranscript, LogNode, MetricRow, RunFile, RunInfo
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.splits import is_asked

KEPT = 10_000
"""Runs of which is kept that they have no report."""

_kept: AnswerCache[bool] = AnswerCache(KEPT, lambda _: 1)
_reported: WeakSet[OpenRun] = WeakSet()
"""Runs that have a report: they are not looked at again."""


@runtime_checkable
class HasMetrics(Protocol):
    """A format that knows the trainer's metrics, whether or not it knows more."""

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """See `TrainerFiles`."""
        ...


class MetricPoint(NamedTuple):
    """A trainer's metric at a step."""

    step: int
    value: float


def _files(run: OpenRun) -> TrainerFiles | None:
    return run.format if isinstance(run.format, TrainerFiles) else None


def metric_rows(run: OpenRun) -> list[MetricRow]:
    """The trainer's metrics, a row a step; rows without a step follow."""
    return run.format.metrics(run.info) if isinstance(run.format, HasMetrics) else []


def metric_names(run: OpenRun) -> list[str]:
    """The names of the trainer's metrics, in the order in which they first appear."""
    return list(dict.fromkeys(name for row in metric_rows(run) for name in row.values))


def metrics(run: OpenRun, name: str) -> list[MetricPoint]:
    """One of the trainer's metrics by step; nothing of one that only rows without a step have.

    Raises `BadQuery`, naming some there are, where there is none such.
    """
    rows = metric_rows(run)
    found = [MetricPoint(row.step, row.values[name]) for row in rows if row.step is not None and name in row.values]
    if not any(name in row.values for row in rows):
        known = ", ".join(list(dict.fromkeys(one for row in rows for one in row.values))[:40]) or "none"
        raise BadQuery(f"no metric {name!r} in run {run.id!r}; there are: {known}")
    return found


def config(run: OpenRun) -> dict[str, Any]:
    """The configuration; empty where there is none."""
    found = _files(run)
    return found.config(run.info) if found else {}


def checkpoints(run: OpenRun) -> list[Checkpoint]:
    """The checkpoints, in order."""
    found = _files(run)
    return found.checkpoints(run.info) if found else []


def code_diff(run: OpenRun) -> str:
    """What the code differed by; empty where nothing says so."""
    found = _files(run)
    return found.code_diff(run.info) if found else ""


def files(run: OpenRun) -> list[RunFile]:
    """The files of the run's folder, or at least those that hold samples."""
    found = _files(run)
    return found.files(run.info) if found else run.sample_files()


def logtrees(run: OpenRun) -> list[tuple[str, int]]:
    """The splits and steps that have a report."""
    found = _files(run)
    return found.logtrees(run.info) if found else []


def logtree(run: OpenRun, split: str, step: int) -> LogNode:
    """What the trainer logged for a step, as an outline. Raises `NotFound` where there is nothing."""
    found = _files(run)
    root = found.logtree(run.info, split, step) if found else None
    if root is None:
        raise NotFound(f"nothing was logged for step {step} of {split!r} in run {run.id!r}")
    return root


def may_report(run: OpenRun) -> bool:
    """False where the run has no report, as far as one look at its folders tells each time that the run changes."""
    if not isinstance(run.format, HasReports):
        return False
    if run in _reported:
        return True
    snapshot = run.snapshot()
    found = _kept.get(run, snapshot, "reports", lambda: bool(logtrees(run)))
    if found:
        _reported.add(run)
    return found


def report_files(run: OpenRun, split: str, step: int) -> dict[str, bytes]:
    """The report of a step as the files of the run hold it, by kind; see `HasReports`. Empty where there is none."""
    return run.format.report_files(run.info, split, step) if isinstance(run.format, HasReports) else {}


def conversations(run: OpenRun, split: str, step: int) -> list[LoggedTranscript]:
    """The conversations of a report that cannot be tied to a sample for certain."""
    found = _files(run)
    return found.conversations(run.info, split, step) if found else []


def all_conversations(run: OpenRun, split: str | None = None) -> Iterator[LoggedTranscript]:
    """Yield all conversations of all reports, or of those of a split; one report is held at a time."""
    found = _files(run)
    for own, step in found.logtrees(run.info) if found else ():
        if isinstance(run.format, HasReports) and is_asked(own, split):
            yield from run.format.all_conversations(run.info, own, step)
