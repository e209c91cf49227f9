"""Shares of the samples of a step: discarded samples, samples with a given status, and those without advantage."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from rolloupe.index import OpenRun, Piece
from rolloupe.model import Status
from rolloupe.query.curves.zero_advantage import advantage_counts
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.row_filter import matching
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.near_names import unknown
from rolloupe.query.splits import is_asked
from rolloupe.query.steps.discards import discarded_by_step, discards

DISCARDED = "discarded"
STATUSES: tuple[str, ...] = get_args(Status)
ZERO_ADVANTAGE = "zero_advantage"
NAMES = (DISCARDED, *STATUSES, ZERO_ADVANTAGE)
KEPT_STEPS = 1_000_000

_counts: StepAnswers[Mapping[str, int]] = StepAnswers(KEPT_STEPS)


def counts(run: OpenRun, name: str, split: str, reason: str = "", where: str = "") -> Mapping[int, int]:
    """Return how many samples of each step were discarded (for one reason, if given) or have a status.

    Only samples that match a filter count. Raises `BadQuery` for another name.
    """
    if name not in NAMES:
        raise unknown("share", name, NAMES)
    if name == ZERO_ADVANTAGE:
        return {step: one.zero for step, one in advantage_counts(run, split, where).items()}
    if name != DISCARDED:
        by_step = _by_word(run, "status", split, where)
        return {step: found[name] for step, found in by_step.items() if name in found}
    if not where:
        return _discarded(run, split, reason)
    by_step = _by_word(run, "discarded", split, where)
    return {step: _of_reason(found, reason) for step, found in by_step.items()}


def wholes(run: OpenRun, name: str, split: str, where: str = "") -> dict[int, int]:
    """Return of how many samples of each step a share is: of all, or of those with an advantage."""
    if name == ZERO_ADVANTAGE:
        return {step: one.samples for step, one in advantage_counts(run, split, where).items()}
    return rows(run, split, where)


def rows(run: OpenRun, split: str, where: str = "") -> dict[int, int]:
    """Return the number of samples of each step, of those that match a filter."""
    total: Counter[int] = Counter()
    for (of, step), stats in run.snapshot().steps.items():
        if stats.rows and is_asked(of, split):
            total[step] += stats.rows
    if not where:
        return dict(total)
    by_step = _by_word(run, "status", split, where)
    return {step: sum(by_step.get(step, {}).values()) for step in total}


def _by_word(run: OpenRun, column: str, split: str, where: str) -> Mapping[int, Mapping[str, int]]:
    """Count the matching samples of each step by a column of words."""
    snapshot = run.snapshot()
    matches = matching(snapshot, where, [column])
    sql = f"""
    {matches.own} SELECT step, map_from_entries(list((word, counted))) FROM (
        SELECT step, {column} AS word, count(*) AS counted FROM {matches.table}
        WHERE split IN (SELECT unnest(?)) GROUP BY step, word
    ) GROUP BY step"""

    def count(pieces: Sequence[Piece], splits: Sequence[str]) -> Iterator[tuple[int, Mapping[str, int]]]:
        values = [*matches.values, list(splits)]
        question = Question(pieces, sql, values, matches.named, overlay=matches.overlay)
        return ((step, found) for step, found in database.ask(run, question))

    is_overlaid = bool(matches.overlay.pieces)
    return _counts.get(run, snapshot, split, (column, where), count, overlaid=is_overlaid, later=matches.later)


def _of_reason(by_reason: Mapping[str, int], reason: str) -> int:
    return by_reason.get(reason, 0) if reason else sum(count for of, count in by_reason.items() if of)


def _discarded(run: OpenRun, split: str, reason: str) -> Mapping[int, int]:
    if reason:
        return {one.step: one.samples for one in discards(run, split) if one.reason == reason}
    by_step: Counter[int] = Counter()
    for (of, step), samples in discarded_by_step(run).items():
        if is_asked(of, split):
            by_step[step] += samples
    return by_step
