"""Failures while recording: counted, reported once, raised only if strict, and kept out of the training loop."""

import contextlib
import errno
import functools
import inspect
import logging
import operator
import os
import sys
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, cast

from rolloupe.errors import words_of
from rolloupe.record.plain import text_of

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


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Guardable")

log = logging.getLogger("rolloupe.record")


class Guardable(Protocol):
    """An object with guarded methods."""

    trouble: Trouble

    def ready(self) -> None:
        """Prepare for a call. Raises `RuntimeError` if recording is no longer possible."""
        ...


def guarded(
    default: Callable[[], Any],
    loses: str = "",
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Make a method raise nothing, unless the recorder is strict or the call does not fit the method's signature.

    The recorder reports and counts a failure, and the call returns `default()`. `loses` is what a failure costs.
    """

    def wrap(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
        @functools.wraps(method)
        def call(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                self.ready()
                return method(self, *args, **kwargs)
            except Exception as error:
                where = error.__traceback__.tb_next if error.__traceback__ else None
                if isinstance(error, TypeError) and where is None:
                    raise  # a misspelt argument shows up in the first minute
                self.trouble.met(error, what=loses, step=kwargs.get("step"))
                return cast("R", default())
            finally:
                self.trouble.tell()

        return cast("Callable[Concatenate[S, P], R]", call)

    return wrap


class Guard:
    """Keeps failures out of the training loop: counts them, logs the first, and raises them if `strict`."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.failures = 0
        """How many calls have failed."""
        self._what = what
        self._strict = strict

    def call(self, work: Callable[[], R], otherwise: R) -> R:
        """Call `work`; if it fails, log the first failure and return `otherwise`, or raise if `strict`."""
        try:
            return work()
        except Exception as error:
            self.failures += 1
            if self._strict:
                raise
            if self.failures == 1:
                log.warning("%s: not written, training goes on: %s", self._what, words_of(error))
            return otherwise


class LeftOut:
    """Counts rows that were left out: logs the first at once, and the total at the end."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.count = 0
        self._what = what
        self._strict = strict

    def met(self, where: str, error: Exception) -> None:
        """Count a row, and log the first. Raises `error` if strict."""
        if self._strict:
            raise error
        self.count += 1
        if self.count == 1:
            log.warning("%s: %s left out: %s", self._what, where, error)

    def tell(self) -> None:
        """Log the total, if it is more than the one already logged."""
        if self.count > 1:
            log.warning("%s: %d left out in all", self._what, self.count)
