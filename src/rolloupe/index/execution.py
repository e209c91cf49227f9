"""Jobs on segments, as records that can travel to another process or machine, and the executors that run them.

Worker processes keep the process that shows a run responsive, and all cores busy. This module has both ends of the
pipe: `main` reads one order per line from standard input and writes one reply per line; a `Worker` starts such a
process, sends jobs and survives its death. Workers share only the index folder, so one may be killed at any moment:
its job runs again.
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

from msgspec import Struct

from rolloupe.derive import PREFIX
from rolloupe.errors import SourceChanged, words_of
from rolloupe.formats.registry import by_name
from rolloupe.garbage import gc_paused
from rolloupe.index.segments import pack, segment
from rolloupe.index.segments.kind import NEVER, BackfillJob, DerivedMeta, EndedEarly, SegmentMeta
from rolloupe.index.segments.kinds import KINDS
from rolloupe.index.segments.pack import PackMember
from rolloupe.index.segments.parts import grid_span
from rolloupe.index.segments.step_stats import decoded, encoded
from rolloupe.model import RunInfo, Source
from rolloupe.storage import fetch_soon, is_remote


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
    members: list[PackMember]
    is_derived: bool = False
    """True for the pack of its members' derived metrics."""

    @property
    def cost(self) -> int:
        """A millisecond for each member."""
        return len(self.members)


Job: TypeAlias = ScanJob | BackfillJob | PackJob


class JobReply(Struct, kw_only=True):
    """The result of a job: the segment, or nothing if its file is gone; `error` if the job itself failed."""

    meta: SegmentMeta | None = None
    derived: DerivedMeta | None = None
    error: str = ""


def perform(job: Job, ended: threading.Event = NEVER) -> JobReply:
    """Perform a job in this process. Once the event is set, it ends soon, with an empty reply."""
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
        if isinstance(job, PackJob) or error.filename != job.source.path:
            return JobReply(
                error=f"the index could not be written: {reason}. Next: fix that, or name another --index-dir"
            )
        reason = error.strerror or reason
        step = "" if "Next:" in reason else ". Next: fix that"
        return JobReply(error=f"the file could not be read: {reason}{step}")
    except (Exception, SystemExit) as error:  # a defect in a format must cost one part, not the index
        return JobReply(error=words_of(error))


def announce(job: Job) -> None:
    """Begin to fetch what a job will read from a store: it is the next one of this process."""
    if isinstance(job, PackJob) or not by_name(job.run.format).splittable:
        return
    start, stop = grid_span(job.part) if isinstance(job, ScanJob) else (job.meta.start, job.meta.stop)
    fetch_soon(job.source.location, start - 1, stop)


def _backfilled(job: BackfillJob, ended: threading.Event) -> JobReply:
    records = segment.source_of(job, ended)
    if records is None:
        return JobReply()
    path, derived = segment.numbers_of(Path(job.folder), job.meta), None
    try:
        for kind in KINDS:
            if kind.name in job.kinds and kind.backfilled is not None:
                derived = kind.backfilled.write(path, records) or derived
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
"""How many jobs a process takes early that read from a store: their bytes are fetched while it performs another."""


def most_submitted(executor: Executor, root: str) -> int:
    """The number of jobs on the run at `root` to submit before one of them is done: no process has to wait for one."""
    return executor.count * (1 + TAKEN_EARLY) if is_remote(root) else 2 * executor.count


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
    """Runs jobs at once, up to a total cost: a small run then starts no process. `beyond` runs the others."""

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
    """Says that pandas is not installed, and leaves all else to others."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
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
from rolloupe.index.execution import main
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
        reply = Future[JobReply]()
        with self._lock:
            if self._closed:
                reply.set_result(JobReply())
                return reply
            self._tasks.put(_WaitingJob(job, reply))
            if not self._idle.acquire(blocking=False) and len(self._threads) < self.count:
                worker = Worker()
                thread = threading.Thread(target=self._serve, args=(worker,), name="index worker", daemon=True)
                self._workers.append(worker)
                self._threads.append(thread)
                thread.start()
        return reply

    def pids(self) -> list[int]:
        """The ids of the running processes."""
        return [process.pid for worker in self._workers if (process := worker.process) is not None]

    def close(self) -> None:
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
            order = WorkOrder(task.job, [waiting.job for waiting in early])
            reply = JobReply(error=f"the process that scanned it died {ATTEMPTS} times")
            try:
                for _ in range(ATTEMPTS):
                    made = JobReply() if self._closed else worker.perform(order)
                    if made is not None:
                        reply = made
                        break
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
        """Take jobs that wait behind one which reads from a store, beside those that were taken before."""
        tasks: list[_WaitingJob] = []
        if isinstance(job, PackJob) or not is_remote(job.source.path):
            return tasks
        costs = sum(waiting.job.cost for waiting in before)
        with suppress(queue.Empty):
            while len(before) + len(tasks) < TAKEN_EARLY and costs < TAKEN_EARLY_BYTES:
                task = self._tasks.get_nowait()
                if task is None:
                    self._tasks.put(None)
                    break
                tasks.append(task)
                costs += task.job.cost
        return tasks


class Worker:
    """One worker process, started at the first job. One thread at a time may use it; any thread may call `close`."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def perform(self, order: WorkOrder) -> JobReply | None:
        """Perform a job; None if the process died over it: the next call starts another."""
        with self._lock:
            if self._closed:
                return JobReply()
            process = self.process = self.process or start_process()
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
            process, self.process = self.process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()


def start_process() -> "subprocess.Popen[bytes]":
    """Start a process that performs jobs."""
    code = START.format(nice=NICENESS, path=[str(p) for p in sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
