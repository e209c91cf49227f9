"""Runs the jobs on segments: submit a job, get its reply. No other module knows about processes."""

from rolloupe.index.execution.base import Executor, most_submitted
from rolloupe.index.execution.inline import LITTLE_WORK, NO_WORK, SMALL_RUNS, InlineExecutor, OwnWork
from rolloupe.index.execution.jobs import BackfillJob, Job, JobReply, PackJob, ScanJob
from rolloupe.index.execution.processes import ProcessExecutor, core_count

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
