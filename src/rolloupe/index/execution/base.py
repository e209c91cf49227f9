"""The interface of executors."""

from concurrent.futures import Future
from typing import Protocol

from rolloupe.index.execution.jobs import Job, JobReply


class Executor(Protocol):
    """Runs jobs in the order of their submission. A lost job runs again: jobs write the same files each time."""

    @property
    def count(self) -> int:
        """The number of jobs that run at the same time."""

    def submit(self, job: Job) -> "Future[JobReply]":
        """Submit a job. The reply never raises; it is empty if the executor is closed."""

    def close(self) -> None:
        """Give up running and waiting jobs."""
