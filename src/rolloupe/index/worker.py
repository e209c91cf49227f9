"""A process that scans parts on request, so that the process which shows them stays quick.

Owns both ends of the pipe: `main` reads one job a line from standard input and answers one line each; `Worker` starts
such a process, sends jobs and survives its death. Nothing is shared but the index folder, so a worker may be killed at
any moment: the part is scanned again.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
from msgspec import Struct

from rolloupe.index import segment
from rolloupe.index.segment import SegmentMeta
from rolloupe.model import RunInfo, Source

START = "import sys; sys.path[:] = {path!r}; from rolloupe.index.worker import main; main()"


class Job(Struct, kw_only=True):
    """Scan a part; with `meta`, write the text of that segment instead."""

    folder: str
    run: RunInfo
    source: Source
    part: int
    meta: SegmentMeta | None = None


class Answer(Struct, kw_only=True):
    """What came of a job: the segment, or nothing where the file was gone; `error` where the scan itself failed."""

    meta: SegmentMeta | None = None
    error: str = ""


def perform(job: Job) -> Answer:
    """Do a job in this process."""
    try:
        if job.meta is None:
            return Answer(meta=segment.build(Path(job.folder), job.run, job.source, job.part))
        done = segment.build_text(Path(job.folder), job.run, job.source, job.meta)
        return Answer(meta=job.meta if done else None)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return Answer(error=f"the index could not be written: {reason}. Next: make room there, or see --index-dir")
    except Exception as error:  # a defect in a format must cost one part, not the index
        return Answer(error=f"{type(error).__name__}: {error}")


def main() -> None:
    """Answer jobs until standard input ends."""
    for line in sys.stdin.buffer:
        answer = perform(msgspec.msgpack.decode(bytes.fromhex(line.decode()), type=Job))
        sys.stdout.write(msgspec.msgpack.encode(answer).hex() + "\n")
        sys.stdout.flush()


class Worker:
    """One worker process, started at the first job."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def perform(self, job: Job) -> Answer | None:
        """Have a job done; None where the process died over it (the next call starts another)."""
        with self._lock:
            if self._closed:
                return None
            process = self._process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(msgspec.msgpack.encode(job).hex().encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line.endswith(b"\n"):
                return msgspec.msgpack.decode(bytes.fromhex(line.decode()), type=Answer)
        except (OSError, ValueError):
            pass
        self._end()
        return None

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            self._closed = True
        self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        code = START.format(path=[str(p) for p in sys.path])
        command = [sys.executable, "-c", code]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        continue
            process.wait()
