"""A few threads that look after many runs, each of which has its turn."""

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count

MOST_THREADS = 16
"""More would only wait for the same cores."""
IDLE_S = 5.0
"""A thread that has had nothing to do for this time ends, unless it is the last that may be needed."""

CROWD_SHARE = 5
MAX_CROWD_S = 60.0
"""The polls of all runs together take at most one part in `CROWD_SHARE` of a core, if none rests longer than this."""
OLD_SHARE, MAX_OLD_S = 20, 300.0
"""The same for runs that nobody has written to for long."""
POLL_CPU_S = 0.02
"""A turn that took longer did more than poll."""


class Ticket:
    """The place of one run among those that have their turns.

    `work` is a turn: it returns the seconds until the next is due, 0 if there is more to do now, or None at the end.
    """

    def __init__(self, turns: "Turns", work: Callable[[], float | None]) -> None:
        self.work = work
        self.entry = -1
        """The number under which it waits in a queue; older ones no longer count."""
        self.due_s = 0.0
        self.has_turn = False
        self.is_called = False
        self.is_ended = False
        self.over = threading.Event()
        """Set once there will be no further turn, and none lasts."""
        self._turns = turns

    def call(self) -> None:
        """Have the next turn as soon as a thread is free."""
        self._turns.call(self)

    def end(self) -> None:
        """Have no further turn; one that lasts goes on."""
        self._turns.end(self)


class Turns:
    """The runs that wait for their turn, and the threads that give it to them.

    Turns that are due come first, the longest due before the others; then those of runs that have more to do. A thread
    starts when one is lacking, up to `most`.
    """

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._resting: list[tuple[float, int, Ticket]] = []
        self._busy: deque[tuple[int, Ticket]] = deque()
        self._numbers = count()
        self._threads = 0
        self._idle = 0
        self._open = 0
        self._poll_s = 0.0

    def add(self, work: Callable[[], float | None]) -> Ticket:
        """Give a run its turns, from now on."""
        ticket = Ticket(self, work)
        with self._changed:
            self._open += 1
            self._queue(ticket, 0.0)
        return ticket

    @property
    def crowd_s(self) -> float:
        """The rest between two polls of a run for which nobody waits: many runs are polled less often."""
        return min(self._open * self._poll_s * CROWD_SHARE, MAX_CROWD_S)

    @property
    def old_crowd_s(self) -> float:
        """The same for a run that nobody has written to for long."""
        return min(self._open * self._poll_s * OLD_SHARE, MAX_OLD_S)

    @property
    def others_wait(self) -> bool:
        """True if a run waits for a thread."""
        with self._changed:
            is_full = not self._idle and self._threads >= self._most
            return is_full and (bool(self._busy) or self._next_due_s() <= time.monotonic())

    def call(self, ticket: Ticket) -> None:
        """Make the next turn of a run due now."""
        with self._changed:
            now = time.monotonic()
            if ticket.has_turn:
                ticket.is_called = True
            elif not ticket.is_ended and ticket.due_s > now:
                self._queue(ticket, now)

    def end(self, ticket: Ticket) -> None:
        """Give a run no further turn; one that lasts goes on."""
        with self._changed:
            if ticket.is_ended:
                return
            ticket.is_ended, ticket.entry = True, -1
            self._open -= 1
            if not ticket.has_turn:
                ticket.over.set()

    def _queue(self, ticket: Ticket, due_s: float) -> None:
        """Queue a run that rests until a time; with 0, one that has more to do."""
        ticket.entry = next(self._numbers)
        ticket.due_s = due_s or float("inf")  # a call comes before other runs that have more to do
        if due_s:
            heapq.heappush(self._resting, (due_s, ticket.entry, ticket))
        else:
            self._busy.append((ticket.entry, ticket))
        self._hire()

    def _hire(self) -> None:
        """Have a thread look at the queues."""
        if self._idle:
            self._changed.notify()
        elif self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._give, name="index", daemon=True).start()

    def _give(self) -> None:
        while (ticket := self._take()) is not None:
            began_s, rest_s = time.thread_time(), None
            try:
                rest_s = ticket.work()
            except BaseException:  # a run notes its defects itself: this one is not its own
                with self._changed:
                    self._threads -= 1
                    self._hire()
                raise
            finally:
                self._give_back(ticket, rest_s, time.thread_time() - began_s)

    def _take(self) -> Ticket | None:
        """Wait for the next turn; None once there is nothing to do."""
        with self._changed:
            since_s = time.monotonic()
            self._idle += 1
            while (ticket := self._pop()) is None:
                rest_s = self._next_due_s() - time.monotonic()
                self._changed.wait(min(max(rest_s, 0.0), IDLE_S))
                is_needed = self._idle == 1 and self._resting
                if not is_needed and not self._busy and time.monotonic() - since_s >= IDLE_S:
                    break
            self._idle -= 1
            if ticket is None:
                self._threads -= 1
            elif self._busy or self._resting:
                self._hire()
            return ticket

    def _pop(self) -> Ticket | None:
        """The run whose turn is now."""
        if self._next_due_s() <= time.monotonic():
            ticket = heapq.heappop(self._resting)[2]
        else:
            while self._busy and self._busy[0][0] != self._busy[0][1].entry:
                self._busy.popleft()
            if not self._busy:
                return None
            ticket = self._busy.popleft()[1]
        ticket.has_turn, ticket.entry = True, -1
        return ticket

    def _next_due_s(self) -> float:
        while self._resting and self._resting[0][1] != self._resting[0][2].entry:
            heapq.heappop(self._resting)
        return self._resting[0][0] if self._resting else float("inf")

    def _give_back(self, ticket: Ticket, rest_s: float | None, took_s: float) -> None:
        with self._changed:
            if rest_s and took_s < POLL_CPU_S:
                self._poll_s += (took_s - self._poll_s) / 20
            ticket.has_turn, was_called, ticket.is_called = False, ticket.is_called, False
            if ticket.is_ended:
                ticket.over.set()
            elif rest_s is None:
                self._open -= 1
                ticket.is_ended = True
                ticket.over.set()
            else:
                self._queue(ticket, (0.0 if was_called else rest_s) and time.monotonic() + rest_s)
