"""Gives many runs their turns on a few threads, by a clock that tests replace to step through polls."""

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count


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

MOST_THREADS = 16
"""More threads would only wait for the same cores."""
IDLE_S = 5.0
"""An idle thread ends after this time, unless it is the last one and runs are waiting."""

CROWD_SHARE = 5
MAX_CROWD_S = 60.0
"""The polls of all runs take at most 1/`CROWD_SHARE` of a core, but no run rests longer than this."""
OLD_SHARE, MAX_OLD_S = 20, 300.0
"""The same for runs that have not grown for long."""
POLL_CPU_S = 0.02
"""A turn that took longer did more than poll."""


class ScheduledRun:
    """A run that has turns. `work` returns the seconds until the next turn, 0 for at once, or None at the end."""

    def __init__(self, work: Callable[[], float | None]) -> None:
        self.work = work
        self.entry = -1
        """The number under which it waits in a queue; older ones no longer count."""
        self.due_s = 0.0
        self.has_turn = False
        self.is_called = False
        self.is_ended = False
        self.over = threading.Event()
        """Set once the last turn has ended."""


class RunScheduler:
    """The runs that wait for their turn, and the threads that give it to them.

    Turns that are due come first, the longest due before the others; then those of runs that have more to do. A thread
    starts when one is lacking, up to `most`.
    """

    def __init__(self, most: int = MOST_THREADS, clock: Clock = CLOCK) -> None:
        self._clock = clock
        self._most = most
        self._changed = threading.Condition()
        self._resting: list[tuple[float, int, ScheduledRun]] = []
        self._busy: deque[tuple[int, ScheduledRun]] = deque()
        self._numbers = count()
        self._threads = 0
        self._idle = 0
        self.open_runs = 0
        self.poll_s = 0.0

    def add(self, work: Callable[[], float | None]) -> ScheduledRun:
        """Give a run its turns, from now on."""
        run = ScheduledRun(work)
        with self._changed:
            self.open_runs += 1
            self._queue(run, 0.0)
        return run

    @property
    def crowd_s(self) -> float:
        """The rest between two polls of a run that nobody waits for: many runs are polled less often."""
        return min(self.open_runs * self.poll_s * CROWD_SHARE, MAX_CROWD_S)

    @property
    def old_crowd_s(self) -> float:
        """The same for a run that nobody has written to for long."""
        return min(self.open_runs * self.poll_s * OLD_SHARE, MAX_OLD_S)

    @property
    def others_wait(self) -> bool:
        """True if a run waits for a thread."""
        with self._changed:
            is_full = not self._idle and self._threads >= self._most
            return is_full and (bool(self._busy) or self._next_due_s() <= self._clock.now_s())

    def call(self, run: ScheduledRun) -> None:
        """Make the next turn of a run due now."""
        with self._changed:
            now = self._clock.now_s()
            if run.has_turn:
                run.is_called = True
            elif not run.is_ended and run.due_s > now:
                self._queue(run, now)

    def end(self, run: ScheduledRun) -> None:
        """Give a run no more turns; its present turn continues."""
        with self._changed:
            if run.is_ended:
                return
            run.is_ended, run.entry = True, -1
            self.open_runs -= 1
            if not run.has_turn:
                run.over.set()

    def _queue(self, run: ScheduledRun, due_s: float) -> None:
        """Queue a run that rests until a time, or with 0 a run that has more to do."""
        run.entry = next(self._numbers)
        run.due_s = due_s or float("inf")  # a call comes before other runs that have more to do
        if due_s:
            heapq.heappush(self._resting, (due_s, run.entry, run))
        else:
            self._busy.append((run.entry, run))
        self._hire()

    def _hire(self) -> None:
        """Have a thread look at the queues."""
        if self._idle:
            self._changed.notify()
        elif self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._give, name="index", daemon=True).start()

    def _give(self) -> None:
        while (run := self._take()) is not None:
            began_s, rest_s = time.thread_time(), None
            try:
                rest_s = run.work()
            except BaseException:  # not a defect of the run: a run notes its own
                with self._changed:
                    self._threads -= 1
                    self._hire()
                raise
            finally:
                self._give_back(run, rest_s, time.thread_time() - began_s)

    def _take(self) -> ScheduledRun | None:
        """Wait for the next turn; None once there is nothing to do."""
        with self._changed:
            since_s = self._clock.now_s()
            self._idle += 1
            while (run := self._pop()) is None:
                rest_s = self._next_due_s() - self._clock.now_s()
                self._clock.wait(self._changed, min(max(rest_s, 0.0), IDLE_S))
                is_needed = self._idle == 1 and self._resting
                if not is_needed and not self._busy and self._clock.now_s() - since_s >= IDLE_S:
                    break
            self._idle -= 1
            if run is None:
                self._threads -= 1
                return None
            run.has_turn, run.entry = True, -1
            if self._busy or self._resting:
                self._hire()
            return run

    def _pop(self) -> ScheduledRun | None:
        if self._next_due_s() <= self._clock.now_s():
            return heapq.heappop(self._resting)[2]
        while self._busy:
            entry, run = self._busy.popleft()
            if entry == run.entry:
                return run
        return None

    def _next_due_s(self) -> float:
        while self._resting and self._resting[0][1] != self._resting[0][2].entry:
            heapq.heappop(self._resting)
        return self._resting[0][0] if self._resting else float("inf")

    def _give_back(self, run: ScheduledRun, rest_s: float | None, took_s: float) -> None:
        with self._changed:
            if rest_s and took_s < POLL_CPU_S:
                self.poll_s += (took_s - self.poll_s) / 20
            run.has_turn, was_called, run.is_called = False, run.is_called, False
            if rest_s is not None and not run.is_ended:
                self._queue(run, (0.0 if was_called else rest_s) and self._clock.now_s() + rest_s)
                return
            self.open_runs -= not run.is_ended
            run.is_ended = True
            run.over.set()
