"""Where the work on segments is done: submit a job, get its reply. Nothing else knows of processes."""

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
