"""The time by which a library polls and waits. Tests replace it, to step through polls without sleeping."""

import threading
import time


class Clock:
    """The clock of this machine."""

    def now_s(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()

    def date_s(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def wait(self, signal: threading.Event | threading.Condition, timeout_s: float) -> bool:
        """Wait until an event is set or a condition notified; False once the time is over."""
        return signal.wait(timeout_s)


CLOCK = Clock()
