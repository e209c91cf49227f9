"""Processes that perform jobs, so that the process which shows the run stays responsive and all cores are busy.

This module has both ends of the pipe: `main` reads one job per line from standard input and writes one reply per line;
a `Worker` starts such a process, sends jobs and survives its death; all runs of a library share a `ProcessExecutor`.
Workers share only the index folder, so one may be killed at any moment: its job runs again.
"""

import contextlib
import os
import queue
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec

from rolloupe.index.execution.jobs import Job, JobReply, perform
from rolloupe.index.execution.pandas import keep_pandas_out

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


def main() -> None:
    """Perform jobs until standard input ends."""
    keep_pandas_out()
    for line in sys.stdin.buffer:
        reply = perform(msgspec.msgpack.decode(bytes.fromhex(line.decode()), type=Job))
        sys.stdout.write(msgspec.msgpack.encode(reply).hex() + "\n")
        sys.stdout.flush()


class ProcessExecutor:
    """`count` worker processes, each started at its first job, for all runs of a library. See `Executor`."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._workers = [Worker() for _ in range(count)]
        self._idle = queue.SimpleQueue[Worker]()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="index worker")
        self._closed = False

    def submit(self, job: Job) -> "Future[JobReply]":
        """Submit a job: see `Executor`."""
        try:
            return self._threads.submit(self._perform, job)
        except RuntimeError:  # closed
            nothing = Future[JobReply]()
            nothing.set_result(JobReply())
            return nothing

    def pids(self) -> list[int]:
        """The ids of the running processes."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def close(self) -> None:
        """End the processes, whatever they are doing. The jobs that wait get empty replies."""
        self._closed = True
        for worker in self._workers:
            worker.close()
        self._threads.shutdown(wait=True)

    def _perform(self, job: Job) -> JobReply:
        worker = self._idle.get()
        try:
            for _ in range(ATTEMPTS):
                reply = worker.perform(job)
                if reply is not None or self._closed:
                    return reply or JobReply()
        finally:
            self._idle.put(worker)
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

    def perform(self, job: Job) -> JobReply | None:
        """Perform a job; None if the process died over it (the next call starts another)."""
        process = self.start()
        if process is None:
            return None
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(msgspec.msgpack.encode(job).hex().encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line.endswith(b"\n"):
                return msgspec.msgpack.decode(bytes.fromhex(line.decode()), type=JobReply)
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
                    with contextlib.suppress(OSError):
                        pipe.close()
            process.wait()


def _started() -> "subprocess.Popen[bytes]":
    code = START.format(nice=NICENESS, path=[str(p) for p in sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
