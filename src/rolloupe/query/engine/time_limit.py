"""A time limit for statements. One thread watches all of them: starting one for each takes as long as a short query."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class TimeLimit:
    """Interrupts statements that take longer than `seconds`. Its thread ends when it has nothing to watch."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._running: dict[object, tuple[float, Callable[[], None]]] = {}
        """When each statement is interrupted, and how; the earliest comes first."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Call `interrupt` unless the block ends in time; never after its end."""
        statement = object()
        with self._lock:
            self._running[statement] = time.monotonic() + self.seconds, interrupt
            if self._thread is None or not self._thread.is_alive():  # a fork leaves the thread behind
                self._thread = threading.Thread(target=self._keep, name="time limit", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._running.pop(statement, None)

    def _keep(self) -> None:
        rest_s: float | None = self.seconds
        while rest_s is not None:
            time.sleep(rest_s)
            with self._lock:
                rest_s = self._interrupt_late()

    def _interrupt_late(self) -> float | None:
        """Interrupt late queries; returns the time to the next deadline, None without any."""
        now = time.monotonic()
        for statement, (deadline, interrupt) in list(self._running.items()):
            if deadline > now:
                return deadline - now
            del self._running[statement]
            interrupt()
        self._thread = None
        return None
