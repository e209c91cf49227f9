"""Processes that do jobs on request, so that the process which shows the run stays quick and all cores are used.

Owns both ends of the pipe: `main` reads one job a line from standard input and answers one line each; a `Worker`
starts such a process, sends jobs and survives its death; `ProcessExecutor` has those that the runs of a library share.
Nothing is shared but the index folder, so a worker may be killed at any moment: its job is done again.
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

ATTEMPTS = 10
"""So often is a part tried while workers die over it, whoever kills them."""

NICENESS = 10
"""What a person waits for comes before what goes on behind."""

MAX_WORKERS = 8

START = """
import os, sys
if hasattr(os, "nice"):
    os.nice({nice})  # before the imports: what a person waits for comes first
sys.path[:] = {path!r}
from rolloupe.index.execution.processes import main
main()
"""


def core_count() -> int:
    """As many workers as there are cores for this process, within reason."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_WORKERS)


def main() -> None:
    """Answer jobs until standard input ends."""
    for line in sys.stdin.buffer:
        answer = perform(msgspec.msgpack.decode(bytes.fromhex(line.decode()), type=Job))
        sys.stdout.write(msgspec.msgpack.encode(answer).hex() + "\n")
        sys.stdout.flush()


class ProcessExecutor:
    """So many worker processes, each started at its first job, for all runs of a library. See `Executor`."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._workers = [Worker() for _ in range(count)]
        self._idle = queue.SimpleQueue[Worker]()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="index worker")
        self._closed = False

    def submit(self, job: Job) -> "Future[JobReply]":
        """Have a job done, in the order of asking; nothing comes of it where the workers are closed."""
        try:
            return self._threads.submit(self._perform, job)
        except RuntimeError:  # closed
            nothing = Future[JobReply]()
            nothing.set_result(JobReply())
            return nothing

    def pids(self) -> list[int]:
        """The processes that run now."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def close(self) -> None:
        """End the processes, whatever they are doing; jobs that wait are given up."""
        self._closed = True
        for worker in self._workers:
            worker.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _perform(self, job: Job) -> JobReply:
        worker = self._idle.get()
        try:
            for _ in range(ATTEMPTS):
                answer = worker.perform(job)
                if answer is not None or self._closed:
                    return answer or JobReply()
        finally:
            self._idle.put(worker)
        return JobReply(error=f"the process that scanned it died {ATTEMPTS} times")


class Worker:
    """One worker process, started at the first job. Used by one thread at a time, but for `close`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process, if there is one now."""
        process = self._process
        return process.pid if process else None

    def start(self) -> "subprocess.Popen[bytes] | None":
        """Start the process unless it runs; None where the worker is closed."""
        with self._lock:
            if not self._closed and self._process is None:
                self._process = _started()
            return None if self._closed else self._process

    def perform(self, job: Job) -> JobReply | None:
        """Have a job done; None where the process died over it (the next call starts another)."""
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
