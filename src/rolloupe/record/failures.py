"""Failures while recording: counted, reported once, and raised only by a strict recorder."""

import contextlib
import errno
import inspect
import operator
import os
import sys
import threading
import warnings
from collections import Counter, deque
from collections.abc import Mapping
from typing import NamedTuple

from rolloupe.record.values.plain import text_of

MAX_REASONS = 100
MAX_CHARS = 500
OTHER = "other reasons"
MAX_LOSSES = 1000
"""How many losses are counted by step until they are written; further ones lose their step."""

FULL = {errno.ENOSPC: "disk full", errno.EDQUOT: "disk full, by its quota"}
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class RecorderWarning(UserWarning):
    """Something was not recorded; training goes on."""


def _message(error: BaseException) -> str:
    """The text of an error; for a file, only its folder, since every unwritable file has a different name."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        return f"{type(error).__name__}: {error.strerror}: {os.path.dirname(error.filename)}"
    return f"{type(error).__name__}: {text_of(error)}"


class LostData(NamedTuple):
    """Data that is in no file of the run: what it is, its step if known, and why."""

    what: str
    step: int | None
    reason: str


def why(error: BaseException | str, where: str = "") -> str:
    """The reason of a loss, as the run's files have it: without paths, which say nothing elsewhere."""
    if isinstance(error, OSError) and error.errno:
        error = FULL.get(error.errno) or os.strerror(error.errno)
    message = error if isinstance(error, str) else f"{type(error).__name__}: {text_of(error)}"
    return (f"{where}: {message}" if where else message)[:MAX_CHARS]


def _step_of(step: object) -> int | None:
    try:
        found = operator.index(step)  # type: ignore[arg-type]
    except Exception:
        return None
    return found if abs(found) <= 2**53 else None


def _to_the_caller() -> int:
    """The stack level of the first frame outside this package, as `warnings.warn` in the caller counts it."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        level, frame = level + 1, frame.f_back
    return level


class Trouble:
    """The failures of one recorder; any thread may report."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.counts: Counter[str] = Counter()
        """How many values, calls or lines failed, by reason."""
        self._losses: Counter[LostData] = Counter()
        self._messages: deque[str] = deque()
        self._reported: set[str] = set()
        self._raised: BaseException | None = None
        self._lock = threading.Lock()

    def met(
        self, error: BaseException, count: int = 1, where: str = "", *, what: str = "", step: object = None
    ) -> None:
        """Raise the error of a call if the recorder is strict, else report it. `where` names its subject."""
        if self.strict:
            if where:
                raise ValueError(f"{where}: {text_of(error)}") from error
            raise error
        self.report(error, count, where, what=what, step=step)

    def report(
        self, error: BaseException | str, count: int = 1, where: str = "", first: str = "", *, what: str = "",
        step: object = None,
    ) -> None:  # fmt: skip
        """Count a failure; the next call of the training loop warns of it and of its `first` place. Never raises.

        If data is lost by it, `what` says which kind of data, for the run's files.
        """
        message = error if isinstance(error, str) else _message(error)
        reason = f"{where}: {message}"[:MAX_CHARS] if where else message[:MAX_CHARS]
        with self._lock:
            if isinstance(error, BaseException):
                self._raised = self._raised or error
            if reason not in self.counts and len(self.counts) >= MAX_REASONS:
                reason = OTHER
            if reason not in self.counts:
                message = f"not everything is recorded: {reason}"
                self._messages.append(f"{message}. First: {first}"[: 2 * MAX_CHARS] if first else message)
            self.counts[reason] += max(1, count)
            if what:
                loss = LostData(what, _step_of(step), why(error, where))
                known = loss in self._losses or len(self._losses) < MAX_LOSSES
                self._losses[loss if known else LostData(what, None, OTHER)] += max(1, count)

    def losses(self) -> Counter[LostData]:
        """What is lost and not yet noted in the run's files."""
        with self._lock:
            return self._losses.copy()

    def noted(self, losses: Mapping[LostData, int]) -> None:
        """Forget losses that the run's files have."""
        with self._lock:
            self._losses -= Counter(losses)

    def say(self, message: str, once: str = "") -> None:
        """Have the next call report a message that means no loss; messages with the same `once` are reported once."""
        with self._lock:
            if once not in self._reported:
                self._messages.append(message[:MAX_CHARS])
            if once:
                self._reported.add(once)

    def tell(self) -> None:
        """Warn, in the caller's thread, of failures not yet reported. Never raises."""
        while self._messages:
            with contextlib.suppress(IndexError):
                message = self._messages.popleft()
                try:
                    warnings.warn(message, RecorderWarning, stacklevel=_to_the_caller())
                except Exception:  # warnings are errors here, and training must go on
                    with contextlib.suppress(Exception):
                        print(message, file=sys.stderr)

    def forked(self) -> None:
        """Called in a forked process: no thread holds the lock, and the parent reports its own failures."""
        self._lock = threading.Lock()
        self._messages.clear()
        self._losses.clear()

    def raise_met(self) -> None:
        """Raise the writing thread's failure, once, if the recorder is strict."""
        error, self._raised = self._raised, None
        if self.strict and error is not None:
            raise error
