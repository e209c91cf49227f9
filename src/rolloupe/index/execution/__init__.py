"""Runs the jobs on segments: submit a job, get its reply. No other module knows about processes."""

from rolloupe.index.execution.base import Executor
from rolloupe.index.execution.inline import InlineExecutor
from rolloupe.index.execution.jobs import BackfillJob, Job, JobReply, PackJob, ScanJob
from rolloupe.index.execution.processes import ProcessExecutor, core_count

__all__ = [
    "BackfillJob",
    "Executor",
    "InlineExecutor",
    "Job",
    "JobReply",
    "PackJob",
    "ProcessExecutor",
    "ScanJob",
    "core_count",
]
