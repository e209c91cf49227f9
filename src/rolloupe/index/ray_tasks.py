"""Performs jobs as tasks of a Ray cluster, on all of its nodes.

Only a job and its reply travel, a kilobyte each; rows go from the file of the run into the index folder, which all
nodes share with this machine. Ray starts a task again when its worker or its node dies, and jobs write the same files
each time. This joins a cluster that runs: Ray's daemons listen on every interface, so Rolloupe never starts them.
"""

import contextlib
import logging
import os
import socket
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from rolloupe._version import __version__
from rolloupe.errors import BadQuery, UnreadablePath, words_of
from rolloupe.index.execution import ATTEMPTS, Job, JobReply, PackJob, ScanJob, keep_pandas_out, perform
from rolloupe.index.fingerprint import size_of, state_of_source
from rolloupe.index.segments.kind import BackfillJob
from rolloupe.index.segments.segment import numbers_of
from rolloupe.index.segments.step_stats import decoded, encoded
from rolloupe.storage import printable

REACHED_S = 10.0
"""A cluster must answer within this time."""

MISSING = "this needs Ray. Next: pip install 'rolloupe[ray]', or in a clone: pip install '.[ray]'"

AHEAD = 2
"""The jobs submitted per core: no core waits for this machine, and an autoscaler sees the demand."""

COUNT_S = 2.0
"""The time for which the number of cores is valid: nodes come and go."""


SHARE = "Next: keep the run and --index-dir on a file system that all nodes mount at the same path"


class NodeReply(Struct):
    """The reply to a job, and the node that gave it."""

    node: str
    reply: JobReply
    missing: str = ""
    """A file of the job that the node does not see."""


def perform_encoded(version: str, order: bytes) -> bytes:
    """Perform an encoded job on a node of the cluster, and encode the reply. Raises if the node has another version."""
    node = socket.gethostname()
    if version != __version__:
        raise RuntimeError(f"{node} has Rolloupe {__version__}, not {version}. Next: install the same on each node")
    keep_pandas_out()
    job: Job = decoded(order, Job)
    missing = _missing(job)
    return encoded(NodeReply(node, JobReply() if missing else perform(job), missing))


def _missing(job: Job) -> str:
    """The path of a file that a job needs and that is not here; empty if all are here."""
    if not isinstance(job, PackJob) and state_of_source(job.source) is None:
        return job.source.path
    if isinstance(job, BackfillJob) and not os.path.exists(path := numbers_of(Path(job.folder), job.meta)):
        return str(path)
    return ""


class RayExecutor:
    """Performs jobs in the cluster of this machine or of a `ray://` address. Raises `BadQuery`, `UnreadablePath`."""

    def __init__(self, address: str) -> None:
        self._ray = _joined(address)
        options = self._ray.remote(num_cpus=1, max_retries=ATTEMPTS, scheduling_strategy="SPREAD")
        self._task = options(perform_encoded)
        self._lock = threading.Lock()
        self._waiting: dict[Future[JobReply], Any] = {}
        """The references to running and waiting tasks."""
        self._closed = False
        self._count, self._counted_s = 1, float("-inf")

    @property
    def count(self) -> int:
        if time.monotonic() - self._counted_s > COUNT_S:
            with contextlib.suppress(Exception):  # the head may be away for a moment
                self._count = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._counted_s = time.monotonic()
        return AHEAD * self._count

    def submit(self, job: Job) -> "Future[JobReply]":
        future = Future[JobReply]()
        try:
            reference = self._task.remote(__version__, encoded(job))
        except Exception as error:  # closed, or the cluster is gone
            self._finish(future, JobReply() if self._closed else JobReply(error=_lost(error)))
            return future
        with self._lock:
            self._waiting[future] = reference
        reference.future().add_done_callback(lambda done: self._finish(future, _reply_of(job, done)))
        if self._closed:
            self._finish(future, JobReply())
        return future

    def close(self) -> None:
        with self._lock:
            self._closed = True
            waiting = dict(self._waiting)
        for future, reference in waiting.items():
            self._finish(future, JobReply())
            with contextlib.suppress(Exception):
                self._ray.cancel(reference)
        self._ray.shutdown()

    def _finish(self, future: "Future[JobReply]", reply: JobReply) -> None:
        with self._lock:
            self._waiting.pop(future, None)
            if not future.done():
                future.set_result(reply)


def _joined(address: str) -> Any:
    """Join a cluster, and return the module `ray`."""
    try:
        import ray
    except ImportError:
        raise BadQuery(f"--on {address}: {MISSING}") from None
    name = address if address.startswith("ray://") else os.environ.get("RAY_ADDRESS", "auto")
    try:
        place = urlsplit(name if "//" in name else f"//{name}")
        if place.hostname and place.port:  # if nothing listens there, Ray would try again for minutes
            socket.create_connection((place.hostname, place.port), REACHED_S).close()
        ray.init(address=name, namespace="rolloupe", log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        words = " ".join(str(error).split()).rstrip(".")
        next_ = "start one with `ray start --head`, run this on one of its nodes, or name it: --on ray://HOST:10001"
        where = "" if name == "auto" else f" at {name}"
        raise UnreadablePath(f"no Ray cluster can be joined{where}: {words}. Next: {next_}") from None
    return ray


def _reply_of(job: Job, done: "Future[bytes]") -> JobReply:
    """Decode the reply to a job. It is an error if the node and this machine do not see the same files."""
    try:
        answer: NodeReply = decoded(done.result(), NodeReply)
    except Exception as error:
        return JobReply(error=_lost(error))
    reply = answer.reply
    if answer.missing and answer.missing != _missing(job):
        return JobReply(error=f"{answer.node} does not see {printable(answer.missing)}. {SHARE}")
    if isinstance(job, ScanJob) and (meta := reply.meta) is not None:
        is_here = size_of(numbers_of(Path(job.folder), meta)) == meta.scalar_bytes
        words = f"{answer.node} wrote to a different {printable(job.folder)} than this machine has. {SHARE}"
        return reply if is_here else JobReply(error=words)
    return reply


def _lost(error: Exception) -> str:
    cause = getattr(error, "cause", None) or error
    return f"no node of the cluster could do it: {words_of(cause)}"
