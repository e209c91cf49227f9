"""Shares of the samples of a step: discarded samples, and samples with a given status."""

from collections import Counter
from collections.abc import Mapping
from typing import get_args

from rolloupe.index import OpenRun, Snapshot, StepKey
from rolloupe.model import Status
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.database import Question
from rolloupe.query.near_names import unknown
from rolloupe.query.steps.discards import discarded_by_step, discards

DISCARDED = "discarded"
STATUSES: tuple[str, ...] = get_args(Status)
NAMES = (DISCARDED, *STATUSES)
KEPT_STEPS = 1_000_000

_statuses: AnswerCache[dict[str, Counter[StepKey]]] = AnswerCache(KEPT_STEPS, lambda one: sum(map(len, one.values())))


def counts(run: OpenRun, name: str, reason: str = "") -> Mapping[StepKey, int]:
    """Return how many samples of each step were discarded (for one reason, if given) or have a status.

    Raises `BadQuery` for another name.
    """
    if name == DISCARDED:
        if not reason:
            return discarded_by_step(run)
        return {(one.split, one.step): one.samples for one in discards(run) if one.reason == reason}
    if name not in STATUSES:
        raise unknown("share", name, NAMES)
    snapshot = run.snapshot()
    return _statuses.get(run, snapshot, None, lambda: _count_statuses(run, snapshot)).get(name, {})


def _count_statuses(run: OpenRun, snapshot: Snapshot) -> dict[str, Counter[StepKey]]:
    counts_by_status: dict[str, Counter[StepKey]] = {}
    pieces = snapshot.holding()
    sql = "SELECT status, split, step, count(*) FROM rows GROUP BY status, split, step"
    for status, split, step, count in database.ask(run, Question(pieces, sql)) if pieces else ():
        counts_by_status.setdefault(status, Counter())[split, step] += count
    return counts_by_status
