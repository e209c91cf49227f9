"""Failures while recording: counted, reported once, and raised only if strict, so that training goes on."""

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
from typing import Any, NamedTuple, TypeVar, cast

from rolloupe.errors import words_of
from rolloupe.record.plain import text_of

MAX_REASONS = 100
MAX_CHARS = 500
OTHER = "other reasons"
MAX_LOSSES = 1000
"""How many losses keep their step until they are written."""

FULL = {errno.ENOSPC: "disk full", errno.EDQUOT: "disk full, by its quota"}
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class RecorderWarning(UserWarning):
    """Says that something was not recorded; training goes on."""


class LostData(NamedTuple):
    """Data that is in no file of the run: what it is, its step if known, and why."""

    what: str
    step: int | None
    reason: str


def _step_of(step: object) -> int | None:
    """Return a step that files can hold; None for anything else."""
    try:
        number = operator.index(step)  # type: ignore[pyrefly:bad-argument-type]
    except Exception:
        return None
    return number if abs(number) <= 2**53 else None


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

        `what` names the data that is lost, for the run's files.
        """
        message = in_files = error if isinstance(error, str) else f"{type(error).__name__}: {text_of(error)}"
        if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
            # names only the folder: each file that cannot be written has a different name
            message = f"{type(error).__name__}: {error.strerror}: {os.path.dirname(error.filename)}"
        if isinstance(error, OSError) and error.errno:  # without paths, which mean nothing elsewhere
            in_files = FULL.get(error.errno) or os.strerror(error.errno)
        reason, in_files = ((f"{where}: {text}" if where else text)[:MAX_CHARS] for text in (message, in_files))
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
                loss = LostData(what, _step_of(step), in_files)
                has_room = loss in self._losses or len(self._losses) < MAX_LOSSES
                self._losses[loss if has_room else LostData(what, None, OTHER)] += max(1, count)

    def losses(self) -> Counter[LostData]:
        """Return the losses that are not yet in the run's files."""
        with self._lock:
            return self._losses.copy()

    def forget(self, losses: Mapping[LostData, int]) -> None:
        """Forget losses that are now in the run's files."""
        with self._lock:
            self._losses -= Counter(losses)

    def say(self, message: str, once: str = "") -> None:
        """Report a message that means no loss at the next call; messages with the same `once` are reported once."""
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
                level, frame = 1, inspect.currentframe()
                while frame is not None and frame.f_code.co_filename.startswith(HERE):
                    level, frame = level + 1, frame.f_back
                try:
                    warnings.warn(message, RecorderWarning, stacklevel=level)
                except Exception:  # warnings are errors here, and training must go on
                    with contextlib.suppress(Exception):
                        print(message, file=sys.stderr)

    def forked(self) -> None:
        """Start again in a forked process: no thread holds the lock, and the parent reports its own failures."""
        self._lock = threading.Lock()
        self._messages.clear()
        self._losses.clear()

    def raise_met(self) -> None:
        """Raise the writing thread's failure, once, if the recorder is strict."""
        error, self._raised = self._raised, None
        if self.strict and error is not None:
            raise error


R = TypeVar("R")
Method = TypeVar("Method", bound=Callable[..., Any])

log = logging.getLogger("rolloupe.record")


def guarded(default: Callable[[], Any], loses: str = "") -> Callable[[Method], Method]:
    """Make a recorder's method raise nothing, unless the recorder is strict or an argument is misspelt.

    The recorder reports and counts a failure, and the call returns `default()`. `loses` names the data that is lost.
    """

    def wrap(method: Method) -> Method:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                self.ready()
                return method(self, *args, **kwargs)
            except Exception as error:
                where = error.__traceback__.tb_next if error.__traceback__ else None
                if isinstance(error, TypeError) and where is None:
                    raise  # a misspelt argument shows up in the first minute
                self.trouble.met(error, what=loses, step=kwargs.get("step"))
                return default()
            finally:
                self.trouble.tell()

        return cast("Method", call)

    return wrap


class Guard:
    """Keeps a writer's failures out of the training loop: counts them, logs the first, and raises them if `strict`."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.failures = 0
        self._what = what
        self._strict = strict

    def call(self, work: Callable[[], R], otherwise: R) -> R:
        """Call `work`; if it fails, return `otherwise`."""
        try:
            return work()
        except Exception as error:
            self._failed(error, f"not written, training goes on: {words_of(error)}")
            return otherwise

    def left_out(self, where: str, error: Exception) -> None:
        """Count a row that is not written."""
        self._failed(error, f"{where} left out: {text_of(error)}")

    def tell_total(self) -> None:
        """Log how many rows were left out, if it is more than the one already logged."""
        if self.failures > 1:
            log.warning("%s: %d left out in all", self._what, self.failures)

    def _failed(self, error: Exception, message: str) -> None:
        self.failures += 1
        if self._strict:
            raise error
        if self.failures == 1:
            log.warning("%s: %s", self._what, message)
