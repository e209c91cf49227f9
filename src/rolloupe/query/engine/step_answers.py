"""A cache of answers by step: when a run grows, queries look again only at the steps that changed."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from rolloupe.index import OpenRun, Piece, Snapshot, StepKey
from rolloupe.lru import Lru
from rolloupe.query.splits import is_asked

T = TypeVar("T")

Stamp: TypeAlias = tuple[object, ...]

Ask: TypeAlias = Callable[[Sequence[Piece], Sequence[str]], Iterable[tuple[int, T]]]
"""Answers for the steps of some pieces and splits: pairs of a step and its answer."""


class _Answered(NamedTuple, Generic[T]):
    version: str
    stamps: Mapping[int, Stamp | None]
    answers: Mapping[int, T]


class StepAnswers(Generic[T]):
    """The recent answers of one kind, of all runs: those to one question at least, `most` steps at most.

    Answers are computed one at a time, since they take memory; other callers wait for an answer in progress.
    """

    def __init__(self, most: int) -> None:
        self._making = threading.Lock()
        self._kept: Lru[str, _Answered[T]] = Lru(total=most, least=1)

    def get(
        self,
        run: OpenRun,
        snapshot: Snapshot,
        split: str,
        question: object,
        ask: Ask[T],
        *,
        overlaid: bool = False,
        later: Collection[str] = (),
    ) -> Mapping[int, T]:
        """Return the answer to a question, identified by its `repr`, for each step of a split that has one.

        `eval` covers all evaluations together. `overlaid` is True if annotations may change the answer; `later` names
        the derived metrics and the texts of tokens that the question is about, which may follow the rows.
        """
        name = repr((run.catalog.folder, split, question))
        with self._making:
            kept = self._kept.get(name)
            if kept is None or kept.version != snapshot.version:
                kept = _renewed(kept, snapshot, split, ask, overlaid=overlaid, later=later)
                self._kept.put(name, kept, len(kept.stamps))
        return kept.answers


def _renewed(
    kept: _Answered[T] | None, snapshot: Snapshot, split: str, ask: Ask[T], *, overlaid: bool, later: Collection[str]
) -> _Answered[T]:
    keys: dict[int, list[StepKey]] = {}
    for key in snapshot.pieces:
        if is_asked(key[0], split):
            keys.setdefault(key[1], []).append(key)
    newer = _stamp_of((*snapshot.annotations, *snapshot.scores), ()) if overlaid else ()
    stamps = {step: _joined(newer, _stamp_of(snapshot.of(own), later)) for step, own in keys.items()}
    old = kept.stamps if kept is not None else {}
    changed = {step for step, stamp in stamps.items() if stamp is None or old.get(step) != stamp}
    answers = {} if kept is None else {step: one for step, one in kept.answers.items() if step in stamps}
    if changed:
        for step in changed:
            answers.pop(step, None)
        asked = [key for step in changed for key in keys[step]]
        found = ask(snapshot.of(asked), sorted({name for name, _ in asked}))
        answers.update((step, one) for step, one in found if step in changed)
    return _Answered(snapshot.version, stamps, dict(sorted(answers.items())))


def _stamp_of(pieces: Iterable[Piece], later: Collection[str]) -> Stamp | None:
    """Return what changes with the rows of pieces; None for rows in memory, which may change at any time."""
    stamp: list[object] = []
    for piece in pieces:
        if piece.path is None:
            return None
        stamp += [piece.source, piece.start, piece.stop, piece.fingerprint, piece.superseded]
        stamp += [*(name in piece.derived for name in later), piece.tokens] if later else []
    return tuple(stamp)


def _joined(newer: Stamp | None, own: Stamp | None) -> Stamp | None:
    return None if newer is None or own is None else (*newer, own)
