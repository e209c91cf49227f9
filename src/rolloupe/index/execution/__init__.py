"""Runs the jobs on segments: submit a job, get its reply. No other module knows about processes."""

from rolloupe.index.execution.jobs import (
    LITTLE_WORK,
    NO_WORK,
    SMALL_RUNS,
    Executor,
    InlineExecutor,
    Job,
    JobReply,
    OwnWork,
    PackJob,
    ScanJob,
    most_submitted,
)
from rolloupe.index.execution.processes import ProcessExecutor, core_count
from rolloupe.index.segments.kind import BackfillJob

__all__ = [
    "LITTLE_WORK",
    "NO_WORK",
    "SMALL_RUNS",
    "BackfillJob",
    "Executor",
    "InlineExecutor",
    "Job",
    "JobReply",
    "OwnWork",
    "PackJob",
    "ProcessExecutor",
    "ScanJob",
    "core_count",
    "most_submitted",
]
