"""Caches of answers: about a whole run until it changes; by step as long as the step stays the same."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from numpy.typing import NDArray

from rolloupe.index import OpenRun, Piece, Snapshot, StepKey
from rolloupe.lru import Lru
from rolloupe.query.engine import database, names
from rolloupe.query.engine.compile import CompiledQuery

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """The recent answers of one kind, of all runs: at least one, at most `most` in total size.

    Up to `at_once` answers are computed at a time. One at a time takes the least memory; with more, a slow answer keeps
    nobody waiting, but an answer may be computed twice.
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


def bytes_of(columns: Iterable[NDArray[Any]]) -> int:
    """Return the memory that some arrays take together."""
    return sum(column.nbytes for column in columns)


Stamp: TypeAlias = tuple[object, ...]


class _Answered(NamedTuple):
    version: str = ""
    stamps: Mapping[int, Stamp | None] = {}
    answers: Mapping[int, Any] = {}


class StepAnswers:
    """The recent answers of one kind, computed one at a time. It keeps at least one answer, and at most those of `most`
    steps.
    """

    def __init__(self, most: int = 1_000_000) -> None:
        self._making = threading.Lock()
        self._kept: Lru[str, _Answered] = Lru(total=most, least=1)

    def get(self, run: OpenRun, snapshot: Snapshot, split: str, rows: CompiledQuery, sql: str) -> Mapping[int, Any]:
        """Return the answer for each step of a split that has one: a list, or the value of the only column.

        `sql` selects columns from a table, with a condition behind WHERE, for each step. In a growing run, only new
        steps are queried. `eval` covers all evaluations.
        """
        name = repr((run.catalog.folder, split, sql, rows.where.values))
        with self._making:
            kept = self._kept.get(name) or _Answered()
            if kept.version != snapshot.version:
                kept = _renewed(kept, run, snapshot, split, rows, sql)
                self._kept.put(name, kept, len(kept.stamps))
        return kept.answers


def _renewed(old: _Answered, run: OpenRun, snapshot: Snapshot, split: str, rows: CompiledQuery, sql: str) -> _Answered:
    keys: dict[int, list[StepKey]] = {}
    for key in snapshot.pieces:
        if names.is_asked(key[0], split):
            keys.setdefault(key[1], []).append(key)
    is_overlaid = rows.overlay.pieces or rows.overlay.scores
    newer = _stamp_of((*snapshot.annotations, *snapshot.scores)) if is_overlaid else ()
    stamps: dict[int, Stamp | None] = {}
    for step, own in keys.items():
        stamp = _stamp_of(snapshot.of(own), rows.later)
        stamps[step] = None if newer is None or stamp is None else (*newer, stamp)
    changed = {step for step, stamp in stamps.items() if stamp is None or old.stamps.get(step) != stamp}
    answers = {step: answer for step, answer in old.answers.items() if step in stamps and step not in changed}
    asked = [key for step in changed for key in keys[step]]
    splits = sorted({name for name, _ in asked})
    for step, *columns in database.ask(run, rows.question(snapshot.of(asked), sql, [splits])):
        if step in changed:
            answers[step] = columns if len(columns) > 1 else columns[0]
    return _Answered(snapshot.version, stamps, dict(sorted(answers.items())))


def _stamp_of(pieces: Iterable[Piece], later: Iterable[str] = ()) -> Stamp | None:
    """Return a value that changes with the rows of pieces; None for rows in memory, which change at any time."""
    stamp: list[object] = []
    for piece in pieces:
        if piece.path is None:
            return None
        stamp += [piece.source, piece.start, piece.stop, piece.fingerprint, piece.superseded]
        stamp += [*(name in piece.derived for name in later), piece.tokens] if later else []
    return tuple(stamp)
