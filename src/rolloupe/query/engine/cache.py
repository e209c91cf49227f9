"""A cache of answers that cost a look at a whole run, valid until the run changes or the cache is full."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from rolloupe.index import OpenRun, Snapshot

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """The recent answers of one kind, of all runs: at least one, at most `most` in total size.

    Answers are computed one at a time, since they take memory; other callers wait for an answer in progress.
    """

    def __init__(self, most: int, size: Callable[[T], int]) -> None:
        self._most, self._size = most, size
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._answers: OrderedDict[str, T] = OrderedDict()

    def get(self, run: OpenRun, snapshot: Snapshot, asked: object, make: Callable[[], T]) -> T:
        """Return the answer to a question, identified by its `repr`, about this state of a run."""
        name = repr((run.catalog.folder, snapshot.version, asked))
        held = self._held(name)
        if held is None:
            with self._making:
                held = self._held(name)
                if held is None:
                    held = make()
                    self._keep(name, held)
        return held

    def _held(self, name: str) -> T | None:
        with self._lock:
            if name in self._answers:
                self._answers.move_to_end(name)
            return self._answers.get(name)

    def _keep(self, name: str, answer: T) -> None:
        with self._lock:
            self._answers[name] = answer
            while len(self._answers) > 1 and sum(map(self._size, self._answers.values())) > self._most:
                self._answers.popitem(last=False)
