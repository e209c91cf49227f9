"""A person's grader, and the child process that runs it, which is started again after its death."""

import json
import os
import re
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from rolloupe.errors import BadQuery
from rolloupe.insight.rescore.child import time_of
from rolloupe.query import SampleItem

FailureKind = Literal["timeout", "exception", "memory", "crash", "not_finite", "wrong_type", "unreadable"]

NamedGrader: TypeAlias = "str | os.PathLike[str] | Callable[..., object]"
"""A grader as a person names it: `grader.py:fn`, or a function at the top of a file."""

PREFIX = "rescored."

FAILED, REASON = "failed", "reason"
"""The names of the tags of a sample that could not be graded, behind the name of the score."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")


class GraderLimits(NamedTuple):
    """The limits of a grader: seconds for a sample, and bytes of address space. They stop accidents: no sandbox."""

    seconds: float = 2.0
    memory_bytes: int = 10**9


class GraderFile(NamedTuple):
    """A function in a Python file, the name of its scores, and the interpreter that runs it."""

    path: str
    function: str
    name: str
    python: str = sys.executable


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one sample: a score, with other values of the grader, or the kind and the reason of a failure."""

    score: float | None = None
    metrics: dict[str, float] = {}
    tags: dict[str, str] = {}
    failed: FailureKind | None = None
    reason: str = ""


class Graded(NamedTuple):
    """A sample, the word for its place, and its verdict."""

    item: SampleItem
    place: str
    verdict: Verdict


def grader_file(grader: NamedGrader, name: str = "", python: str = "") -> GraderFile:
    """Return the function that `grader.py:fn` names, or a function that a file defines. Raises `BadQuery`."""
    path, function = _place_of(grader)
    name = name or function.replace(".", "_")
    if not _NAME.fullmatch(name):
        raise BadQuery(f"{name[:80]!r} is not a name for scores: use letters, digits, - and _, at most 60")
    if not os.path.isfile(path):
        raise BadQuery(f"there is no file {path!r} with a grader. Next: name it as grader.py:fn")
    return GraderFile(os.path.abspath(path), function, name, python or sys.executable)


def _place_of(grader: NamedGrader) -> tuple[str, str]:
    if isinstance(grader, (str, os.PathLike)):
        path, _, function = os.fspath(grader).rpartition(":")
        if not path or not _is_dotted(function):
            raise BadQuery(f"{os.fspath(grader)[:200]!r} names no function. Next: write grader.py:fn")
        return path, function
    import inspect

    path, function = "", getattr(grader, "__qualname__", "")
    with suppress(TypeError):
        path = inspect.getsourcefile(grader) or ""
    if not (path.endswith(".py") and _is_dotted(function)):
        raise BadQuery("a grader runs in another process, which imports it: put it at the top of a file, grader.py:fn")
    return path, function


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


CHILD = Path(__file__).with_name("child.py")

LOAD_S = 60.0

GRACE_S = 1.0
"""How long the parent keeps waiting for a verdict after the child's own alarm."""

MAX_ANSWER_BYTES = 2**20

MOST_LATE = 50
"""A grader that runs out of time on this many samples in a row hangs, and grades no more."""

ENVIRONMENT = {"PATH": os.defpath, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
"""The environment of a grader: nothing of the person's, one thread for numerical libraries, no bytecode beside it."""


class _Ready(msgspec.Struct, frozen=True):
    """The first line of a child: whether it grades many samples at once, or why the grader cannot be used."""

    is_batch: bool = False
    unusable: str = ""


class _Answer(msgspec.Struct, frozen=True):
    """A verdict, with the number of the request."""

    number: int
    verdict: Verdict


class Died(Exception):
    """Raised when the child has ended, or was killed because it did not answer."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class GraderProcess:
    """A grader in a process of its own. One thread asks; any thread may close."""

    def __init__(self, grader: GraderFile, limits: GraderLimits) -> None:
        self._grader, self._limits = grader, limits
        self._child: subprocess.Popen[bytes] | None = None
        self._is_batch = False
        self._hangs = False
        """True for a grader of batches that ran out of time on a group, together and on each sample alone."""
        self._unread = b""
        self._number = secrets.randbelow(2**32)
        self._is_closed = False
        self._lock = threading.Lock()

    def verdicts(self, samples: Sequence[dict[str, Any]]) -> list[Verdict]:
        """Grade the samples of a group, until the grader hangs or is closed.

        Raises `BadQuery` if the grader cannot be loaded.
        """
        verdicts: list[Verdict] = []
        alone, asked_again = self._hangs, -1
        while len(verdicts) < len(samples) and not self._is_closed:
            try:
                self._ask(samples[len(verdicts) :], verdicts, alone=alone)
            except Died as error:
                if self._is_batch and not alone and len(samples) - len(verdicts) > 1:
                    alone = True
                elif error.verdict.failed == "crash" and asked_again != len(verdicts):
                    asked_again = len(verdicts)  # the sample before it may be to blame
                else:
                    self._add(error.verdict, verdicts)
        self._hangs |= self._is_batch and len(verdicts) > 1 and all(verdict.failed == "timeout" for verdict in verdicts)
        return verdicts

    def _add(self, verdict: Verdict, verdicts: list[Verdict]) -> None:
        verdicts.append(verdict)
        last = verdicts[-MOST_LATE:]
        if len(last) == MOST_LATE and all(late.failed == "timeout" for late in last):
            self.kill()

    def kill(self) -> None:
        """Kill the child and its own children; a thread that waits for a verdict goes on."""
        self._is_closed = True
        with self._lock:
            if self._child is not None:
                with suppress(OSError):
                    os.killpg(self._child.pid, signal.SIGKILL)

    def close(self) -> None:
        """End everything. No other thread may be waiting for a verdict."""
        self.kill()
        self._end()

    def _ask(self, samples: Sequence[dict[str, Any]], verdicts: list[Verdict], *, alone: bool) -> None:
        """Add the verdicts as they come. Raises `Died`, also if the grader itself writes to the pipe of answers."""
        self._start()
        child = self._child
        if child is None or child.stdin is None:
            return
        self._number += 1
        request = {"samples": samples, "alone": alone, "number": self._number}
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
        except OSError:
            raise Died(self._death()) from None
        together = len(samples) if self._is_batch and not alone else 1
        for number in range(len(samples)):
            # the first answer of a batch may follow a failure of all together
            first_s = time_of(together, self._limits.seconds) if number == 0 else 0.0
            limit_s = first_s + self._limits.seconds + GRACE_S
            if not self._is_closed:
                answer: _Answer = self._read(limit_s, _Answer)
                if answer.number != self._number:
                    raise self._meddled()
                self._add(answer.verdict, verdicts)

    def _meddled(self) -> Died:
        self._end()
        return Died(Verdict(failed="crash", reason="the grader wrote to the pipe of its answers"))

    def _start(self) -> None:
        with self._lock:
            if self._child is not None or self._is_closed:
                return
            options = {
                "path": self._grader.path, "name": self._grader.function,
                "limit_s": self._limits.seconds, "memory_bytes": self._limits.memory_bytes,
            }  # fmt: skip
            try:
                self._child = subprocess.Popen(
                    [self._grader.python, "-IB", str(CHILD), json.dumps(options)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    env=ENVIRONMENT, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise BadQuery(f"{self._grader.python} cannot be started: {error.strerror}") from None
            self._unread = b""
        try:
            ready = self._read(LOAD_S, _Ready)
        except Died as error:
            raise self._unusable(error.verdict.reason) from None
        if ready.unusable:
            raise self._unusable(ready.unusable)
        self._is_batch = ready.is_batch

    def _unusable(self, reason: str) -> BadQuery:
        return BadQuery(f"the grader {self._grader.path}:{self._grader.function} cannot be used: {reason}")

    def _read(self, limit_s: float, kind: Any) -> Any:
        child = self._child
        if child is None or child.stdout is None:
            raise Died(Verdict(failed="crash", reason="the process was ended"))
        ready = select.poll()
        ready.register(child.stdout, select.POLLIN)
        until = time.monotonic() + limit_s
        while b"\n" not in self._unread:
            is_late = not ready.poll(max(0.0, until - time.monotonic()) * 1000)
            data = b"" if is_late else os.read(child.stdout.fileno(), 2**16)
            self._unread += data
            if not data or len(self._unread) > MAX_ANSWER_BYTES:
                raise Died(self._death(is_late=is_late))
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.MsgspecError, ValueError):
            raise self._meddled() from None

    def _death(self, *, is_late: bool = False) -> Verdict:
        """End the child, and return how it died."""
        child = self._child
        until = time.monotonic() + GRACE_S
        if child is not None and not is_late:  # it is ending, and its exit code is for others
            with suppress(OSError):
                ended = os.WEXITED | os.WNOWAIT | os.WNOHANG
                while os.waitid(os.P_PID, child.pid, ended) is None and time.monotonic() < until:
                    time.sleep(0.002)
        self._end()
        code = None if child is None else child.returncode
        if is_late or code == -signal.SIGXCPU:
            reason = f"no result after {self._limits.seconds:g} s: the process was ended"
            return Verdict(failed="timeout", reason=reason)
        if code is None or code >= 0:
            return Verdict(failed="crash", reason=f"the process ended itself with exit code {code}")
        name = f"signal {-code}"
        with suppress(ValueError):
            name = signal.Signals(-code).name
        return Verdict(failed="crash", reason=f"the process was killed by {name}")

    def _end(self) -> None:
        with self._lock:
            child, self._child = self._child, None
            if child is None:
                return
            with suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)  # before `wait`: until then nothing else has its number
            child.wait()
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
