"""What does jobs."""

from concurrent.futures import Future
from typing import Protocol

from rolloupe.index.execution.jobs import Job, JobReply


class Executor(Protocol):
    """Does jobs, in the order of asking. A job that is lost is done again: jobs write the same files each time."""

    @property
    def count(self) -> int:
        """How many jobs are done at a time."""

    def submit(self, job: Job) -> "Future[JobReply]":
        """Have a job done. The reply never raises; it is empty where the executor is closed."""

    def close(self) -> None:
        """Give up what is being done, and what waits."""
