"""A run's problems, configuration, checkpoints, files and reports."""

from typing import Any

from msgspec import Struct

from rolloupe.model import Checkpoint, LogNode, RunFile
from rolloupe.wire.records.sample import TurnView


class ProblemItem(Struct, kw_only=True):
    """A record that could not be read."""

    file: str
    start: int | None
    stop: int | None
    reason: str
    excerpt: str
    """The first bytes of the record, as text."""


class ProblemsReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/problems?offset=&limit=`."""

    run: str
    total: int
    offset: int
    problems: list[ProblemItem]


class TrackerItem(Struct, kw_only=True):
    """Curves that a tracker keeps of the run."""

    kind: str
    """What wrote them: `TensorBoard`, `trackio`, ..."""
    path: str
    name: str
    """The run's name there; empty without one."""
    metrics: list[str]
    """The metrics that it adds to the trainer's own; the first ones, if there are too many."""
    metric_count: int
    step_name: str
    """The metric that holds the trainer's step; empty where steps are as the tracker counts."""
    note: str
    """What was not read, and why."""


class ReportSteps(Struct, kw_only=True):
    """The steps of a split that have a report."""

    split: str
    steps: list[int]


class AboutReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/about`: everything that the run holds except its samples."""

    run: str
    path: str
    format: str
    reason: str
    config: Any
    """As the trainer wrote it; non-finite numbers encoded as in `number`."""
    checkpoints: list[Checkpoint]
    code_diff: str
    files: list[RunFile]
    files_left: int
    """Number of files left out of the list."""
    reports: list[ReportSteps]
    trackers: list[TrackerItem]
    superseded: int
    """Samples of steps that a later launch recorded again: no statistic counts them."""


class ReportNode(LogNode, kw_only=True):
    """A piece of a step's logged outline, with its turns as the page reads them."""

    turns: list[TurnView]  # type: ignore[assignment]
    children: "list[ReportNode]"  # type: ignore[assignment]


class ReportReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/report?split=&step=`: the trainer's log of a step, as an outline."""

    run: str
    split: str
    step: int
    root: ReportNode
