"""Runs jobs in this process, on the thread that submits them."""

import threading
from concurrent.futures import Future
from typing import NamedTuple

from rolloupe.index.execution.base import Executor
from rolloupe.index.execution.jobs import Job, JobReply, perform
from rolloupe.index.segments.kind import NEVER


class OwnWork(NamedTuple):
    """How much of the work on a run this process does itself, so that small runs start no other."""

    scanned_bytes: int = 24 * 2**20
    """The first bytes are scanned here, as that shows the first sample soonest."""
    backfilled_bytes: int = 8 * 2**20
    packed_segments: int = 64
    """At a millisecond each."""


SMALL_RUNS = OwnWork()
LITTLE_WORK = OwnWork(2 * 2**20, 0, 0)
"""For a process that draws as well: work in it would delay each key and take memory."""
NO_WORK = OwnWork(0, 0, 0)
"""For a server of many runs and people: a little of each run is much, and everybody would wait for it."""


class InlineExecutor:
    """Runs jobs at once, up to a total cost of `allowance`, and hands the others to `beyond`.

    So small runs start no process, and the first sample appears before a process would have started. `ended` ends them.
    """

    def __init__(self, allowance: int, beyond: Executor, ended: threading.Event = NEVER) -> None:
        self._left = allowance
        self._beyond = beyond
        self._ended = ended

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
        done.set_result(perform(job, self._ended))
        return done

    def close(self) -> None:
        """Do nothing: every job is finished."""
