"""Processes that perform jobs, so that the process which shows the run stays responsive and all cores are busy.

This module has both ends of the pipe: `main` reads one order per line from standard input and writes one reply per
line; a `Worker` starts such a process, sends jobs and survives its death; all runs of a library share a
`ProcessExecutor`. Workers share only the index folder, so one may be killed at any moment: its job runs again.
"""

import os
import queue
import subprocess
import sys
import threading
from binascii import hexlify, unhexlify
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from importlib.abc import MetaPathFinder
from typing import NamedTuple

from rolloupe.errors import words_of
from rolloupe.index.execution.jobs import TAKEN_EARLY, TAKEN_EARLY_BYTES, Job, JobReply, PackJob, announce, perform
from rolloupe.index.segments.step_stats import decoded, encoded
from rolloupe.storage import is_remote


class NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, and leave all else to others."""
        del path, target
        if name == "pandas":
            raise ImportError(name)


def keep_pandas_out() -> None:
    """Have Arrow do without pandas. Arrow looks once: whoever imports pandas later still gets it.

    The finders are put into a new list each time: another thread that imports may be walking the old one, and a list
    that shrinks under it would hide a finder, and with it a module.
    """
    refusal = NoPandas()
    sys.meta_path = [refusal, *sys.meta_path]
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path = [finder for finder in sys.meta_path if finder is not refusal]


ATTEMPTS = 10
"""How often a job is tried while workers die over it, whoever kills them."""

NICENESS = 10
"""Requests that a person waits for come before background work."""

MAX_WORKERS = 8

START = """
import os, sys
if hasattr(os, "nice"):
    os.nice({nice})  # before the imports: requests that a person waits for come first
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:] = {path!r}
from rolloupe.index.execution.processes import main
main()
"""


def core_count() -> int:
    """The number of cores that this process may use, within reason."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_WORKERS)


class WorkOrder(NamedTuple):
    """A job, and some that the same process performs later."""

    job: Job
    announced: Sequence[Job]


class _WaitingJob(NamedTuple):
    job: Job
    reply: "Future[JobReply]"


def main() -> None:
    """Perform jobs until standard input ends."""
    keep_pandas_out()
    while line := sys.stdin.buffer.readline():
        order: WorkOrder = decoded(unhexlify(line.rstrip()), WorkOrder)
        del line  # the memory of a large order is of use to its job
        for job in order.announced:
            announce(job)
        sys.stdout.buffer.write(hexlify(encoded(perform(order.job))))
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()


class ProcessExecutor:
    """`count` worker processes, each started at its first job, for all runs of a library. See `Executor`."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._workers: list[Worker] = []
        self._threads: list[threading.Thread] = []
        self._tasks = queue.SimpleQueue[_WaitingJob | None]()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, job: Job) -> "Future[JobReply]":
        """Submit a job: see `Executor`."""
        reply = Future[JobReply]()
        with self._lock:
            if self._closed:
                reply.set_result(JobReply())
                return reply
            self._tasks.put(_WaitingJob(job, reply))
            if not self._idle.acquire(blocking=False) and len(self._threads) < self.count:
                self._workers.append(Worker())
                arguments = (self._workers[-1],)
                self._threads.append(
                    threading.Thread(target=self._serve, args=arguments, name="index worker", daemon=True)
                )
                self._threads[-1].start()
        return reply

    def pids(self) -> list[int]:
        """The ids of the running processes."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def close(self) -> None:
        """End the processes, whatever they are doing. The jobs that wait get empty replies."""
        with self._lock:
            self._closed = True
        for _ in self._threads:
            self._tasks.put(None)
        for worker in self._workers:
            worker.close()
        for thread in self._threads:
            thread.join()

    def _serve(self, worker: "Worker") -> None:
        taken = deque[_WaitingJob]()
        while (task := taken.popleft() if taken else self._next()) is not None:
            early = self._taken_early(task.job, taken)
            try:
                reply = self._performed(worker, WorkOrder(task.job, [one.job for one in early]))
            except Exception as error:  # no process can be started, say
                reply = JobReply(error=words_of(error))
            task.reply.set_result(reply)
            taken.extend(early)

    def _next(self) -> _WaitingJob | None:
        try:
            return self._tasks.get_nowait()
        except queue.Empty:
            self._idle.release()
            return self._tasks.get()

    def _taken_early(self, job: Job, before: Sequence[_WaitingJob]) -> list[_WaitingJob]:
        """Tasks that wait behind a job which reads from a store, beside those that were taken before."""
        tasks: list[_WaitingJob] = []
        if isinstance(job, PackJob) or not is_remote(job.source.path):
            return tasks
        costs = sum(one.job.cost for one in before)
        with suppress(queue.Empty):
            while len(before) + len(tasks) < TAKEN_EARLY and costs < TAKEN_EARLY_BYTES:
                task = self._tasks.get_nowait()
                if task is None:
                    self._tasks.put(None)
                    break
                tasks.append(task)
                costs += task.job.cost
        return tasks

    def _performed(self, worker: "Worker", order: WorkOrder) -> JobReply:
        for _ in range(ATTEMPTS):
            reply = None if self._closed else worker.perform(order)
            if reply is not None or self._closed:
                return reply or JobReply()
        return JobReply(error=f"the process that scanned it died {ATTEMPTS} times")


class Worker:
    """One worker process, started at the first job. One thread at a time may use it; any thread may call `close`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The id of the process, if it runs."""
        process = self._process
        return process.pid if process else None

    def start(self) -> "subprocess.Popen[bytes] | None":
        """Start the process unless it runs; None if the worker is closed."""
        with self._lock:
            if not self._closed and self._process is None:
                self._process = _started()
            return None if self._closed else self._process

    def perform(self, order: WorkOrder) -> JobReply | None:
        """Perform a job; None if the process died over it (the next call starts another)."""
        process = self.start()
        if process is None:
            return None
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(hexlify(encoded(order)) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line.endswith(b"\n"):
                reply: JobReply = decoded(unhexlify(line.rstrip()), JobReply)
                return reply
        except (OSError, ValueError):
            pass
        self._end()
        return None

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            self._closed = True
        self._end()

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()


def _started() -> "subprocess.Popen[bytes]":
    code = START.format(nice=NICENESS, path=[str(p) for p in sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
