"""Jobs done in this process, by the thread that submits them."""

from concurrent.futures import Future

from rolloupe.index.execution.base import Executor
from rolloupe.index.execution.jobs import Job, JobReply, perform


class InlineExecutor:
    """Does jobs at once, as long as they cost no more than `allowance` together, and hands the others to `beyond`.

    Small runs start no process, and the first sample is there before one would have started.
    """

    def __init__(self, allowance: int, beyond: Executor) -> None:
        self._left = allowance
        self._beyond = beyond

    @property
    def count(self) -> int:
        """How many jobs are done at a time."""
        return self._beyond.count

    def submit(self, job: Job) -> "Future[JobReply]":
        """Have a job done: see `Executor`."""
        if job.cost > self._left:
            return self._beyond.submit(job)
        self._left -= job.cost
        done = Future[JobReply]()
        done.set_result(perform(job))
        return done

    def close(self) -> None:
        """Nothing is left to give up."""
