"""Asks questions in background threads, so the screen never waits. Only the newest answer of each kind counts."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from rolloupe.errors import RolloupeError, defect

T = TypeVar("T")

Tell = Callable[[Callable[[], None]], None]
"""Calls a function in the thread of the screen."""

Failed = Callable[[str], None]
"""Called with the reason if a question fails."""


class Questions:
    """Two threads: one for questions that a person waits for, one for long work. The asker of a question gets its
    failure.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._quick = ThreadPoolExecutor(1, "question")
        self._slow = ThreadPoolExecutor(1, "slow question")
        self._numbers: dict[str, int] = {}
        self._open = 0
        self._newest_write: Future[None] | None = None

    def ask(
        self, kind: str, work: Callable[[], T], then: Callable[[T], None], failed: Failed, *, is_slow: bool = False
    ) -> None:
        """Do some work, then hand its result to the screen, unless a newer question of its kind was asked."""
        number = self._numbers[kind] = self.number(kind) + 1
        self._begin(self._slow if is_slow else self._quick, work, then, failed, lambda: self.number(kind) == number)

    def write(self, work: Callable[[], T], then: Callable[[T], None], failed: Failed) -> None:
        """Do work that must be done, in order, even if the person leaves at once."""
        self._newest_write = self._begin(self._quick, work, then, failed, lambda: True)

    def _begin(
        self,
        pool: ThreadPoolExecutor,
        work: Callable[[], T],
        then: Callable[[T], None],
        failed: Failed,
        is_wanted: Callable[[], bool],
    ) -> Future[None]:
        self._open += 1

        def answer() -> None:
            hand_over = _done(work, then, failed) if is_wanted() else None
            self._tell(lambda: take(hand_over))

        def take(hand_over: Callable[[], None] | None) -> None:
            self._open -= 1
            if hand_over is not None and is_wanted():
                hand_over()

        return pool.submit(answer)

    def forget(self, kind: str) -> None:
        """Ignore the answer to a question that is still open."""
        self._numbers[kind] = self.number(kind) + 1

    def number(self, kind: str) -> int:
        """Return the number of the newest question of a kind."""
        return self._numbers.get(kind, 0)

    def wanted(self, kind: str) -> Callable[[], bool]:
        """Return a function that says whether the answer to the next question of a kind is still wanted."""
        number = self.number(kind) + 1
        return lambda: self.number(kind) == number

    @property
    def are_open(self) -> bool:
        return self._open > 0

    def close(self) -> None:
        """Accept no more questions, end long work, and wait for pending writes."""
        for kind in self._numbers:
            self.forget(kind)
        for pool in (self._quick, self._slow):
            pool.shutdown(wait=False)  # skip a question that was forgotten
        if self._newest_write is not None:
            wait([self._newest_write])


def _done(work: Callable[[], T], then: Callable[[T], None], failed: Failed) -> Callable[[], None]:
    """Do the work of a question; returns a function that hands its result to the screen, or its failure."""
    try:
        result = work()
    except Exception as error:  # a defect becomes a line on the screen; the app goes on
        reason = str(error) if isinstance(error, RolloupeError) else defect(error)
        return lambda: failed(reason)
    return lambda: then(result)
