"""Shares of the samples of a step: discarded samples, and samples with a given status."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from rolloupe.index import OpenRun, Piece
from rolloupe.model import Status
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.near_names import unknown
from rolloupe.query.splits import is_asked
from rolloupe.query.steps.discards import discarded_by_step, discards

DISCARDED = "discarded"
STATUSES: tuple[str, ...] = get_args(Status)
NAMES = (DISCARDED, *STATUSES)
KEPT_STEPS = 1_000_000

_SQL = """
SELECT step, map_from_entries(list((status, counted)))
FROM (SELECT step, status, count(*) AS counted FROM rows WHERE split IN (SELECT unnest(?)) GROUP BY step, status)
GROUP BY step
"""

_statuses: StepAnswers[Mapping[str, int]] = StepAnswers(KEPT_STEPS)


def counts(run: OpenRun, name: str, split: str, reason: str = "") -> Mapping[int, int]:
    """Return how many samples of each step were discarded (for one reason, if given) or have a status.

    Raises `BadQuery` for another name.
    """
    if name == DISCARDED:
        return _discarded(run, split, reason)
    if name not in STATUSES:
        raise unknown("share", name, NAMES)

    def count(pieces: Sequence[Piece], splits: Sequence[str]) -> Iterator[tuple[int, Mapping[str, int]]]:
        return ((step, found) for step, found in database.ask(run, Question(pieces, _SQL, [list(splits)])))

    by_step = _statuses.get(run, run.snapshot(), split, None, count)
    return {step: found[name] for step, found in by_step.items() if name in found}


def _discarded(run: OpenRun, split: str, reason: str) -> Mapping[int, int]:
    if reason:
        return {one.step: one.samples for one in discards(run, split) if one.reason == reason}
    by_step: Counter[int] = Counter()
    for (of, step), samples in discarded_by_step(run).items():
        if is_asked(of, split):
            by_step[step] += samples
    return by_step
