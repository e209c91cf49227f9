"""What went wrong while recording: counted, told once, never raised unless a recorder is strict."""

import contextlib
import inspect
import os
import sys
import threading
import warnings
from collections import Counter, deque

from rolloupe.record.values.plain import text_of

MAX_REASONS = 100
MAX_CHARS = 500
OTHER = "other reasons"
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class RecorderWarning(UserWarning):
    """Something was not recorded; training goes on."""


def _told(error: BaseException) -> str:
    """What an error says: of files the folder alone, since each that cannot be written has a name of its own."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        return f"{type(error).__name__}: {error.strerror}: {os.path.dirname(error.filename)}"
    return f"{type(error).__name__}: {text_of(error)}"


def _to_the_caller() -> int:
    """How far up the first line stands that is not of this package, as `warnings.warn` in the caller counts it."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        level, frame = level + 1, frame.f_back
    return level


class Trouble:
    """The troubles of one recorder; any thread may report."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.counts: Counter[str] = Counter()
        """By reason, how many values, calls or lines."""
        self._untold: deque[str] = deque()
        self._said: set[str] = set()
        self._raised: BaseException | None = None
        self._lock = threading.Lock()

    def met(self, error: BaseException, count: int = 1, where: str = "") -> None:
        """Raise the error of a call where the recorder is strict, else report it. `where` says what it is about."""
        if self.strict:
            if where:
                raise ValueError(f"{where}: {text_of(error)}") from error
            raise error
        self.report(error, count, where)

    def report(self, error: BaseException | str, count: int = 1, where: str = "", first: str = "") -> None:
        """Count it; it is told by the next call of the training loop, with where it was met `first`. Never raises."""
        told = error if isinstance(error, str) else _told(error)
        reason = f"{where}: {told}"[:MAX_CHARS] if where else told[:MAX_CHARS]
        with self._lock:
            if isinstance(error, BaseException):
                self._raised = self._raised or error
            if reason not in self.counts and len(self.counts) >= MAX_REASONS:
                reason = OTHER
            if reason not in self.counts:
                told = f"not everything is recorded: {reason}"
                self._untold.append(f"{told}. First: {first}"[: 2 * MAX_CHARS] if first else told)
            self.counts[reason] += max(1, count)

    def say(self, told: str, once: str = "") -> None:
        """Have it told by the next call; nothing is lost by it. What has a name for `once` is told a single time."""
        with self._lock:
            if once not in self._said:
                self._untold.append(told[:MAX_CHARS])
            if once:
                self._said.add(once)

    def tell(self) -> None:
        """Warn of what has not been told yet, in the thread of the caller. Never raises."""
        while self._untold:
            with contextlib.suppress(IndexError):
                told = self._untold.popleft()
                try:
                    warnings.warn(told, RecorderWarning, stacklevel=_to_the_caller())
                except Exception:  # warnings are errors here, and training must go on
                    with contextlib.suppress(Exception):
                        print(told, file=sys.stderr)

    def forked(self) -> None:
        """Called in a process that was forked off: no thread holds the lock, and the other tells what it met."""
        self._lock = threading.Lock()
        self._untold.clear()

    def raise_met(self) -> None:
        """Raise what the writing thread met, once, where the recorder is strict."""
        error, self._raised = self._raised, None
        if self.strict and error is not None:
            raise error
