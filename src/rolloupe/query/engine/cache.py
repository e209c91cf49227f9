"""A cache of answers that cost a look at a whole run, valid until the run changes or the cache is full."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from rolloupe.index import OpenRun, Snapshot
from rolloupe.lru import Lru

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """The recent answers of one kind, of all runs: at least one, at most `most` in total size.

    Answers are computed one at a time, since they take memory; other callers wait for an answer in progress. Of those
    that take little, `at_once` are: a slow one keeps nobody waiting, and an answer may be computed twice.
    """

    def __init__(self, most: int, size: Callable[[T], int], at_once: int = 1) -> None:
        self._size = size
        self._making = threading.BoundedSemaphore(at_once)
        self._answers: Lru[str, T] = Lru(total=most, least=1)

    def get(self, run: OpenRun, snapshot: Snapshot, question: object, make: Callable[[], T]) -> T:
        """Return the answer to a question, identified by its `repr`, about this state of a run."""
        name = repr((run.catalog.folder, snapshot.version, question))
        answer = self._answers.get(name)
        if answer is None:
            with self._making:
                answer = self._answers.get(name)
                if answer is None:
                    answer = make()
                    self._answers.put(name, answer, self._size(answer))
        return answer

    def clear(self) -> None:
        """Drop all answers."""
        self._answers.clear()
