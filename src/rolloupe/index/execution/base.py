"""The interface of executors."""

from concurrent.futures import Future
from typing import Protocol

from rolloupe.index.execution.jobs import Job, JobReply
from rolloupe.storage import is_remote


class Executor(Protocol):
    """Runs jobs in the order of their submission. A lost job runs again: jobs write the same files each time."""

    @property
    def count(self) -> int:
        """The number of jobs that run at the same time."""

    def submit(self, job: Job) -> "Future[JobReply]":
        """Submit a job. The reply never raises; it is empty if the executor is closed."""

    def close(self) -> None:
        """Give up running and waiting jobs."""


TAKEN_EARLY = 3
TAKEN_EARLY_BYTES = 24 * 2**20
"""How many jobs a process takes early that read from a store: their bytes are fetched while it performs another."""


def most_submitted(executor: Executor, root: str) -> int:
    """The number of jobs on the run at `root` to submit before one of them is done: no process has to wait for one."""
    return executor.count * (1 + TAKEN_EARLY) if is_remote(root) else 2 * executor.count
