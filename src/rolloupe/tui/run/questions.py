"""Asks questions in background threads, so that the screen never waits: of each kind only the newest answer counts."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

Tell = Callable[[Callable[[], None]], None]
"""Has the screen's own thread call something."""


class Questions:
    """Two threads: one for what a person waits for, one for what takes long. Failures go to `failed`."""

    def __init__(self, tell: Tell, failed: Callable[[Exception], None]) -> None:
        self._tell = tell
        self._failed = failed
        self._quick = ThreadPoolExecutor(1, "question")
        self._slow = ThreadPoolExecutor(1, "slow question")
        self._numbers: dict[str, int] = {}
        self._open = 0

    def ask(self, kind: str, work: Callable[[], T], then: Callable[[T], None], *, is_slow: bool = False) -> None:
        """Do some work, then hand its result to the screen, unless a newer question of its kind was asked."""
        number = self._numbers[kind] = self.number(kind) + 1
        self._open += 1
        (self._slow if is_slow else self._quick).submit(lambda: self._tell(self._answer(kind, number, work, then)))

    def _answer(self, kind: str, number: int, work: Callable[[], T], then: Callable[[T], None]) -> Callable[[], None]:
        """Do the work of a question; returns what the screen does with its result."""
        if not self.is_newest(kind, number):
            return lambda: self._close(lambda: None)
        try:
            result = work()
        except Exception as error:  # a defect becomes a line on the screen; the app goes on
            failure = error
            return lambda: self._close(lambda: self._failed(failure))
        return lambda: self._close(lambda: then(result) if self.is_newest(kind, number) else None)

    def _close(self, then: Callable[[], None]) -> None:
        self._open -= 1
        then()

    def forget(self, kind: str) -> None:
        """Ignore the answer to a question that is still open."""
        self._numbers[kind] = self.number(kind) + 1

    def is_newest(self, kind: str, number: int) -> bool:
        """Return whether no newer question of a kind was asked since it had this number."""
        return self.number(kind) == number

    def number(self, kind: str) -> int:
        """Return the number of the newest question of a kind."""
        return self._numbers.get(kind, 0)

    @property
    def are_open(self) -> bool:
        """True while an answer is awaited."""
        return self._open > 0

    def close(self) -> None:
        """Ask no more."""
        for pool in (self._quick, self._slow):
            pool.shutdown(wait=False, cancel_futures=True)
