"""Runs jobs in this process, on the thread that submits them."""

from concurrent.futures import Future

from rolloupe.index.execution.base import Executor
from rolloupe.index.execution.jobs import Job, JobReply, perform


class InlineExecutor:
    """Runs jobs at once, up to a total cost of `allowance`, and hands the others to `beyond`.

    So small runs start no process, and the first sample appears before a process would have started.
    """

    def __init__(self, allowance: int, beyond: Executor) -> None:
        self._left = allowance
        self._beyond = beyond

    @property
    def count(self) -> int:
        """The number of jobs that run at the same time."""
        return self._beyond.count

    def submit(self, job: Job) -> "Future[JobReply]":
        """Submit a job: see `Executor`."""
        if job.cost > self._left:
            return self._beyond.submit(job)
        self._left -= job.cost
        done = Future[JobReply]()
        done.set_result(perform(job))
        return done

    def close(self) -> None:
        """Do nothing: every job is finished."""
