"""Jobs on segments, as records that can travel to another process or machine, and the executors that run them.

Worker processes keep the process that shows a run responsive, and all cores busy. This module has both ends of the
pipe: `main` reads one order per line from standard input and writes one reply per line; a `ProcessExecutor` starts
such processes and sends jobs. They share only the index folder, so one may be killed at any moment: its job runs again.
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
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from msgspec import Struct

from rolloupe.derive import PREFIX
from rolloupe.errors import SourceChanged, words_of
from rolloupe.formats.registry import by_name
from rolloupe.garbage import gc_paused
from rolloupe.index.segments import kinds, pack, parts, segment, step_stats
from rolloupe.index.segments.kind import NEVER, BackfillJob, DerivedMeta, EndedEarly, SegmentMeta, SegmentSource
from rolloupe.model import RunInfo, Source
from rolloupe.storage import fetch_soon, is_remote

KEPT_MEMORY = 2**25 - 2**16
"""By default, glibc returns freed memory at once and asks for it again, array by array, which takes a sixth of a pass.
After it has freed an array of this size, just below the largest that it learns from, it keeps up to twice as much.
"""


class ScanJob(Struct, kw_only=True, tag=True):
    """Scan a part of a source, and write its numbers. `cost` is the approximate number of bytes to read."""

    folder: str
    run: RunInfo
    source: Source
    part: int
    cost: int = 0


class PackJob(Struct, kw_only=True, tag=True):
    """Write a pack."""

    path: str
    members: list[pack.PackMember]
    is_derived: bool = False
    """True for the pack of its members' derived metrics."""

    @property
    def cost(self) -> int:
        """The cost of reading: a millisecond for each member."""
        return len(self.members)


Job: TypeAlias = ScanJob | BackfillJob | PackJob


class JobReply(Struct, kw_only=True):
    """The result of a job: the segment, or nothing if its file is gone; `error` if the job itself failed."""

    meta: SegmentMeta | None = None
    derived: DerivedMeta | None = None
    error: str = ""


def perform(job: Job, ended: threading.Event = NEVER) -> JobReply:
    """Perform a job in this process. Once the event is set, the job ends soon, with an empty reply."""
    try:
        with gc_paused():
            if isinstance(job, PackJob):
                pack.write(Path(job.path), job.members, is_derived=job.is_derived)
                return JobReply()
            if isinstance(job, BackfillJob):
                return _backfilled(job, ended)
            return JobReply(meta=segment.build(Path(job.folder), job.run, job.source, job.part, ended))
    except EndedEarly:
        return JobReply()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        words = f"the index could not be written: {reason}. Next: fix that, or name another --index-dir"
        if not isinstance(job, PackJob) and error.filename == job.source.path:
            reason = error.strerror or reason
            words = f"the file could not be read: {reason}{'' if 'Next:' in reason else '. Next: fix that'}"
        return JobReply(error=words)
    except (Exception, SystemExit) as error:  # a defect in a format must fail one part, not the whole index
        return JobReply(error=words_of(error))


def announce(job: Job) -> None:
    """Begin to fetch what a job of this process will read from a store."""
    if isinstance(job, PackJob) or not by_name(job.run.format).splittable:
        return
    start, stop = parts.grid_span(job.part) if isinstance(job, ScanJob) else (job.meta.start, job.meta.stop)
    fetch_soon(job.source.location, start - 1, stop)


def keep_freed_memory() -> None:
    """Let the C library keep the memory of arrays for the next ones. Touches no memory itself. Not for servers."""
    np.empty(KEPT_MEMORY, np.uint8)


def _backfilled(job: BackfillJob, ended: threading.Event) -> JobReply:
    path, derived = segment.numbers_of(Path(job.folder), job.meta), None
    try:
        records = SegmentSource(job, ended)
        for kind in kinds.KINDS:
            if kind.name in job.kinds:
                derived = kind.write(path, records) or derived
    except SourceChanged:
        return JobReply()
    failures = derived.failures if derived is not None else {}
    error = "; ".join(f"{PREFIX}{name}: {reason}" for name, reason in failures.items())
    return JobReply(meta=job.meta, derived=derived, error=error)


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
"""The most jobs on a store that a process takes early: their bytes are fetched while it performs another job."""


def most_submitted(executor: Executor, root: str) -> int:
    """How many unfinished jobs on the run at `root` keep all processes busy."""
    return executor.count * (1 + TAKEN_EARLY) if is_remote(root) else 2 * executor.count


class OwnWork(NamedTuple):
    """The work on a run that this process does itself, so that small runs start no other process."""

    scanned_bytes: int = 24 * 2**20
    """The first bytes of a run: scanned here, they show the first sample soonest."""
    backfilled_bytes: int = 8 * 2**20
    packed_segments: int = 64
    """A segment takes a millisecond."""


SMALL_RUNS = OwnWork()
LITTLE_WORK = OwnWork(2 * 2**20, 0, 0)
"""For a process that also draws: work in it would delay keys and take memory."""
NO_WORK = OwnWork(0, 0, 0)
"""For a server of many runs and people: a little work on each run adds up, and everybody would wait for it."""


class InlineExecutor:
    """Runs jobs at once, up to a total cost, so that a small run starts no process. `beyond` runs the others."""

    def __init__(self, allowance: int, beyond: Executor, ended: threading.Event = NEVER) -> None:
        self._left, self._beyond, self._ended = allowance, beyond, ended

    @property
    def count(self) -> int:
        return self._beyond.count

    def submit(self, job: Job) -> "Future[JobReply]":
        if job.cost > self._left:
            return self._beyond.submit(job)
        self._left -= job.cost
        done = Future[JobReply]()
        done.set_result(perform(job, self._ended))
        return done

    def close(self) -> None:
        pass


class NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        del path, target
        if name == "pandas":
            raise ImportError(name)


def keep_pandas_out() -> None:
    """Keep Arrow from importing pandas. It tries once, so a program that imports pandas later still gets it.

    Each change makes a new list of finders: another thread may be walking the old list, and would miss a finder.
    """
    refusal = NoPandas()
    sys.meta_path = [refusal, *sys.meta_path]
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path = [finder for finder in sys.meta_path if finder is not refusal]


ATTEMPTS = 10
"""The number of times to try a job while workers die over it."""

NICENESS = 10
"""Requests that a person waits for come before background work."""

MAX_WORKERS = 8

START = """
import os, sys
if hasattr(os, "nice"):
    os.nice({nice})  # before the imports: requests that a person waits for come first
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:] = {path!r}
from rolloupe.garbage import importing
with importing():
    from rolloupe.index.execution import main
main()
"""


def core_count() -> int:
    """The number of cores that this process may use, at most `MAX_WORKERS`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_WORKERS)


class WorkOrder(NamedTuple):
    """A job, and jobs that the same process performs later."""

    job: Job
    announced: Sequence[Job]


_WaitingJob: TypeAlias = tuple[Job, Future[JobReply]]


def main() -> None:
    """Perform jobs until standard input ends."""
    keep_pandas_out()
    keep_freed_memory()
    while line := sys.stdin.buffer.readline():
        order: WorkOrder = step_stats.decoded(unhexlify(line.rstrip()), WorkOrder)
        del line  # frees memory for a large job
        for job in order.announced:
            announce(job)
        sys.stdout.buffer.write(hexlify(step_stats.encoded(perform(order.job))))
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()


class ProcessExecutor:
    """`count` worker processes, each started at its first job, for all runs of a library. See `Executor`.

    A thread serves each process.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads: list[threading.Thread] = []
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        """By the number of the thread."""
        self._tasks = queue.SimpleQueue[_WaitingJob | None]()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, job: Job) -> "Future[JobReply]":
        reply = Future[JobReply]()
        with self._lock:
            if self._closed:
                reply.set_result(JobReply())
                return reply
            self._tasks.put((job, reply))
            number = len(self._threads)
            if not self._idle.acquire(blocking=False) and number < self.count:
                thread = threading.Thread(target=self._serve, args=(number,), name="index worker", daemon=True)
                self._threads.append(thread)
                thread.start()
        return reply

    def pids(self) -> list[int]:
        """The ids of the running processes."""
        return [process.pid for process in list(self._processes.values())]

    def close(self) -> None:
        with self._lock:
            self._closed = True
        for number in range(len(self._threads)):
            self._end(number)
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self, number: int) -> None:
        taken = deque[_WaitingJob]()
        while (task := taken.popleft() if taken else self._next()) is not None:
            job, future = task
            early = self._taken_early(job, taken)
            order = WorkOrder(job, [job for job, _ in early])
            reply: JobReply | None = None
            try:
                for _ in range(ATTEMPTS):
                    reply = reply or self.perform(number, order)
            except Exception as error:  # no process can be started, say
                reply = JobReply(error=words_of(error))
            future.set_result(reply or JobReply(error=f"the process that scanned it died {ATTEMPTS} times"))
            taken.extend(early)

    def perform(self, number: int, order: WorkOrder) -> JobReply | None:
        """Perform a job in one of the processes; None if the process died over it: the next call starts another."""
        with self._lock:
            if self._closed:
                return JobReply()
            process = self._processes[number] = self._processes.get(number) or start_process()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(hexlify(step_stats.encoded(order)) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line.endswith(b"\n"):
                reply: JobReply = step_stats.decoded(unhexlify(line.rstrip()), JobReply)
                return reply
        except (OSError, ValueError):
            pass
        self._end(number)
        return None

    def _end(self, number: int) -> None:
        with self._lock:
            process = self._processes.pop(number, None)
        if process is not None:
            process.kill()
            for pipe in filter(None, (process.stdin, process.stdout)):
                with suppress(OSError):
                    pipe.close()
            process.wait()

    def _next(self) -> _WaitingJob | None:
        try:
            return self._tasks.get_nowait()
        except queue.Empty:
            self._idle.release()
            return self._tasks.get()

    def _taken_early(self, job: Job, before: Sequence[_WaitingJob]) -> list[_WaitingJob]:
        """If a job reads from a store, take more waiting jobs early, beside the jobs taken before."""
        tasks: list[_WaitingJob] = []
        if isinstance(job, PackJob) or not is_remote(job.source.path):
            return tasks
        costs = sum(waiting.cost for waiting, _ in before)
        with suppress(queue.Empty):
            while len(before) + len(tasks) < TAKEN_EARLY and costs < TAKEN_EARLY_BYTES:
                task = self._tasks.get_nowait()
                if task is None:
                    self._tasks.put(None)
                    break
                tasks.append(task)
                costs += task[0].cost
        return tasks


def start_process() -> "subprocess.Popen[bytes]":
    """Start a process that performs jobs."""
    code = START.format(nice=NICENESS, path=[str(p) for p in sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
